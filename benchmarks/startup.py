"""How long a start takes: from the process to the first page drawn, against `streamlit hello`; and loading the model.

Both servers are started by the same command, in turn, and looked at by the same Chromium. `load()` is timed in
processes of their own, torch imported: with an empty cache folder, and again from what that left.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import streamlit
from playwright.sync_api import Browser, sync_playwright

from benchmarks.browser import ARGUMENTS, chromium
from benchmarks.interaction import ROOT, server
from benchmarks.report import Result, median

TURNS = 3
HELLO = Path(streamlit.__file__).parent / "hello" / "streamlit_app.py"
LOAD = "import time, torch; from core import live; t = time.perf_counter(); live.load(); print(time.perf_counter() - t)"


def run() -> Result:
    """Starts in turn, then loads."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        hello, app = [], []
        for _ in range(TURNS):
            hello.append(_drawn(browser, str(HELLO), "h1"))
            app.append(_drawn(browser, "serve.py", "h2"))
        browser.close()
    with tempfile.TemporaryDirectory() as folder:
        first = _load(folder)
        cached = median([_load(folder) for _ in range(TURNS)])
    return Result(["seconds", "ratio"], {
        "streamlit hello": [median(hello), 1.0], "this app": [median(app), median(app) / median(hello)],
        "load(), first time": [first, ""], "load(), from the cache": [cached, ""],
    }, [f"Medians of {TURNS}. Aims: start 1.75× streamlit hello; load() from the cache 1.5 s."])


def _drawn(browser: Browser, script: str, heading: str) -> float:
    """Seconds from starting the server to its first page's heading."""
    began = time.perf_counter()
    with server(script) as address:
        page = browser.new_page()
        page.goto(address)
        page.locator(heading).first.wait_for(timeout=60_000)
        taken = time.perf_counter() - began
        page.close()
    return taken


def _load(folder: str) -> float:
    """Seconds of `live.load()` in a fresh process with that cache folder."""
    environment = {**os.environ, "TRANSFORMER_WORKBENCH_CACHE": folder, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", LOAD], cwd=ROOT, env=environment, capture_output=True, text=True,
                          check=True)
    return float(done.stdout)
