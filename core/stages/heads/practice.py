"""Several heads: what is done wrong, what is worth noticing, and what can be asked."""

from __future__ import annotations

import itertools
from typing import NamedTuple

from torch import Tensor

from core import comparison, ops
from core.comparison import Comparison
from core.errors import UnknownOption
from core.questions import Question, Verdict
from core.stages.heads.index_map import contributions
from core.trace import Trace

KINDS = ("viewed", "unmerged", "averaged", "added")


def mistake(trace: Trace, layer: int, kind: str) -> Comparison:
    """The heads of a layer done wrong.

    "viewed" reads q_proj as [B, H, T, Dh] without the transpose (case D1), against q. "unmerged" reads the context as
    [B, T, H·Dh] without turning it back, against concat. "averaged" mixes every head's V by the mean of all heads'
    weights (case A8), against the context. "added" adds the heads up in place of laying them side by side (D0 §14,
    error 7): the sum (B, T, Dh) does not fit WO, which `error` says in torch's words; pressed through the rows of WO
    that belong to the first head it gives `wrong`, against attn_out. Raises UnknownName where a layer has no WO.
    """
    block = f"blocks.{layer}."
    if kind == "viewed":
        right = trace[block + "q"]
        return comparison.compare(right, trace[block + "q_proj"].reshape(right.shape))
    context = trace[block + "context"]
    if kind == "unmerged":
        right = trace[block + "concat"]
        return comparison.compare(right, context.reshape(right.shape))
    if kind == "averaged":
        mean = trace[block + "weights"].mean(dim=1, keepdim=True).expand_as(trace[block + "weights"])
        return comparison.compare(context, ops.mix(mean, trace[block + "v"]))
    if kind == "added":
        w, added = trace[block + "wo"], context.sum(dim=1)  # (B, T, Dh)
        error = comparison.refusal(lambda: added @ w)
        return comparison.compare(trace[block + "attn_out"], added @ w[:trace.config.head_dim])._replace(error=error)
    raise UnknownOption("kind", kind, KINDS)


class HeadFacts(NamedTuple):
    """About the heads of one layer and one sentence, from 0.

    `maps` is how many distributions each query gets, one per head. `furthest` are the two heads whose weights differ
    most and `apart` by how much; None with one head. `loudest` is the head whose part of the last token's output is
    longest, `lengths` the lengths of all heads' parts; None and empty where there is no WO.
    """

    maps: int
    furthest: tuple[int, int] | None
    apart: float
    loudest: int | None
    lengths: tuple[float, ...]


def facts(trace: Trace, layer: int, batch: int) -> HeadFacts:
    """Facts about the heads of a layer, as data."""
    block = f"blocks.{layer}."
    weights = trace[block + "weights"][batch]  # (H, T, T)
    gaps = {pair: _gap(weights, *pair) for pair in itertools.combinations(range(len(weights)), 2)}
    furthest = max(gaps, key=gaps.__getitem__) if gaps else None
    lengths: tuple[float, ...] = ()
    if block + "wo" in trace:
        lengths = tuple(contributions(trace, layer).parts[batch, :, -1].norm(dim=-1).tolist())
    loudest = max(range(len(lengths)), key=lengths.__getitem__) if lengths else None
    return HeadFacts(len(weights), furthest, gaps[furthest] if furthest else 0.0, loudest, lengths)


def _gap(weights: Tensor, one: int, other: int) -> float:
    return float((weights[one] - weights[other]).abs().max())


def question(trace: Trace, number: int) -> Question:
    """The `number`-th question: which head, from 1, a column of [T, H·Dh] goes to. `column` counts from 0."""
    heads, width = trace.config.heads, trace.config.head_dim
    head, d = (1 + number) % heads, number // heads % width  # the second head first, then one after the other
    column = head * width + d
    return Question("which", 0, column, head + 1.0, head + 1.0, of="head")


def judge(trace: Trace, asked: Question, answer: float) -> Verdict:
    """Whether the head is right, or which slip would give it: columns dealt out in turn, counting from 0."""
    if answer == asked.answer:
        return "right"
    if answer == asked.column % trace.config.heads + 1:
        return "interleaved"
    return "from_zero" if answer == asked.answer - 1 else "wrong"
