"""The examples that have numbers on a page, as chips above its controls, and what the one on screen is."""

from __future__ import annotations

import streamlit as st

from ui import bench as bench_module
from ui import sources
from ui.bench import Bench, choices
from ui.furniture import prose
from ui.shell import documents, example_words, frame
from ui.shell.i18n import _
from ui.shell.syllabus import Stage
from ui.sources import Resolved


def chips(page: Stage, bench: Bench, resolved: Resolved) -> None:
    """A chip for each example that reaches this stage, for the toy and for the live model; what is on screen is lit.
    One that is chosen comes with its own mask."""
    labels = {name: example_words.title(name) for name in _reaching(page)}
    labels |= {"toy": _("toy"), "live": _("live")}
    shown = bench.example if bench.source == "worked" else bench.source
    labels.setdefault(shown, example_words.title(shown))
    with st.container(horizontal=True, vertical_alignment="center", key="examples"):
        bench_module.pick(_("Example"), labels, shown, _take, key="example", widget=st.pills, required=True,
                          label_visibility="collapsed", wrap=True)
        section = bench_module.examples()[bench.example].section if resolved.source == "worked" else ""
        st.caption(" ".join(_about(page, bench, resolved)), width="content",
                   help=documents.card(section) if section else None)


def _reaching(page: Stage) -> list[str]:
    """The examples on offer that have numbers for that stage."""
    return [name for name, example in bench_module.examples().items()
            if example.offered and (example.whole or not page.prompted)
            and frame.reached(page, sources.example(name))]


def _take(code: str) -> None:
    if code in ("toy", "live"):
        choices.SOURCE.put(code)
    else:
        choices.SOURCE.put("worked")
        choices.EXAMPLE.put(code)
    choices.MASK.put("")
    choices.TYPED.put("")


def _about(page: Stage, bench: Bench, resolved: Resolved) -> list[str]:
    """Where the numbers come from, what the tokens mean, and the mask in effect."""
    said = {"worked": example_words.origin(bench.example),
            "toy": _("Random weights of your sizes; the tokens are random ids and stand for no words."),
            "live": ""}[resolved.source]
    example = bench_module.examples()[bench.example]
    tokens = resolved.trace.tokens or example.text.split()
    words = example_words.glosses(bench.example, tokens) if resolved.source == "worked" else ""
    typed = _("Your words: {text}.").format(text=prose.literal(bench.typed)) if bench.ids is not None else ""
    meant = _("Words: {meanings}.").format(meanings=words) if words else ""
    own = page.own == bench.example and bench.source == "worked" and not choices.EXAMPLE.value()
    why = _("This page's own example: {because}.").format(because=_(page.because)) if own else ""
    mask = _("Mask: {kind}.").format(kind=example_words.mask(bench.mask_kind)) if page.masked else ""
    return [text for text in (why, typed, said, meant, mask) if text]
