"""An equation on a page: the component joined to the bench, so that edits and pins are kept and shared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from core.mistakes import Comparison
from ui import bench as bench_module
from ui.bench import Bench
from ui.equation import Axis, Difference, Frame, Pin, Rule, default_strings, equation
from ui.i18n import _
from ui.sources import Resolved
from ui.views import View


def drawn(
    frames: Sequence[Frame], rules: Sequence[Rule], *, key: str, bench: Bench, resolved: Resolved, view: View,
    telling: Pin | None, hidden: Sequence[tuple[str, int, int]] = (), pinning: bool = True,
) -> Pin | None:
    """Draw frames and rules with the bench's edits, and return the pinned cell.

    `telling` is pinned while the learner has not chosen another; `hidden` lists cells (frame id, row, column) that
    show "?". With `pinning` off the equation keeps its pin to itself.
    """
    frames = [replace(frame, hidden=[(row, col) for id, row, col in hidden if id == frame.id]) for frame in frames]
    rev, seq = bench_module.revision(key, bench.source, bench.scope, bench.seed, view.layer, *view.place)
    pin = bench_module.pin_for(frames, telling) if pinning else None
    equation(
        frames, rules, key=key, decimals=bench.decimals, strings=default_strings(_), pin=pin,
        edits=bench_module.edits_shown(view.trace, view.trace.edits, frames, view.place), rev=rev, seq=seq,
        hidden_note=_("Answer or skip the question first."),
        on_edits_change=bench_module.edits_taker(key, resolved.scope, view.trace, frames, view.place),
        on_pin_change=bench_module.pin_taker(key, frames) if pinning else None)
    return pin


def compared(view: View, result: Comparison, *, key: str, bench: Bench) -> None:
    """The right matrix, the wrong one and their difference on one scale, as an equation wrong − right = difference."""
    if result.wrong is None or result.difference is None:
        return
    right, wrong, difference = (tensor[view.place].detach().float().cpu().numpy()
                                for tensor in (result.right, result.wrong, result.difference))
    bound = float(np.abs(np.concatenate([right, wrong])).max())
    rows = Axis("T", _("query ↓"), view.labels("T", right.shape[0]))
    cols = Axis("T", _("key →"), view.labels("T", right.shape[1]))
    shared = {"rows": rows, "cols": cols, "role": "score", "shade": (-bound, bound)}
    name = view.name("scaled")
    equation(
        [Frame(id="wrong", name="wrong", label=_("wrong S"), values=wrong, **shared),
         Frame(id="right", name=name, label=_("right S"), values=right, sign="−", **shared),
         Frame(id="difference", name="difference", label=_("difference"), values=difference, sign="=", **shared)],
        [Difference("difference", "wrong", "right")], key=key, decimals=bench.decimals, strings=default_strings(_))
