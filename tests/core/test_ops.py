"""Projections, heads, masks and softmax: the published cases, each with its kind."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from core import ops
from core.errors import Indivisible, ShapeError

INF = math.inf


def tensor(*rows: object) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float32)


def is_close(result: torch.Tensor, expected: object, atol: float = 1e-6) -> None:
    torch.testing.assert_close(result, torch.as_tensor(expected, dtype=result.dtype), atol=atol, rtol=0)


def allowed(mask: torch.Tensor) -> list[list[int]]:
    """An additive mask as ones and zeros; its entries must be 0 or −∞ and nothing else."""
    assert ((mask == 0) | (mask == -INF)).all()
    return (mask == 0).int().tolist()


def test_a_projection_multiplies_from_the_left_of_an_in_out_matrix() -> None:
    """A5: W = [[1,2],[3,4]] and x = [1,10] give xW = [31,42], where a linear layer's layout would give [21,43]."""
    is_close(ops.project(tensor(1, 10), tensor([1, 2], [3, 4])), [31, 42])
    is_close(ops.project(tensor(1, 10), tensor([1, 2], [3, 4]), tensor(0.5, -2)), [31.5, 40])
    w = torch.randn(5, 3)
    x = torch.randn(2, 4, 5)
    torch.testing.assert_close(ops.project(x, w), nn.functional.linear(x, w.T))
    with pytest.raises(ShapeError) as caught:
        ops.project(x, w.T)
    assert caught.value.shapes == {"x": (2, 4, 5), "w": (3, 5)}


def test_heads_are_blocks_of_columns_not_of_time() -> None:
    """D1."""
    heads = ops.split_heads(torch.arange(12).reshape(1, 3, 4), 2)
    assert heads[0].tolist() == [[[0, 1], [4, 5], [8, 9]], [[2, 3], [6, 7], [10, 11]]]


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3), st.sampled_from([(), (2,), (2, 3)]))
def test_merging_undoes_splitting(heads: int, tokens: int, width: int, lead: tuple[int, ...]) -> None:
    x = torch.arange(math.prod(lead) * tokens * heads * width).reshape(*lead, tokens, heads * width)
    split = ops.split_heads(x, heads)
    assert split.shape == (*lead, heads, tokens, width)
    assert torch.equal(ops.merge_heads(split), x)


def test_a_width_that_no_head_count_divides_is_refused_with_widths_that_would_do() -> None:
    with pytest.raises(Indivisible) as caught:
        ops.split_heads(torch.zeros(1, 3, 10), 4)
    assert (caught.value.value, caught.value.divisor, caught.value.fits) == (10, 4, [8, 12])


