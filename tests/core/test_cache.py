"""The cache: read at once, in chunks or token by token, a text gives the same numbers as without one.

Tolerances: float32 rounding in another order of the same sums, 1e-5 of the largest number compared.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from core import ops, steps
from core.cache import DTYPES, KVCache
from core.config import PRESETS, ModelConfig
from core.errors import (
    CacheFull,
    CacheMismatch,
    CacheOverwritten,
    ShapeError,
    SizeOutOfRange,
    UnknownName,
    UnknownOption,
)
from core.model import Decoder
from core.trace import Trace
from tests.core import reference
from tests.core.test_model import GRID, LAWS, SIZES, close, label, random_decoder, random_ids

TOLERANCE = 1e-5
LENGTH = 8
SHARING = [{**SIZES, "kv_heads": kv, "positions": positions, "norm_place": place, "norm": norm}
           for kv in (6, 2, 1) for positions in ("rope", "learned", "sinusoidal", "none")
           for norm, place in (("rms", "pre"), ("layer", "post"))]
WINDOWED = [{**SIZES, "sliding_window": window, "kv_heads": kv, "positions": positions}
            for window in (1, 2, 3, 5, 8, 20) for kv, positions in ((1, "rope"), (2, "learned"))]
SPLITS = [[8], [1] * 8, [3, 5], [5, 1, 2], [2, 2, 2, 2], [6, 1, 1], [1, 7]]


def read(decoder: Decoder, ids: Tensor, split: list[int], allowed: Tensor | None = None, **choices: Any) -> Tensor:
    """The logits of all tokens, read with a cache in pieces of those sizes."""
    cache = KVCache(decoder.config, ids.shape[0], choices.pop("room", ids.shape[1]), **choices)
    pieces, end = [], 0
    for size in split:
        end += size
        pieces.append(decoder(ids[:, end - size:end], cache=cache,
                              allowed=None if allowed is None else allowed[:, :end]))
        assert cache.length == end
    return torch.cat(pieces, dim=1)


def same(a: Tensor, b: Tensor) -> None:
    close(a, b, TOLERANCE)
    assert torch.equal(a.argmax(-1), b.argmax(-1)), "greedy tokens differ"


@pytest.mark.parametrize("choices", [*SHARING, *WINDOWED, *GRID[::7]], ids=label)
def test_in_pieces_as_at_once_as_without_a_cache(choices: dict[str, Any]) -> None:
    decoder, ids = random_decoder(**choices), random_ids(2, LENGTH)
    whole = decoder(ids)
    for split in SPLITS:
        same(read(decoder, ids, split), whole)


@pytest.mark.parametrize("choices", [*LAWS, *WINDOWED[2:8]], ids=label)
@pytest.mark.parametrize("pads", [([0, 1], []), ([0, 1, 2, 3], [0]), ([], [6, 7]), ([0], [3, 4])], ids=str)
def test_padding_in_a_batch(choices: dict[str, Any], pads: tuple[list[int], list[int]]) -> None:
    decoder, ids = random_decoder(**choices), random_ids(2, LENGTH)
    allowed = torch.ones(2, LENGTH, dtype=torch.bool)
    for row, places in enumerate(pads):
        allowed[row, places] = False
    whole = decoder(ids, allowed=allowed)
    for split in SPLITS:
        close(read(decoder, ids, split, allowed), whole, TOLERANCE)


@pytest.mark.parametrize("choices", LAWS, ids=label)
def test_a_left_padded_text_decodes_as_it_does_alone(choices: dict[str, Any]) -> None:
    """Without `allowed` in later steps the cached padding stays hidden, and new tokens are real."""
    decoder, ids = random_decoder(**choices), random_ids(1, 5)
    padded = torch.cat([torch.full((1, 3), 7), ids], dim=1)
    allowed = torch.tensor([[False] * 3 + [True] * 3])
    cache = KVCache(decoder.config, 1, LENGTH)
    parts = [decoder(padded[:, :6], cache=cache, allowed=allowed)[:, 3:]]
    parts += [decoder(padded[:, n:n + 1], cache=cache) for n in (6, 7)]
    same(torch.cat(parts, dim=1), decoder(ids))


@pytest.mark.parametrize("choices", [*SHARING[:8], *WINDOWED[2:6], LAWS[3]], ids=label)
@pytest.mark.parametrize("split", [[4, 4], [7, 1], [5, 2, 1], [8]], ids=str)
def test_a_trace_on_top_of_a_cache_against_the_reference(choices: dict[str, Any], split: list[int]) -> None:
    """Each tensor of the last pass is the last rows of the whole text's, and K and V are all rows that can be read."""
    decoder, ids = random_decoder(**choices), random_ids(2, LENGTH)
    config = decoder.config
    expected = reference.decode(
        config, {name: value.numpy() for name, value in decoder.state_dict().items()}, ids.numpy())
    cache, trace, end = KVCache(config, 2, LENGTH), Trace(), 0
    for size in split:
        end += size
        logits = decoder(ids[:, end - size:end], cache=cache, trace=trace if end == LENGTH else None)
    new, past = split[-1], LENGTH - split[-1]
    keys = new + (past if config.sliding_window is None else min(past, config.sliding_window - 1))
    close(logits, expected["logits"][:, past:], TOLERANCE)
    assert (trace.sizes["T"], trace.sizes["Tq"], trace.sizes["Tk"]) == (new, new, keys)
    assert trace.sizes["Tp"] == keys - new
    for name, value in expected.items():
        axes = trace.axes(name)
        rows = [slice(None) if axis not in ("T", "Tq") else slice(past, None) for axis in axes]
        columns = [slice(LENGTH - keys, None) if axis == "Tk" else rows[i] for i, axis in enumerate(axes)]
        close(trace[name], value[tuple(columns)], TOLERANCE)
    for layer in range(config.layers):
        rotated = "k_rot" if config.positions == "rope" else "k"
        close(trace[f"blocks.{layer}.k_all"], expected[f"blocks.{layer}.{rotated}"][:, :, LENGTH - keys:], TOLERANCE)
        close(trace[f"blocks.{layer}.v_all"], expected[f"blocks.{layer}.v"][:, :, LENGTH - keys:], TOLERANCE)
        check = trace.check(layer)
        assert check is not None
        assert check.difference <= TOLERANCE * max(1.0, check.size)
        append = trace.check_step(f"blocks.{layer}.k_all")
        assert append is not None
        assert append.difference == 0


