"""The sidebar: what is looked at, chosen once and kept on every page."""

from __future__ import annotations

from collections.abc import Container

import streamlit as st

from core import notation
from core.live import registry
from core.live.model import MAX_TRACE_TOKENS
from core.live.registry import DEFAULT
from ui import bench as bench_module
from ui import sources
from ui.bench import Bench, choices
from ui.bench.limits import DECIMALS, SIZE_LETTERS
from ui.bench.parts import numbers_changed
from ui.shell import documents, i18n
from ui.shell.i18n import _
from ui.shell.syllabus import Stage
from ui.sources import LIVE_NAME, Extent


def draw(stage: Stage, bench: Bench) -> None:
    """Draw the controls of a page: those of the source on it, what of a trace is looked at, and how it is written."""
    choices.LANGUAGE.draw(st.segmented_control, _("Language"), i18n.languages(), default=i18n.current(), required=True,
                          label_visibility="collapsed")
    if bench.source == "toy":
        _toy()
    elif bench.source == "live":
        _live(sources.LONGEST_CONTEXT if stage.prompted else MAX_TRACE_TOKENS)
    _place(sources.reach(bench, prompted=stage.prompted), stage.places)
    _display()


def _toy() -> None:
    st.caption(_("The toy gives the same numbers for the same sizes and seed."))
    columns = st.columns(2)
    for place, letter in enumerate(("B", "T", "D", "H", "Hkv", "F", "V", "L")):
        choices.SIZES[letter].draw(_size_label(SIZE_LETTERS[letter], letter), where=columns[place % 2])
    choices.SEED.draw(_("Seed"), on_change=numbers_changed)


def _size_label(name: str, letter: str) -> str:
    words = {"batch": _("batch"), "tokens": _("tokens"), "width": _("width"), "heads": _("query heads"),
             "kv_heads": _("KV heads"), "ffn_width": _("FFN width"), "vocab": _("vocabulary"), "layers": _("layers")}
    return f"{i18n.axis(letter)} · {words[name]}"


def _live(limit: int) -> None:
    st.text_area(_("Your sentence"), key="text", height=100, persist_state="session",
                 help=_("Up to {limit} tokens. Press Ctrl+Enter to apply.").format(limit=limit))
    models = {DEFAULT: LIVE_NAME} | {name: name for name in sorted(registry.own())}
    if len(models) > 1:
        choices.MODEL.draw(st.selectbox, _("Model"), models, default=DEFAULT, persist_state="session")
    st.caption(_("{model}: a real model, its weights dequantised from a four-bit file.").format(model=LIVE_NAME)
               if bench_module.model_name() == DEFAULT else _("A checkpoint of your own, computed in float32."))


def notations() -> dict[str, str]:
    """Code of each notation to its name, with some of its letters."""
    return {code: f"{documents.notation_name(code)} ({', '.join(notation.axis(letter, code) for letter in ('T', 'D'))})"
            for code in notation.NOTATIONS}


def _place(extent: Extent, places: Container[str]) -> None:
    """Of layer, head and batch entry those that the page looks at, as far as there is a choice."""
    for label, place, count in ((_("Layer"), choices.LAYER, extent.layers), (_("Head"), choices.HEAD, extent.heads),
                                (_("Batch entry"), choices.BATCH, extent.batch)):
        if count > 1 and place.key in places:
            place.draw(_("{what} (of {count})").format(what=label, count=count), high=count,
                       on_change=numbers_changed)


def _display() -> None:
    st.divider()
    bench_module.pick(_("Letters of"), notations(), i18n.notation(), choices.NOTATION.put, key="notation",
                      help=_("The same things under other names, everywhere in the app. The map lists them."))
    choices.DECIMALS_SHOWN.notch(_("Decimals"), DECIMALS, on_change=numbers_changed)