@pytest.mark.parametrize(("t_q", "t_k", "rows"), [
    (3, None, [[1, 0, 0], [1, 1, 0], [1, 1, 1]]),  # C10: masked from the diagonal above the main one
    (2, 4, [[1, 1, 1, 0], [1, 1, 1, 1]]),  # C7
    (1, 4, [[1, 1, 1, 1]]),  # C6: the one query of a decoding step is the last position
    (2, 5, [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]),  # H9
    (3, 4, [[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]),  # W35, lower-right
    (5, 2, [[0, 0], [0, 0], [0, 0], [1, 0], [1, 1]]),  # queries that lie before every key
    (2, 1, [[0], [1]]),
])
def test_a_causal_mask_is_aligned_at_the_end(t_q: int, t_k: int | None, rows: list[list[int]]) -> None:
    assert allowed(ops.causal_mask(t_q, t_k)) == rows


def test_uniform_scores_under_a_causal_mask_spread_over_the_past() -> None:
    """C10."""
    is_close(ops.softmax(ops.causal_mask(3)), [[1, 0, 0], [.5, .5, 0], [1 / 3, 1 / 3, 1 / 3]])


@pytest.mark.parametrize(("t_q", "out"), [(1, [30]), (2, [20, 30])])
def test_cached_decoding_reads_every_cached_key(t_q: int, out: list[float]) -> None:
    """C6 and C7: V = [10,20,30,60] averaged over the visible keys."""
    v = tensor([10], [20], [30], [60])
    result = ops.attend(torch.zeros(t_q, 2), torch.zeros(4, 2), v, mask=ops.causal_mask(t_q, 4))
    is_close(result.context[:, 0], out, atol=1e-5)


def test_a_window_counts_the_current_token() -> None:
    """C20: W=3 at position 5 sees 3, 4, 5; 15 pairs in all for T=6, where causal has 21."""
    rows = allowed(ops.sliding_window_mask(6, 6, 3))
    assert [j for j, seen in enumerate(rows[5]) if seen] == [3, 4, 5]
    assert sum(map(sum, rows)) == 15
    assert sum(map(sum, allowed(ops.causal_mask(6)))) == 21
    assert allowed(ops.sliding_window_mask(2, 5, 2)) == [[0, 0, 1, 1, 0], [0, 0, 0, 1, 1]]


@given(st.integers(1, 7), st.integers(1, 12), st.integers(1, 12))
def test_masks_agree_with_their_definition(t_q: int, t_k: int, window: int) -> None:
    at = [t_k - t_q + i for i in range(t_q)]
    assert allowed(ops.causal_mask(t_q, t_k)) == [[int(j <= p) for j in range(t_k)] for p in at]
    expected = [[int(p - window < j <= p) for j in range(t_k)] for p in at]
    assert allowed(ops.sliding_window_mask(t_q, t_k, window)) == expected
    prefix = min(window, t_k)
    assert allowed(ops.prefix_mask(t_q, t_k, prefix)) == [[int(j <= p or j < prefix) for j in range(t_k)] for p in at]


def test_a_padding_mask_hides_keys_and_not_queries() -> None:
    """C17: ids [5,7,0,0] with 0 as padding, causal, uniform scores."""
    mask = ops.combine_masks(ops.causal_mask(4), ops.padding_mask(torch.tensor([[True, True, False, False]])))
    assert mask is not None
    assert mask.shape == (1, 1, 4, 4)
    is_close(ops.softmax(mask)[0, 0], [[1, 0, 0, 0], [.5, .5, 0, 0], [.5, .5, 0, 0], [.5, .5, 0, 0]])


def test_combining_masks_hides_what_any_of_them_hides() -> None:
    padding = ops.padding_mask(torch.tensor([[False, True, True], [True, True, False]]))
    both = ops.combine_masks(None, ops.causal_mask(3), padding)
    assert both is not None
    assert allowed(both[:, 0]) == [[[0, 0, 0], [0, 1, 0], [0, 1, 1]], [[1, 0, 0], [1, 1, 0], [1, 1, 0]]]
    assert ops.combine_masks(None, None) is None


@pytest.mark.parametrize("call", [
    lambda: ops.causal_mask(3, 0), lambda: ops.causal_mask(0), lambda: ops.sliding_window_mask(2, 0, 1),
    lambda: ops.sliding_window_mask(2, 2, 0),
    lambda: ops.padding_mask(torch.ones(2, 3)), lambda: ops.padding_mask(torch.ones(3, dtype=torch.bool)),
    lambda: ops.attend(torch.ones(2, 3), torch.ones(2, 4), torch.ones(2, 3)),
    lambda: ops.attend(torch.ones(2, 3), torch.ones(2, 3), torch.ones(4, 3)),
    lambda: ops.mix(torch.ones(2, 3), torch.ones(2, 3)),
])
def test_shapes_that_do_not_fit_are_refused(call: object) -> None:
    with pytest.raises(ShapeError):
        call()  # type: ignore[operator]


@pytest.mark.parametrize(("heads", "kv_heads"), [(33, 2), (3, 2)])
def test_heads_that_cannot_be_shared_evenly_are_refused(heads: int, kv_heads: int) -> None:
    """D6."""
    with pytest.raises(Indivisible) as caught:
        ops.attend(torch.ones(1, heads, 2, 4), torch.ones(1, kv_heads, 2, 4), torch.ones(1, kv_heads, 2, 4))
    assert (caught.value.value, caught.value.divisor) == (heads, kv_heads)


@pytest.mark.parametrize(("scale", "weights"), [
    (1 / math.sqrt(16), [.880797, .119203]), (1 / math.sqrt(64), [.731059, .268941])])
def test_the_divisor_is_the_root_of_the_head_width(scale: float, weights: list[float]) -> None:
    """B1: raw [8,0] with D=64 and four heads is divided by 4; dividing by 8 is the mistake, and too flat."""
    is_close(ops.softmax(ops.scale_scores(tensor(8, 0), scale)), weights)


def test_attention_scales_by_the_width_of_what_it_dots() -> None:
    """B1 and B3 through `attend`: q·k = 8 over 16 dimensions, and q·k = 2 over 4."""
    for width, dot, expected in ((16, 8, [.880797, .119203]), (4, 2, [.731059, .268941])):
        q, k = torch.full((1, width), dot / width), torch.stack([torch.ones(width), torch.zeros(width)])
        is_close(ops.attend(q, k, torch.eye(2)).weights[0], expected)
    is_close(ops.attend(q, k, torch.eye(2), scale=2.0).weights[0], [.982014, .017986])  # B3 wrong: times √Dh


def test_softmax_runs_over_the_keys() -> None:
    """B6."""
    is_close(ops.softmax(tensor([1, 2], [3, 5])), [[.268941, .731059], [.119203, .880797]])


def test_softmax_survives_scores_of_hundreds() -> None:
    """B7."""
    scores = tensor(-249.873093, -424.126709, -460.292542, 378.097443, -292.614532)
    is_close(ops.softmax(scores), [0, 0, 0, 1, 0], atol=0)


def test_half_precision_needs_the_scale_before_the_product() -> None:
    """B8: the scaled score 56568.54 fits fp16, the raw 80000 does not."""
    q = torch.full((1, 2), 200.0, dtype=torch.float16)
    scale = ops.default_scale(2)
    assert ops.scale_scores(ops.raw_scores(q, q), scale).item() == INF
    assert ops.raw_scores(ops.scale_scores(q, scale), q).item() == 56544
    assert ops.scale_scores(ops.raw_scores(q.float(), q.float()), scale).item() == pytest.approx(56568.54, abs=0.01)


def test_a_query_that_may_read_nothing_gets_zeros_and_is_reported() -> None:
    """C1: of the four answers found in the wild, ours is 0, said out loud."""
    mask = tensor([0, 0, -INF], [-INF] * 3)
    result = ops.attend(torch.zeros(2, 4), torch.zeros(3, 4), tensor([10], [20], [60]), mask=mask)
    is_close(result.weights, [[.5, .5, 0], [0, 0, 0]])
    is_close(result.context, [[15], [0]], atol=1e-5)
    assert result.empty_rows.tolist() == [False, True]
    assert torch.isnan(torch.softmax(result.masked, -1)[1]).all(), "what plain softmax would have said"


def test_padding_masks_say_what_may_be_read() -> None:
    """C4: [T,T,F] over V = [10,20,60] is 15; torch's multi-head module reads the same tensor the other way, 60."""
    mask = ops.padding_mask(torch.tensor([[True, True, False]]))
    v = tensor([10], [20], [60])[None, None]
    is_close(ops.attend(torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 3, 2), v, mask=mask).context.flatten(), [15], 1e-5)


