"""An equation on a page: the component joined to the bench, so that edits and pins are kept and shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from core.comparison import Comparison
from ui import bench as bench_module
from ui.bench import Bench
from ui.bench.parameters import Choice
from ui.bench.parameters import Switch as Toggle
from ui.equation import Difference, Frame, Pin, Rule, Switch, Variant, Wiring, default_strings, equation
from ui.equation.views import View
from ui.shell import i18n
from ui.shell.i18n import _
from ui.sources import Resolved


class Made(NamedTuple):
    """An equation as one setting of its switches makes it, with what `drawn` takes; `without` are the keys of the
    switches that mean nothing in it."""

    frames: Sequence[Frame]
    rules: Sequence[Rule]
    telling: Pin | None = None
    hidden: Sequence[tuple[str, int, int]] = ()
    without: Sequence[str] = ()
    wiring: Wiring | None = None


class Control(NamedTuple):
    """A parameter whose control is a switch of the equation: its label, and its codes with theirs."""

    parameter: Choice | Toggle
    label: str
    labels: Mapping[str, str]

    @property
    def code(self) -> str:
        """The code of its value."""
        return self.parameter.code(self.parameter.kept())  # type: ignore[arg-type]


def toggle(parameter: Toggle, label: str) -> Control:
    """On or off."""
    return Control(parameter, label, {"true": label, "false": label})


def choice(parameter: Choice, label: str, labels: Mapping[str, str]) -> Control:
    """One of several, of which the parameter's default is there; a code that is not among them means that."""
    if parameter.kept() not in labels:
        parameter.put(parameter.default)
    return Control(parameter, label, labels)


def switched(
    controls: Sequence[Control], make: Callable[..., Made], *, key: str, bench: Bench, resolved: Resolved, view: View,
) -> tuple[Made, Pin | None]:
    """Draw what `make` makes of the codes of the controls (key -> code), which stand above it as switches, and return
    it with the pinned cell. What it makes with one of them thrown travels along."""
    codes = {control.parameter.key: control.code for control in controls}
    made = make(codes)
    switches = [Switch(control.parameter.key, control.label, control.labels, codes[control.parameter.key])
                for control in controls]
    travels = bench.source != "live" and not made.hidden  # its matrices are large; what is asked is sent nowhere
    others = _others(switches, codes, made.without) if travels else []
    variants = [_variant(make(other), other, bench, view) for other in others]
    frames = _with_hidden(made)
    at = bench_module.revision(key, bench.source, bench.scope, bench.seed, view.layer, *view.place)
    pin = bench_module.pin_for(frames, made.telling)
    shown = [*frames, *(frame for one in variants for frame in one.frames)]
    equation(
        frames, made.rules, key=key, decimals=bench.decimals, strings=default_strings(_), pin=pin,
        edits=bench_module.edits_shown(view.trace, view.trace.edits, frames, view.place), rev=at.rev, since=at.since,
        seq=at.seq, hidden_note=_("Answer or skip the question first."), wiring=made.wiring, switches=switches,
        variants=variants, without=made.without, flipped=bench_module.flipped(key),
        on_edits_change=bench_module.edits_taker(key, resolved.scope, view.trace, shown, view.place),
        on_pin_change=bench_module.pin_taker(key, shown),
        on_window_change=bench_module.window_taker(key, frames),
        on_switched_change=bench_module.switch_taker(key, [
            (switch, control.parameter) for switch, control in zip(switches, controls, strict=True)]))
    return made, pin


_FEW = 4  # settings of all switches together; of more, those travel along in which one is thrown


def _others(
    switches: Sequence[Switch], codes: Mapping[str, str], without: Sequence[str],
) -> list[Mapping[str, str]]:
    """The settings whose equations travel along."""
    keys = [switch.key for switch in switches]
    every = [dict(zip(keys, setting, strict=True)) for setting in product(*(switch.options for switch in switches))]
    if len(every) <= _FEW:
        return [setting for setting in every if setting != codes]
    return [{**codes, switch.key: code} for switch in switches if switch.key not in without
            for code in switch.options if code != switch.value]


def _with_hidden(made: Made) -> list[Frame]:
    if not made.hidden:
        return list(made.frames)
    return [replace(frame, hidden=[(row, col) for id, row, col in made.hidden if id == frame.id])
            for frame in made.frames]


def _variant(made: Made, codes: Mapping[str, str], bench: Bench, view: View) -> Variant:
    frames = _with_hidden(made)
    pin = bench_module.pin_for(frames, made.telling)
    return Variant(
        codes, frames, made.rules, {"id": pin.id, "row": pin.row, "col": pin.col} if pin else None,
        bench_module.edits_shown(view.trace, view.trace.edits, frames, view.place), made.wiring, made.without)


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
