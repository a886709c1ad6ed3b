"""The masks that a learner can choose from, as additive tensors, and what each leaves to read."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from core import ops
from core.errors import SizeOutOfRange, UnknownOption
from core.questions import Question, Verdict
from core.trace import Trace

KINDS = ("none", "causal", "padding", "both", "window", "prefix")
COUNTED = ("padding", "both", "window", "prefix")  # kinds that take a number


def build(kind: str, tokens: int, count: int = 1) -> Tensor:
    """(1, 1, T, T) floats, 0 where a key may be read and −inf where not.

    "none"; "causal"; "padding": the last `count` tokens are padding, read by nobody; "both": causal and padding;
    "window": causal, the last `count` keys with the current one among them; "prefix": causal, but the first `count`
    keys are open to all. Raises UnknownOption, and SizeOutOfRange for a count that does not fit.
    """
    if kind in COUNTED and not 1 <= count <= tokens:
        raise SizeOutOfRange("tokens", count, 1, tokens)
    everything = torch.zeros(1, 1, tokens, tokens)
    match kind:
        case "none":
            return everything
        case "causal":
            return everything + ops.causal_mask(tokens)
        case "padding":
            return everything + padding(tokens, count)
        case "both":
            return everything + ops.causal_mask(tokens) + padding(tokens, count)
        case "window":
            return everything + ops.sliding_window_mask(tokens, tokens, count)
        case "prefix":
            return everything + ops.prefix_mask(tokens, tokens, count)
    raise UnknownOption("mask", kind, KINDS)


def padding(tokens: int, count: int) -> Tensor:
    """(1, 1, 1, T): the last `count` keys are hidden, whatever the query."""
    return ops.padding_mask(torch.arange(tokens)[None] < tokens - count)


def keep(mask: Tensor) -> Tensor:
    """1 where a key may be read and 0 where not, in the shape of the mask: what a mask after the softmax multiplies."""
    return (mask != ops.NEG_INF).float()


class MaskFacts(NamedTuple):
    """What a mask leaves: readable pairs of all, the queries (from 0) that nothing is left for, and the largest weight
    that the unmasked softmax would have given to a hidden key, with its place."""

    readable: int
    pairs: int
    empty_rows: list[int]
    leaked: float
    leaked_at: tuple[int, int] | None


def facts(trace: Trace, layer: int, batch: int, head: int) -> MaskFacts:
    """Facts about the mask of a trace for one head."""
    scaled = trace[f"blocks.{layer}.scaled"][batch, head]  # (Tq, Tk)
    hidden = (trace["mask"].expand(*trace["mask"].shape[:2], *scaled.shape)[0, 0] == ops.NEG_INF).to(scaled.device)
    lost = ops.softmax(scaled).masked_fill(~hidden, 0.0)
    worst = int(lost.argmax())
    return MaskFacts(
        int((~hidden).sum()), hidden.numel(), [int(row) for row in hidden.all(dim=-1).nonzero().flatten()],
        float(lost.max()), divmod(worst, hidden.shape[1]) if bool(hidden.any()) else None)


def question(trace: Trace, layer: int, batch: int, head: int, number: int) -> Question:
    """The `number`-th question: how many keys a query may read, from the last row up."""
    masked = trace[f"blocks.{layer}.masked"][batch, head]
    row = (masked.shape[0] - 1 - number) % masked.shape[0]
    count = float((masked[row] != ops.NEG_INF).sum())
    return Question("count", row, 0, count, count)


def judge(asked: Question, answer: float) -> Verdict:
    """Whether the number of readable keys is right."""
    return "right" if answer == asked.answer else "wrong"
