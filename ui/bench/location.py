"""The address: what arrived in it, and what is written into it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx


def arrived(key: str) -> bool:
    """Whether the address holds another value of `key` than we last wrote: a link was opened, or Back was pressed.

    A link of the menu takes what we wrote out of the address, the language included; such an address says nothing.
    """
    written = st.session_state.setdefault("_written", {})
    value = st.query_params.get(key, "")
    if key in written and (written[key] == value or "lang" not in st.query_params):
        return False
    written[key] = value
    return True


def unchecked() -> dict[str, str]:
    """What stands in the address that did not stand there when this was last asked."""
    now = st.query_params.to_dict()
    before = st.session_state.get("_checked", {})
    st.session_state["_checked"] = now
    return {key: value for key, value in now.items() if before.get(key) != value}


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
    st.session_state.setdefault("_written", {}).update(wanted)
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
