"""Questions about the numbers on screen, their answers, and the mistake behind a wrong one."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from core.trace import Trace

BY_HAND = 8  # a dot product of up to that many terms can be asked for; above, only which score is the largest

Verdict = Literal["right", "scaled", "swapped", "sign", "wrong"]


class Question(NamedTuple):
    """`kind` "value": the raw score at (row, column). "largest": the column of the largest score in `row`."""

    kind: Literal["value", "largest"]
    row: int
    column: int
    answer: float


def score_question(trace: Trace, layer: int, batch: int, head: int, number: int) -> Question:
    """The `number`-th question about the raw scores of a head; the questions walk over the matrix, off the diagonal
    first."""
    raw = trace[f"blocks.{layer}.scores"][batch, head]
    rows, columns = raw.shape
    if trace.config.head_dim > BY_HAND:
        row = (rows - 1 - number) % rows
        best = int(raw[row].argmax())
        return Question("largest", row, best, float(best))
    places = sorted(((r, c) for r in range(rows) for c in range(columns)), key=lambda at: (at[0] == at[1], -at[0]))
    row, column = places[number % len(places)]
    return Question("value", row, column, float(raw[row, column]))


def judge_score(
    trace: Trace, layer: int, batch: int, head: int, question: Question, answer: float, decimals: int,
) -> Verdict:
    """Whether an answer is right to the shown decimals, or which slip would give it: √Dh already divided out, query
    and key swapped, the sign lost."""
    block = f"blocks.{layer}."
    if _equal(answer, question.answer, decimals):
        return "right"
    if question.kind == "largest":
        return "wrong"
    if _equal(answer, float(trace[block + "scaled"][batch, head, question.row, question.column]), decimals):
        return "scaled"
    raw = trace[block + "scores"][batch, head]
    swapped = max(question.row, question.column) < min(raw.shape)
    if swapped and _equal(answer, float(raw[question.column, question.row]), decimals):
        return "swapped"
    return "sign" if _equal(answer, -question.answer, decimals) else "wrong"


def _equal(a: float, b: float, decimals: int) -> bool:
    """Equal once both are rounded to the shown decimals, give or take one unit of the last of them."""
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1.001 * 10.0**-decimals)
