"""What the browser sends besides edits: the pinned cell, windows on long axes, the order of the tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from ui.bench.limits import UNPINNED
from ui.components.permutation import read_order
from ui.equation import MAX_SIDE, Frame, Pin, read_pin, read_window


def pin_for(frames: Sequence[Frame], telling: Pin | None) -> Pin | None:
    """The pinned cell if it is on this page, else the cell that the page opens with; None once it was let go."""
    raw = st.session_state.get("_pin")
    if raw == UNPINNED:
        return None
    return read_pin(raw, frames) or telling


def pin_taker(key: str, frames: Sequence[Frame]) -> Callable[[], None]:
    """A callback that takes the cell pinned in the equation `key`."""

    def take() -> None:
        pin = read_pin(st.session_state[key].get("pin"), frames)
        st.session_state["_pin"] = {"id": pin.id, "row": pin.row, "col": pin.col} if pin else UNPINNED

    return take


def place_for(id: str, sizes: Sequence[int], telling: tuple[int, int] | None) -> tuple[int, int] | None:
    """The place (row, column) pinned in the view `id`, which is no equation: row r has the columns 0 to sizes[r]; else
    the place that the page opens with; None once it was let go."""
    raw = st.session_state.get("_pin")
    if raw == UNPINNED:
        return None
    if isinstance(raw, dict) and raw["id"] == id and raw["row"] < len(sizes) and raw["col"] <= sizes[raw["row"]]:
        return raw["row"], raw["col"]
    return telling


def place_taker(key: str, id: str, sizes: Sequence[int]) -> Callable[[], None]:
    """A callback that takes the place pinned in the view `key`, a pair or None."""

    def take() -> None:
        raw = st.session_state[key].get("place")
        pair = raw if isinstance(raw, list) and [type(part) for part in raw] == [int, int] else []
        sound = bool(pair) and 0 <= pair[0] < len(sizes) and 0 <= pair[1] <= sizes[pair[0]]
        st.session_state["_pin"] = {"id": id, "row": pair[0], "col": pair[1]} if sound else UNPINNED

    return take


def window(letter: str, total: int, first: int = 0, most: int = MAX_SIDE) -> tuple[int, int] | None:
    """(first, count) of the part of an axis of `total` entries that is sent, at most `most`; None where all of it is.
    It begins at `first` until it is moved."""
    most = min(most, MAX_SIDE)
    if total <= most:
        return None
    return min(st.session_state.get("_window", {}).get(letter, first), total - most), most


def window_taker(key: str, frames: Sequence[Frame]) -> Callable[[], None]:
    """A callback that takes the windows that the equation `key` asks for."""

    def take() -> None:
        found = read_window(st.session_state[key].get("window"), frames)
        st.session_state["_window"] = st.session_state.get("_window", {}) | (found or {})

    return take


def order(opening: Sequence[int]) -> tuple[int, ...]:
    """The order that the learner chose, if it is one of that many tokens; else the one that the page opens with."""
    held = st.session_state.get("_order")
    return held if held is not None and len(held) == len(opening) else tuple(opening)


def order_taker(key: str, count: int) -> Callable[[], None]:
    """A callback that takes the order chosen in the component `key`."""

    def take() -> None:
        found = read_order(st.session_state[key].get("order"), count)
        if found is not None:
            st.session_state["_order"] = found

    return take
