"""What the app adds to the browser's own ways through it: keys for the previous and the next page, none of which types,
scrolls a field or moves in a grid; one Back for each link that was followed; and places that scroll are reached by key.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

PREVIOUS, NEXT = "Alt+PageUp", "Alt+PageDown"

_navigation = st.components.v2.component("navigation", js=(Path(__file__).parent / "navigation.js").read_text("utf-8"))


def listen(slug: str) -> None:
    """Let keys follow the links in the header of the page of that slug, in the presenter's view without Alt too, and
    one Back lead away from it."""
    _navigation(key="navigation", data={"slug": slug})
