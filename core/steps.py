"""The written-out decoder as a list of steps: for each named tensor the operation that makes it and what it reads.

`plan` turns a configuration into that list, in the order of the computation; `run` carries one step out. What varies
between models (norm and its place, positions, feed-forward, sharing) is settled here, once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor

from core import embedding, feed_forward, norms, ops, rope
from core.config import ModelConfig


class Step(NamedTuple):
    """One operation: its name in `OPERATIONS` and the full names of its operands, in order."""

    op: str
    reads: tuple[str, ...]


@lru_cache(maxsize=16)
def plan(config: ModelConfig, cached: bool = False) -> Mapping[str, Step]:
    """Every computed name of a decoder with that configuration, in the order in which it can be computed. With `cached`
    the new rows of K and V are appended to those of a cache, and attention reads them all."""
    steps: dict[str, Step] = {"embed": Step("lookup", ("embedding", "tokens"))}
    stream = "embed"
    if config.positions in ("learned", "sinusoidal"):
        steps["pos_embed"] = Step("lookup", ("position_table", "positions"))
    for layer in range(config.layers):
        first = ("embed", "pos_embed") if layer == 0 and "pos_embed" in steps else (stream,)
        steps |= _block(config, f"blocks.{layer}.", first, cached)
        stream = f"blocks.{layer}.out"
    if config.norm != "none" and config.norm_place == "pre":
        steps["final_norm"] = Step("norm", (stream, "final_gamma", *_if(config.norm == "layer", "final_beta")))
        stream = "final_norm"
    head = ("unembed", "embedding") if config.tied_head else ("project", "w_vocab")
    steps["logits"] = Step(head[0], (stream, head[1]))
    return MappingProxyType(steps)


def _block(config: ModelConfig, block: str, first: tuple[str, ...], cached: bool) -> dict[str, Step]:
    """The steps of one block. `first` is what its input is made of: the previous output, or embeddings to add up."""
    def step(op: str, *reads: str) -> Step:
        return Step(op, tuple(block + read for read in reads))

    beta = config.norm == "layer"
    pre, post = (config.norm != "none" and config.norm_place == place for place in ("pre", "post"))
    steps = {"in": Step("add" if len(first) == 2 else "copy", first)}
    if pre:
        steps["norm1"] = step("norm", "in", "gamma1", *_if(beta, "beta1"))
    steps |= _attention(config, step, "norm1" if pre else "in", cached)
    steps["resid_mid"] = step("add", "in", "attn_out")
    middle = "resid_mid"
    if post:
        steps["norm1"] = step("norm", "resid_mid", "gamma1", *_if(beta, "beta1"))
        middle = "norm1"
    if pre and config.ffn != "none":
        steps["norm2"] = step("norm", "resid_mid", "gamma2", *_if(beta, "beta2"))
    steps |= _feed_forward(config, step, "norm2" if pre else middle)
    if config.ffn == "none":
        steps["out"] = step("copy", middle)
    elif post:
        steps["resid_out"] = step("add", middle, "ffn_out")
        steps["out"] = step("norm", "resid_out", "gamma2", *_if(beta, "beta2"))
    else:
        steps["out"] = step("add", middle, "ffn_out")
    return {block + name: made for name, made in steps.items()}


def _attention(config: ModelConfig, step: Callable[..., Step], x: str, cached: bool) -> dict[str, Step]:
    steps: dict[str, Step] = {}
    bias = config.qkv_bias
    for letter in "qkv":
        steps[f"{letter}_proj"] = step("project", x, f"w{letter}", *_if(bias, f"b{letter}"))
        steps[letter] = step("split_heads" if letter == "q" else "split_kv_heads", f"{letter}_proj")
    q, k, v = "q", "k", "v"
    if config.qk_norm:
        steps["q_norm"], steps["k_norm"] = step("head_norm", q, "q_gamma"), step("head_norm", k, "k_gamma")
        q, k = "q_norm", "k_norm"
    if config.positions == "rope":
        for name, read in (("q_rot", q), ("k_rot", k)):
            steps[name] = Step("rotate", (*step("", read).reads, "positions"))
        q, k = "q_rot", "k_rot"
    if cached:
        steps["k_all"], steps["v_all"] = step("append", "k_past", k), step("append", "v_past", v)
        k, v = "k_all", "v_all"
    steps["scores"] = step("score", q, k)
    steps["scaled"] = step("scale", "scores")
    steps["masked"] = Step("mask", (*step("", "scaled").reads, "mask"))
    steps["weights"] = step("softmax", "masked")
    steps["context"] = step("mix", "weights", v)
    steps["concat"] = step("merge_heads", "context")
    steps["attn_out"] = step("project", "concat", "wo", *_if(config.out_bias, "bo"))
    return steps


def _feed_forward(config: ModelConfig, step: Callable[..., Step], x: str) -> dict[str, Step]:
    if config.ffn == "none":
        return {}
    if config.ffn == "swiglu":
        return {"gate": step("project", x, "w_gate"), "activated": step("silu", "gate"),
                "up": step("project", x, "w_up"), "hidden": step("multiply", "activated", "up"),
                "ffn_out": step("project", "hidden", "w_down")}
    bias = config.ffn_bias
    return {"up": step("project", x, "w1", *_if(bias, "b1")), "hidden": step(config.ffn, "up"),
            "ffn_out": step("project", "hidden", "w2", *_if(bias, "b2"))}


def _if(condition: bool, name: str) -> tuple[str, ...]:
    return (name,) if condition else ()


def normalise(config: ModelConfig, x: Tensor, gamma: Tensor, beta: Tensor | None = None) -> Tensor:
    """The configuration's norm over the last axis of x (…, D)."""
    if config.norm == "layer":
        return norms.layer_norm(x, gamma, beta, config.norm_eps)
    return norms.rms_norm(x, gamma, config.norm_eps)


