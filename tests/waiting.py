"""Waiting for what other threads and processes bring about. No test measures how long that takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

LONGEST = 300.0  # seconds after which something must be stuck, on the slowest machine


def until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds; AssertionError if it never does."""
    deadline = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not come"
        time.sleep(0.002)


def join(*threads: threading.Thread) -> None:
    """Wait until threads have ended; AssertionError if one never does."""
    for thread in threads:
        thread.join(LONGEST)
    assert not [thread for thread in threads if thread.is_alive()]
