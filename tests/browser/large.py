"""A decoder as wide as the live model and longer than a toy, for tests of windows and maps."""

from __future__ import annotations

import math

import torch

from core.config import ModelConfig
from core.model import Decoder
from core.trace import Trace

WIDTH, HEADS, KV_HEADS, TOKENS = 576, 9, 3, 128


def large(tokens: int) -> Trace:
    """A traced forward pass of one block with seeded random parameters; every third token is "the"."""
    config = ModelConfig.from_width(width=WIDTH, heads=HEADS, kv_heads=KV_HEADS, vocab=16, layers=1, ffn_width=8,
                                    max_positions=TOKENS)
    generator = torch.Generator().manual_seed(0)
    decoder = Decoder(config)
    for parameter in decoder.parameters():
        if parameter.ndim == 2:
            parameter.normal_(0.0, 1.0 / math.sqrt(parameter.shape[0]), generator=generator)
    decoder.get_parameter("embedding").normal_(0.0, 1.0, generator=generator)
    labels = [f"token{place}" if place % 3 else "the" for place in range(tokens)]
    trace = Trace(tokens=labels, source="toy")
    decoder(torch.randint(16, (1, tokens), generator=generator), trace=trace)
    return trace
