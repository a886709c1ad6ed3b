"""The edits of the session: every scope's, those of a slice on screen, and what the browser sends of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from core import derive
from core.trace import Index, Trace
from ui.bench import address
from ui.equation import Edits, Frame, read_edits


def all_edits() -> address.ScopedEdits:
    """The edits of every scope."""
    edits: address.ScopedEdits = st.session_state.setdefault("_edits", {})
    return edits


def replace_edits(edits: address.ScopedEdits) -> None:
    """Put other edits in the place of all that there are."""
    st.session_state["_edits"] = edits
    replaced()


def discard_edits(scope: str, name: str | None = None) -> None:
    """Take back the edits of a scope, or of one tensor in it."""
    edits = all_edits()
    if name is None:
        edits.pop(scope, None)
    else:
        edits.get(scope, {}).pop(name, None)
    replaced()


def fitting(
    trace: Trace, edits: Mapping[str, Mapping[Index, float]],
) -> tuple[dict[str, dict[Index, float]], list[str]]:
    """Split edits into those of an existing real number in the trace, and labels of the others ("name[1,2]")."""
    fit: dict[str, dict[Index, float]] = {}
    rest: list[str] = []
    for name, cells in edits.items():
        real = name in trace and trace[name].is_floating_point()
        shape = tuple(trace[name].shape) if real else ()
        for index, value in cells.items():
            if len(index) == len(shape) and all(i < n for i, n in zip(index, shape, strict=True)):
                fit.setdefault(name, {})[index] = value
            else:
                rest.append(f"{name}[{','.join(str(i + 1) for i in index)}]")
    return fit, rest


def edits_shown(
    trace: Trace, edits: Mapping[str, Mapping[Index, float]], frames: Sequence[Frame], place: tuple[int, int],
) -> dict[str, dict[str, float]]:
    """Edits as the equation keys them: trace name -> "row,column" of the slice at (batch, head) -> value."""
    shown: dict[str, dict[str, float]] = {}
    for name in {frame.name for frame in frames}:
        for index, value in edits.get(name, {}).items():
            row = index[-2] if len(trace.axes(name)) > 1 else 0
            if derive.full_index(trace, name, *place, row, index[-1]) == index:
                shown.setdefault(name, {})[f"{row},{index[-1]}"] = value
    return shown


def edits_taker(
    key: str, scope: str | None, trace: Trace, frames: Sequence[Frame], place: tuple[int, int],
) -> Callable[[], None]:
    """A callback that takes what the equation `key` says was edited, for the slice (batch, head) that it showed."""

    def take() -> None:
        found = read_edits(st.session_state[key].get("edits"), frames)
        if scope is None or found is None or found.rev != st.session_state.get("_rev", 0):
            return
        st.session_state[f"_seq:{key}"] = found.seq
        _merge(scope, trace, frames, place, found)

    return take


def _merge(scope: str, trace: Trace, frames: Sequence[Frame], place: tuple[int, int], found: Edits) -> None:
    """The component always sends its whole map, so what it does not name was taken back."""
    names = all_edits().setdefault(scope, {})
    shown = edits_shown(trace, names, frames, place)
    for name in {frame.name for frame in frames if frame.editable}:
        cells = names.setdefault(name, {})
        for cell in shown.get(name, {}):
            cells.pop(_full(trace, name, place, cell), None)
        for cell, value in found.map.get(name, {}).items():
            cells[_full(trace, name, place, cell)] = value
        if not cells:
            del names[name]


def _full(trace: Trace, name: str, place: tuple[int, int], cell: str) -> Index:
    row, column = (int(part) for part in cell.split(","))
    return derive.full_index(trace, name, *place, row, column)


def revision(key: str, *context: object) -> tuple[int, int]:
    """(rev, seq) for an equation: rev grows when edits were replaced here or another slice is on screen."""
    if st.session_state.setdefault(f"_context:{key}", context) != context:
        st.session_state[f"_context:{key}"] = context
        replaced()
    return st.session_state.get("_rev", 0), st.session_state.get(f"_seq:{key}", 0)


def replaced() -> None:
    """Note that edits or pin were replaced here, so that the browser takes over what it is sent."""
    st.session_state["_rev"] = st.session_state.get("_rev", 0) + 1
