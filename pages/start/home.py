"""The map, plain for now: which stages there are, which can be opened, and where the course begins."""

import streamlit as st

from ui import blocks, frame
from ui.i18n import _
from ui.stages import SECTIONS, STAGES

place = frame.here()
_bench, resolved = frame.look()
with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
    st.header(_("Transformer Workbench"), anchor=False)
    blocks.presenter_switch()
st.markdown(_(
    "How a decoder-only Transformer turns a text into its next token, stage by stage, in numbers that are all real: "
    "worked by hand, in sizes of your own, or from a real model on your own sentence."))
blocks.notices(resolved, place.dropped)
blocks.shape_strip("home", resolved.trace)
st.page_link(place.built["projections"], label=_("Begin with the projections: point at a number and read how it came "
                                                  "about"),
             icon=":material/arrow_forward:")
for section, title in SECTIONS.items():
    stages = [entry for entry in STAGES if entry.section == section and entry.slug != "home"]
    if not stages:
        continue
    left, right = st.columns([1, 5], vertical_alignment="top")
    left.markdown(f"**{_(title)}**")
    with right, st.container(gap=None, key=f"stages-{section}"):
        for entry in stages:
            if entry.slug in place.built:
                st.page_link(place.built[entry.slug], label=f"**{_(entry.title)}** · {_(entry.question)}")
            else:
                st.caption(_("{title} (to come) · {question}").format(
                    title=_(entry.title), question=_(entry.question)))
