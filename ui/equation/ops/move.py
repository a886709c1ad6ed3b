"""A reshape, a view or a transpose: the same numbers in another shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ui.equation.rule import OfOne


@dataclass(frozen=True)
class Move(OfOne):
    """out holds the numbers of source in another shape. Without `swapped` they keep their order in memory: a reshape,
    or a view. `swapped` (n, m, w) are the sizes of source as three axes, of which out has the first two exchanged."""

    op = "move"

    swapped: tuple[int, int, int] | None = None

    def constants(self) -> dict[str, Any]:
        """The sizes of the three axes, if two are exchanged."""
        return {"swapped": list(self.swapped) if self.swapped else None}
