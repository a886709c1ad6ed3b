"""A product, cell by cell."""

from __future__ import annotations

from dataclasses import dataclass

from ui.equation.rule import OfTwo


@dataclass(frozen=True)
class Multiply(OfTwo):
    """out[i,j] = left[i,j] · right[i,j]."""

    op = "multiply"
    draws = ("multiply",)
