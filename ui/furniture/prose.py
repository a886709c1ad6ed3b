"""Sentences and small tables, built from the values on screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from ui.shell import numbers
from ui.shell.i18n import _


def look_for(sentences: Sequence[str]) -> None:
    """What to look for, in sentences built from the values on screen."""
    st.subheader(_("What to look for"), anchor=False)
    points(sentences)


def points(sentences: Sequence[str]) -> None:
    """Sentences one below another."""
    st.markdown("\n".join(f"- {sentence}" for sentence in sentences))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A small table of texts; figures in it are already printed."""
    lines = [head, ["---" for _column in head], *rows]
    st.markdown("\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines))


def units_note() -> str:
    """How amounts of bytes are counted here, and what is counted otherwise."""
    return _("KiB, MiB and GiB go in steps of {binary}. FLOP, parameters and rates such as B/s go in steps of "
             "{decimal}, as vendors give them.").format(binary=numbers.BINARY_STEP, decimal=numbers.DECIMAL_STEP)


def tried(here: bool) -> None:
    """Say of what was tried with the controls above that the other pages do not follow."""
    if here:
        st.caption(_("This is tried on this page only; the other pages go on as before."))


def literal(text: str) -> str:
    """A text as code that no character of it can end."""
    return f"`{text.replace('`', 'ˋ')}`" if text else ""
