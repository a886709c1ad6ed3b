"""What the cache holds in memory: bytes, rows of a window, rounding, and what a crop leaves."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from core.cache import DTYPES, KVCache
from core.config import PRESETS, ModelConfig
from core.errors import (
    CacheOverwritten,
    SizeOutOfRange,
    UnknownOption,
)
from core.trace import Trace
from tests.core.test_cache import LENGTH, TOLERANCE
from tests.core.test_model import LAWS, SIZES, close, label, random_decoder, random_ids


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
@pytest.mark.parametrize("choices", [LAWS[0], LAWS[3]], ids=label)
def test_bytes_are_those_of_the_tensors(choices: dict[str, Any], dtype: torch.dtype) -> None:
    decoder = random_decoder(**choices)
    config = decoder.config
    cache = KVCache(config, 2, 7, dtype)
    rows = min(7, config.sliding_window or 7)
    per_row = 2 * config.layers * 2 * config.kv_heads * config.head_dim * dtype.itemsize
    assert cache.nbytes == rows * per_row == cache.keys.nbytes + cache.values.nbytes
    assert cache.keys.untyped_storage().nbytes() == cache.keys.nbytes, "views of something larger"
    for length in range(1, 8):
        decoder(random_ids(2, 1), cache=cache)
        held = [cache.layer(layer) for layer in range(config.layers)]
        assert cache.used_nbytes == min(length, rows) * per_row == sum(r.k.nbytes + r.v.nbytes for r in held)
    assert cache.nbytes == rows * per_row, "it grew"


def test_a_window_allocates_the_window_only_and_stores_position_p_in_row_p_mod_w() -> None:
    """H7: Mistral-7B at 32768 tokens holds 512 MiB and not 4 GiB; token 5000 lies in row 904."""
    cache = KVCache(PRESETS["mistral-7b"], 1, 32768, torch.float16, "meta")
    assert cache.nbytes == 512 * 2**20
    assert KVCache(PRESETS["mistral-7b"].with_(sliding_window=None), 1, 32768, torch.float16, "meta").nbytes == 2**32
    small = KVCache(ModelConfig(**{**SIZES, "layers": 1, "sliding_window": 4096}), 1, 6000)
    rows = torch.arange(5001.0)[None, None, :, None].expand(1, 2, -1, 4)
    small.append(0, rows, rows)
    assert small.keys[0, 0, 0, 904, 0] == 5000
    small.advance(5001)
    assert small.layer(0).k[0, 0, :, 0].tolist() == list(range(905, 5001))


@pytest.mark.parametrize("name", ["gpt2", "llama-2-7b", "llama-2-70b", "llama-3-8b", "qwen2.5-0.5b", "smollm2-135m"])
def test_published_bytes_per_token(name: str) -> None:
    expected = {"gpt2": 36864, "llama-2-7b": 524288, "llama-2-70b": 327680, "llama-3-8b": 131072,
                "qwen2.5-0.5b": 12288, "smollm2-135m": 23040}[name]
    assert KVCache(PRESETS[name], 1, 1, torch.bfloat16, "meta").nbytes == expected


@pytest.mark.parametrize(("dtype", "relative"), [(torch.float16, 2**-11), (torch.bfloat16, 2**-8)], ids=str)
def test_a_cache_of_half_the_bytes_rounds_what_it_stores_and_the_trace_says_so(
    dtype: torch.dtype, relative: float,
) -> None:
    decoder, ids = random_decoder(**LAWS[0]), random_ids(2, LENGTH)
    cache, trace = KVCache(decoder.config, 2, LENGTH, dtype), Trace()
    decoder(ids[:, :5], cache=cache)
    logits = decoder(ids[:, 5:], cache=cache, trace=trace)
    exact = decoder(ids)[:, 5:]
    assert 0 < (logits - exact).abs().max() < 50 * relative * exact.abs().max()
    k_all, k_past = trace["blocks.0.k_all"], trace["blocks.0.k_past"]
    assert (k_past.dtype, k_all.dtype) == (dtype, torch.float32)
    assert torch.equal(k_all, k_all.to(dtype).float())
    assert torch.equal(k_all, cache.layer(0).k.float())
    for layer in range(2):
        check, append = trace.check(layer), trace.check_step(f"blocks.{layer}.v_all")
        assert check is not None
        assert check.difference <= TOLERANCE * max(1.0, check.size)
        assert append is not None
        assert append.difference == 0


@pytest.mark.parametrize("choices", [LAWS[0], LAWS[1], {**SIZES, "sliding_window": 8}], ids=label)
def test_after_a_crop_it_goes_on_as_if_the_rest_had_never_been_read(choices: dict[str, Any]) -> None:
    decoder, ids = random_decoder(**choices), random_ids(2, LENGTH)
    cache = KVCache(decoder.config, 2, LENGTH)
    decoder(random_ids(2, LENGTH, seed=7), cache=cache)
    cache.crop(0)
    decoder(ids[:, :3], cache=cache)
    decoder(random_ids(2, 4, seed=8), cache=cache)
    cache.crop(3)
    assert cache.length == 3
    close(decoder(ids[:, 3:], cache=cache), decoder(ids)[:, 3:], TOLERANCE)


def test_a_crop_forgets_padding_too() -> None:
    decoder, ids = random_decoder(**LAWS[0]), random_ids(1, 5)
    cache = KVCache(decoder.config, 1, 9)
    decoder(ids, cache=cache, allowed=torch.tensor([[True, True, False, False, True]]))
    cache.crop(2)
    close(decoder(ids[:, 2:], cache=cache), decoder(ids)[:, 2:], TOLERANCE)


def test_a_ring_is_cropped_as_far_as_it_holds_what_the_next_token_reads() -> None:
    decoder, ids = random_decoder(**{**SIZES, "sliding_window": 3}), random_ids(1, 9)
    whole = decoder(ids)
    cache = KVCache(decoder.config, 1, 9)
    decoder(ids[:, :7], cache=cache)
    cache.crop(6)
    close(decoder(ids[:, 6:7], cache=cache), whole[:, 6:7], TOLERANCE)
    with pytest.raises(CacheOverwritten) as caught:
        cache.crop(5)
    assert (caught.value.length, caught.value.oldest, caught.value.rows) == (5, 4, 3)
    assert cache.length == 7, "a refused crop changed the cache"


@pytest.mark.parametrize(("batch", "tokens", "dtype", "error"), [
    (0, 4, torch.float32, SizeOutOfRange), (1, 0, torch.float32, SizeOutOfRange),
    (1, True, torch.float32, SizeOutOfRange), (1, 2.5, torch.float32, SizeOutOfRange),
    (1, 10**12, torch.float32, SizeOutOfRange),
    (1, 4, torch.int8, UnknownOption), (1, 4, torch.float64, UnknownOption)])
def test_sizes_and_types_are_checked_before_anything_is_allocated(
    batch: Any, tokens: Any, dtype: torch.dtype, error: type[Exception],
) -> None:
    with pytest.raises(error):
        KVCache(ModelConfig(**SIZES), batch, tokens, dtype)


@pytest.mark.parametrize("length", [-1, 6, True, 2.0])
def test_a_crop_to_a_length_that_is_not_there_is_refused(length: Any) -> None:
    decoder = random_decoder(**LAWS[0])
    cache = KVCache(decoder.config, 1, 9)
    decoder(random_ids(1, 5), cache=cache)
    with pytest.raises(SizeOutOfRange):
        cache.crop(length)
    assert cache.length == 5
