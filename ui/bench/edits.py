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
from ui.bench.location import acted
from ui.bench.session import ScopedEdits, Slice, session
from ui.equation import Change, Frame, editable, read_edits


def all_edits() -> ScopedEdits:
    """The edits of every scope."""
    return session().bench.edits


def replace_edits(edits: ScopedEdits) -> None:
    """Put other edits in the place of all that there are."""
    session().bench.edits = edits
    session().replaced()


def discard_edits(scope: str, name: str | None = None) -> None:
    """Take back the edits of a scope, or of one tensor in it."""
    edits = all_edits()
    if name is None:
        edits.pop(scope, None)
    else:
        edits.get(scope, {}).pop(name, None)
    session().replaced()


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


_KEPT = 4  # slices of an equation: as many as may go by while a change is on its way


def revision(key: str, *context: object) -> Revision:
    """The revision of the equation `key`; another `context` is another slice."""
    held, drawn = session(), session().equation(key)
    held.replacing = False  # what a browser sends from here on was typed later
    if drawn.context is not None and drawn.context != context:
        held.rev += 1
        drawn.since = held.rev
    drawn.context = context
    return Revision(held.rev, drawn.since, drawn.seq)


def edits_taker(
    key: str, scope: str | None, trace: Trace, frames: Sequence[Frame], place: tuple[int, int],
) -> Callable[[], None]:
    """A callback that takes what was typed in the equation `key`, which now shows the slice (batch, head)."""
    sizes = editable(frames)
    drawn = session().equation(key)
    shown = Slice(
        drawn.since, scope,
        {name: derive.full_index(trace, name, *place, 0, 0)[:len(trace.axes(name)) - 2] for name in sizes
         if len(trace.axes(name)) > 1}, sizes, frozenset(name for name in sizes if len(trace.axes(name)) == 1))
    kept = [one for one in drawn.slices if one.since < shown.since]
    drawn.slices = [*kept, shown][-_KEPT:]

    def take() -> None:
        acted()
        _take(key, st.session_state[key].get("edits"))

    return take


def _take(key: str, sent: object) -> None:
    """Put in what was typed since the last change taken over."""
    held, drawn = session(), session().equation(key)
    slices = drawn.slices
    changes = read_edits(sent, {name: size for one in slices for name, size in one.sizes.items()}) or []
    for change in changes:
        if change.seq > drawn.seq:
            drawn.seq = change.seq
            typed_on = [one for one in slices if one.since <= change.rev <= held.rev]
            if typed_on and not held.replacing:
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
