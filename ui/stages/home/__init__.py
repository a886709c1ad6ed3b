"""The home page: every stage with its shape, the sizes of any model, the letters and their clashes, the whole way."""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st

from core.errors import WorkbenchError
from ui import bench as bench_module
from ui.furniture import header as page_header
from ui.furniture import model_sizes
from ui.furniture.page import Subject, on_bench
from ui.shell import errors, frame
from ui.shell.i18n import _
from ui.stages.home import letters, reading, shapes, sizes, stage_map


@dataclass
class Home(Subject):
    """The map for sizes of the reader's choosing, axis letter → size."""

    sizes: dict[str, int] = field(init=False)


def subject() -> Home:
    """The bench; the sizes are those in the fields."""
    return on_bench(Home)


def header() -> None:
    """What the app is about, and where to begin."""
    with st.container(horizontal=True, vertical_alignment="center", key="page-header"):
        st.header(_("Transformer Workbench"), anchor=False)
        st.page_link(frame.here().built["tokens"], label=_("Begin with a text"), icon=":material/arrow_forward:")
        page_header.presenter_switch()
    st.markdown(_(
        "How a decoder-only Transformer turns a text into its next token, stage by stage, in numbers that are all "
        "real: worked by hand, in sizes of your own, or from a real model on your own sentence."))


def controls(shown: Home) -> None:
    """The sizes; where they cannot work together the last ones that did stay."""
    sizes.controls(shown.resolved.trace)
    try:
        shown.sizes = model_sizes.of_fields()
        sizes.held().sizes = shown.sizes
    except WorkbenchError as problem:
        st.error(errors.explain(problem))
        st.caption(_("The map below still shows the last sizes that fit together."))
        shown.sizes = sizes.held().sizes or model_sizes.FIRST_SIZES


def draw(shown: Home) -> None:
    """The map, what its shapes have in common, and the whole way in one paragraph."""
    stage_map.picture(shown.sizes, frame.here().built)
    for sentence in shapes.coincidences(shown.sizes):
        st.markdown(sentence)
    if bench_module.fits_toy(shown.sizes):
        st.button(_("Work with these sizes (Toy)"), on_click=bench_module.set_toy, args=(shown.sizes,), key="map-toy",
                  help=_("Random weights of these sizes on every page."))
    st.subheader(_("The whole way"), anchor=False)
    st.markdown(shapes.paragraph(shown.sizes))


def symbols(_shown: Home) -> None:
    """The letters."""
    letters.letters()


def sources(_shown: Home) -> None:
    """Where to read on."""
    reading.reading()
