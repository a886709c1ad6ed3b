"""The mixing stage: weights times values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from core import derive, ops, programs
from core.comparison import Comparison, compare
from core.programs import Program
from core.questions import BY_HAND, CLOSE, Question, Verdict, equal
from core.stage import At, CarriedOut, Questions

SUM_SLACK = 1e-4  # how far float32 rounding may take a sum of weights from one


class MixingFacts(NamedTuple):
    """About one head's weights and what they make of V; rows and keys from 0.

    `telling` is the first of the rows that read most keys; `heaviest` the key with the last row's largest weight, which
    stands at `heaviest_places`; `zeros` of `cells` weights are exactly 0; `broken` rows do not sum to one (rows that
    nothing may be read in left out); `between` whether every number of AV lies between the smallest and the largest of
    its column of V; `first_length` and `other_length` are the length of the first token's value and the mean length of
    the others'; `kv_head` is the KV head that is read, by `group` query heads.
    """

    telling: int
    last: int
    heaviest: int
    heaviest_places: int
    weight: float
    zeros: int
    cells: int
    broken: list[int]
    between: bool
    first_length: float
    other_length: float
    kv_head: int
    group: int


def facts(at: At) -> MixingFacts:
    """Facts about A, V and AV of one batch entry and query head."""
    weights, v, context = (
        derive.slice_of(at.trace, at.block + name, *at.slice) for name in ("weights", "v", "context"))
    last = weights[-1]
    sums = weights.sum(dim=-1)
    broken = ((sums - 1).abs() > SUM_SLACK) & (weights != 0).any(dim=-1)
    low, high = v.amin(dim=0), v.amax(dim=0)
    slack = SUM_SLACK * max(1.0, float(v.abs().max()))
    readable = (weights != 0).any(dim=-1)
    between = ((context >= low - slack) & (context <= high + slack)) | ~readable[:, None]
    lengths = torch.linalg.vector_norm(v, dim=-1)
    return MixingFacts(
        int((weights != 0).sum(dim=-1).argmax()), len(weights) - 1, int(last.argmax()),
        int((last == last.max()).sum()), float(last.max()), int((weights == 0).sum()), weights.numel(),
        broken.nonzero().flatten().tolist(), bool(between.all()), float(lengths[0]),
        float(lengths[1:].mean()) if len(lengths) > 1 else float(lengths[0]), at.head // at.trace.config.group,
        at.trace.config.group)


def columns(at: At) -> Comparison:
    """AV (B, H, Tq, Dh) with the softmax taken over the queries in place of the keys (case B6)."""
    context, _weights, v = _operands(at)
    return compare(context, ops.mix(ops.softmax(at.trace[at.block + "masked"].mT).mT, v))


def transposed(at: At) -> Comparison:
    """AᵀV in place of AV."""
    context, weights, v = _operands(at)
    return compare(context, ops.mix(weights.mT, v))


def kv_order(at: At) -> Comparison:
    """AV where query head h reads KV head h mod Hkv in place of h // (H // Hkv), as `repeat` in place of
    `repeat_interleave` does."""
    context, weights, v = _operands(at)
    return compare(context, ops.mix(weights, v.repeat(1, at.trace.config.group, 1, 1)))


def _operands(at: At) -> tuple[Tensor, Tensor, Tensor]:
    """AV (B, H, Tq, Dh), A (B, H, Tq, Tk) and V (B, Hkv, Tk, Dh)."""
    return at.trace[at.block + "context"], at.trace[at.block + "weights"], at.trace[at.block + "v"]


MISTAKES: Mapping[str, CarriedOut] = {"columns": columns, "transposed": transposed, "kv_order": kv_order}


def ask(at: At, number: int) -> Question:
    """The `number`-th question about AV of a head, from the last row up: an entry; or, where there are too many tokens
    to sum by hand, the number of the key that a row takes most from."""
    weights = derive.slice_of(at.trace, at.block + "weights", *at.slice)
    rows, keys = weights.shape
    if keys > BY_HAND:
        row = (rows - 1 - number) % rows
        best = int(weights[row].argmax())
        return Question("largest", row, best, float(weights[row, best]), best + 1.0)
    context = derive.slice_of(at.trace, at.block + "context", *at.slice)
    width = context.shape[1]
    place = number % (rows * width)
    row, column = rows - 1 - place // width, place % width
    value = float(context[row, column])
    return Question("value", row, column, value, value)


def judge(at: At, question: Question, answer: float, decimals: int) -> Verdict:
    """Whether an answer is right to the shown decimals, or which slip would give it: the plain mean of the values, the
    value of the heaviest token alone, Aᵀ in place of A, the sign lost, digits missing."""
    if question.kind == "largest":
        return "right" if answer == question.answer else "wrong"
    if equal(answer, question.answer, decimals):
        return "right"
    weights, v = (derive.slice_of(at.trace, at.block + name, *at.slice) for name in ("weights", "v"))
    column = v[:, question.column]
    slips: dict[Verdict, float] = {
        "mean": float(column.mean()), "heaviest": float(column[int(weights[question.row].argmax())]),
        "transposed": float(weights[:, question.row] @ column), "sign": -question.answer}
    for verdict, value in slips.items():
        if equal(answer, value, decimals):
            return verdict
    return "close" if math.isclose(answer, question.answer, rel_tol=CLOSE) else "wrong"


QUESTIONS: Mapping[str, Questions] = {"blend": Questions(ask, judge)}


def program(at: At) -> Program:
    """The whole head: from Q, K, V and what may be read to AV (B, H, Tq, Dh)."""
    return programs.attention(at.trace, at.layer)
