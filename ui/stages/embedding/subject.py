"""What the embedding page is about: rows looked up, with positions of a kind."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.stages.embedding.rows import Placed
from ui.equation import Pin
from ui.equation.views import View
from ui.furniture.page import Subject
from ui.shell import frame


@dataclass
class Embedded(Subject):
    """The rows of a batch entry: `placed` are they with the chosen positions, `window` (first, count) is the part of D
    that is sent, `pin` which cell is spoken of."""

    placed: Placed = field(init=False)
    window: tuple[int, int] | None = None
    pin: Pin | None = None


def subject() -> Embedded:
    """What the bench selects; embedding knows no layers and no heads."""
    bench, resolved = frame.look()
    view = View(resolved.trace, layer=0, batch=bench.batch, head=0, editable=resolved.scope is not None)
    return Embedded(bench, resolved, view)
