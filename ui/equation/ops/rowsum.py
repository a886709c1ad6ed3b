"""The sum of each row."""

from __future__ import annotations

from dataclasses import dataclass

from ui.equation.rule import OfOne


@dataclass(frozen=True)
class RowSum(OfOne):
    """out[i,0] = Σ source[i,·]."""

    op = "rowsum"
