"""Questions about the numbers on screen, their answers, and the mistake behind a wrong one."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from core import comparison, derive
from core.trace import Trace

BY_HAND = 8  # a dot product of up to that many terms can be asked for; above, only which score is the largest

CLOSE = 0.01  # relative: the sum is right, the digits are not

Verdict = Literal["right", "scaled", "swapped", "sign", "close", "wrong", "transposed", "other_role", "no_bias",
                  "all_heads", "mean", "heaviest", "interleaved", "tiled", "from_zero", "from_one", "degrees",
                  "half_exponent", "inverse", "bytes", "characters",
                  "place", "with_position", "first_term", "inner"]


class Question(NamedTuple):
    """`kind` "value" asks for the raw score at (row, column); "largest" for the number, from 1, of the key with the
    largest raw score in `row`. `score` is the raw score at (row, column), `answer` what is to be answered.

    Of projections, "value" asks for the entry of `of` ("q", "k", "v") and "numbers" how many a head's part of its
    matrix holds. "which" asks for the number, from 1, of what `of` names (a head, a KV head, a row)."""

    kind: Literal["value", "largest", "numbers", "count", "which", "growth"]
    row: int
    column: int
    score: float
    answer: float
    of: str = ""


_ORDER = "kvq"  # in the first example Q = X, so it is asked for last


def projection_question(trace: Trace, layer: int, batch: int, head: int, number: int) -> Question:
    """The `number`-th question about the projections of a head: K, V and Q in turn, walking over their cells from the
    last row up; where D is too large to sum by hand, how many numbers the head's matrix holds."""
    letter = _ORDER[number % len(_ORDER)]
    config = trace.config
    if config.width > BY_HAND:
        return Question("numbers", 0, 0, 0.0, float(config.width * config.head_dim), letter)
    matrix = derive.slice_of(trace, f"blocks.{layer}.{letter}", batch, head)
    rows, columns = matrix.shape
    places = [(r, c) for r in reversed(range(rows)) for c in range(columns)]
    row, column = places[(number // len(_ORDER) + number) % len(places)]
    value = float(matrix[row, column])
    return Question("value", row, column, value, value, letter)


def judge_projection(
    trace: Trace, layer: int, batch: int, head: int, question: Question, answer: float, decimals: int,
) -> Verdict:
    """Whether an answer is right, or which slip would give it: the matrix of another role, the bias left out, Wᵀ in
    place of W, the sign lost, digits missing; of a count, all heads in place of one."""
    config, block = trace.config, f"blocks.{layer}."
    if question.kind == "numbers":
        every = trace[f"{block}w{question.of}"].numel()
        return "right" if answer == question.answer else "all_heads" if answer == every else "wrong"
    if equal(answer, question.answer, decimals):
        return "right"
    at = question.row, question.column
    if config.qkv_bias:
        place = head if question.of == "q" else head // config.group
        bias = float(trace[f"{block}b{question.of}"][place * config.head_dim + question.column])
        if equal(answer, question.answer - bias, decimals):
            return "no_bias"
    for letter in "qkv":
        other = float(derive.slice_of(trace, block + letter, batch, head)[at])
        if letter != question.of and equal(answer, other, decimals):
            return "other_role"
    turned = comparison.projections(trace, layer, question.of, "transposed").wrong
    place = head if question.of == "q" else head // config.group
    if turned is not None and equal(answer, float(turned[batch, place][at]), decimals):
        return "transposed"
    if equal(answer, -question.answer, decimals):
        return "sign"
    return "close" if math.isclose(answer, question.answer, rel_tol=CLOSE) else "wrong"


def mixing_question(trace: Trace, layer: int, batch: int, head: int, number: int) -> Question:
    """The `number`-th question about AV of a head, from the last row up: an entry; or, where there are too many tokens
    to sum by hand, the number of the key that a row takes most from."""
    weights = derive.slice_of(trace, f"blocks.{layer}.weights", batch, head)
    rows, keys = weights.shape
    if keys > BY_HAND:
        row = (rows - 1 - number) % rows
        best = int(weights[row].argmax())
        return Question("largest", row, best, float(weights[row, best]), best + 1.0)
    context = derive.slice_of(trace, f"blocks.{layer}.context", batch, head)
    columns = context.shape[1]
    place = number % (rows * columns)
    row, column = rows - 1 - place // columns, place % columns
    value = float(context[row, column])
    return Question("value", row, column, value, value)


def judge_mixing(
    trace: Trace, layer: int, batch: int, head: int, question: Question, answer: float, decimals: int,
) -> Verdict:
    """Whether an answer is right to the shown decimals, or which slip would give it: the plain mean of the values, the
    value of the heaviest token alone, Aᵀ in place of A, the sign lost, digits missing."""
    if question.kind == "largest":
        return "right" if answer == question.answer else "wrong"
    if equal(answer, question.answer, decimals):
        return "right"
    weights, v = (derive.slice_of(trace, f"blocks.{layer}.{name}", batch, head) for name in ("weights", "v"))
    column = v[:, question.column]
    slips: dict[Verdict, float] = {
        "mean": float(column.mean()), "heaviest": float(column[int(weights[question.row].argmax())]),
        "transposed": float(weights[:, question.row] @ column), "sign": -question.answer}
    for verdict, value in slips.items():
        if equal(answer, value, decimals):
            return verdict
    return "close" if math.isclose(answer, question.answer, rel_tol=CLOSE) else "wrong"


def equal(a: float, b: float, decimals: int) -> bool:
    """Equal once both are rounded to the shown decimals, give or take one unit of the last of them."""
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1.001 * 10.0**-decimals)