def test_a_mask_of_ones_and_zeros_would_only_nudge() -> None:
    """C14: additive [1,0] gives 12.689414 where hiding the second key gives 10."""
    q, k, v = torch.zeros(1, 2), torch.zeros(2, 2), tensor([10], [20])
    is_close(ops.attend(q, k, v, mask=tensor(1, 0)).context, [[12.689414]], atol=2e-6)
    is_close(ops.attend(q, k, v, mask=tensor(0, -INF)).context, [[10]])


def test_masking_first_equals_masking_last_and_renormalising() -> None:
    """C16."""
    scores = tensor([1, 2], [3, 4])
    first = ops.softmax(ops.mask_scores(scores, ops.causal_mask(2)))
    is_close(first, [[1, 0], [.268941, .731059]])
    last = ops.softmax(scores) * (ops.causal_mask(2) == 0)
    is_close(last / last.sum(-1, keepdim=True), first)
    is_close(last[0], [.268941, 0])


@pytest.mark.parametrize("shape", [(576,), (1, 1, 576), (4, 4, 576), (17, 576), (2, 40, 576)], ids=str)
def test_few_rows_and_many_against_a_table_are_the_same_product(shape: tuple[int, ...]) -> None:
    """Whichever kernel multiplies."""
    generator = torch.Generator().manual_seed(1)
    x, table = torch.randn(shape, generator=generator), torch.randn(300, 576, generator=generator)
    exact = torch.einsum("...d,vd->...v", x.double(), table.double())
    is_close(ops.unembed(x, table), exact, atol=1e-5 * float(exact.abs().max()))
    table.requires_grad_()
    ops.unembed(x, table).sum().backward()
    assert table.grad is not None
    is_close(table.grad[0], x.reshape(-1, 576).sum(0), atol=1e-4)


@pytest.mark.parametrize(("heads", "kv_heads", "reads"), [
    (4, 2, [0, 0, 1, 1]), (8, 2, [0] * 4 + [1] * 4), (9, 3, [0, 0, 0, 1, 1, 1, 2, 2, 2]), (48, 2, [0] * 24 + [1] * 24),
    (32, 8, [h // 4 for h in range(32)])])
def test_a_query_head_reads_the_kv_head_of_its_group(heads: int, kv_heads: int, reads: list[int]) -> None:
    """D3, D6 and the source document's map of 32 query heads on 8 KV heads."""
    v = torch.arange(kv_heads, dtype=torch.float32)[:, None, None].expand(kv_heads, 3, 1)
    context = ops.attend(torch.zeros(heads, 2, 4), torch.zeros(kv_heads, 3, 4), v).context
    is_close(context[:, 1, 0], reads)
