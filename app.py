"""The table of contents: page frame, sidebar, and every page listed. Run with `streamlit run app.py` (or serve.py)."""

import streamlit as st

from server import turn
from ui import bench, equation
from ui.shell import frame, i18n
from ui.shell.i18n import _
from ui.shell.syllabus import SECTIONS, stage

# Section -> page files, in the order of the menu. A page's slug is its file's name; home is at "/".
PAGES = {
    "start": ["pages/start/home.py"],
    "input": ["pages/input/tokens.py", "pages/input/embedding.py"],
    "attention": ["pages/attention/matmul.py", "pages/attention/projections.py", "pages/attention/scores.py",
                  "pages/attention/mask.py", "pages/attention/mixing.py", "pages/attention/heads.py",
                  "pages/attention/sharing.py"],
    "position": ["pages/position/order.py", "pages/position/rope.py"],
    "inference": ["pages/inference/generation.py", "pages/inference/kv_cache.py", "pages/inference/cost.py"],
}

st.set_page_config(page_title="Transformer Workbench", layout="wide")
turn.install()
dropped = bench.begin(st.context.locale)
i18n.html_lang()
built = {}
menu = {}
for section, files in PAGES.items():
    for file in files:
        slug = file.rsplit("/", 1)[-1].removesuffix(".py")
        entry = stage(slug)
        built[slug] = st.Page(file, title=_(entry.title), url_path=slug, default=slug == "home")
        menu.setdefault(_(SECTIONS[section]), []).append(built[slug])
page = st.navigation(menu, expanded=True)
frame.set_up(built, slug=next(slug for slug, candidate in built.items() if candidate == page), dropped=dropped)
page.run()
equation.send_program()
bench.finish()
