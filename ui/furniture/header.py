"""The head of a page: its title, the question that it answers, the pages before and after it, the presenter switch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from ui.bench import choices
from ui.shell import navigation
from ui.shell.i18n import _
from ui.shell.syllabus import STAGES, stage

_PRESENTER_CSS = (Path(__file__).parent / "presenter.css").read_text("utf-8")


def page_header(slug: str, built: Mapping[str, Any]) -> None:
    """Title, the question that the page answers, and the pages before and after it; those to come are not links."""
    here = stage(slug)
    with st.container(horizontal=True, vertical_alignment="center", key="page-header"):
        st.header(_(here.title), anchor=False)
        st.markdown(f"*{_(here.question)}*")
        place = STAGES.index(here)
        previous, following = STAGES[place - 1], STAGES[(place + 1) % len(STAGES)]
        links = (("‹ {title}", previous, navigation.PREVIOUS), ("{title} ›", following, navigation.NEXT))
        for arrow, other, key in links:
            label = arrow.format(title=_(other.title))
            if other.slug in built:
                st.page_link(built[other.slug], label=label, help=_("Key: {key}").format(key=key))
            else:
                st.caption(_("{label} (to come)").format(label=label))
        presenter_switch()
        navigation.listen(slug)


def presenter_switch() -> None:
    """Large type and no sidebar; the switch stays on the page, so that it can be turned off again."""
    if choices.PRESENTER.draw(
            _("Presenter"), help=_("Large type and no sidebar, for a projector; PageUp and PageDown change the page.")):
        st.html(f"<style>{_PRESENTER_CSS}</style>")
