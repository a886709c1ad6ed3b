"""The app with a start-up step, for `make run` and a classroom server: `streamlit run serve.py`.

`streamlit run app.py` runs the same app. What this adds happens once: the heavy modules are imported while the first
browser still fetches Streamlit's own files, and everything allocated so far is moved out of the garbage collector's
sight, so that a full collection no longer walks all of PyTorch; and sessions run in turn from the first one on. The
live model is not loaded here: the first paint never waits for it.
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

# One thread per forward: several learners then share the cores evenly. Torch reads it when it is first
# imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import streamlit as st


def prepare() -> None:
    """Import what every page will need, and freeze the heap. Nothing is collected until then: the modules stay, and
    each full collection on the way would walk all that has been imported so far."""
    gc.disable()
    try:
        import plotly.graph_objects  # noqa: F401
        import torch  # noqa: F401

        from server import turn
        from ui.shell import frame  # noqa: F401

        turn.install()
    finally:
        gc.freeze()
        gc.enable()


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[dict[str, Any]]:
    """Begin to `prepare`; a script that runs before it has ended waits for the modules that it imports."""
    from streamlit.runtime.pages_manager import PagesManager

    # Streamlit takes pages/ for its own page discovery until st.navigation has run once in the process, and a
    # first visit to a deep link then opens with "Page not found". The attribute is private, hence the guard.
    if hasattr(PagesManager, "uses_pages_directory"):
        PagesManager.uses_pages_directory = False
    prepared = asyncio.create_task(asyncio.to_thread(prepare))
    yield {}
    await prepared


app = st.App("app.py", lifespan=lifespan)
