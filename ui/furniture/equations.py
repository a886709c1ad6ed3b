"""An equation on a page: the component joined to the bench, so that edits and pins are kept and shared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from core.comparison import Comparison
from ui import bench as bench_module
from ui.bench import Bench
from ui.equation import Difference, Frame, Pin, Rule, Wiring, default_strings, equation
from ui.equation.views import View
from ui.shell import i18n
from ui.shell.i18n import _
from ui.sources import Resolved


def drawn(
    frames: Sequence[Frame], rules: Sequence[Rule], *, key: str, bench: Bench, resolved: Resolved, view: View,
    telling: Pin | None, hidden: Sequence[tuple[str, int, int]] = (), pinning: bool = True,
    wiring: Wiring | None = None,
) -> Pin | None:
    """Draw frames and rules with the bench's edits, and return the pinned cell.

    `telling` is pinned while the learner has not chosen another; `hidden` lists cells (frame id, row, column) that
    show "?". With `pinning` off the equation keeps its pin to itself.
    """
    frames = [replace(frame, hidden=[(row, col) for id, row, col in hidden if id == frame.id]) for frame in frames]
    at = bench_module.revision(key, bench.source, bench.scope, bench.seed, view.layer, *view.place)
    pin = bench_module.pin_for(frames, telling) if pinning else None
    equation(
        frames, rules, key=key, decimals=bench.decimals, strings=default_strings(_), pin=pin,
        edits=bench_module.edits_shown(view.trace, view.trace.edits, frames, view.place), rev=at.rev, since=at.since,
        seq=at.seq, hidden_note=_("Answer or skip the question first."), wiring=wiring,
        on_edits_change=bench_module.edits_taker(key, resolved.scope, view.trace, frames, view.place),
        on_pin_change=bench_module.pin_taker(key, frames) if pinning else None,
        on_window_change=bench_module.window_taker(key, frames))
    return pin


def beside(view: View, result: Comparison, name: str, *, key: str, bench: Bench, batch: int, head: int) -> None:
    """What is right of the tensor `name`, what the wrong way makes of it, and the difference, on one scale; `head` is
    that of the tensor."""
    if result.wrong is None or result.difference is None:
        return
    right, wrong, difference = (tensor[batch, head].detach().float().cpu().numpy()
                                for tensor in (result.right, result.wrong, result.difference))
    bound = float(np.abs(np.concatenate([right, wrong])).max())
    symbol = i18n.symbol(name)
    parts = (("wrong", "", _("wrong {symbol}"), wrong), ("right", "", _("right {symbol}"), right),
             ("difference", _("wrong − right ="), _("difference"), difference))
    frames = [replace(view.frame(id, name, sign=sign), name=id, label=label.format(symbol=symbol), values=values,
                      shade=(-bound, bound), cut=False) for id, sign, label, values in parts]
    equation(frames, [Difference("difference", "wrong", "right")], key=key, decimals=bench.decimals,
             strings=default_strings(_))
