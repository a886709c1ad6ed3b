"""A product for each head, several heads reading the same matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ui.equation.rule import OfTwo


@dataclass(frozen=True)
class Grouped(OfTwo):
    """A product for each head, all of them stacked: out[(h,i),j] = Σ left[(h,i),d]·right[(h ÷ group,d),j]. `rows` is
    how many rows each head has in left and out; `group` heads in turn read the same matrix of right."""

    op = "grouped"

    rows: int
    group: int

    def constants(self) -> dict[str, Any]:
        """The sizes that say which rows belong together."""
        return {"rows": self.rows, "group": self.group}
