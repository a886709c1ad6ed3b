"""Pairs of columns turned together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ui.equation.rule import Rule


@dataclass(frozen=True)
class Rotate(Rule):
    """out = source with the columns first[p] and second[p] of each row turned together; `cos` and `sin` are frames
    with a column for each pair, made by `Cos` and `Sin`. Columns of no pair are copied. Clock hands are drawn beside
    it."""

    op = "rotate"

    source: str
    cos: str
    sin: str
    first: Sequence[int]
    second: Sequence[int]

    def operands(self) -> dict[str, str]:
        """What is turned, and by how much."""
        return {"in": self.source, "cos": self.cos, "sin": self.sin}

    def constants(self) -> dict[str, Any]:
        """The columns of each pair."""
        return {"first": list(self.first), "second": list(self.second)}
