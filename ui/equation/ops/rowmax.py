"""The largest number of each row."""

from __future__ import annotations

from dataclasses import dataclass

from ui.equation.rule import OfOne


@dataclass(frozen=True)
class RowMax(OfOne):
    """out[i,0] = the largest of source[i,·]."""

    op = "rowmax"
