"""Undo, redo, and back to the example as it was built: buttons, which keys press too."""

from __future__ import annotations

import streamlit as st

from ui.bench import Bench, history
from ui.shell.i18n import _


def buttons(bench: Bench, scope: str | None) -> None:
    """What was edited or chosen last taken back, or done again; nothing as long as nothing was. `scope` is that of the
    edits on screen."""
    history.record(bench)
    if not (history.can_undo() or history.can_redo()) and history.is_reset(bench, scope):
        return
    with st.container(horizontal=True, key="undoing", gap="xxsmall"):
        st.button(_("Undo"), icon=":material/undo:", key="undo", type="tertiary", on_click=history.undo,
                  disabled=not history.can_undo(), help=_("Undo the last edit or choice. Key: Ctrl+Z"))
        st.button(_("Redo"), icon=":material/redo:", key="redo", type="tertiary", on_click=history.redo,
                  disabled=not history.can_redo(), help=_("Do it again. Key: Ctrl+Shift+Z"))
        st.button(_("Reset"), icon=":material/restart_alt:", key="reset", type="tertiary", on_click=history.reset,
                  args=(scope,), disabled=history.is_reset(bench, scope),
                  help=_("The example as it is built: no edits, its own mask, its own words and their order."))
