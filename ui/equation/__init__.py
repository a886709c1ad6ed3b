"""The equation: an operation drawn with its operands, every cell explained by the cells it was made from.

Python sends frames (what is drawn) and rules (how one frame follows from others); the browser draws, lights,
steps and writes the arithmetic without a round trip, and sends back edits and the pinned cell. Both are treated
as hostile: `read_edits` and `read_pin` keep only what fits the frames.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from ui.equation.answers import Change, EquationState, Pin, editable, read_edits, read_pin, read_window
from ui.equation.frames import MAX_SIDE, Axis, Frame, Stack
from ui.equation.ops import (
    Add,
    Append,
    Cos,
    Difference,
    Divide,
    Exp,
    Grouped,
    Lookup,
    Matmul,
    Move,
    Multiply,
    Rotate,
    RowMax,
    RowSum,
    Scale,
    Sin,
    Softmax,
    Transpose,
    operation,
)
from ui.equation.rule import Rule
from ui.equation.strings import default_strings
from ui.equation.switches import Flip, Switch, Variant, payloads, read_flips
from ui.equation.wiring import Wiring
from ui.shell.bundle import bundle
from ui.shell.theme import role_css

__all__ = [
    "MAX_SIDE", "Add", "Append", "Axis", "Change", "Cos", "Difference", "Divide", "EquationState", "Exp", "Flip",
    "Frame", "Grouped", "Lookup", "Matmul", "Move", "Multiply", "Pin", "Rotate", "RowMax", "RowSum", "Rule", "Scale",
    "Sin", "Softmax", "Stack", "Switch", "Transpose", "Variant", "Wiring", "build_payload", "default_strings",
    "editable", "equation", "read_edits", "read_flips", "read_pin", "read_window", "send_program",
]

_HERE = Path(__file__).parent
_SCRIPTS = _HERE / "js"
# A component's code travels again with every change of its data: so the program is a component of its own, which has
# none, and what each equation carries is a few lines that wait for it.
_COMPONENT = st.components.v2.component(
    "equation",
    html='<div class="equation">\n</div>',
    css=role_css(":host, .equation") + "".join(
        (_HERE / f"{name}.css").read_text("utf-8") for name in ("equation", "heads")),
    js=bundle(_SCRIPTS / "mount.js"),
)
_PROGRAM = st.components.v2.component("equation_program", js=bundle(_SCRIPTS / "equation.js"))


def send_program() -> None:
    """Send what draws the equations of a page, which wait for it; called once in a run, after the page."""
    _PROGRAM(key="equation-program", data={})


def build_payload(
    frames: Sequence[Frame],
    rules: Sequence[Rule],
    *,
    decimals: int,
    strings: Mapping[str, str],
    pin: Pin | None,
    edits: Mapping[str, Mapping[str, float]],
    rev: int,
    seq: int,
    hidden_note: str,
    since: int = 0,
    wiring: Wiring | None = None,
    switches: Sequence[Switch] = (),
    variants: Sequence[Variant] = (),
    without: Sequence[str] = (),
    flipped: int = 0,
) -> dict[str, Any]:
    """The JSON sent to the browser. Raises ValueError if two frames share an id or a rule does not fit them."""
    ids = [frame.id for frame in frames]
    if len(set(ids)) != len(ids):
        raise ValueError(f"frame ids are not unique: {ids}")
    shapes = {frame.id: frame.values.shape for frame in frames}
    for rule in rules:
        operation(rule.op)
        rule.check(shapes)
    packed = [frame.payload() for frame in frames]
    return {
        "v": 1,
        "rev": rev,
        "since": since,
        "seq": seq,
        "frames": packed,
        "rules": [rule.payload() for rule in rules],
        "decimals": decimals,
        "pin": pin.payload() if pin else None,
        "edits": {name: {cell: float(v) for cell, v in cells.items()} for name, cells in edits.items()},
        "hidden_note": hidden_note,
        "wiring": wiring.payload() if wiring else None,
        "strings": dict(strings),
        "switches": [switch.payload() for switch in switches],
        "variants": payloads(variants, frames, packed),
        "without": list(without),
        "flipped": flipped,
    }


def equation(
    frames: Sequence[Frame],
    rules: Sequence[Rule],
    *,
    key: str,
    decimals: int = 3,
    strings: Mapping[str, str] | None = None,
    pin: Pin | None = None,
    edits: Mapping[str, Mapping[str, float]] | None = None,
    rev: int = 0,
    since: int = 0,
    seq: int = 0,
    hidden_note: str = "",
    wiring: Wiring | None = None,
    switches: Sequence[Switch] = (),
    variants: Sequence[Variant] = (),
    without: Sequence[str] = (),
    flipped: int = 0,
    on_edits_change: Callable[[], None] | None = None,
    on_pin_change: Callable[[], None] | None = None,
    on_window_change: Callable[[], None] | None = None,
    on_switched_change: Callable[[], None] | None = None,
) -> EquationState:
    """Draw an equation and return what the learner did to it.

    The values of the frames already contain `edits`, which only mark the cells. `rev` must change whenever Python
    replaces the edits or the pin itself; `since` is the `rev` from which on the frames show the slice that they show
    now, and `seq` that of the last change read: what the browser typed later, on that slice, stays on top of what it is
    sent. In a callback the raw state is `st.session_state[key]["edits"]`, `["pin"]` and `["window"]`, for `read_edits`,
    `read_pin` and `read_window`. A window that is asked for should come with the next run; what is on screen stays
    until then. `switches` stand above the frames; of the `variants` that travel along the browser shows one as soon as
    its switch is thrown, and then reports that as `["switched"]`, for `read_flips`; `flipped` is the last that was
    taken over, and `without` names the switches that mean nothing in the frames sent.
    """
    result = _COMPONENT(
        key=key,
        data=[build_payload(  # in a list: every value of a mapping Streamlit would first take for a table
            frames,
            rules,
            decimals=decimals,
            strings=strings if strings is not None else default_strings(str),
            pin=pin,
            edits=edits or {},
            rev=rev,
            since=since,
            seq=seq,
            hidden_note=hidden_note,
            wiring=wiring,
            switches=switches,
            variants=variants,
            without=without,
            flipped=flipped,
        )],
        on_edits_change=on_edits_change or _nothing,
        on_pin_change=on_pin_change or _nothing,
        on_window_change=on_window_change or _nothing,
        on_switched_change=on_switched_change or _nothing,
    )
    return EquationState(read_edits(result.get("edits"), editable(frames)), read_pin(result.get("pin"), frames),
                         read_window(result.get("window"), frames))


def _nothing() -> None:
    """A state without a callback would not be reported."""
