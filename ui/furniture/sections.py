"""Folded sections of a page, and what they keep of slow experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import streamlit as st

P = ParamSpec("P")
R = TypeVar("R")


def folded(title: str, key: str, body: Callable[[], None]) -> None:
    """A section that is computed only once it is opened."""
    section = st.expander(title, key=f"open-{key}", on_change="rerun")
    if section.open:
        with section:
            body()


def cached(function: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
    """The result of a slow function of a module, kept for all sessions under its name and arguments."""
    found: R = _kept(function, function.__module__, function.__qualname__, *arguments, **named)
    return found


@st.cache_data(show_spinner=False, max_entries=64)
def _kept(_function: Callable[..., Any], module: str, name: str, *arguments: Any, **named: Any) -> Any:
    return _function(*arguments, **named)
