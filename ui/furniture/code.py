"""The program that reproduces the numbers of a page, and the source of what computed them here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from core.programs import Program
from ui.furniture.share import npz
from ui.shell.i18n import _


def program(snippet: Program, functions: Sequence[Callable[..., Any]], *, key: str) -> None:
    """The PyTorch program for the numbers on screen, its file if it needs one, and the source of what ran here."""
    st.caption(_("This program gives the same numbers with PyTorch, without this app. It reads them from a file, which "
                 "is offered below it.") if snippet.file else
               _("This program gives the same numbers with PyTorch, without this app.") if "torch" in snippet.code else
               _("This program gives the same numbers in plain Python, without this app."))
    st.code(snippet.code, language="python", wrap_lines=True)
    if snippet.file:
        st.download_button(_("Numbers for the program: {file}").format(file=snippet.file), npz(snippet.arrays),
                           file_name=snippet.file, mime="application/octet-stream", key=f"{key}-numbers")
    st.caption(_("And this is the code that computed what you see:"))
    st.code("\n\n".join(inspect.getsource(function) for function in functions), language="python", wrap_lines=True)
