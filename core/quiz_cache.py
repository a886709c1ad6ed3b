"""Questions about a step that goes on from a cache and what the cache holds, and the slip behind a wrong answer."""

from __future__ import annotations

import math

from core.config import ModelConfig
from core.cost import kv_cache_bytes
from core.questions import BY_HAND, CLOSE, Question
from core.stages.kv_cache.growth import SLIPS, miscounted
from core.trace import Trace


def step_question(trace: Trace, layer: int, batch: int, head: int, number: int) -> Question:
    """The `number`-th question about a step: the raw score of the last new row with one key (where a head is narrow
    enough to sum by hand), how many rows of K each head reads from the cache ("count"), and how many numbers of K the
    whole model computes ("numbers")."""
    config, block = trace.config, f"blocks.{layer}."
    scores = trace[block + "scores"][batch, head]  # (Tq, Tk)
    kinds = ["value", "count", "numbers"] if config.head_dim <= BY_HAND else ["count", "numbers"]
    kind, round_ = kinds[number % len(kinds)], number // len(kinds)
    if kind == "value":
        row, column = scores.shape[0] - 1, (scores.shape[1] - 2 - round_) % scores.shape[1]
        value = float(scores[row, column])
        return Question("value", row, column, value, value)
    if kind == "count":
        return Question("count", 0, 0, 0.0, float(cached_rows(trace, layer)))
    return Question("numbers", 0, 0, 0.0, float(config.layers * trace[block + "k"].numel()))


def cached_rows(trace: Trace, layer: int) -> int:
    """Rows of K that a pass read from the cache, for each text and KV head; 0 in a pass without one."""
    name = f"blocks.{layer}.k_past"
    return trace[name].shape[2] if name in trace else 0


def judge_step(
    trace: Trace, layer: int, batch: int, head: int, question: Question, answer: float, decimals: int,
) -> str:
    """Whether an answer is right, or which slip would give it. Of a score: "scaled", "sign", "close"; of the rows:
    "all" (the new ones counted too), "new" (only those); of the numbers: "one_layer", "query_heads", "every_row"."""
    config, block = trace.config, f"blocks.{layer}."
    new, past = trace[block + "k"].shape[2], cached_rows(trace, layer)
    if question.kind == "value":
        return _score(trace, block, (batch, head, question.row, question.column), answer, decimals)
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


def cache_question(config: ModelConfig, batch: int, rows: int, bytes_per_element: int, number: int) -> Question:
    """The `number`-th question about a cache: how many bytes hold `rows` rows ("numbers"), or how many each further
    token adds ("count"): 2·L·B·T·Hkv·Dh·s."""
    each = kv_cache_bytes(config, batch, 1, bytes_per_element)
    if number % 2:
        return Question("count", 0, 0, 0.0, float(each))
    return Question("numbers", 0, 0, 0.0, float(each * rows))


def judge_cache(
    config: ModelConfig, batch: int, rows: int, bytes_per_element: int, question: Question, answer: float,
) -> str:
    """Whether an answer is right, or the slip of `core.growth.SLIPS` that gives it."""
    if answer == question.answer:
        return "right"
    tokens = 1 if question.kind == "count" else rows
    for slip in SLIPS:
        if answer == miscounted(config, batch, tokens, bytes_per_element, slip):
            return slip
    return "wrong"
