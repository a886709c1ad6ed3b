"""The page that interaction is measured against: one control and one line of text that follows it."""

import streamlit as st

on = st.toggle("switch", key="switch")
st.text(f"n={int(on)}")
