"""The widgets, each bound to its place in the address."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from core.toy import LIMITS
from ui.bench.limits import CHOICES, DEFAULT_SIZES, FRACTIONS, MAP_LIMITS, NUMBERS, SIZE_LETTERS
from ui.bench.location import arrived, early, write


def choice(
    widget: Callable[..., Any], label: str, labels: Mapping[str, str], *, key: str, default: str, **more: Any,
) -> str:
    """A choice whose address value is a language-neutral code while its labels are translated."""
    codes = list(labels)
    if arrived(key):
        value = st.query_params.get(key, "")
        st.session_state[key] = value if value in codes else default
    if st.session_state.get(key) not in codes:
        st.session_state[key] = default
    if st.session_state.get(f"_codes:{key}") != codes:
        # The browser knows what is chosen by its place among the options; these are others now.
        st.session_state[key] = st.session_state[key]
        st.session_state[f"_codes:{key}"] = codes
    chosen = widget(label, codes, format_func=dict(labels).get, key=key, **more)
    chosen = chosen if chosen in codes else default
    if key not in CHOICES:
        write({key: "" if chosen == default else chosen})
    return str(chosen)


def own_choice(
    widget: Callable[..., Any], label: str, labels: Mapping[str, str], *, key: str, own: str, **more: Any,
) -> str:
    """As `choice`, for something of which every source has its `own`: until another is picked, that of the source."""
    codes = {"own" if code == own else code: text for code, text in labels.items()}
    chosen = choice(widget, label, codes, key=key, default="own", **more)
    return own if chosen == "own" else chosen


def example_choice(label: str, labels: Mapping[str, str], *, default: str) -> None:
    """The worked example: the page's own until the learner picks one, which then holds on every page."""
    st.session_state["_example"] = st.session_state.get("example") or default

    def take() -> None:
        st.session_state["example"] = st.session_state["_example"]

    st.selectbox(label, list(labels), format_func=dict(labels).get, key="_example", on_change=take)


def mask_choice(label: str, labels: Mapping[str, str], *, default: str) -> str:
    """The kind of mask, which then holds on every page; `default` is what the source has by itself."""
    st.session_state["_mask"] = st.session_state.get("mask") or default

    def take() -> None:
        st.session_state["mask"] = st.session_state["_mask"]

    st.selectbox(label, list(labels), format_func=dict(labels).get, key="_mask", on_change=take)
    return str(st.session_state["_mask"])


def model_choice(label: str, labels: Mapping[str, str]) -> None:
    """The live model; a name that is not among `labels` falls back to the first of them."""
    choice(st.selectbox, label, labels, key="model", default=next(iter(labels)), persist_state="session")


def pick(label: str, labels: Mapping[str, str], current: str, take: Callable[[str], None], *, key: str) -> None:
    """A choice that shows `current` and, when another is picked, hands that to `take` before the next run."""
    st.session_state[f"_{key}"] = current
    st.selectbox(label, list(labels), format_func=dict(labels).get, key=f"_{key}",
                 on_change=lambda: take(st.session_state[f"_{key}"]))


def bias_switch(label: str) -> None:
    """Whether the toy's projections add a bias; holds on every page, though only one shows the switch."""
    st.session_state["_bias"] = st.session_state.get("bias") == "on"

    def take() -> None:
        st.session_state["bias"] = "on" if st.session_state["_bias"] else ""

    st.toggle(label, key="_bias", on_change=take)


def whole_number(label: str, letter: str, low: int, high: int, default: int, *, where: Any = st, **more: Any) -> int:
    """A number field bound to the address under `letter`, kept within its range when the range shrinks."""
    held = st.session_state.get(letter)
    if held is not None and not low <= held <= high:
        st.session_state[letter] = min(max(int(held), low), high)
    # Always the same default: what differs from it is what Streamlit writes into the address.
    value = where.number_input(label, min_value=low, max_value=high, value=min(max(default, low), high), step=1,
                               key=letter, bind="query-params", persist_state="session", **more)
    return int(value if value is not None else default)


