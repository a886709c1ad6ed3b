"""The same laws on every device present, and on the CPU a test of what would fail on another.

Tolerance: float32 on any device against float64 on the CPU, 1e-4 of the largest number compared.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from core import sampling
from core.cache import KVCache
from core.generation import generate
from core.machine import device
from core.model import Decoder
from core.trace import Trace
from tests.core.test_model import SIZES, close, label, random_decoder, random_ids

TOLERANCE = 1e-4
KINDS = [{**SIZES, "kv_heads": kv, "positions": positions, **more}
         for kv, positions in ((6, "rope"), (2, "learned"), (1, "sinusoidal"), (2, "none"))
         for more in ({}, {"sliding_window": 3})]
PADDED = torch.tensor([[False, False, True, True, True], [True, True, True, True, True]])


def run(decoder: Decoder, ids: Tensor, allowed: Tensor) -> tuple[Tensor, Trace, list[list[int]]]:
    """Logits over a cache in two pieces, the trace of a pass, and the tokens of a sampled and a greedy generation."""
    cache = KVCache(decoder.config, len(ids), ids.shape[1], device=ids.device)
    pieces = [decoder(ids[:, start:end], cache=cache, allowed=allowed[:, :end]) for start, end in ((0, 4), (4, 5))]
    trace = Trace(tokens=["a"] * ids.shape[1])
    decoder(ids, trace=trace)
    common: dict[str, Any] = {"max_tokens": 4, "allowed": allowed, "chunk": 3, "stop_ids": {0}, "trace": True}
    ends = [list(generate(decoder, ids, **common, **how))[-1]
            for how in ({"temperature": 0.8, "top_k": 5, "top_p": 0.9, "min_p": 0.01, "seed": 3}, {})]
    return torch.cat(pieces, dim=1), trace, [end.text.flatten().tolist() for end in ends]


@pytest.mark.parametrize("place", device.available())
@pytest.mark.parametrize("choices", KINDS, ids=label)
def test_every_device_gives_what_float64_gives(choices: dict[str, Any], place: str) -> None:
    decoder, ids = random_decoder(**choices), random_ids(2, 5)
    logits, trace, texts = run(decoder.to(place), ids.to(place), PADDED.to(place))
    exact = decoder.to("cpu", torch.float64)
    wanted = exact(ids, allowed=PADDED)
    assert {trace[name].device.type for name in trace.names()} == {logits.device.type} == {torch.device(place).type}
    close(logits.cpu()[PADDED], wanted[PADDED], TOLERANCE)
    close(trace["logits"].cpu(), exact(ids), TOLERANCE)
    longer = torch.tensor(texts[1]).reshape(2, -1)
    for row in range(2):  # the greedy tokens are those of the largest logits, read again in float64 without a cache
        own = longer[row:row + 1, 2 * (1 - row):]
        assert exact(own)[0, -2].argmax() == own[0, -1] or 0 in own[0, -2:]


@pytest.mark.parametrize("choices", KINDS, ids=label)
def test_nothing_is_made_on_the_default_device(choices: dict[str, Any]) -> None:
    """All data lies on the CPU while the default device is one without data: a tensor that is made without naming a
    device cannot be computed with, as it could not where the model lies on an accelerator."""
    decoder, ids = random_decoder(**choices), random_ids(2, 5)
    wanted, _, texts = run(decoder, ids, PADDED)
    with torch.device("meta"):
        logits, trace, same_texts = run(decoder, ids, PADDED)
        drawn = sampling.draw(sampling.distribution(logits[:, -1], temperature=0.7, top_p=0.8), 0.5)
    assert torch.equal(logits, wanted)
    assert {trace[name].device.type for name in trace.names()} == {drawn.device.type} == {"cpu"}
    assert same_texts == texts
