"""`torch.nn.MultiheadAttention` on the numbers of a layer: our weights put into the module, its results beside ours."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from core import ops
from core.check import largest_difference
from core.trace import Trace


class Parity(NamedTuple):
    """What the module gives for a layer, and how far that is from the trace.

    `given` says what it was handed: "x", the layer's input with our matrices in the module; "qkv", our Q, K, V with
    identities in their place, where the module cannot make them (RoPE, norms on the heads, D ≠ H·Dh). `weights`
    (B, H, T, T) per head, `averaged` (B, T, T) what the module returns unless asked otherwise, `output` (B, T, D).
    The differences leave out `empty` rows, for which the module gives NaN and we give zeros.
    """

    given: Literal["x", "qkv"]
    weights: Tensor
    averaged: Tensor
    output: Tensor
    weights_difference: float
    output_difference: float
    empty: int


def parity(trace: Trace, layer: int) -> Parity:
    """Run the module on a layer. Where the layer has no WO, the module's own is the identity and `output` is compared
    with concat. KV heads that several query heads read are copied for each of them, as the module knows no sharing."""
    block, config = f"blocks.{layer}.", trace.config
    plain = trace.steps[block + "scores"].reads == (block + "q", block + "k")
    whole = config.width == config.heads * config.head_dim and block + "wq" in trace
    edited = any(block + name in trace.edits for letter in "qkv" for name in (letter, f"{letter}_proj"))
    given: Literal["x", "qkv"] = "x" if plain and whole and not edited else "qkv"
    inputs = (trace[trace.attention_input(layer)],) * 3 if given == "x" else _own_qkv(trace, layer)
    module = _module(trace, layer, given)
    mask = _per_head(trace, inputs[0].shape[0])
    with torch.no_grad():
        output, weights = module(*inputs, attn_mask=mask, average_attn_weights=False)
        _, averaged = module(*inputs, attn_mask=mask)
    ours = trace[block + ("attn_out" if block + "attn_out" in trace else "concat")]
    readable = ~(trace[block + "masked"] == ops.NEG_INF).all(dim=-1)  # (B, H, T)
    rows = readable.all(dim=1)  # (B, T)
    weights_apart = largest_difference(weights[readable], trace[block + "weights"][readable])
    output_apart = largest_difference(output[rows], ours[rows])
    return Parity(given, weights, averaged, output, weights_apart, output_apart, int((~rows).sum()))


def _module(trace: Trace, layer: int, given: str) -> nn.MultiheadAttention:
    block, config = f"blocks.{layer}.", trace.config
    inner, device = config.heads * config.head_dim, trace[block + "v"].device
    module = nn.MultiheadAttention(inner, config.heads, batch_first=True, device="meta")  # all its numbers are ours
    matrices = _repeated(trace, layer, "w") if given == "x" else [torch.eye(inner, device=device)] * 3
    biases = _repeated(trace, layer, "b") if given == "x" else []
    module.in_proj_weight = nn.Parameter(torch.cat(matrices, dim=-1).T)  # (3·H·Dh, D): the module keeps (out, in)
    module.in_proj_bias = nn.Parameter(torch.cat(biases) if biases else torch.zeros(3 * inner, device=device))
    wo = trace[block + "wo"] if block + "wo" in trace else torch.eye(inner, device=device)
    bias = trace[block + "bo"] if block + "bo" in trace else torch.zeros(wo.shape[1], device=device)
    module.out_proj.weight, module.out_proj.bias = nn.Parameter(wo.T), nn.Parameter(bias)
    return module


def _repeated(trace: Trace, layer: int, kind: str) -> list[Tensor]:
    """WQ, WK, WV (D, H·Dh), or the biases (H·Dh); none where the layer has none."""
    config, found = trace.config, []
    for letter in "qkv":
        name = f"blocks.{layer}.{kind}{letter}"
        if name in trace:
            heads = trace[name].reshape(*trace[name].shape[:-1], -1, config.head_dim)  # (…, heads, Dh)
            found.append(heads.repeat_interleave(config.heads // heads.shape[-2], dim=-2).flatten(-2))
    return found


def _own_qkv(trace: Trace, layer: int) -> tuple[Tensor, Tensor, Tensor]:
    """Q, K, V as the scores and the mixing read them, (B, T, H·Dh) each."""
    block = f"blocks.{layer}."
    q, k = (trace[name] for name in trace.steps[block + "scores"].reads)
    k, v = (x.repeat_interleave(trace.config.group, dim=1) for x in (k, trace[block + "v"]))
    return ops.merge_heads(q), ops.merge_heads(k), ops.merge_heads(v)


def _per_head(trace: Trace, batch: int) -> Tensor:
    """The additive mask as the module wants it, (B·H, Tq, Tk)."""
    mask = trace["mask"]
    return mask.expand(batch, trace.config.heads, *mask.shape[-2:]).flatten(0, 1)
