"""LayerNorm (Ba et al. 2016) and RMSNorm (Zhang & Sennrich 2019): per token, over its own features, never the batch."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Statistics(NamedTuple):
    """What a norm divides each row x (…, D) by after its mean is taken away: `mean` and `root`, both (…, 1)."""

    mean: Tensor
    root: Tensor


def statistics(x: Tensor, eps: float, *, centred: bool) -> Statistics:
    """√(mean((x − μ)²) + ε) over the last axis; μ is the mean, or where not `centred` 0, as in RMSNorm."""
    mean = x.mean(dim=-1, keepdim=True) if centred else torch.zeros_like(x[..., :1])  # (…, 1)
    rest = x - mean if centred else x
    return Statistics(mean, torch.sqrt((rest * rest).mean(dim=-1, keepdim=True) + eps))


def layer_norm(x: Tensor, gamma: Tensor | None = None, beta: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """(x − μ) / √(σ² + ε) · γ + β over the last axis of x (…, D); σ² is the biased variance, ε inside the root."""
    found = statistics(x, eps, centred=True)
    return _affine(_divide(x - found.mean, found.root, eps), gamma, beta)


def rms_norm(x: Tensor, gamma: Tensor | None = None, eps: float = 1e-6) -> Tensor:
    """x / √(mean(x²) + ε) · γ over the last axis of x (…, D): no mean is subtracted and there is no β."""
    return _affine(_divide(x, statistics(x, eps, centred=False).root, eps), gamma, None)


def _divide(x: Tensor, size: Tensor, eps: float) -> Tensor:
    """x / size; with ε = 0 a constant row has size 0 and stays 0 instead of becoming NaN."""
    return x / size if eps > 0 else x / size.masked_fill(size == 0, 1.0)


def _affine(x: Tensor, gamma: Tensor | None, beta: Tensor | None) -> Tensor:
    if gamma is not None:
        x = x * gamma
    return x if beta is None else x + beta
