"""Common mistakes, really carried out on the numbers of a trace, beside what is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from core import layouts, ops
from core.errors import UnknownOption
from core.trace import Trace


class Comparison(NamedTuple):
    """The right result and the wrong one, and their difference wrong − right: (B, H, T, ·), (B, T, ·) where no heads
    are told apart, with B = 1 for a text that stands alone, or a matrix. `divisor` is what the wrong way divides QKᵀ
    by. When it cannot even be computed, `error` is what torch said and `wrong` is None."""

    right: Tensor
    wrong: Tensor | None
    difference: Tensor | None
    divisor: float | None
    error: str | None

    def largest(self, batch: int, head: int) -> float:
        """The largest absolute difference in one head, or in what stands alone; 0 where there is none to take."""
        difference = self.difference
        if difference is None:
            return 0.0
        if difference.ndim > 2:
            difference = difference[batch if len(difference) > 1 else 0]
        return float((difference[head] if difference.ndim > 2 else difference).abs().max())


def compare(right: Tensor, wrong: Tensor, divisor: float | None = None) -> Comparison:
    """The two beside each other; no difference where their shapes differ."""
    return Comparison(right, wrong, wrong - right if right.shape == wrong.shape else None, divisor, None)


PROJECTIONS = ("transposed", "stale", "fused_order")


def projections(trace: Trace, layer: int, letter: str, kind: str) -> Comparison:
    """Q, K or V ("q", "k", "v") of a layer done wrong, (B, heads, T, Dh).

    "transposed" multiplies by Wᵀ (case A5). "stale" takes the projection for something fixed: the tokens are put in
    reverse order, and the old one is kept. "fused_order" stores the fused matrix head by head and cuts it as if all
    heads of Q came first, then K, then V (case A7).
    """
    config, block = trace.config, f"blocks.{layer}."
    matrices, biases = layouts.weights_of(trace, layer)
    x, w, b = trace[trace.attention_input(layer)], trace[f"{block}w{letter}"], getattr(biases, letter)
    heads = config.heads if letter == "q" else config.kv_heads
    right = layouts.merged(x, w, b, heads)
    if kind == "transposed":
        if w.shape[0] != w.shape[1]:
            return Comparison(right, None, None, None, refusal(lambda: x[0] @ w.mT))
        return compare(right, layouts.merged(x, w.mT, b, heads), None)
    if kind == "stale":
        return compare(layouts.merged(x.flip(-2), w, b, heads), right, None)
    if kind == "fused_order":
        stored = layouts.by_head(matrices, config.kv_heads)
        bias = layouts.by_head(biases, config.kv_heads)
        assert stored is not None
        product = ops.project(x, stored, bias)
        return compare(right, getattr(layouts.unfuse(product, config.heads, config.kv_heads), letter), None)
    raise UnknownOption("kind", kind, PROJECTIONS)


def refusal(attempt: Callable[[], object]) -> str | None:
    """What torch says to an operation that cannot be; None when it can."""
    try:
        attempt()
    except (RuntimeError, IndexError) as error:
        return str(error)
    return None


MIXING = ("columns", "transposed", "kv_order")


def mixing(trace: Trace, layer: int, kind: str) -> Comparison:
    """A × V of a layer done wrong, (B, H, Tq, Dh).

    "columns" takes the softmax over the queries in place of the keys (case B6). "transposed" multiplies Aᵀ with V.
    "kv_order" lets query head h read KV head h mod Hkv in place of h // (H // Hkv), as `repeat` in place of
    `repeat_interleave` does.
    """
    block = f"blocks.{layer}."
    right, weights, v = (trace[block + name] for name in ("context", "weights", "v"))
    if kind == "columns":
        return compare(right, ops.mix(ops.softmax(trace[block + "masked"].mT).mT, v), None)
    if kind == "transposed":
        return compare(right, ops.mix(weights.mT, v), None)
    if kind == "kv_order":
        return compare(right, ops.mix(weights, v.repeat(1, trace.config.group, 1, 1)), None)
    raise UnknownOption("kind", kind, MIXING)
