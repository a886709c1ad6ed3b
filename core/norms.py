"""LayerNorm (Ba et al. 2016) and RMSNorm (Zhang & Sennrich 2019): per token, over its own features, never the batch."""

from __future__ import annotations

import torch
from torch import Tensor


def layer_norm(x: Tensor, gamma: Tensor | None = None, beta: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """(x − μ) / √(σ² + ε) · γ + β over the last axis of x (…, D); σ² is the biased variance, ε inside the root."""
    mean = x.mean(dim=-1, keepdim=True)  # (…, 1)
    centred = x - mean
    variance = (centred * centred).mean(dim=-1, keepdim=True)
    return _affine(_divide(centred, torch.sqrt(variance + eps), eps), gamma, beta)


def rms_norm(x: Tensor, gamma: Tensor | None = None, eps: float = 1e-6) -> Tensor:
    """x / √(mean(x²) + ε) · γ over the last axis of x (…, D): no mean is subtracted and there is no β."""
    mean_square = (x * x).mean(dim=-1, keepdim=True)  # (…, 1)
    return _affine(_divide(x, torch.sqrt(mean_square + eps), eps), gamma, None)


def _divide(x: Tensor, size: Tensor, eps: float) -> Tensor:
    """x / size; with ε = 0 a constant row has size 0 and stays 0 instead of becoming NaN."""
    return x / size if eps > 0 else x / size.masked_fill(size == 0, 1.0)


def _affine(x: Tensor, gamma: Tensor | None, beta: Tensor | None) -> Tensor:
    if gamma is not None:
        x = x * gamma
    return x if beta is None else x + beta
