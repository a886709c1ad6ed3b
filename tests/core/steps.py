"""Steps of a generation with their traces, for the tests of what goes on from a cache."""

from __future__ import annotations

from typing import Any

import torch

from core import worked
from core.generation import GenerationStep, generate
from core.model import Decoder, decoder_of
from core.trace import Trace
from tests.core.test_model import SIZES

LONG: dict[str, Any] = {"max_positions": 40}
WINDOWED = {**SIZES, **LONG, "sliding_window": 3, "kv_heads": 1}


def steps_of(decoder: Decoder, ids: torch.Tensor, count: int, **choices: Any) -> list[GenerationStep]:
    return list(generate(decoder, ids, max_tokens=count, **{"trace": True, **choices}))


def traced(step: GenerationStep) -> Trace:
    assert step.trace is not None
    return step.trace


def block_steps(kv_heads: Any = 2, **choices: Any) -> list[GenerationStep]:
    trace = worked.block(kv_heads)
    return steps_of(decoder_of(trace), trace["tokens"], 5, **choices)
