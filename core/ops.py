"""Attention, written out: every intermediate a named tensor, shapes in the margin.

Axis letters as in `core.notation`: B batch, H query heads, Hkv KV heads, T tokens (Tq queries, Tk keys), Dh head width.
Leading axes may be absent everywhere. The formulas are those of Vaswani et al. 2017, §3.2.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from core.errors import Indivisible, ShapeError

NEG_INF = float("-inf")
FEW_ROWS = 16


class Attention(NamedTuple):
    """Everything that attention computes on the way: shapes (…, H, Tq, Tk), `context` (…, H, Tq, Dv).

    `raw` is QKᵀ, `scaled` that times the scale, `masked` with the mask added, `weights` the softmax over keys;
    `empty_rows` (…, H, Tq) marks queries that no key is readable for (their weights and context are zero).
    """

    raw: Tensor
    scaled: Tensor
    masked: Tensor
    weights: Tensor
    context: Tensor
    empty_rows: Tensor


def project(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    """x (…, in) times w (in, out), plus b (out) if given -> (…, out). Raises ShapeError when `in` differs."""
    if w.ndim != 2 or x.shape[-1] != w.shape[0]:
        raise ShapeError("the last axis of x must equal the first of w", x=x.shape, w=w.shape)
    return x @ w if b is None else x @ w + b


def unembed(x: Tensor, table: Tensor) -> Tensor:
    """x (…, D) against every row of the table (V, D) -> (…, V): the product with its transpose.

    For a few rows on a processor it is oneDNN that multiplies: torch's own kernels read so long a table at half the
    speed, and reading it is all the work there is.
    """
    rows = x.numel() // x.shape[-1]
    plain = x.device.type == "cpu" and x.dtype == torch.float32 and not (x.requires_grad or table.requires_grad)
    if not plain or rows > FEW_ROWS or not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return x @ table.mT
    product = torch.nn.functional.linear(x.reshape(rows, -1).to_mkldnn(), table).to_dense()
    return product.reshape(*x.shape[:-1], -1)  # (…, V)


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """(…, T, H·Dh) -> (…, H, T, Dh): each head takes its own block of columns, all of the tokens."""
    width = x.shape[-1]
    if n_heads < 1 or width % n_heads:
        raise Indivisible("width", width, "heads", n_heads)
    per_head = x.reshape(*x.shape[:-1], n_heads, width // n_heads)  # (…, T, H, Dh)
    return per_head.transpose(-3, -2)  # (…, H, T, Dh)


def merge_heads(x: Tensor) -> Tensor:
    """(…, H, T, Dh) -> (…, T, H·Dh): the inverse of `split_heads`."""
    return x.transpose(-3, -2).flatten(-2)  # (…, T, H, Dh) -> (…, T, H·Dh)


def causal_mask(t_q: int, t_k: int | None = None) -> Tensor:
    """(Tq, Tk) floats, 0 where key j may be read and −inf where it lies after the query.

    With Tq ≠ Tk it is aligned at the end: query i sits at position Tk − Tq + i, as in decoding with a cache. With more
    queries than keys the first Tq − Tk of them lie before every key and read nothing. Raises ShapeError.
    """
    return _band(t_q, t_q if t_k is None else t_k, window=None)


def sliding_window_mask(t_q: int, t_k: int, window: int) -> Tensor:
    """(Tq, Tk) floats: causal, and only the last `window` keys, the current token counted among them; aligned as
    `causal_mask`. Raises ShapeError."""
    if window < 1:
        raise ShapeError("a window holds at least the current token", window=(window,))
    return _band(t_q, t_k, window)


def _band(t_q: int, t_k: int, window: int | None) -> Tensor:
    if t_q < 1 or t_k < 1:
        raise ShapeError("there must be at least one query and one key", scores=(t_q, t_k))
    query = torch.arange(t_k - t_q, t_k, device="cpu")[:, None]  # (Tq, 1) positions
    key = torch.arange(t_k, device="cpu")[None, :]  # (1, Tk)
    allowed = key <= query
    if window is not None:
        allowed &= key > query - window
    return _additive(allowed)  # (Tq, Tk)


def prefix_mask(t_q: int, t_k: int, prefix: int) -> Tensor:
    """(Tq, Tk) floats: as `causal_mask`, but the first `prefix` keys may be read by every query (a prefix language
    model). Raises ShapeError."""
    if not 0 <= prefix <= t_k:
        raise ShapeError("the prefix is a number of keys, from 0 to all of them", prefix=(prefix,), keys=(t_k,))
    mask = _band(t_q, t_k, window=None)
    mask[:, :prefix] = 0.0
    return mask


def padding_mask(allowed: Tensor) -> Tensor:
    """allowed (B, Tk) bool, True where the key is a real token -> (B, 1, 1, Tk) floats: it hides keys, not queries."""
    if allowed.ndim != 2 or allowed.dtype != torch.bool:
        raise ShapeError("allowed must be a boolean (B, Tk)", allowed=allowed.shape)
    return _additive(allowed)[:, None, None, :]


def _additive(allowed: Tensor) -> Tensor:
    return torch.zeros(allowed.shape, device=allowed.device).masked_fill(~allowed, NEG_INF)


def combine_masks(*masks: Tensor | None) -> Tensor | None:
    """The sum of additive masks, broadcast: a key is readable where all of them say 0. None stands for no mask."""
    present = [m for m in masks if m is not None]
    if not present:
        return None
    total = present[0]
    for mask in present[1:]:
        total = total + mask
    return total


def raw_scores(q: Tensor, k: Tensor) -> Tensor:
    """QKᵀ: q (…, H, Tq, Dh), k (…, Hkv, Tk, Dh) -> (…, H, Tq, Tk). Query head h meets KV head h // (H // Hkv)."""
    if q.shape[-1] != k.shape[-1]:
        raise ShapeError("q and k must be equally wide", q=q.shape, k=k.shape)
    return _per_group(q, k.mT)