def test_a_trace_of_padded_texts_on_top_of_a_cache() -> None:
    decoder, ids = random_decoder(**LAWS[3]), random_ids(2, LENGTH)
    allowed = torch.ones(2, LENGTH, dtype=torch.bool)
    allowed[1, :5] = False
    parameters = {name: value.numpy() for name, value in decoder.state_dict().items()}
    expected = reference.decode(decoder.config, parameters, ids.numpy(), real=allowed.numpy())
    cache, trace = KVCache(decoder.config, 2, LENGTH), Trace()
    decoder(ids[:, :6], cache=cache, allowed=allowed[:, :6])
    decoder(ids[:, 6:], cache=cache, trace=trace, allowed=allowed)
    assert trace["positions"].tolist() == [[6, 7], [1, 2]]
    close(trace["blocks.1.weights"], expected["blocks.1.weights"][:, :, 6:, 5:], TOLERANCE)
    close(trace["logits"], expected["logits"][:, 6:], TOLERANCE)


# Masks with Tq ≠ Tk.


def test_new_queries_see_every_cached_key() -> None:
    """C6, C7 and H9, in the kernel that the decoder uses: equal scores, so the output is the mean of what is seen."""
    values = torch.tensor([10.0, 20.0, 30.0, 60.0])[None, None, :, None]
    keys = torch.zeros(1, 1, 4, 1)
    one = steps.fused_attention(keys[:, :, :1], keys, values, None)
    assert one.flatten().tolist() == pytest.approx([30.0])
    mask = ops.causal_mask(2, 4)
    assert mask.tolist() == [[0, 0, 0, ops.NEG_INF], [0, 0, 0, 0]]
    two = steps.fused_attention(keys[:, :, :2], keys, values, mask[None, None])
    assert two.flatten().tolist() == pytest.approx([20.0, 30.0])
    assert ops.causal_mask(2, 5).tolist() == [[0, 0, 0, 0, ops.NEG_INF], [0] * 5]


