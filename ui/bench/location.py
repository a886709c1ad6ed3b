"""The address: what arrived in it, and what is written into it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui.bench.session import session

_UNDER_WAY = 50  # of what was written before that a browser may still hold


def arrived(key: str) -> bool:
    """Whether the address holds another value of `key` than we last wrote: a link was opened, or Back was pressed.

    A link of the menu takes what we wrote out of the address, the language included; such an address says nothing. Nor
    does one that the browser sent before ours had reached it: it holds what we wrote before, and comes with something
    that was done on the page, which Back does not.
    """
    written, before = session().address.last, session().address.before
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


def in_fragment() -> bool:
    """Whether only a fragment runs: then no link was opened and nobody went back, whatever the address says."""
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)


def _acted() -> bool:
    """Whether something on the page was changed since the last run; a button that springs back is no change."""
    if session().address.acted:
        return True
    last = session().address.widgets
    return any(value != last.get(key) for key, value in _widgets().items() if value is not False or key not in last)


def _widgets() -> dict[str, Any]:
    return {str(key): value for key, value in st.session_state.to_dict().items() if not str(key).startswith("_")}


def unchecked() -> dict[str, str]:
    """What stands in the address that did not stand there when this was last asked."""
    now, before = st.query_params.to_dict(), session().address.checked
    session().address.checked = now
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
    held = session().address
    written, before = held.last, held.before
    news = [key for key, value in wanted.items() if written.get(key, "") != value]
    for key in news:
        before[key] = [*before.get(key, []), written.get(key, "")][-_UNDER_WAY:]
    written.update(wanted)
    now = st.query_params.to_dict()
    then = {key: value for key, value in {**now, **wanted}.items() if value or key not in wanted}
    if news or then != now:  # what the browser said may be older than what is on its way to it
        _replace(then)


def _replace(address: Mapping[str, str]) -> None:
    """Put another address in the place of what there is, in one message: a deletion by itself is a step of its own."""
    context = get_script_run_ctx()
    assert context is not None
    with context.session_state.query_params() as parameters:
        parameters.clear_with_no_forward_msg(preserve_embed=True)
        for key, value in address.items():
            parameters.set_with_no_forward_msg(key, value)
    st.query_params.update({})  # says so to the browser


def note_widgets() -> None:
    """Keep what the widgets hold when a run has written all, to tell later whether something was done."""
    session().address.widgets = _widgets()
    session().address.acted = False


def acted() -> None:
    """Note that something on the page was done in this run: a button pressed twice in a row tells nothing new, and what
    a component holds is one object that changes with it."""
    session().address.acted = True


def read_number(text: str) -> float | None:
    """A typed number, with a hyphen or a minus sign; None for anything that is no finite number."""
    try:
        value = float(text.strip().replace("\u2212", "-"))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