def scale_scores(raw: Tensor, scale: float) -> Tensor:
    """raw × scale, elementwise; scale is 1/√Dh in the paper."""
    return raw * scale


def default_scale(head_dim: int) -> float:
    """1/√Dh: the standard deviation of a dot product of Dh independent unit-variance pairs is √Dh."""
    return 1.0 / math.sqrt(head_dim)


def mask_scores(scaled: Tensor, mask: Tensor | None) -> Tensor:
    """scaled + mask; the mask (…, Tq, Tk) is broadcast over batch and heads."""
    return scaled if mask is None else scaled + mask


class SoftmaxSteps(NamedTuple):
    """The softmax of each row, opened: `top` (…, Tq, 1) is the row maximum, `shifted` (…, Tq, Tk) the scores minus it,
    `exponentials` exp of that, `total` (…, Tq, 1) their sum, `weights` (…, Tq, Tk) the quotient."""

    top: Tensor
    shifted: Tensor
    exponentials: Tensor
    total: Tensor
    weights: Tensor


def softmax_steps(scores: Tensor) -> SoftmaxSteps:
    """exp(s − max) / Σ exp(s − max) over the last axis, every step kept.

    A row of −inf only has maximum 0 here and gives zeros, where plain softmax gives NaN.
    """
    top = scores.amax(dim=-1, keepdim=True)  # (…, Tq, 1)
    top = top.masked_fill(top == NEG_INF, 0.0)
    shifted = scores - top
    exponentials = torch.exp(shifted)
    total = exponentials.sum(dim=-1, keepdim=True)
    return SoftmaxSteps(top, shifted, exponentials, total, exponentials / total.masked_fill(total == 0, 1.0))


def softmax(scores: Tensor) -> Tensor:
    """Softmax over the last axis, the row maximum subtracted; a row of −inf only gives zeros."""
    return softmax_steps(scores).weights


def mix(weights: Tensor, v: Tensor) -> Tensor:
    """weights (…, H, Tq, Tk) × v (…, Hkv, Tk, Dv) -> (…, H, Tq, Dv): each row a blend of the value rows."""
    if weights.shape[-1] != v.shape[-2]:
        raise ShapeError("weights must have one column for each row of v", weights=weights.shape, v=v.shape)
    return _per_group(weights, v)


def attend(q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, scale: float | None = None) -> Attention:
    """softmax(QKᵀ·scale + mask) V with every step kept.

    q (…, H, Tq, Dh), k (…, Hkv, Tk, Dh), v (…, Hkv, Tk, Dv); H a multiple of Hkv, and Dv may differ from Dh. `mask`
    is additive, 0 or −inf; `scale` multiplies and defaults to 1/√Dh. A query without a readable key gets zeros.
    """
    if k.shape[-2] != v.shape[-2]:
        raise ShapeError("k and v must have the same number of rows", k=k.shape, v=v.shape)
    raw = raw_scores(q, k)  # (…, H, Tq, Tk)
    scaled = scale_scores(raw, default_scale(q.shape[-1]) if scale is None else scale)
    masked = mask_scores(scaled, mask)
    weights = softmax(masked)
    context = mix(weights, v)  # (…, H, Tq, Dv)
    empty_rows = (masked == NEG_INF).all(dim=-1)  # (…, H, Tq)
    return Attention(raw, scaled, masked, weights, context, empty_rows)


def _per_group(left: Tensor, right: Tensor) -> Tensor:
    """Batched left (…, H, m, n) × right (…, Hkv, n, p) -> (…, H, m, p) without repeating the KV heads in memory."""
    if left.ndim < 3 or right.ndim < 3 or left.shape[-3] == right.shape[-3]:
        return left @ right
    heads, kv_heads = left.shape[-3], right.shape[-3]
    if kv_heads < 1 or heads % kv_heads:
        raise Indivisible("heads", heads, "kv_heads", kv_heads)
    grouped = left.reshape(*left.shape[:-3], kv_heads, heads // kv_heads, *left.shape[-2:])  # (…, Hkv, H/Hkv, m, n)
    return (grouped @ right.unsqueeze(-3)).flatten(-4, -3)  # (…, H, m, p)
