"""Controls that are more than one parameter: the step of a run, the sizes of the toy and of the source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import streamlit as st

from core.toy import LIMITS
from ui.bench.choices import AT, MADE, SIZES, SOURCE
from ui.bench.limits import SIZE_LETTERS
from ui.bench.location import write
from ui.bench.state import choose


def pick(
    label: str, labels: Mapping[str, str], current: str, take: Callable[[str], None], *, key: str,
    widget: Callable[..., Any] = st.selectbox, **more: Any,
) -> None:
    """A choice that shows `current` and, when another is picked, hands that to `take` before the next run."""
    def picked() -> None:
        code = st.session_state[f"_{key}"]
        if code in labels:  # a browser may say that nothing is chosen, or a label of the language that was left
            take(code)

    st.session_state[f"_{key}"] = current
    widget(label, list(labels), format_func=labels.__getitem__, key=f"_{key}", on_change=picked, **more)


def place_of(label: str, count: int, *, newest: bool, opening: int) -> int | None:
    """Which of `count` things done so far is looked at, from 0, None where there are none: a slider that jumps to the
    last when `newest`. The address holds both, unless it is the last of as many as are done in the beginning."""
    if not count:
        write({MADE.key: "0", AT.key: ""})
        return None
    held = st.session_state.get("_place", count)
    if newest or not 1 <= held <= count:
        held = count
    st.session_state["_place"] = held
    if count > 1:
        held = st.slider(label, min_value=1, max_value=count, step=1, key="_place", label_visibility="collapsed")
    write({MADE.key: str(count) if count != opening else "", AT.key: str(held) if held != count else ""})
    return int(held) - 1


def looked_at() -> int | None:
    """What `place_of` looks at, from 1; None before it was drawn."""
    held = st.session_state.get("_place")
    return held if isinstance(held, int) else None


def look_at(place: int) -> None:
    """Choose what `place_of` looks at, from 1, before it is drawn."""
    st.session_state["_place"] = place


def set_toy(sizes: Mapping[str, int]) -> NoReturn:
    """Make these sizes (axis letter → size) the toy's, and the toy the source."""
    choose({SOURCE.key: "toy", **{one.key: sizes[letter] for letter, one in SIZES.items()}})


def fits_toy(sizes: Mapping[str, int]) -> bool:
    """Whether the toy can be made with these sizes: within its limits, and with heads of width D ÷ H."""
    within = all(low <= sizes[letter] <= high
                 for letter, (low, high) in ((letter, LIMITS[name]) for letter, name in SIZE_LETTERS.items()))
    return within and sizes["D"] == sizes["H"] * sizes["Dh"] and sizes["H"] % sizes["Hkv"] == 0
