"""From token ids to vectors: a row looked up for each id, and the position tables that are added to it."""

from __future__ import annotations

import torch
from torch import Tensor

from core.errors import ShapeError, TokenOutOfRange


def lookup(table: Tensor, ids: Tensor) -> Tensor:
    """table (V, D), ids (…) -> (…, D). Raises TokenOutOfRange for an id outside 0..V−1, a negative one included."""
    vocab = table.shape[0]
    for token in ids.flatten().tolist():
        if not 0 <= token < vocab:
            raise TokenOutOfRange(int(token), vocab)
    return table[ids]


def one_hot_product(table: Tensor, ids: Tensor) -> Tensor:
    """The same rows as a matrix product: one-hot (…, V) × table (V, D) -> (…, D). V times the work, for nothing."""
    vocab = table.shape[0]
    for token in ids.flatten().tolist():
        if not 0 <= token < vocab:
            raise TokenOutOfRange(int(token), vocab)
    empty = torch.zeros(*ids.shape, vocab, dtype=table.dtype, device=table.device)
    one_hot = empty.scatter(-1, ids[..., None].long(), 1.0)  # (…, V)
    return one_hot @ table


def sinusoidal(length: int, width: int) -> Tensor:
    """The fixed table of Vaswani et al. 2017 §3.5 -> (T, D) float32; columns 2i and 2i+1 are sin and cos of one angle.

    angle(position, i) = position · 10000^(−2i/D): both columns of a pair share the exponent.
    """
    if length < 1 or width < 2 or width % 2:
        raise ShapeError("a sinusoidal table needs at least one row and an even width", table=(length, width))
    exponent = torch.arange(0, width, 2, dtype=torch.float64, device="cpu") / width  # (D/2,)
    angle = torch.arange(length, dtype=torch.float64, device="cpu")[:, None] * 10000.0**-exponent  # (T, D/2)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2).float()  # (T, D)


def positions(ids: Tensor, total: int, allowed: Tensor | None = None) -> Tensor:
    """Positions (B, T) of ids (B, T), the last of `total` tokens: their places or, with `allowed` (B, total) False at
    padding, the count of real tokens so far less one (0 on padding before the first). Raises ShapeError."""
    new = ids.shape[1]
    if allowed is None:
        return torch.arange(total - new, total, device=ids.device).expand(ids.shape)
    if allowed.shape != (ids.shape[0], total) or allowed.dtype != torch.bool:
        raise ShapeError("allowed must be a boolean over cached and new tokens", allowed=allowed.shape, ids=ids.shape)
    return (allowed.long().cumsum(dim=1) - 1).clamp_min(0)[:, -new:]
