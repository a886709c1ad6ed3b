"""The live model, loaded once."""

from __future__ import annotations

import pytest

from core import live
from core.live import registry
from tests.waiting import until
from ui import sources


@pytest.fixture
def model() -> live.Live:
    """The real model, in the loader that the pages ask, as it is once a server has been running for a while. A test of
    other models may have put it out."""
    loader = sources.loader_of(registry.DEFAULT)
    until(lambda: loader.model() is not None)
    found = loader.model()
    assert found is not None
    return found