def rotate(config: ModelConfig, x: Tensor, positions: Tensor) -> Tensor:
    """The configuration's RoPE on x (B, H, T, Dh) at positions (B, T)."""
    return rope.rotate(x, positions, base=config.rope_base, rotary_dim=config.rotary_dim,
                       pairing=config.rope_pairing, scaling=config.rope_scaling)


def rotation(config: ModelConfig, positions: Tensor, like: Tensor) -> tuple[Tensor, Tensor]:
    """cos and sin of the configuration's RoPE at positions (B, T) -> (B, 1, T, Dr/2) each, in the type and on the
    device of `like`: computed once for all heads and layers, for `core.rope.turn`."""
    theta = rope.frequencies(config.rotary_dim, config.rope_base, config.rope_scaling)
    angle = rope.angles(positions, theta)[:, None]  # (B, 1, T, Dr/2)
    return angle.cos().to(like), angle.sin().to(like)


def append(config: ModelConfig, past: Tensor, new: Tensor) -> Tensor:
    """Cached rows, then new ones: past (B, Hkv, Tp, Dh), new (B, Hkv, T, Dh) -> (B, Hkv, Tp + T, Dh) in the type of
    `new`. The new rows are rounded to the type of the cache, since that is what attention reads back."""
    return torch.cat([past, new.to(past.dtype)], dim=-2).to(new.dtype)


OPERATIONS: dict[str, Callable[..., Tensor]] = {
    "copy": lambda config, x: x,
    "add": lambda config, a, b: a + b,
    "multiply": lambda config, a, b: a * b,
    "lookup": lambda config, table, ids: embedding.lookup(table, ids),
    "norm": normalise,
    "head_norm": lambda config, x, gamma: norms.rms_norm(x, gamma, config.norm_eps),
    "project": lambda config, x, w, b=None: ops.project(x, w, b),
    "unembed": lambda config, x, table: ops.unembed(x, table),
    "split_heads": lambda config, x: ops.split_heads(x, config.heads),
    "split_kv_heads": lambda config, x: ops.split_heads(x, config.kv_heads),
    "rotate": rotate,
    "append": append,
    "score": lambda config, q, k: ops.raw_scores(q, k),
    "mask": lambda config, scaled, mask: ops.mask_scores(scaled, mask),
    "softmax": lambda config, masked: ops.softmax(masked),
    "mix": lambda config, weights, v: ops.mix(weights, v),
    "merge_heads": lambda config, context: ops.merge_heads(context),
    **{name: lambda config, x, f=function: f(x) for name, function in feed_forward.ACTIVATIONS.items()},
}


def run(step: Step, config: ModelConfig, operands: Sequence[Tensor], scale: float | None = None) -> Tensor:
    """Carry out one step on its operands; `scale` replaces 1/√Dh in the step "scale"."""
    if step.op == "scale":
        return ops.scale_scores(operands[0], ops.default_scale(config.head_dim) if scale is None else scale)
    return OPERATIONS[step.op](config, *operands)


def fused_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, is_causal: bool = False) -> Tensor:
    """torch's fused attention on q (B, H, Tq, Dh), k v (B, Hkv, Tk, Dh), additive mask -> context (B, H, Tq, Dh).

    A single query has its heads regrouped, those that share a KV head as the rows of one matrix: no kernel then needs
    to repeat K and V. `is_causal` is for Tq = Tk only (torch aligns it at the start)."""
    if q.shape[2] == 1 and q.shape[1] != k.shape[1] and (mask is None or mask.shape[1] == 1):
        rows = q.reshape(q.shape[0], k.shape[1], -1, q.shape[3])  # (B, Hkv, H/Hkv, Dh)
        context = torch.nn.functional.scaled_dot_product_attention(rows, k, v, attn_mask=mask)
        return context.reshape(*q.shape[:3], v.shape[3])
    return torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, is_causal=is_causal, enable_gqa=q.shape[-3] != k.shape[-3])