def fraction(label: str, key: str, default: float, *, step: float, where: Any = st, **more: Any) -> float:
    """A number field for a real number, bound to the address; its range is that of `FRACTIONS`."""
    low, high = FRACTIONS[key]
    value = where.number_input(label, min_value=low, max_value=high, value=default, step=step, key=key,
                               bind="query-params", persist_state="session", **more)
    return float(value if value is not None else default)


def switch(label: str, key: str, *, on: bool, where: Any = st, **more: Any) -> bool:
    """A toggle bound to the address; `on` is its default."""
    return bool(where.toggle(label, value=on, key=key, bind="query-params", persist_state="session", **more))


def place_of(label: str, count: int, *, newest: bool, opening: int) -> int | None:
    """Which of `count` things done so far is looked at, from 0, None where there are none: a slider that jumps to the
    last when `newest`. The address holds both, unless it is the last of as many as are done in the beginning."""
    if not count:
        write({"made": "0", "at": ""})
        return None
    held = st.session_state.get("_place", count)
    if newest or not 1 <= held <= count:
        held = count
    st.session_state["_place"] = held
    if count > 1:
        held = st.slider(label, min_value=1, max_value=count, step=1, key="_place", label_visibility="collapsed")
    write({"made": str(count) if count != opening else "", "at": str(held) if held != count else ""})
    return int(held) - 1


def look_at(place: int) -> None:
    """Choose what `place_of` looks at, from 1, before it is drawn."""
    st.session_state["_place"] = place


def typed(label: str, key: str, default: str, *, longest: int, where: Any = st, **more: Any) -> str:
    """A short text bound to the address under `key`; emptied, or longer than `longest` characters, it is `default`."""
    held = st.session_state.get(key, st.query_params.get(key, ""))
    if not isinstance(held, str) or len(held) > longest:
        st.session_state[key] = default
    return where.text_input(label, value=default, key=key, bind="query-params", persist_state="session", **more) \
        or default


def slider(label: str, key: str, *, step: int = 1, **more: Any) -> int:
    """A slider bound to the address, over the whole range of `key`, from its lowest number."""
    low, high = NUMBERS[key]
    return int(st.slider(label, min_value=low, max_value=high, value=low, step=step, key=key, bind="query-params",
                         persist_state="session", **more))


def notch(label: str, key: str, options: Sequence[int], default: int, **more: Any) -> int:
    """A slider over a few whole numbers, bound to the address under `key`."""
    return int(st.select_slider(label, options, value=default, key=key, bind="query-params", persist_state="session",
                                **more))


def size_range(letter: str) -> tuple[int, int, int]:
    """Lowest, highest and default value of a toy size."""
    name = SIZE_LETTERS[letter]
    return (*LIMITS[name], getattr(DEFAULT_SIZES, name))


def seed_range() -> tuple[int, int, int]:
    """Lowest, highest and default seed."""
    return (*LIMITS["seed"], 0)


def map_size(letter: str, label: str, default: int, *, where: Any = st, **more: Any) -> int:
    """The field of one of the map's sizes."""
    return whole_number(label, f"m{letter}", *MAP_LIMITS[letter], default, where=where, **more)


def map_held(letter: str, default: int) -> int:
    """One of the map's sizes before its field is drawn."""
    return early(f"m{letter}", default)


def set_map_sizes(sizes: Mapping[str, int]) -> None:
    """Put sizes (axis letter → size) into the map's fields, before these are drawn; each is kept within its limits."""
    for letter, (low, high) in MAP_LIMITS.items():
        if letter in sizes:
            st.session_state[f"m{letter}"] = min(max(sizes[letter], low), high)


def set_toy(sizes: Mapping[str, int]) -> None:
    """Make these sizes (axis letter → size) the toy's, and the toy the source."""
    for letter in SIZE_LETTERS:
        st.session_state[letter] = sizes[letter]
    st.session_state["source"] = "toy"


def fits_toy(sizes: Mapping[str, int]) -> bool:
    """Whether the toy can be made with these sizes: within its limits, and with heads of width D ÷ H."""
    within = all(low <= sizes[letter] <= high
                 for letter, (low, high) in ((letter, LIMITS[name]) for letter, name in SIZE_LETTERS.items()))
    return within and sizes["D"] == sizes["H"] * sizes["Dh"] and sizes["H"] % sizes["Hkv"] == 0
