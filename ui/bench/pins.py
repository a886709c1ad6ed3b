"""What the browser sends besides edits: the pinned cell, windows on long axes, the order of the tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from ui.bench.location import acted
from ui.bench.parameters import Parameter
from ui.bench.session import Cell, session
from ui.components.permutation import read_order
from ui.equation import MAX_SIDE, Frame, Pin, Switch, read_flips, read_pin, read_window


def pin_for(frames: Sequence[Frame], telling: Pin | None) -> Pin | None:
    """The pinned cell if it is on this page, else the cell that the page opens with; None once it was let go."""
    bench = session().bench
    if bench.unpinned:
        return None
    return (None if bench.pin is None else read_pin(bench.pin._asdict(), frames)) or telling


def pin_taker(key: str, frames: Sequence[Frame]) -> Callable[[], None]:
    """A callback that takes the cell pinned in the equation `key`."""

    def take() -> None:
        acted()
        pin = read_pin(st.session_state[key].get("pin"), frames)
        _put(Cell(pin.id, pin.row, pin.col) if pin else None)

    return take


def _put(cell: Cell | None) -> None:
    bench = session().bench
    bench.pin, bench.unpinned = cell, cell is None


def place_for(id: str, sizes: Sequence[int], telling: tuple[int, int] | None) -> tuple[int, int] | None:
    """The place (row, column) pinned in the view `id`, which is no equation: row r has the columns 0 to sizes[r]; else
    the place that the page opens with; None once it was let go."""
    bench, pin = session().bench, session().bench.pin
    if bench.unpinned:
        return None
    if pin is not None and pin.id == id and pin.row < len(sizes) and pin.col <= sizes[pin.row]:
        return pin.row, pin.col
    return telling


def place_taker(key: str, id: str, sizes: Sequence[int]) -> Callable[[], None]:
    """A callback that takes the place pinned in the view `key`, a pair or None."""

    def take() -> None:
        acted()
        raw = st.session_state[key].get("place")
        pair = raw if isinstance(raw, list) and [type(part) for part in raw] == [int, int] else []
        sound = bool(pair) and 0 <= pair[0] < len(sizes) and 0 <= pair[1] <= sizes[pair[0]]
        _put(Cell(id, *pair) if sound else None)

    return take


def window(letter: str, total: int, first: int = 0, most: int = MAX_SIDE) -> tuple[int, int] | None:
    """(first, count) of the part of an axis of `total` entries that is sent, at most `most`; None where all of it is.
    It begins at `first` until it is moved."""
    most = min(most, MAX_SIDE)
    if total <= most:
        return None
    return min(session().bench.windows.get(letter, first), total - most), most


def window_taker(key: str, frames: Sequence[Frame]) -> Callable[[], None]:
    """A callback that takes the windows that the equation `key` asks for."""

    def take() -> None:
        acted()
        found = read_window(st.session_state[key].get("window"), frames)
        session().bench.windows |= found or {}

    return take


def switch_taker(key: str, switches: Sequence[tuple[Switch, Parameter[Any]]]) -> Callable[[], None]:
    """A callback that takes the switches thrown in the equation `key`, each into its parameter."""
    parameters = {switch.key: parameter for switch, parameter in switches}

    def take() -> None:
        acted()
        drawn = session().equation(key)
        for flip in read_flips(st.session_state[key].get("switched"), [switch for switch, _parameter in switches]):
            if flip.seq > drawn.flipped:
                drawn.flipped = flip.seq
                parameters[flip.key].put(parameters[flip.key].read(flip.code))

    return take


def flipped(key: str) -> int:
    """The last thrown switch of the equation `key` that was taken over."""
    return session().equation(key).flipped


def order(opening: Sequence[int]) -> tuple[int, ...]:
    """The order that the learner chose, if it is one of that many tokens; else the one that the page opens with."""
    held = session().bench.order
    return held if held is not None and len(held) == len(opening) else tuple(opening)


def order_taker(key: str, count: int) -> Callable[[], None]:
    """A callback that takes the order chosen in the component `key`."""

    def take() -> None:
        acted()
        found = read_order(st.session_state[key].get("order"), count)
        if found is not None:
            session().bench.order = found

    return take
