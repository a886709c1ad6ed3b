"""Rows turned into weights."""

from __future__ import annotations

from dataclasses import dataclass

from ui.equation.rule import OfOne


@dataclass(frozen=True)
class Softmax(OfOne):
    """out = softmax of source along each row, the row maximum subtracted; a row of −∞ gives zeros."""

    op = "softmax"
    draws = ("softmax",)
