"""The map: every stage with its shape, the sizes of any model, the letters and their clashes, the whole way."""

import streamlit as st

from core import notation
from core.errors import WorkbenchError
from ui import bench as bench_module
from ui.furniture import header, notices, sections
from ui.shell import errors, frame
from ui.shell.i18n import _
from ui.stages.home import atlas
from ui.stages.home.reading import DOCUMENTS, READINGS


@st.fragment
def lab() -> None:
    """Everything that follows the sizes."""
    _bench, resolved = frame.look()
    atlas.size_controls(resolved.trace.sizes)
    try:
        sizes = atlas.sizes()
        atlas.held().sizes = sizes
    except WorkbenchError as problem:
        st.error(errors.explain(problem))
        st.caption(_("The map below still shows the last sizes that fit together."))
        sizes = atlas.held().sizes or atlas.first_sizes()
    atlas.picture(sizes, place.built)
    for sentence in atlas.coincidences(sizes):
        st.markdown(sentence)
    if bench_module.fits_toy(sizes):
        st.button(_("Work with these sizes (Toy)"), on_click=bench_module.set_toy, args=(sizes,), key="map-toy",
                  help=_("Random weights of these sizes on every page."))
    st.subheader(_("The whole way"), anchor=False)
    st.markdown(atlas.paragraph(sizes))


def _letters() -> None:
    st.caption(_("The switch in the sidebar puts the whole app into one of these columns. In parentheses: the source "
                 "has no letter of its own, and that of {d0} stays.").format(d0=notation.NOTATIONS[notation.DEFAULT]))
    atlas.symbol_table()
    st.markdown("\n".join(f"- {sentence}" for sentence in atlas.clashes()))


def _reading() -> None:
    st.markdown("\n".join(f"- **{code}** · {_(title)}: {_(use)}" for code, title, use in DOCUMENTS))
    st.markdown("\n".join(f"- {entry.who}: [{entry.title}]({entry.address}). {_(entry.use)}" for entry in READINGS))


place = frame.here()
_now, _resolved = frame.look()
with st.container(horizontal=True, vertical_alignment="center", key="page-header"):
    st.header(_("Transformer Workbench"), anchor=False)
    st.page_link(place.built["projections"], label=_("Begin with the projections"), icon=":material/arrow_forward:")
    header.presenter_switch()
st.markdown(_(
    "How a decoder-only Transformer turns a text into its next token, stage by stage, in numbers that are all real: "
    "worked by hand, in sizes of your own, or from a real model on your own sentence."))
notices.notices(_resolved, place.dropped)
lab()
st.subheader(_("Letters"), anchor=False)
_letters()
sections.folded(_("Sources and further reading"), "reading", _reading)
