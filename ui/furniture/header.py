"""The head of a page: its title, the question that it answers, the pages before and after it, the presenter switch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from core.config import ModelConfig
from ui.bench import choices
from ui.shell import navigation
from ui.shell.i18n import _
from ui.shell.syllabus import stage, way

_PRESENTER_CSS = (Path(__file__).parent / "presenter.css").read_text("utf-8")


def page_header(slug: str, built: Mapping[str, Any], model: ModelConfig) -> None:
    """Title, the question that the page answers, the pages before and after it on the way through that model, and the
    answer in words."""
    here, before_after = stage(slug), way(slug, built, model)
    with st.container(horizontal=True, vertical_alignment="center", key="page-header"):
        st.header(_(here.title), anchor=False)
        st.markdown(f"*{_(here.question)}*")
        links = (("‹ {title}", before_after.before, navigation.PREVIOUS),
                 ("{title} ›", before_after.after, navigation.NEXT))
        for arrow, other, key in links:
            if other is not None:
                st.page_link(built[other.slug], label=arrow.format(title=_(other.title)),
                             help=_("Key: {key}").format(key=key))
        presenter_switch()
        navigation.listen(slug)
    with st.container(key="lead"):
        st.markdown(_(here.lead))


def foot(slug: str, built: Mapping[str, Any], model: ModelConfig) -> None:
    """The sentence that leads to the next page, and the link."""
    following = way(slug, built, model).after
    if following is not None:
        with st.container(horizontal=True, vertical_alignment="center", key="page-foot"):
            st.markdown(_(following.bridge))
            st.page_link(built[following.slug], label=f"{_(following.title)} ›")


def presenter_switch() -> None:
    """Large type and no sidebar; the switch stays on the page, so that it can be turned off again."""
    if choices.PRESENTER.draw(
            _("Presenter"), help=_("Large type and no sidebar, for a projector; PageUp and PageDown change the page.")):
        st.html(f"<style>{_PRESENTER_CSS}</style>")
