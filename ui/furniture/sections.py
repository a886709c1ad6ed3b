"""Folded sections of a page, and what they keep of slow experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st


def folded(title: str, key: str, body: Callable[[], None]) -> None:
    """A section that is computed only once it is opened."""
    section = st.expander(title, key=f"open-{key}", on_change="rerun")
    if section.open:
        with section:
            body()


@st.cache_data(show_spinner=False, max_entries=64)
def cached(_function: Callable[..., Any], name: str, *arguments: Any) -> Any:
    """The result of a slow function of `core`, kept for all sessions under its name and arguments."""
    return _function(*arguments)
