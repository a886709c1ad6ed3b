"""An equation on a page: the component joined to the bench, so that edits and pins are kept and shared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from core.comparison import Comparison
from ui import bench as bench_module
from ui.bench import Bench
from ui.bench.parameters import Choice, Whole
from ui.bench.parameters import Switch as Toggle
from ui.equation import Difference, Frame, Pin, Rule, Switch, Variant, Wiring, default_strings, equation
from ui.equation.views import View
from ui.shell import i18n
from ui.shell.i18n import _
from ui.sources import Resolved


class Made(NamedTuple):
    """An equation as one setting of its switches makes it.

    `telling` is pinned while the learner has not chosen another; `hidden` lists cells (frame id, row, column) that show
    "?"; `without` are the keys of the switches that mean nothing in it.
    """

    frames: Sequence[Frame]
    rules: Sequence[Rule]
    telling: Pin | None = None
    hidden: Sequence[tuple[str, int, int]] = ()
    without: Sequence[str] = ()
    wiring: Wiring | None = None

    @property
    def shown(self) -> list[Frame]:
        """The frames with what is hidden in them."""
        if not self.hidden:
            return list(self.frames)
        return [replace(frame, hidden=[(row, col) for id, row, col in self.hidden if id == frame.id])
                for frame in self.frames]


class Control(NamedTuple):
    """A parameter whose control is a switch of the equation: its label, its codes with theirs, the code it has, and
    whether the label is to be read beside it."""

    parameter: Choice | Toggle | Whole
    label: str
    labels: Mapping[str, str]
    code: str
    titled: bool = False

    @property
    def switch(self) -> Switch:
        """What the equation draws."""
        return Switch(self.parameter.key, self.label, self.labels, self.code, self.titled)


def toggle(parameter: Toggle, label: str) -> Control:
    """On or off; like a widget, it takes over what has come in the address, and writes what it is."""
    return Control(parameter, label, {"true": label, "false": label}, parameter.code(parameter.kept()))


def choice(parameter: Choice, label: str, labels: Mapping[str, str]) -> Control:
    """One of several, the parameter's default among them; like a widget, it takes over what has come in the address,
    and writes what it is."""
    return Control(parameter, label, labels, parameter.kept(labels))


def number(parameter: Whole, label: str, numbers: Iterable[int]) -> Control:
    """One of a few numbers; like a widget, it takes over what has come in the address, and writes what it is. Another
    number that came stands among them."""
    value = parameter.kept()
    return Control(parameter, label, {str(one): str(one) for one in sorted({*numbers, value})}, str(value), titled=True)


def standing(parameter: Choice, label: str, labels: Mapping[str, str], code: str) -> Control:
    """A choice of the whole bench, taken over and written with the others; `code` is the one in effect."""
    return Control(parameter, label, labels, code)


def switched(
    controls: Sequence[Control], make: Callable[..., Made], *, key: str, bench: Bench, resolved: Resolved, view: View,
) -> tuple[Made, Pin | None]:
    """Draw what `make` makes of the codes of the controls (key -> code), which stand above it as switches, and return
    it with the pinned cell. What it makes with other codes travels along, as `_others` says."""
    codes = {control.parameter.key: control.code for control in controls}
    made = make(codes)
    travels = bench.source != "live" and not made.hidden  # its matrices are large; what is asked is sent nowhere
    others = _others(controls, codes, made.without) if travels else []
    variants = [(other, make(other)) for other in others]
    return made, _equation(made, key=key, bench=bench, resolved=resolved, view=view, controls=controls,
                           variants=variants)


_FEW = 4  # settings of all switches together; of more, those travel along in which one is thrown


def _others(
    controls: Sequence[Control], codes: Mapping[str, str], without: Sequence[str],
) -> list[Mapping[str, str]]:
    """The settings whose equations travel along."""
    every = [dict(zip(codes, setting, strict=True)) for setting in product(*(one.labels for one in controls))]
    if len(every) <= _FEW:
        return [setting for setting in every if setting != codes]
    return [{**codes, control.parameter.key: code} for control in controls if control.parameter.key not in without
            for code in control.labels if code != control.code]


def drawn(
    frames: Sequence[Frame], rules: Sequence[Rule], *, key: str, bench: Bench, resolved: Resolved, view: View,
    telling: Pin | None, hidden: Sequence[tuple[str, int, int]] = (), pinning: bool = True,
    wiring: Wiring | None = None,
) -> Pin | None:
    """Draw frames and rules with the bench's edits, and return the pinned cell; the rest as in `Made`. With `pinning`
    off the equation keeps its pin to itself."""
    return _equation(Made(frames, rules, telling, hidden, wiring=wiring), key=key, bench=bench, resolved=resolved,
                     view=view, pinning=pinning)


def _equation(
    made: Made, *, key: str, bench: Bench, resolved: Resolved, view: View, pinning: bool = True,
    controls: Sequence[Control] = (), variants: Sequence[tuple[Mapping[str, str], Made]] = (),
) -> Pin | None:
    """The component, joined to the bench; its callbacks know what all variants hold."""
    def edits_of(frames: Sequence[Frame]) -> Mapping[str, Mapping[str, float]]:
        return bench_module.edits_shown(view.trace, view.trace.edits, frames, view.place)

    frames = made.shown
    packed = [Variant(codes, one.shown, one.rules, bench_module.pin_for(one.shown, one.telling), edits_of(one.shown),
                      one.wiring, one.without) for codes, one in variants]
    every = [*frames, *(frame for one in packed for frame in one.frames)]
    at = bench_module.revision(key, bench.source, bench.scope, bench.seed, view.layer, *view.place)
    pin = bench_module.pin_for(frames, made.telling) if pinning else None
    switches = [control.switch for control in controls]
    equation(
        frames, made.rules, key=key, decimals=bench.decimals, strings=default_strings(_), pin=pin,
        edits=edits_of(frames), rev=at.rev, since=at.since, seq=at.seq,
        hidden_note=_("Answer or skip the question first."), wiring=made.wiring, switches=switches, variants=packed,
        without=made.without, flipped=bench_module.flipped(key),
        on_edits_change=bench_module.edits_taker(key, resolved.scope, view.trace, every, view.place),
        on_pin_change=bench_module.pin_taker(key, every) if pinning else None,
        on_window_change=bench_module.window_taker(key, frames),
        on_switched_change=bench_module.switch_taker(
            key, [(switch, control.parameter) for switch, control in zip(switches, controls, strict=True)]))
    return pin


def beside(view: View, result: Comparison, name: str, *, key: str, bench: Bench, batch: int, head: int) -> None:
    """What is right of the tensor `name`, what the wrong way makes of it, and the difference, on one scale; `head` is
    that of the tensor, where it tells heads apart."""
    if result.wrong is None or result.difference is None:
        return
    right, wrong, difference = (tensor[(batch, head)[:tensor.ndim - 2]].detach().float().cpu().numpy()
                                for tensor in (result.right, result.wrong, result.difference))
    bound = float(np.abs(np.concatenate([right, wrong])).max())
    symbol = i18n.symbol(name)
    parts = (("wrong", "", _("wrong {symbol}"), wrong), ("right", "", _("right {symbol}"), right),
             ("difference", _("wrong − right ="), _("difference"), difference))
    frames = [replace(view.frame(id, name, sign=sign), name=id, label=label.format(symbol=symbol), values=values,
                      shade=(-bound, bound), cut=False) for id, sign, label, values in parts]
    equation(frames, [Difference("difference", "wrong", "right")], key=key, decimals=bench.decimals,
             strings=default_strings(_))
