"""The live model, loaded once."""

from __future__ import annotations

import time

import pytest

from core import live
from ui import sources


@pytest.fixture(scope="session")
def model() -> live.Live:
    """The real model, in the loader that the pages ask, as it is once a server has been running for a while."""
    loader, deadline = sources.loader(), time.monotonic() + 120
    while (found := loader.model()) is None:
        assert time.monotonic() < deadline, "the live model did not load"
        time.sleep(0.05)
    return found
