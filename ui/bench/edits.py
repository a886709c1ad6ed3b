"""The edits of the session: every scope's, those of a slice on screen, and what the browser sends of them.

A browser sends every change that it has not been told is here, each with the revision on which it was typed. So none is
lost when several come at once, none is put in twice, and one that was typed on a slice goes to that slice even when
another has taken its place meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import streamlit as st

from core import derive
from core.trace import Index, Trace
from ui.bench import address
from ui.equation import Change, Frame, editable, read_edits


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


class Revision(NamedTuple):
    """What an equation is sent about its edits: `rev` grows when edits or the pin were replaced here or another slice
    came on screen, `since` is that of the slice on screen, `seq` the last change that was taken over."""

    rev: int
    since: int
    seq: int


class Slice(NamedTuple):
    """What an equation showed from the revision `since` on. `lead` has for each editable tensor the index before row
    and column, `sizes` its rows and columns; a vector is one row, which is no part of its index."""

    since: int
    scope: str | None
    lead: Mapping[str, Index]
    sizes: Mapping[str, tuple[int, int]]
    vectors: frozenset[str]


_KEPT = 4  # slices of an equation: as many as may go by while a change is on its way


def revision(key: str, *context: object) -> Revision:
    """The revision of the equation `key`; another `context` is another slice."""
    state = st.session_state
    state["_replacing"] = False  # what a browser sends from here on was typed later
    if state.setdefault(f"_context:{key}", context) != context:
        state[f"_context:{key}"] = context
        state["_rev"] = state[f"_since:{key}"] = state.get("_rev", 0) + 1
    return Revision(state.get("_rev", 0), state.get(f"_since:{key}", 0), state.get(f"_seq:{key}", 0))


def edits_taker(
    key: str, scope: str | None, trace: Trace, frames: Sequence[Frame], place: tuple[int, int],
) -> Callable[[], None]:
    """A callback that takes what was typed in the equation `key`, which now shows the slice (batch, head)."""
    sizes = editable(frames)
    shown = Slice(
        st.session_state.get(f"_since:{key}", 0), scope,
        {name: derive.full_index(trace, name, *place, 0, 0)[:len(trace.axes(name)) - 2] for name in sizes
         if len(trace.axes(name)) > 1}, sizes, frozenset(name for name in sizes if len(trace.axes(name)) == 1))
    kept = [one for one in st.session_state.get(f"_slices:{key}", []) if one.since < shown.since]
    st.session_state[f"_slices:{key}"] = [*kept, shown][-_KEPT:]

    def take() -> None:
        _take(key, st.session_state[key].get("edits"))

    return take


def _take(key: str, sent: object) -> None:
    """Put in what was typed since the last change taken over."""
    state = st.session_state
    slices: list[Slice] = state.get(f"_slices:{key}", [])
    changes = read_edits(sent, {name: size for one in slices for name, size in one.sizes.items()}) or []
    for change in changes:
        if change.seq > state.get(f"_seq:{key}", 0):
            state[f"_seq:{key}"] = change.seq
            typed_on = [one for one in slices if one.since <= change.rev <= state.get("_rev", 0)]
            if typed_on and not state.get("_replacing"):
                _put(typed_on[-1], change)


def _put(shown: Slice, change: Change) -> None:
    """One number into a slice, or out of it."""
    rows, cols = shown.sizes.get(change.name, (0, 0))
    if shown.scope is None or change.row >= rows or change.col >= cols:
        return
    vector = change.name in shown.vectors
    index = (change.col,) if vector else (*shown.lead[change.name], change.row, change.col)
    names = all_edits().setdefault(shown.scope, {})
    cells = names.setdefault(change.name, {})
    cells.pop(index, None)
    if change.value is not None:
        cells[index] = change.value
    if not cells:
        del names[change.name]


def replaced() -> None:
    """Note that edits or pin were replaced here, so that the browser takes over what it is sent."""
    st.session_state["_rev"] = st.session_state.get("_rev", 0) + 1
    st.session_state["_replacing"] = True
