"""The address: what it holds of a parameter, what of that is sound, and what is written into it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui.bench.limits import FRACTIONS, NUMBERS, SWITCHES


def held(key: str, default: Any) -> Any:
    """The value of a bound switch or number before its widget is drawn."""
    if key in st.session_state:
        return st.session_state[key]
    raw = st.query_params.get(key, "")
    if not raw or not sound(key):
        return default
    number = read_number(raw)
    if number is None:
        return raw.lower() == "true"
    return number if key in FRACTIONS else int(number)


def early(key: str, default: int) -> int:
    """A bound number whose field is drawn after it is needed: on a first run it still stands in the address only."""
    if key in st.session_state:
        return int(st.session_state[key])
    raw = st.query_params.get(key, "")
    low, high = NUMBERS[key]
    return int(raw) if raw.isascii() and raw.isdecimal() and low <= int(raw) <= high else default


def arrived(key: str) -> bool:
    """Whether the address holds another value of `key` than we last wrote: a link was opened, or Back was pressed.

    A link of the menu takes what we wrote out of the address, the language included; such an address says nothing. Nor
    does one that the browser sent before ours had reached it: it holds what we wrote before, and comes with something
    that was done on the page, which Back does not.
    """
    written = st.session_state.setdefault("_written", {})
    before = st.session_state.setdefault("_before", {})
    value = st.query_params.get(key, "")
    if key in written and (written[key] == value or "lang" not in st.query_params):
        if written[key] == value:
            before.pop(key, None)
        return False
    if value in before.get(key, ()) and _acted():
        return False
    written[key] = value
    before.pop(key, None)
    return True


def _acted() -> bool:
    """Whether something on the page was changed since the last run; a button that springs back is no change."""
    last = st.session_state.get("_widgets", {})
    return any(value != last.get(key) for key, value in _widgets().items() if value is not False or key not in last)


def _widgets() -> dict[str, Any]:
    return {str(key): value for key, value in st.session_state.items() if not str(key).startswith("_")}


def sound(key: str) -> bool:
    """Whether the address holds nothing for a bound widget, or something that the widget can take."""
    value = st.query_params.get(key, "")
    if not value:
        return True
    if key in SWITCHES:
        return value.lower() in ("true", "false")
    number, (low, high) = read_number(value), FRACTIONS.get(key) or NUMBERS[key]
    return number is not None and (key in FRACTIONS or number.is_integer()) and low <= number <= high


def drop(keys: Sequence[str]) -> None:
    """Take parameters out of the address before a bound widget reads them: some, 1e400 among them, Streamlit would fail
    on. Its public interface has no way to do so."""
    context = get_script_run_ctx()
    assert context is not None
    with context.session_state.query_params() as parameters:
        for key in keys:
            parameters.remove_param(key)
        parameters.set_initial_query_params_from_current()


def announce(numbers: Mapping[str, int]) -> None:
    """Put numbers of bound widgets into the address; Streamlit does so only for a widget that was drawn before. They
    reach the browser with the next write."""
    context = get_script_run_ctx()
    assert context is not None
    with context.session_state.query_params() as parameters:
        for key, value in numbers.items():
            parameters.set_with_no_forward_msg(key, str(value))
        parameters.set_initial_query_params_from_current()


def write(wanted: Mapping[str, str]) -> None:
    """Put values into the address, in one step of the browser's history; an empty one takes its key out."""
    written = st.session_state.setdefault("_written", {})
    before = st.session_state.setdefault("_before", {})
    for key, value in wanted.items():
        if written.get(key, "") != value:
            before[key] = [*before.get(key, []), written.get(key, "")]
    written.update(wanted)
    st.session_state["_widgets"] = _widgets()
    for key in wanted:
        if not wanted[key] and key in st.query_params:
            del st.query_params[key]
    changed = {key: value for key, value in wanted.items() if value and st.query_params.get(key) != value}
    if changed:
        st.query_params.update(changed)


def read_number(text: str) -> float | None:
    """A typed number, with a hyphen or a minus sign; None for anything that is no finite number."""
    try:
        value = float(text.strip().replace("\u2212", "-"))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