@pytest.mark.parametrize(("cached", "new"), [(3, 2), (3, 1), (2, 2)])
def test_the_mask_of_a_traced_pass_is_aligned_at_the_end(cached: int, new: int) -> None:
    decoder, ids = random_decoder(**LAWS[0]), random_ids(1, cached + new)
    cache, trace = KVCache(decoder.config, 1, 9), Trace()
    decoder(ids[:, :cached], cache=cache)
    decoder(ids[:, cached:], cache=cache, trace=trace)
    hidden = [[key > cached + query for key in range(cached + new)] for query in range(new)]
    assert (trace["mask"][0, 0] == ops.NEG_INF).tolist() == hidden


@pytest.mark.parametrize("heads", [(4, 2), (4, 1), (9, 3)])
def test_one_query_with_shared_heads_equals_the_written_out_attention(heads: tuple[int, int]) -> None:
    """The regrouped heads of a single query, with and without padding in the batch."""
    generator = torch.Generator().manual_seed(5)
    q = torch.randn(2, heads[0], 1, 8, generator=generator)
    k, v = (torch.randn(2, heads[1], 5, 8, generator=generator) for _ in "kv")
    padding = ops.padding_mask(torch.tensor([[False, True, True, True, True], [True] * 5]))
    for mask in (None, padding):
        close(steps.fused_attention(q, k, v, mask), ops.attend(q, k, v, mask=mask).context)


# What an old trace shows never changes.


@pytest.mark.parametrize("choices", [LAWS[0], LAWS[3], {**SIZES, "sliding_window": 4}], ids=label)
def test_later_steps_and_crops_leave_earlier_traces_as_they_were(choices: dict[str, Any]) -> None:
    decoder, ids, other = random_decoder(**choices), random_ids(2, LENGTH), random_ids(2, LENGTH, seed=9)
    cache, kept = KVCache(decoder.config, 2, LENGTH), []
    for end in range(1, 7):
        trace = Trace()
        decoder(ids[:, end - 1:end], cache=cache, trace=trace)
        kept.append((trace, {name: trace[name].clone() for name in trace.names() if trace.is_given(name)}))
    cache.crop(5)
    decoder(other[:, 5:6], cache=cache)
    if not cache.is_ring:
        cache.crop(1)
        decoder(other[:, 1:], cache=cache)
    for trace, given in kept:
        for name, value in given.items():
            assert torch.equal(trace[name], value), name
        check = trace.check(1)
        assert check is not None
        assert check.difference <= TOLERANCE * max(1.0, check.size)


def test_traces_of_a_whole_generation_share_the_rows_of_the_cache() -> None:
    decoder, ids = random_decoder(**LAWS[0]), random_ids(1, 9)
    cache, traces = KVCache(decoder.config, 1, 9), []
    for n in range(9):
        traces.append(Trace())
        decoder(ids[:, n:n + 1], cache=cache, trace=traces[-1])
    storages = {trace[f"blocks.{layer}.{name}"].untyped_storage().data_ptr()
                for trace in traces for layer in range(2) for name in ("k_past", "v_past")}
    assert storages == {cache.keys.untyped_storage().data_ptr(), cache.values.untyped_storage().data_ptr()}


def test_a_trace_without_a_cache_has_no_cached_names() -> None:
    trace = Trace()
    random_decoder(**LAWS[0])(random_ids(), trace=trace)
    assert "blocks.0.k_all" not in trace
    with pytest.raises(UnknownName):
        _ = trace["blocks.0.k_past"]


