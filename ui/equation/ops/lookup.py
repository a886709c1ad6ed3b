"""Rows of a table, looked up by number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from core import derive
from ui.equation.rule import Naming, Rule, Shape


@dataclass(frozen=True)
class Lookup(Rule):
    """out[i,j] = table[ids[i],j]; `ids` is a frame of one column, with a row for each of `out`, and counts from 0, or
    as the table's rows do where these have `places`. `note` is the string that says so in the dock."""

    op = "lookup"
    draws = ("lookup",)

    ids: str
    table: str
    note: str = "looked_up"

    def operands(self) -> dict[str, str]:
        """The ids and the table."""
        return {"left": self.ids, "right": self.table}

    def constants(self) -> dict[str, Any]:
        """Which string explains the row."""
        return {"note": self.note}

    def check(self, shapes: Mapping[str, Shape]) -> None:
        """There is an id for each row."""
        super().check(shapes)
        rows = shapes[self.out][0]
        if shapes[self.ids] != (rows, 1):
            raise ValueError(f"ids {shapes[self.ids]} for {rows} rows of {self.out!r}")

    @classmethod
    def drawn(cls, how: derive.Rule, naming: Naming) -> Self:
        """The core names the table first."""
        table, ids = (naming.frames[name] for name in how.operands)
        return cls(naming.frames[how.name], ids, table)
