"""Keys for the previous and the next page: none that type, scroll a field or move in a grid."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

PREVIOUS, NEXT = "Alt+PageUp", "Alt+PageDown"

_keys = st.components.v2.component("page_keys", js=(Path(__file__).parent / "page_keys.js").read_text("utf-8"))


def listen(slug: str) -> None:
    """Let the keys follow the links in the header of the page of that slug; in the presenter's view without Alt too."""
    _keys(key="page-keys", data={"slug": slug})
