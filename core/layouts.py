"""The projection parameters of one layer: which numbers they are, and two ways to multiply by them.

Separate: a matrix [D, Dh] for each head, as many products as there are heads. Merged: the heads of a role side by side,
WQ [D, H·Dh], one product for each role (D0 §5.3, D1 §5.1–5.3).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from core import ops
from core.trace import Trace


class Parameters(NamedTuple):
    """One matrix (D, heads·Dh) or bias (heads·Dh) for each role; a bias is None where the layer has none."""

    q: Tensor | None
    k: Tensor | None
    v: Tensor | None


def weights_of(trace: Trace, layer: int) -> tuple[Parameters, Parameters]:
    """The matrices and the biases of a layer's projections."""
    block = f"blocks.{layer}."
    matrices = Parameters(*(trace[f"{block}w{letter}"] for letter in "qkv"))
    biased = trace.config.qkv_bias
    return matrices, Parameters(*(trace[f"{block}b{letter}"] if biased else None for letter in "qkv"))


def head_columns(trace: Trace, name: str, head: int) -> tuple[int, int]:
    """(first, count): the columns of a projection's matrix or bias that belong to a query head, or to the KV head that
    it reads."""
    width = trace.config.head_dim
    place = head if name.rsplit(".", 1)[-1] in ("wq", "bq", "q_proj") else head // trace.config.group
    return place * width, width


def separate(x: Tensor, w: Tensor, bias: Tensor | None, heads: int) -> Tensor:
    """x (B, T, D) through one matrix (D, Dh) for each head, one product after the other -> (B, heads, T, Dh)."""
    biases = [None] * heads if bias is None else bias.chunk(heads)
    return torch.stack([ops.project(x, part, b) for part, b in zip(w.chunk(heads, dim=1), biases, strict=True)], dim=1)


def merged(x: Tensor, w: Tensor, bias: Tensor | None, heads: int) -> Tensor:
    """x (B, T, D) through all heads of a role at once, then cut into heads -> (B, heads, T, Dh)."""
    return ops.split_heads(ops.project(x, w, bias), heads)
