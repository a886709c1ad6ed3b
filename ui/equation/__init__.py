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

from ui.equation.answers import EditMap, Edits, EquationState, Pin, read_edits, read_pin, read_window
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
from ui.equation.wiring import Wiring
from ui.theme import role_css

__all__ = [
    "FILES", "MAX_SIDE", "Add", "Append", "Axis", "Cos", "Difference", "Divide", "EditMap", "Edits", "EquationState",
    "Exp", "Frame", "Grouped", "Lookup", "Matmul", "Move", "Multiply", "Pin", "Rotate", "RowMax", "RowSum", "Rule",
    "Scale", "Sin", "Softmax", "Stack", "Transpose", "Wiring", "build_payload", "default_strings", "equation", "joined",
    "read_edits", "read_pin", "read_window", "send_program",
]

# One module is all that a component may have, so the files are joined; their functions share one scope. A component's
# code travels again with every change of its data: so the program is a component of its own, which has none.
_MODULES = ("numbers", "dom", "rotation", "frames", "lookup", "reshape", "fit", "draw", "map", "point", "wiring",
            "dock", "change", "steps", "svg", "save", "events", "equation")
_HERE = Path(__file__).parent
FILES = _HERE / "svg.js"  # of use to other components too


def joined(*files: Path) -> str:
    """Files of a component without comment lines, indentation and imports of one another."""
    text = "\n".join(file.read_text("utf-8") for file in files)
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("//", "import ")))


_COMPONENT = st.components.v2.component(
    "equation",
    html='<div class="equation">\n</div>',
    css=role_css(":host, .equation") + joined(_HERE / "equation.css", _HERE / "heads.css"),
    js=joined(_HERE / "mount.js"),
)
_PROGRAM = st.components.v2.component("equation_program", js=joined(*(_HERE / f"{name}.js" for name in _MODULES)))


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
    wiring: Wiring | None = None,
) -> dict[str, Any]:
    """The JSON sent to the browser. Raises ValueError if two frames share an id or a rule does not fit them."""
    ids = [frame.id for frame in frames]
    if len(set(ids)) != len(ids):
        raise ValueError(f"frame ids are not unique: {ids}")
    shapes = {frame.id: frame.values.shape for frame in frames}
    for rule in rules:
        operation(rule.op)
        rule.check(shapes)
    return {
        "v": 1,
        "rev": rev,
        "seq": seq,
        "frames": [frame.payload() for frame in frames],
        "rules": [rule.payload() for rule in rules],
        "decimals": decimals,
        "pin": {"id": pin.id, "row": pin.row, "col": pin.col} if pin else None,
        "edits": {name: {cell: float(v) for cell, v in cells.items()} for name, cells in edits.items()},
        "hidden_note": hidden_note,
        "wiring": wiring.payload() if wiring else None,
        "strings": dict(strings),
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
    seq: int = 0,
    hidden_note: str = "",
    wiring: Wiring | None = None,
    on_edits_change: Callable[[], None] | None = None,
    on_pin_change: Callable[[], None] | None = None,
    on_window_change: Callable[[], None] | None = None,
) -> EquationState:
    """Draw an equation and return what the learner did to it.

    The values of the frames already contain `edits`, which only mark the cells. `rev` must change whenever Python
    replaces the edits or the pin itself; `seq` is that of the edits last read. In a callback the raw state is
    `st.session_state[key]["edits"]`, `["pin"]` and `["window"]`, for `read_edits`, `read_pin` and `read_window`. A
    window that is asked for should come with the next run; what is on screen stays until then.
    """
    result = _COMPONENT(
        key=key,
        data=build_payload(
            frames,
            rules,
            decimals=decimals,
            strings=strings if strings is not None else default_strings(str),
            pin=pin,
            edits=edits or {},
            rev=rev,
            seq=seq,
            hidden_note=hidden_note,
            wiring=wiring,
        ),
        on_edits_change=on_edits_change or _nothing,
        on_pin_change=on_pin_change or _nothing,
        on_window_change=on_window_change or _nothing,
    )
    return EquationState(read_edits(result.get("edits"), frames), read_pin(result.get("pin"), frames),
                         read_window(result.get("window"), frames))


def _nothing() -> None:
    """A state without a callback would not be reported."""
