"""The live model, loaded once."""

from __future__ import annotations

import pytest

from core import live
from tests.waiting import until
from ui import sources


@pytest.fixture(scope="session")
def model() -> live.Live:
    """The real model, in the loader that the pages ask, as it is once a server has been running for a while."""
    loader = sources.loader()
    until(lambda: loader.model() is not None)
    found = loader.model()
    assert found is not None
    return found
