"""The heads stage: which columns go to which head, what each adds, and how WO brings them together."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import NamedTuple

from torch import Tensor

from core import ops
from core.check import largest_difference
from core.comparison import Comparison, compare, refusal
from core.layer import attention_output
from core.programs import Program, edited_lines, program_of
from core.questions import Question, Verdict
from core.stage import At, CarriedOut, Questions
from core.stages.heads.index_map import contributions


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


def facts(at: At) -> HeadFacts:
    """Facts about the heads of a layer, as data."""
    weights = at.trace[at.block + "weights"][at.batch]  # (H, T, T)
    gaps = {pair: _gap(weights, *pair) for pair in itertools.combinations(range(len(weights)), 2)}
    furthest = max(gaps, key=gaps.__getitem__) if gaps else None
    lengths: tuple[float, ...] = ()
    if at.block + "wo" in at.trace:
        lengths = tuple(contributions(at.trace, at.layer).parts[at.batch, :, -1].norm(dim=-1).tolist())
    loudest = max(range(len(lengths)), key=lengths.__getitem__) if lengths else None
    return HeadFacts(len(weights), furthest, gaps[furthest] if furthest else 0.0, loudest, lengths)


def _gap(weights: Tensor, one: int, other: int) -> float:
    return largest_difference(weights[one], weights[other])


def viewed(at: At) -> Comparison:
    """q_proj read as [B, H, T, Dh] without the transpose (case D1), against q."""
    right = at.trace[at.block + "q"]
    return compare(right, at.trace[at.block + "q_proj"].reshape(right.shape))


def unmerged(at: At) -> Comparison:
    """The context read as [B, T, H·Dh] without turning it back, against concat."""
    right = at.trace[at.block + "concat"]
    return compare(right, at.trace[at.block + "context"].reshape(right.shape))


def averaged(at: At) -> Comparison:
    """Every head's V mixed by the mean of all heads' weights (case A8), against the context."""
    weights = at.trace[at.block + "weights"]
    mean = weights.mean(dim=1, keepdim=True).expand_as(weights)
    return compare(at.trace[at.block + "context"], ops.mix(mean, at.trace[at.block + "v"]))


def added(at: At) -> Comparison:
    """The heads added up in place of laid side by side (D0 §14, error 7), against the layer's output.

    The sum (B, T, Dh) does not fit WO, which `error` says in torch's words; pressed through the rows of WO that belong
    to the first head it gives `wrong`. Where a layer has no WO it is the sum itself.
    """
    trace, right = at.trace, at.trace[at.block + attention_output(at.trace, at.layer)]
    total = trace[at.block + "context"].sum(dim=1)  # (B, T, Dh)
    if at.block + "wo" not in trace:
        return compare(right, total)
    w = trace[at.block + "wo"]
    return compare(right, total @ w[:trace.config.head_dim])._replace(error=refusal(lambda: total @ w))


MISTAKES: Mapping[str, CarriedOut] = {
    "viewed": viewed, "unmerged": unmerged, "averaged": averaged, "added": added}


def ask(at: At, number: int) -> Question:
    """The `number`-th question: which head, from 1, a column of [T, H·Dh] goes to. `column` counts from 0."""
    heads, width = at.trace.config.heads, at.trace.config.head_dim
    head, d = (1 + number) % heads, number // heads % width  # the second head first, then one after the other
    column = head * width + d
    return Question("which", 0, column, head + 1.0, head + 1.0, of="head")


def judge(at: At, question: Question, answer: float, decimals: int) -> Verdict:
    """Whether the head is right, or which slip would give it: columns dealt out in turn, counting from 0."""
    if answer == question.answer:
        return "right"
    if answer == question.column % at.trace.config.heads + 1:
        return "interleaved"
    return "from_zero" if answer == question.answer - 1 else "wrong"


QUESTIONS: Mapping[str, Questions] = {"head": Questions(ask, judge)}


def program(at: At) -> Program:
    """From the heads' contexts to the layer's output in both ways, concat × WO and head by head; `result` (B, T, D).
    Where the layer has no WO, `result` is concat (B, T, H·Dh)."""
    trace, block, config = at.trace, at.block, at.trace.config
    inputs = {"context": trace[block + "context"]}
    body = ["# context (B, H, T, Dh)", "concat = context.transpose(1, 2).flatten(2)  # (B, T, H·Dh)",
            *edited_lines(trace, block + "concat", "concat")]
    if block + "wo" not in trace:
        return program_of("heads", inputs, [*body, "result = concat", "print(result)"])
    inputs["wo"] = trace[block + "wo"]
    plus = ""
    if block + "bo" in trace:
        inputs["bo"], plus = trace[block + "bo"], " + bo"
    body += [f"result = concat @ wo{plus}  # (B, T, D)",
             f"parts = concat.unflatten(-1, ({config.heads}, {config.head_dim})).transpose(1, 2)  # (B, H, T, Dh)",
             f"blocks = wo.unflatten(0, ({config.heads}, {config.head_dim}))  # (H, Dh, D): each head's rows of WO",
             f"summed = (parts @ blocks).sum(1){plus}  # what each head adds, added up",
             "assert torch.allclose(result, summed, rtol=1e-4, atol=1e-4 * float(result.abs().max()))",
             *edited_lines(trace, block + "attn_out", "result"), "print(result)"]
    return program_of("heads", inputs, body)


def splitting(at: At) -> Program:
    """Cutting q_proj into heads, rightly and by `view` alone; `result` (B, H, T, Dh)."""
    trace, block, config = at.trace, at.block, at.trace.config
    inputs = {"q": trace[block + "q_proj"]}
    body = ["# q (B, T, H·Dh)", "B, T, _ = q.shape",
            f"result = q.view(B, T, {config.heads}, {config.head_dim}).transpose(1, 2)  # (B, H, T, Dh)",
            *(["result = result.clone()"] if block + "q" in trace.edits else []),
            *edited_lines(trace, block + "q", "result"),
            f"wrong = q.view(B, {config.heads}, T, {config.head_dim})  # the same shape, other numbers",
            "print(result)"]
    return program_of("splitting", inputs, body)
