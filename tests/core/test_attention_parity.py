"""The written-out attention beside the reference, torch's own two, and published runs."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from core import ops
from tests.core import reference


def random_qkv(h: int, hkv: int, tq: int, tk: int, dh: int, dv: int, batch: int = 2) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(h * 100 + tq)
    return [torch.randn(batch, heads, rows, width, generator=generator)
            for heads, rows, width in ((h, tq, dh), (hkv, tk, dh), (hkv, tk, dv))]


FEW_KEYS = [(6, 2, 5, 2, 4, 7), (4, 4, 9, 1, 3, 2), (9, 3, 8, 7, 6, 6)]  # fewer than queries
SHAPES = [(6, 2, 3, 5, 4, 7), (6, 1, 5, 5, 8, 8), (4, 4, 1, 9, 3, 2), (9, 3, 7, 8, 6, 6)]


@pytest.mark.parametrize("shape", [*SHAPES, *FEW_KEYS])
def test_every_step_equals_the_reference(shape: tuple[int, ...]) -> None:
    q, k, v = random_qkv(*shape)
    t_q, t_k = shape[2:4]
    allowed = torch.ones(2, t_k, dtype=torch.bool)
    allowed[1, :2] = False
    mask = ops.combine_masks(ops.causal_mask(t_q, t_k), ops.padding_mask(allowed))
    assert mask is not None
    result = ops.attend(q, k, v, mask=mask)
    expected = reference.attention(q.double().numpy(), k.double().numpy(), v.double().numpy(),
                                   (mask[:, 0] == 0).numpy())
    for ours, theirs in (("raw", "scores"), ("scaled", "scaled"), ("masked", "masked"), ("weights", "weights"),
                         ("context", "context")):
        torch.testing.assert_close(getattr(result, ours).double(), torch.from_numpy(expected[theirs]),
                                   atol=2e-6, rtol=2e-6)
    assert torch.equal(result.empty_rows, (mask == -math.inf).all(-1).expand(2, shape[0], t_q))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("masked", [False, True])
def test_the_context_equals_torchs_fused_attention(shape: tuple[int, ...], masked: bool) -> None:
    q, k, v = random_qkv(*shape)
    mask = ops.sliding_window_mask(shape[2], shape[3], 3) if masked else None
    fused = scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    torch.testing.assert_close(ops.attend(q, k, v, mask=mask).context, fused, atol=2e-6, rtol=2e-6)
    fused = scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True, scale=0.3)
    torch.testing.assert_close(ops.attend(q, k, v, mask=mask, scale=0.3).context, fused, atol=2e-6, rtol=2e-6)


@pytest.mark.parametrize("window", [None, 1, 3])
@pytest.mark.parametrize("shape", FEW_KEYS)
def test_queries_before_every_key_read_nothing_and_the_others_what_torch_says(
    shape: tuple[int, ...], window: int | None,
) -> None:
    """C7 the other way round: with Tq > Tk query i sits at Tk − Tq + i, so the first Tq − Tk lie before every key. C1:
    their weights and context are zero, and they are reported."""
    q, k, v = random_qkv(*shape)
    t_q, t_k = shape[2:4]
    mask = ops.causal_mask(t_q, t_k) if window is None else ops.sliding_window_mask(t_q, t_k, window)
    found, early = ops.attend(q, k, v, mask=ops.combine_masks(mask, None)), t_q - t_k
    assert found.empty_rows[..., :early].all()
    assert not found.empty_rows[..., early:].any()
    assert not found.weights[..., :early, :].any()
    assert not found.context[..., :early, :].any()
    fused = scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    torch.testing.assert_close(found.context[..., early:, :], fused[..., early:, :], atol=2e-6, rtol=2e-6)


def test_leading_axes_may_be_absent() -> None:
    q, k, v = random_qkv(6, 2, 3, 5, 4, 7)
    whole = ops.attend(q, k, v)
    for b in range(2):
        torch.testing.assert_close(ops.attend(q[b], k[b], v[b]).context, whole.context[b])
        for h in range(6):
            one = ops.attend(q[b, h], k[b, h // 3], v[b, h // 3])
            torch.testing.assert_close(one.weights, whole.weights[b, h])
            torch.testing.assert_close(one.context, whole.context[b, h])


def test_sharing_does_not_repeat_the_kv_heads_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """K and V go into the product as (…, Hkv, 1, ·, ·): as large as they came."""
    q, k, v = random_qkv(6, 2, 3, 5, 4, 7)
    sizes = []
    product = torch.Tensor.__matmul__
    monkeypatch.setattr(torch.Tensor, "__matmul__", lambda a, b: (sizes.append(b.numel()), product(a, b))[1])
    ops.attend(q, k, v)
    assert sizes == [k.numel(), v.numel()]


def test_every_head_equals_that_of_multi_head_attention() -> None:
    """Cross attention with T≠S, B>1, biases and padding; weights asked for per head (A8: the default averages)."""
    width, heads, batch, t_q, t_k = 12, 3, 2, 4, 6
    torch.manual_seed(5)
    module = nn.MultiheadAttention(width, heads, batch_first=True).eval()
    nn.init.normal_(module.in_proj_bias)
    nn.init.normal_(module.out_proj.bias)
    x, memory = torch.randn(batch, t_q, width), torch.randn(batch, t_k, width)
    allowed = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])

    wq, wk, wv = (w.T for w in module.in_proj_weight.detach().chunk(3))
    bq, bk, bv = module.in_proj_bias.detach().chunk(3)
    q = ops.split_heads(ops.project(x, wq, bq), heads)
    k, v = (ops.split_heads(ops.project(memory, w, b), heads) for w, b in ((wk, bk), (wv, bv)))
    ours = ops.attend(q, k, v, mask=ops.padding_mask(allowed))
    out = ops.project(ops.merge_heads(ours.context), module.out_proj.weight.detach().T, module.out_proj.bias.detach())

    with torch.no_grad():  # its padding mask is True where a key is to be ignored (C4)
        theirs, weights = module(x, memory, memory, key_padding_mask=~allowed, average_attn_weights=False)
        _, averaged = module(x, memory, memory, key_padding_mask=~allowed)
    torch.testing.assert_close(out, theirs, atol=2e-6, rtol=2e-6)
    torch.testing.assert_close(ours.weights, weights, atol=2e-6, rtol=2e-6)
    torch.testing.assert_close(ours.weights.mean(1), averaged, atol=2e-6, rtol=2e-6)


SIX_TOKENS = torch.tensor([[.43, .15, .89], [.55, .87, .66], [.57, .85, .64], [.22, .58, .33], [.77, .25, .10],
                           [.05, .80, .55]])


def printed(result: torch.Tensor, expected: list[float]) -> None:
    """Equal to four printed decimals."""
    torch.testing.assert_close(result, torch.tensor(expected), atol=5.1e-5, rtol=0)


def test_six_tokens_without_weights() -> None:
    """W3: row 2 of softmax(X Xᵀ) X."""
    result = ops.attend(SIX_TOKENS, SIX_TOKENS, SIX_TOKENS, scale=1.0)
    printed(result.weights[1], [.1385, .2379, .2333, .1240, .1082, .1581])
    printed(result.context[1], [.4419, .6515, .5683])


def test_six_tokens_with_three_random_matrices() -> None:
    """W3: seed 123, query 2."""
    torch.manual_seed(123)
    q, k, v = (ops.project(SIX_TOKENS, torch.rand(3, 2)) for _ in range(3))
    printed(q[1], [.4306, 1.4551])
    result = ops.attend(q, k, v)
    printed(result.raw[1], [1.2705, 1.8524, 1.8111, 1.0795, .5577, 1.5440])
    printed(result.weights[1], [.1500, .2264, .2199, .1311, .0906, .1820])
    printed(result.context[1], [.3061, .8210])


def test_six_tokens_causally() -> None:
    """W3: seed 789, linear layers (out, in), so their weights are transposed."""
    torch.manual_seed(789)
    q, k, _ = (ops.project(SIX_TOKENS, nn.Linear(3, 2, bias=False).weight.detach().T) for _ in range(3))
    weights = ops.attend(q, k, SIX_TOKENS, mask=ops.causal_mask(6)).weights
    printed(weights[1, :2], [.5517, .4483])
    printed(weights[2, :3], [.3800, .3097, .3103])
    printed(weights[5], [.1935, .1663, .1666, .1542, .1666, .1529])
    assert (weights.triu(1) == 0).all()


def test_scores_of_a_head_with_itself() -> None:
    """W3: a·aᵀ per head."""
    a = torch.tensor([[.2745, .6584, .2775, .8573], [.8993, .0390, .9268, .7388], [.7179, .7058, .9156, .4340]])
    printed(ops.raw_scores(a[None], a[None])[0, 0], [1.3208, 1.1631, 1.2879])


@pytest.mark.parametrize(("v", "expected"), [
    ([[1, 2], [3, 4]], [[1.660477, 2.660477], [2.339523, 3.339523]]),
    ([[10, 20], [30, 40]], [[16.604769, 26.604769], [23.395231, 33.395231]])])
def test_identity_queries_and_keys(v: list[list[float]], expected: list[list[float]]) -> None:
    """W17: what its page expects differs from the right value in the fourth decimal."""
    result = ops.attend(torch.eye(2), torch.eye(2), torch.tensor(v, dtype=torch.float32)).context
    torch.testing.assert_close(result, torch.tensor(expected), atol=1e-6, rtol=1e-6)


def test_four_by_four() -> None:
    """W47: rows 2 and 4 of the output are equal, which the published digits break."""
    q, k, v = (torch.tensor(rows, dtype=torch.float32) for rows in (
        [[1, 0, 2, 0], [0, 1, 1, 0], [1, 1, 0, 1], [0, 2, 1, 1]],
        [[2, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 1], [0, 0, 2, 1]], [[1, 0], [0, 1], [1, 1], [2, 1]]))
    result = ops.attend(q, k, v)
    assert result.scaled.tolist() == [[1, 1, 1.5, 2], [.5, 1, .5, 1], [1.5, .5, 1, .5], [1, 1.5, 1, 1.5]]
    expected = torch.tensor([[1.269873, .842940], [1, .811230], [1, .573067], [1, .811230]])
    torch.testing.assert_close(result.context, expected, atol=1e-6, rtol=0)
    torch.testing.assert_close(result.context[1], result.context[3], atol=1e-7, rtol=0)
