"""Rotary position embedding (Su et al. 2021): pairs of dimensions turned by an angle that grows with the position."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from core.errors import Indivisible, ShapeError, UnknownOption

SCALINGS = ("default", "linear", "ntk", "dynamic", "llama3")
MAX_SETTING = 1e12  # no published scaling comes near; keeps θ finite


def frequencies(rotary_dim: int, base: float = 10000.0, scaling: Mapping[str, Any] | None = None) -> Tensor:
    """θ_i = base^(−2i/Dr) for pair i, in radians per position -> (Dr/2,) float64.

    `scaling` stretches the context: {"rope_type": "linear", "factor": f} divides every θ; "ntk" (NTK-aware) raises
    the base; "dynamic" would do so only beyond the positions of the model, so here it changes nothing; "llama3" keeps
    short wavelengths, divides long ones and blends between, with `factor`, `low_freq_factor`, `high_freq_factor`,
    `original_max_position_embeddings`. Raises UnknownOption for another kind, or a setting that is no positive number.
    """
    if rotary_dim < 2 or rotary_dim % 2:
        raise Indivisible("rotary_dim", rotary_dim, "pair", 2)
    kind = "default" if scaling is None else str(scaling.get("rope_type") or scaling.get("type") or "default")
    if kind not in SCALINGS:
        raise UnknownOption("rope_type", kind, SCALINGS)
    factor = _setting(scaling, "factor") if scaling is not None and kind != "default" else 1.0
    if kind == "ntk" and rotary_dim > 2:
        base = base * factor ** (rotary_dim / (rotary_dim - 2))
    exponent = torch.arange(0, rotary_dim, 2, dtype=torch.float64, device="cpu") / rotary_dim  # (Dr/2,)
    theta = base**-exponent
    if kind == "linear":
        return theta / factor
    return _llama3(theta, scaling) if kind == "llama3" and scaling is not None else theta


def _llama3(theta: Tensor, scaling: Mapping[str, Any]) -> Tensor:
    """Llama 3.1: wavelengths below old/high are kept, above old/low divided by `factor`, between them blended."""
    factor, low, high = (_setting(scaling, name) for name in ("factor", "low_freq_factor", "high_freq_factor"))
    old = _setting(scaling, "original_max_position_embeddings")
    if high <= low:
        raise UnknownOption("rope_scaling.high_freq_factor", high, [f"above low_freq_factor={low}"])
    wavelength = 2 * math.pi / theta
    smooth = ((old / wavelength - low) / (high - low)).clamp(0.0, 1.0)
    return (1 - smooth) * theta / factor + smooth * theta


def _setting(scaling: Mapping[str, Any], name: str) -> float:
    value = scaling.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_SETTING:
        raise UnknownOption(f"rope_scaling.{name}", value, [f"a number above 0, at most {MAX_SETTING:g}"])
    return float(value)


def angles(positions: Tensor, theta: Tensor) -> Tensor:
    """positions (T,) or (B, T) × θ (Dr/2,) -> radians (…, T, Dr/2), in float64 on the CPU (not every device has it)."""
    return positions.cpu().to(torch.float64)[..., None] * theta


def rotate(
    x: Tensor, positions: Tensor, *, base: float = 10000.0, rotary_dim: int | None = None,
    pairing: Literal["half", "adjacent"] = "half", scaling: Mapping[str, Any] | None = None,
) -> Tensor:
    """Turn each pair of x (…, T, Dh) by position · θ_i; the first `rotary_dim` dimensions only, the rest unchanged.

    `positions` is (T,) or (B, T); with a batch, x is (B, H, T, Dh). Pairs are (x_i, x_{i+Dr/2}) for "half" (Hugging
    Face) and (x_{2i}, x_{2i+1}) for "adjacent" (the paper, GGUF). Length is kept. Raises ShapeError on a bad shape.
    """
    width = x.shape[-1]
    turned = width if rotary_dim is None else rotary_dim
    if turned > width or positions.shape[-1] != x.shape[-2]:
        raise ShapeError("one position for each token, and no more rotated dimensions than there are",
                         x=x.shape, positions=positions.shape, rotary_dim=(turned,))
    angle = angles(positions, frequencies(turned, base, scaling))  # (T, Dr/2) or (B, T, Dr/2)
    if positions.ndim == 2 and x.ndim == 4:
        angle = angle[:, None]  # (B, 1, T, Dr/2)
    return turn(x, angle.cos().to(x), angle.sin().to(x), pairing)  # in the type and on the device of x


def turn(x: Tensor, cos: Tensor, sin: Tensor, pairing: str) -> Tensor:
    """Turn each pair of x (…, T, Dh) by the angle whose cos and sin (…, T, Dr/2) are given; the rest stays."""
    turned = 2 * cos.shape[-1]
    whole = turned == x.shape[-1]
    first, second = _pairs(x if whole else x[..., :turned], pairing)  # (…, T, Dr/2) each
    rotated = _unpair(first * cos - second * sin, second * cos + first * sin, pairing)
    return rotated if whole else torch.cat([rotated, x[..., turned:]], dim=-1)


def _pairs(x: Tensor, pairing: str) -> tuple[Tensor, Tensor]:
    if pairing == "adjacent":
        return x[..., 0::2], x[..., 1::2]
    if pairing == "half":
        first, second = x.chunk(2, dim=-1)
        return first, second
    raise UnknownOption("pairing", pairing, ["half", "adjacent"])


def _unpair(first: Tensor, second: Tensor, pairing: str) -> Tensor:
    if pairing == "adjacent":
        return torch.stack([first, second], dim=-1).flatten(-2)
    return torch.cat([first, second], dim=-1)


def half_from_adjacent(rotary_dim: int) -> list[int]:
    """Which adjacent-order index stands at each half-order place: [0, 2, 4, …, 1, 3, 5, …]."""
    return [*range(0, rotary_dim, 2), *range(1, rotary_dim, 2)]
