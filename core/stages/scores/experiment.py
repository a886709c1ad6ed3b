"""The scale experiment: many random draws, what √Dh predicts beside what was measured."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from core import ops

HEAD_WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
QUERIES = 512
KEYS = 16


class Saturation(NamedTuple):
    """How one-sided rows of weights are, averaged over rows: entropy in nats (ln Tk when even, 0 when one key takes
    all), the largest weight, and the size of the softmax gradient (Frobenius norm of its Jacobian)."""

    entropy: float
    largest: float
    gradient: float


class ScaleRow(NamedTuple):
    """One head width: the measured standard deviation of q·k, √Dh, and saturation without and with the scale."""

    head_width: int
    measured_std: float
    predicted_std: float
    unscaled: Saturation
    scaled: Saturation


def scale_experiment(seed: int = 0) -> list[ScaleRow]:
    """Draw q and k with unit variance for each width in `HEAD_WIDTHS`, 512 queries against 16 keys each (D0 §6.5)."""
    generator = torch.Generator().manual_seed(seed)
    rows = []
    for width in HEAD_WIDTHS:
        q = torch.randn(QUERIES, 1, width, generator=generator, dtype=torch.float64)
        k = torch.randn(QUERIES, KEYS, width, generator=generator, dtype=torch.float64)
        raw = ops.raw_scores(q, k)[:, 0]  # (512, 16): fresh keys for every query, so the draws are independent
        scaled = ops.scale_scores(raw, ops.default_scale(width))
        rows.append(ScaleRow(width, float(raw.std()), math.sqrt(width), saturation(raw), saturation(scaled)))
    return rows


def saturation(scores: Tensor) -> Saturation:
    """scores (rows, keys) -> the row averages of entropy, largest weight and gradient size of their softmax."""
    weights = ops.softmax(scores)
    entropy = -torch.special.xlogy(weights, weights).sum(dim=-1)
    # The Jacobian of softmax is diag(a) − a aᵀ; its squared norm is Σa² − 2Σa³ + (Σa²)².
    squares = (weights**2).sum(dim=-1)
    gradient = (squares - 2 * (weights**3).sum(dim=-1) + squares**2).clamp_min(0.0).sqrt()
    return Saturation(float(entropy.mean()), float(weights.amax(dim=-1).mean()), float(gradient.mean()))