def test_an_edit_of_a_cached_row_changes_what_follows_and_nothing_else() -> None:
    decoder, ids = random_decoder(**LAWS[0]), random_ids(1, 5)
    cache, trace = KVCache(decoder.config, 1, 5), Trace(past_tokens=list("abcd"), tokens=["e"])
    decoder(ids[:, :4], cache=cache)
    decoder(ids[:, 4:], cache=cache, trace=trace)
    assert trace.key_tokens == list("abcde")
    edited = trace.edited({"blocks.1.v_past": {(0, 0, 2, 1): 9.0}})
    assert edited.key_tokens == trace.key_tokens
    moved = {name for name in trace.names() if not torch.equal(edited[name], trace[name])}
    assert "blocks.1.v_all" in moved
    assert "logits" in moved
    assert not {name for name in moved if name.startswith("blocks.0.")} | ({"blocks.1.weights"} & moved)
    before = trace["blocks.1.v_past"][0, 0, 2, 1]
    assert cache.values[1, 0, 0, 2, 1] == before, "the cache itself was edited"


# Memory.


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


# Crop.


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


# What does not fit.


def test_a_full_cache_refuses_and_stays_as_it_was() -> None:
    decoder, ids = random_decoder(**LAWS[0]), random_ids(1, 6)
    cache = KVCache(decoder.config, 1, 4)
    decoder(ids[:, :3], cache=cache)
    with pytest.raises(CacheFull) as caught:
        decoder(ids[:, 3:5], cache=cache)
    assert (caught.value.length, caught.value.new, caught.value.max_tokens) == (3, 2, 4)
    close(decoder(ids[:, 3:4], cache=cache), decoder(ids[:, :4])[:, 3:], TOLERANCE)


@pytest.mark.parametrize(("field", "value"), [
    ("layers", 3), ("kv_heads", 3), ("head_dim", 8), ("sliding_window", 4)])
def test_a_cache_of_another_model_is_refused(field: str, value: int) -> None:
    cache = KVCache(ModelConfig(**{**SIZES, field: value}), 1, 5)
    with pytest.raises(CacheMismatch) as caught:
        random_decoder(**SIZES)(random_ids(1, 2), cache=cache)
    assert (caught.value.field, caught.value.cached) == (field, value)


def test_another_batch_or_device_is_refused() -> None:
    decoder = random_decoder(**SIZES)
    with pytest.raises(CacheMismatch, match="batch"):
        decoder(random_ids(2, 2), cache=KVCache(decoder.config, 1, 5))
    with pytest.raises(CacheMismatch, match="device"):
        decoder(random_ids(2, 2), cache=KVCache(decoder.config, 2, 5, device="meta"))


def test_more_tokens_than_positions_are_refused_whatever_the_cache_holds() -> None:
    decoder = random_decoder(**LAWS[1])
    cache = KVCache(decoder.config, 1, 20)
    decoder(random_ids(1, 9), cache=cache)
    with pytest.raises(ShapeError):
        decoder(random_ids(1, 1), cache=cache)


@pytest.mark.parametrize("allowed", [
    torch.ones(1, 2, dtype=torch.bool), torch.ones(1, 5), torch.tensor([[False, True, True, True, True]])], ids=str)
def test_an_allowed_that_contradicts_the_cache_is_refused(allowed: Tensor) -> None:
    decoder, ids = random_decoder(**LAWS[0]), random_ids(1, 5)
    cache = KVCache(decoder.config, 1, 9)
    decoder(ids[:, :3], cache=cache)
    with pytest.raises(ShapeError):
        decoder(ids[:, 3:], cache=cache, allowed=allowed)


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


def test_a_pass_that_fails_leaves_the_cache_as_it_was() -> None:
    decoder, ids = random_decoder(**LAWS[3]), random_ids(1, 9)
    cache = KVCache(decoder.config, 1, 9)
    decoder(ids[:, :5], cache=cache)
    full, decoder.blocks[1].config = decoder.blocks[1].config, None
    with pytest.raises(AttributeError):
        decoder(ids[:, 5:6], cache=cache)
    decoder.blocks[1].config = full
    close(decoder(ids[:, 5:6], cache=cache), decoder(ids)[:, 5:6], TOLERANCE)
