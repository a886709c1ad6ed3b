"""Questions about a step of a generation that goes on from a cache, and the slip behind a wrong answer."""

from __future__ import annotations

import math
from collections.abc import Mapping

from core.decoding import cached_rows
from core.questions import BY_HAND, CLOSE, Question
from core.stage import At, Questions
from core.trace import Trace


def ask(at: At, number: int) -> Question:
    """The `number`-th question about a step: the raw score of the last new row with one key (where a head is narrow
    enough to sum by hand), how many rows of K each head reads from the cache ("count"), and how many numbers of K the
    whole model computes ("numbers")."""
    trace, config = at.trace, at.trace.config
    scores = trace[at.block + "scores"][at.slice]  # (Tq, Tk)
    kinds = ["value", "count", "numbers"] if config.head_dim <= BY_HAND else ["count", "numbers"]
    kind, round_ = kinds[number % len(kinds)], number // len(kinds)
    if kind == "value":
        row, column = scores.shape[0] - 1, (scores.shape[1] - 2 - round_) % scores.shape[1]
        value = float(scores[row, column])
        return Question("value", row, column, value, value)
    if kind == "count":
        return Question("count", 0, 0, 0.0, float(cached_rows(trace, at.layer)))
    return Question("numbers", 0, 0, 0.0, float(config.layers * trace[at.block + "k"].numel()))


def judge(at: At, question: Question, answer: float, decimals: int) -> str:
    """Whether an answer is right, or which slip would give it. Of a score: "scaled", "sign", "close"; of the rows:
    "all" (the new ones counted too), "new" (only those); of the numbers: "one_layer", "query_heads", "every_row"."""
    config = at.trace.config
    new, past = at.trace[at.block + "k"].shape[2], cached_rows(at.trace, at.layer)
    if question.kind == "value":
        return _score(at.trace, at.block, (*at.slice, question.row, question.column), answer, decimals)
    if answer == question.answer:
        return "right"
    if question.kind == "count":
        return {past + new: "all", new: "new"}.get(int(answer), "wrong")
    computed = question.answer
    slips = {computed / config.layers: "one_layer", computed * config.group: "query_heads",
             computed / new * (past + new): "every_row"}
    return slips.get(answer, "wrong")


def _score(trace: Trace, block: str, at: tuple[int, ...], answer: float, decimals: int) -> str:
    tolerance = 1.001 * 10.0**-decimals
    right = float(trace[block + "scores"][at])
    for verdict, value in (("right", right), ("scaled", float(trace[block + "scaled"][at])), ("sign", -right)):
        if math.isclose(answer, value, rel_tol=1e-6, abs_tol=tolerance):
            return verdict
    return "close" if math.isclose(answer, right, rel_tol=CLOSE) else "wrong"


QUESTIONS: Mapping[str, Questions] = {"step": Questions(ask, judge)}
