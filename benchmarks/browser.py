"""Chromium as the tests and the benchmarks start it."""

from __future__ import annotations

import os
import shutil

SHELLS = ("chromium-headless-shell", "chromium")  # the first has no window of its own to draw, and needs less time
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--font-render-hinting=none",  # letters as wide as in a window: the headless shell rounds them otherwise
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str:
    """The path of the one that the variable CHROMIUM names, or of the first that is installed; Debian's place for it
    where none is, for the message of who misses it there."""
    found = (shutil.which(name) for name in SHELLS)
    return os.environ.get("CHROMIUM") or next((path for path in found if path), "/usr/bin/chromium")
