"""Which heads belong together, as a picture above the frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Wiring:
    """Which KV head each query head reads, from 0: drawn above the frames and linked to the rows of their stacks.
    `notes` stand beside the picture."""

    reads: Sequence[int]
    notes: Sequence[str] = ()

    def payload(self) -> dict[str, Any]:
        """The wiring as the browser reads it."""
        return {"reads": [int(kv) for kv in self.reads], "notes": list(self.notes)}
