"""What one decode step costs on this machine, with and without a cache, at growing lengths of the text.

The cache saves computing the old rows again; it does not save reading them, so its curve rises as well (D0 error 11).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import torch
from torch import Tensor

from core.cache import KVCache
from core.config import ModelConfig
from core.machine.device import synchronise
from core.model import Decoder

CHUNK = 128  # tokens read at once while the cache is filled up to the next length: a turn is never held for long
REPEATS = 5  # the median of so many is taken
# Small weights and a wide cache, so that reading the cache can be seen beside reading the weights.
BENCH = ModelConfig.from_width(width=256, heads=8, layers=4, vocab=256, ffn_width=512, max_positions=4096)
LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


class Timing(NamedTuple):
    """Seconds of the step that reads token number `length`: with the cache of all before it, and by reading all
    `length` tokens again. `cached_bytes` is what the step reads from the cache."""

    length: int
    cached: float
    uncached: float
    cached_bytes: int


def bench_decoder(seed: int = 0) -> Decoder:
    """A small decoder with seeded random weights for measuring; what it says means nothing."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Decoder(BENCH)


def lengths(config: ModelConfig, longest: int) -> list[int]:
    """The lengths to measure at: powers of two up to `longest` and to the model's positions."""
    return [length for length in LENGTHS if length <= min(longest, config.max_positions)]


def decode_times(
    decoder: Decoder, at: Sequence[int], turn: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Iterator[Timing]:
    """One timing for each of the rising lengths `at`; whoever stops asking stops the measuring. The cache is filled on
    the way, so each length only reads what is new. `turn` is entered around each forward, and waiting is not counted.
    """
    weight = decoder.get_parameter("embedding")
    ids = torch.arange(max(at), device=weight.device)[None] % decoder.config.vocab  # (1, longest)
    cache = KVCache(decoder.config, 1, max(at), weight.dtype, weight.device)
    for length in at:
        while cache.length < length - 1:
            with turn():
                decoder.stream(ids[:, cache.length:min(cache.length + CHUNK, length - 1)], cache=cache)
        if cache.length < CHUNK:
            _step(decoder, ids[:, length - 1:length], turn, cache)  # the first ones find nothing at hand
        cached = statistics.median(_step(decoder, ids[:, length - 1:length], turn, cache) for _ in range(REPEATS))
        again = 1 if length > CHUNK else REPEATS
        uncached = statistics.median(_step(decoder, ids[:, :length], turn, None) for _ in range(again))
        yield Timing(length, cached, uncached, cache.used_nbytes)


def _step(
    decoder: Decoder, ids: Tensor, turn: Callable[[], AbstractContextManager[object]], cache: KVCache | None,
) -> float:
    """Seconds to read ids (1, n) and give the last token's logits; a cache is left as it was."""
    with turn():
        began = time.perf_counter()
        x = decoder.stream(ids, cache=cache)
        decoder.head(x[:, -1])
        synchronise(x.device)
        seconds = time.perf_counter() - began
    if cache is not None:
        cache.crop(cache.length - ids.shape[1])
    return seconds
