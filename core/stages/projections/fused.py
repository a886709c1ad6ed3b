"""Three ways to lay out the projection parameters of one layer; all give the same Q, K and V.

Separate and merged are those of `core.layouts`. Fused: the three roles side by side as well, one product with
[D, (H + 2·Hkv)·Dh], which is [D, 3D] where every head has its own K and V and D = H·Dh (D0 §5.3, D1 §5.1–5.3).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from core import ops
from core.check import largest_difference
from core.errors import ShapeError
from core.layouts import Parameters, merged, separate, weights_of
from core.stage import At


class Projected(NamedTuple):
    """q (B, H, T, Dh), k and v (B, Hkv, T, Dh), before any rotation."""

    q: Tensor
    k: Tensor
    v: Tensor


class Layout(NamedTuple):
    """One way to lay the parameters out: how many products it takes, the columns of their matrices (smallest and
    largest), how many numbers they hold in all, and the largest difference of its Q, K, V from the trace's."""

    kind: str
    products: int
    columns: tuple[int, int]
    numbers: int
    difference: float


class Layouts(NamedTuple):
    """The layouts in the order separate, merged, fused; the fused matrix (D, columns), its bias, what it gives
    (B, T, columns), and where Q, K and V lie in its columns as (first, count)."""

    rows: tuple[Layout, ...]
    fused: Tensor
    bias: Tensor | None
    product: Tensor
    parts: tuple[tuple[int, int], ...]


def fuse(parameters: Parameters) -> Tensor | None:
    """Three matrices (D, n) or three biases (n) side by side, Q then K then V; None where there are none."""
    present = [part for part in parameters if part is not None]
    return torch.cat(present, dim=-1) if present else None


def by_head(parameters: Parameters, kv_heads: int) -> Tensor | None:
    """The same numbers as `fuse`, but ordered as some checkpoints store them: for each KV head the query heads that
    read it, then its K, then its V (case A7); None where there are none."""
    present = [part for part in parameters if part is not None]
    groups = zip(*(part.chunk(kv_heads, dim=-1) for part in present), strict=True)
    return torch.cat([part for group in groups for part in group], dim=-1) if present else None


def unfuse(product: Tensor, heads: int, kv_heads: int) -> Projected:
    """(B, T, (H + 2·Hkv)·Dh) -> Q, K, V: three blocks of columns, each cut into its heads. Raises ShapeError when the
    columns do not divide."""
    total = heads + 2 * kv_heads
    if product.shape[-1] % total:
        raise ShapeError("the fused columns are a multiple of H + 2·Hkv", product=product.shape, heads=(total,))
    width = product.shape[-1] // total
    q, k, v = torch.split(product, [heads * width, kv_heads * width, kv_heads * width], dim=-1)
    return Projected(ops.split_heads(q, heads), ops.split_heads(k, kv_heads), ops.split_heads(v, kv_heads))


def compare(at: At) -> Layouts:
    """Carry out all three layouts on the input of a layer's projections, and compare with the Q, K and V of the trace;
    where one of those was edited by hand, with what its product gives."""
    config, x = at.trace.config, at.trace[at.trace.attention_input(at.layer)]
    heads = (config.heads, config.kv_heads, config.kv_heads)
    matrices, biases = weights_of(at.trace, at.layer)
    w, b = fuse(matrices), fuse(biases)
    assert w is not None
    product = ops.project(x, w, b)  # (B, T, (H + 2·Hkv)·Dh)
    each = [[way(x, matrix, bias, n) for matrix, bias, n in zip(matrices, biases, heads, strict=True)
             if matrix is not None] for way in (separate, merged)]
    fused = unfuse(product, config.heads, config.kv_heads)
    widths = [n * config.head_dim for n in heads]
    numbers = w.numel() + (0 if b is None else b.numel())
    right = [product_of_role if _edited(at, letter) else at.trace[at.block + letter]
             for letter, product_of_role in zip("qkv", each[1], strict=True)]
    rows = (
        Layout("separate", sum(heads), (config.head_dim, config.head_dim), numbers, _largest(each[0], right)),
        Layout("merged", len(heads), (min(widths), max(widths)), numbers, _largest(each[1], right)),
        Layout("fused", 1, (sum(widths), sum(widths)), numbers, _largest(fused, right)),
    )
    starts = [sum(widths[:place]) for place in range(len(widths))]
    return Layouts(rows, w, b, product, tuple(zip(starts, widths, strict=True)))


def _edited(at: At, letter: str) -> bool:
    return any(at.block + name in at.trace.edits for name in (letter, f"{letter}_proj"))


def _largest(one: tuple[Tensor, ...] | list[Tensor], other: list[Tensor]) -> float:
    return max(largest_difference(a, b) for a, b in zip(one, other, strict=True))
