"""A sum, cell by cell."""

from __future__ import annotations

from dataclasses import dataclass

from ui.equation.rule import OfTwo


@dataclass(frozen=True)
class Add(OfTwo):
    """out[i,j] = left[i,j] + right[i,j]."""

    op = "add"
    draws = ("mask", "add")
