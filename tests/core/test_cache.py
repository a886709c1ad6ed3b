"""The cache: read at once, in chunks or token by token, a text gives the same numbers as without one.

Tolerances: float32 rounding in another order of the same sums, 1e-5 of the largest number compared.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from core import ops, steps
from core.cache import KVCache
from core.config import ModelConfig
from core.errors import (
    CacheFull,
    CacheMismatch,
    ShapeError,
    UnknownName,
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


def test_a_pass_that_fails_leaves_the_cache_as_it_was() -> None:
    decoder, ids = random_decoder(**LAWS[3]), random_ids(1, 9)
    cache = KVCache(decoder.config, 1, 9)
    decoder(ids[:, :5], cache=cache)
    full, decoder.blocks[1].config = decoder.blocks[1].config, None
    with pytest.raises(AttributeError):
        decoder(ids[:, 5:6], cache=cache)
    decoder.blocks[1].config = full
    close(decoder(ids[:, 5:6], cache=cache), decoder(ids)[:, 5:6], TOLERANCE)
