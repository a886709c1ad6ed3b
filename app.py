"""The table of contents: every stage of the syllabus that has a page. Run with `streamlit run app.py` (or serve.py)."""

from pathlib import Path
from typing import Any

import streamlit as st

from server import turn
from ui import bench, equation, stages
from ui.shell import frame, i18n
from ui.shell.i18n import _
from ui.shell.syllabus import SECTIONS, STAGES

ROOT = Path(__file__).parent

st.set_page_config(page_title="Transformer Workbench", layout="wide")
turn.install()
stages.load()
dropped = bench.begin(st.context.locale)
i18n.html_lang()
built: dict[str, Any] = {}  # slug -> page, in the order of the syllabus; home is at "/"
menu: dict[str, list[Any]] = {}
for entry in STAGES:
    if (ROOT / entry.page).exists():
        built[entry.slug] = st.Page(entry.page, title=_(entry.title), url_path=entry.slug, default=entry.slug == "home")
        menu.setdefault(_(SECTIONS[entry.section]), []).append(built[entry.slug])
page = st.navigation(menu, expanded=True)
frame.set_up(built, slug=next(slug for slug, candidate in built.items() if candidate == page), dropped=dropped)
page.run()
equation.send_program()
bench.finish()
