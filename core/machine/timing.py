"""What a prefill and a decode step take on this machine, to be set beside the roofline of its measured ceilings."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import torch

from core.generation import generate
from core.model import Decoder

DECODED = 8  # steps; their median is taken
REPEATS = 2  # prefills; the quicker one counts


class Case(NamedTuple):
    """Texts, and tokens of each."""

    batch: int
    tokens: int


CASES = (Case(1, 64), Case(1, 256), Case(8, 64))  # one short text, one long, a batch


class Timing(NamedTuple):
    """Seconds of a prefill of `batch` texts of `tokens` tokens, and of a decode step on top of it."""

    batch: int
    tokens: int
    prefill: float
    decode: float


def time_passes(
    decoder: Decoder, batch: int, tokens: int, turn: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Timing:
    """Measured now, head for the last token only. `turn` is entered around each forward, and waiting is not counted.
    What the tokens say does not matter to the time."""
    weight = decoder.get_parameter("embedding")
    ids = (torch.arange(batch * tokens, device=weight.device) % decoder.config.vocab).reshape(batch, tokens)
    prefills, decodes = [], []
    with torch.no_grad():
        for _repeat in range(REPEATS):
            first, *rest = generate(decoder, ids, max_tokens=1 + DECODED, cache_dtype=weight.dtype, turn=turn)
            prefills.append(first.seconds)
            decodes += [step.seconds for step in rest]
    return Timing(batch, tokens, min(prefills), statistics.median(decodes))
