"""The map, plain for now: which stages there are, which can be opened, and where the course begins."""

import streamlit as st

from ui import blocks, frame
from ui.i18n import _
from ui.stages import SECTIONS, STAGES

place = frame.here()
_bench, resolved = frame.look()
st.header("Transformer Workbench", anchor=False)
st.markdown(_(
    "How a decoder-only Transformer turns a text into its next token, stage by stage, in numbers that are all real: "
    "worked by hand, in sizes of your own, or from a model of 135 million parameters on your own sentence."))
blocks.notices(resolved, place.dropped)
blocks.shape_strip("home", resolved.trace)
for section, title in SECTIONS.items():
    stages = [entry for entry in STAGES if entry.section == section and entry.slug != "home"]
    if not stages:
        continue
    st.subheader(_(title), anchor=False)
    for entry in stages:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if entry.slug in place.built:
                st.page_link(place.built[entry.slug], label=f"**{_(entry.title)}**")
                st.markdown(_(entry.question))
            else:
                st.markdown(_("{title} (to come)").format(title=_(entry.title)))
                st.caption(_(entry.question))
