"""Rows turned into columns."""

from __future__ import annotations

from dataclasses import dataclass

from ui.equation.rule import OfOne


@dataclass(frozen=True)
class Transpose(OfOne):
    """out[i,j] = source[j,i]."""

    op = "transpose"
