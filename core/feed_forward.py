"""The feed-forward network: each token alone, through the same two or three matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from core.errors import UnknownOption
from core.ops import project


def relu(x: Tensor) -> Tensor:
    """max(x, 0), elementwise."""
    return x.clamp_min(0.0)


def gelu(x: Tensor, approximate: Literal["none", "tanh"] = "none") -> Tensor:
    """x·Φ(x) (Hendrycks & Gimpel 2016): with erf, or GPT-2's tanh approximation (largest gap 4.7e-4)."""
    if approximate == "none":
        return 0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))
    if approximate == "tanh":
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
    raise UnknownOption("approximate", approximate, ["none", "tanh"])


def gelu_tanh(x: Tensor) -> Tensor:
    """GPT-2's GELU."""
    return gelu(x, "tanh")


def silu(x: Tensor) -> Tensor:
    """x·σ(x), also called swish; from −0.278 upwards without bound, so no valve between 0 and 1."""
    return x * torch.sigmoid(x)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": relu, "gelu": gelu, "gelu_tanh": gelu_tanh, "silu": silu}


def feed_forward(
    x: Tensor, w1: Tensor, b1: Tensor | None, w2: Tensor, b2: Tensor | None,
    activation: str | Callable[[Tensor], Tensor],
) -> Tensor:
    """activation(x W1 + b1) W2 + b2: x (…, D), w1 (D, F), w2 (F, D) -> (…, D). `activation`: a name or a function."""
    if isinstance(activation, str):
        if activation not in ACTIVATIONS:
            raise UnknownOption("activation", activation, sorted(ACTIVATIONS))
        activation = ACTIVATIONS[activation]
    up = project(x, w1, b1)  # (…, F)
    hidden = activation(up)
    return project(hidden, w2, b2)  # (…, D)


def swiglu(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    """(silu(x W_gate) ⊙ x W_up) W_down (Shazeer 2020): x (…, D), w_gate and w_up (D, F), w_down (F, D) -> (…, D)."""
    gate = silu(project(x, w_gate))  # (…, F)
    up = project(x, w_up)  # (…, F)
    hidden = gate * up
    return project(hidden, w_down)  # (…, D)
