"""Every stage as a box that leads to its page, with the symbol and the shape of what it makes."""

from __future__ import annotations

import html
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import streamlit as st

from core import shapes
from ui.furniture.stepper import axis_html
from ui.shell import i18n
from ui.shell.i18n import N_, _
from ui.shell.syllabus import stage

# The way of a text, row by row: a caption and the stages in their order; the second and third rows are one block.
_ROWS = (
    (N_("Input"), ("tokens", "embedding")),
    (N_("Attention"), ("norms", "projections", "rope", "scores", "mask", "mixing", "heads")),
    (N_("Feed-forward"), ("ffn", "block")),
    (N_("Output"), ("logits", "sampling")),
    (N_("One token more"), ("generation", "kv_cache", "cost")),
)
_IN_BLOCK = range(1, 3)
_ADDED = {"heads": "in", "ffn": "resid_mid"}  # what a row's result is added to
_BESIDE = ("matmul", "sharing", "order", "families", "training", "mistakes", "quiz", "api", "inspect")


def picture(present: Mapping[str, int], built: Mapping[str, Any]) -> None:
    """Every stage of the main line as a box: name, symbol, shape in letters and in numbers; then those beside it."""
    with st.container(key="map", gap=None):
        for place, (caption, slugs) in enumerate(_ROWS):
            blocks = f"<i>× {i18n.axis('L')} = {present['L']}</i>" if place == _IN_BLOCK[0] else ""
            with _row("block" if place in _IN_BLOCK else "line", place, _(caption), blocks):
                for slug in slugs:
                    _box(slug, present, built)
                    if slug in _ADDED:
                        symbol = html.escape(i18n.symbol(_ADDED[slug]))
                        words = html.escape(_("added to what came in"))
                        st.html(f'<p class="added" title="{words}">+ {symbol}</p>',
                                width="content")
        with _row("beside", len(_ROWS), _("Beside the line")):
            for slug in _BESIDE:
                _box(slug, present, built)


def _row(kind: str, place: int, caption: str, more: str = "") -> AbstractContextManager[Any]:
    """A row of the map: its caption, and a container for its boxes."""
    with st.container(horizontal=True, key=f"map-{kind}-{place}", vertical_alignment="center", gap="xxsmall"):
        st.html(f'<p class="caption">{html.escape(caption)}{more}</p>', width="content")
        return st.container(horizontal=True, key=f"map-boxes-{place}", gap=None)


def _box(slug: str, present: Mapping[str, int], built: Mapping[str, Any]) -> None:
    """One stage; a stage to come is no link and says so."""
    entry = stage(slug)
    made = f"<b>{html.escape(i18n.symbol(entry.makes))}</b> {_shape(entry.symbol, present)}" if entry.makes else ""
    with st.container(key=f"box-{'open' if slug in built else 'coming'}-{slug}", width="content", gap=None):
        if slug in built:
            st.page_link(built[slug], label=_(entry.title), help=_(entry.question))
            title = ""
        else:
            title = f'<span class="title" title="{html.escape(_(entry.question))}">{html.escape(_(entry.title))}</span>'
            coming = html.escape(_("to come"))  # not inside the f-string, where no translator finds it
            made += f"<span class='numbers'><i>{coming}</i></span>"
        st.html(f'<p class="made">{title}{made}</p>')


def _shape(text: str, present: Mapping[str, int]) -> str:
    """ "[B,T,D]" as HTML: letters in their colours, and the same in numbers."""
    axes = tuple(text.strip("[]").split(","))
    letters = ",".join(map(axis_html, axes))
    numbers = "×".join(str(size) for size in shapes.fill(axes, present))
    return f"<span>[{letters}]</span><span class='numbers'>{numbers}</span>"
