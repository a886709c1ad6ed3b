"""Bytes of a cache: what can be asked about them, what is easily counted wrong, and the slip behind a wrong answer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import torch

from core.comparison import Comparison, compare
from core.config import ModelConfig
from core.cost import kv_cache_bytes
from core.errors import UnknownOption
from core.questions import Question
from core.stage import At, CarriedOut, Questions

SLIPS = ("k_only", "query_heads", "one_layer", "one_text", "elements")


def miscounted(config: ModelConfig, batch: int, tokens: int, bytes_per_element: int, slip: str) -> int:
    """The bytes that come out with a factor forgotten or mistaken: "k_only" counts one of K and V, "query_heads" takes
    H for Hkv, "one_layer" forgets L, "one_text" B, "elements" counts numbers and not bytes."""
    right = kv_cache_bytes(config, batch, tokens, bytes_per_element)
    wrong = {"k_only": right // 2, "query_heads": right * config.group, "one_layer": right // config.layers,
             "one_text": right // batch, "elements": right // bytes_per_element}
    if slip not in wrong:
        raise UnknownOption("slip", slip, SLIPS)
    return wrong[slip]


def written(at: At) -> tuple[ModelConfig, int, int, int]:
    """What the bytes of a cache are made of: the configuration, texts, rows written after this pass, bytes of a
    number."""
    name = at.block + ("k_all" if at.block + "k_all" in at.trace else "k")
    batch, _heads, rows, _width = at.trace[name].shape
    return at.trace.config, batch, rows, at.trace[name].element_size()


def bytes_question(config: ModelConfig, batch: int, rows: int, bytes_per_element: int, number: int) -> Question:
    """The `number`-th question about a cache: how many bytes hold `rows` rows ("numbers"), or how many each further
    token adds ("count"): 2·L·B·T·Hkv·Dh·s."""
    each = kv_cache_bytes(config, batch, 1, bytes_per_element)
    if number % 2:
        return Question("count", 0, 0, 0.0, float(each))
    return Question("numbers", 0, 0, 0.0, float(each * rows))


def judge_bytes(
    config: ModelConfig, batch: int, rows: int, bytes_per_element: int, question: Question, answer: float,
) -> str:
    """Whether an answer is right, or the slip of `SLIPS` that gives it."""
    if answer == question.answer:
        return "right"
    tokens = 1 if question.kind == "count" else rows
    slips = (slip for slip in SLIPS if answer == miscounted(config, batch, tokens, bytes_per_element, slip))
    return next(slips, "wrong")


def ask(at: At, number: int) -> Question:
    """The `number`-th question about the cache that a pass leaves."""
    return bytes_question(*written(at), number)


def judge(at: At, question: Question, answer: float, decimals: int) -> str:
    """Whether an answer about that cache is right, or which slip gives it."""
    return judge_bytes(*written(at), question, answer)


def _counted(at: At, *, slip: str) -> Comparison:
    """The bytes of what is written, right and with a factor mistaken, as whole numbers without an axis."""
    config, batch, rows, size = written(at)
    right, wrong = kv_cache_bytes(config, batch, rows, size), miscounted(config, batch, rows, size, slip)
    return compare(torch.tensor(right), torch.tensor(wrong))


QUESTIONS: Mapping[str, Questions] = {"bytes": Questions(ask, judge)}
MISTAKES: Mapping[str, CarriedOut] = {slip: partial(_counted, slip=slip) for slip in SLIPS}
