"""One thread for torch: tensors are tiny, and several test processes share a machine. The live model, loaded once."""

from __future__ import annotations

import pytest
import torch

from core import live
from core.live import Live

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def smollm() -> Live:
    """SmolLM2-135M itself, from the user's own cache, where the app finds it too."""
    return live.load()
