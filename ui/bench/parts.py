"""The parts of a page that hold its numbers. They run by themselves: a control that changes numbers only, wherever it
stands, runs these and not the whole page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from ui.bench.session import session


@dataclass
class _Parts:
    keys: list[str] = field(default_factory=list)


def forget() -> None:
    """Begin a run of the whole page, which has no part yet."""
    session().part(_Parts).keys.clear()


def part(key: str, body: Callable[..., None], *arguments: Any, run_every: str | None = None) -> None:
    """Draw a part of the page; `key` is unique on it. With `run_every` it comes again by itself."""
    st.fragment(body, key=key, run_every=run_every)(*arguments)
    session().part(_Parts).keys.append(key)  # not before it stands: a run may be overtaken


def numbers_changed() -> None:
    """The callback of a control that changes numbers only: the parts of the page run, where it has any."""
    keys = session().part(_Parts).keys
    if keys:
        st.rerun(scope=keys)
