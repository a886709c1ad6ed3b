"""The generation stage: prefill and decode, what a step computes, and what it goes on from."""

from __future__ import annotations

from typing import NamedTuple

from core.decoding import cached_rows
from core.stage import At
from core.stages.generation.mistakes import MISTAKES
from core.stages.generation.program import program
from core.stages.generation.questions import QUESTIONS

__all__ = ["MISTAKES", "QUESTIONS", "StepFacts", "facts", "program"]


class StepFacts(NamedTuple):
    """About one pass: rows of Q, K and V that are `new` in it, rows of K and V that each head `held` in the cache
    before, keys that a query may meet, query heads for each KV head, and whether RoPE turned the rows of K."""

    new: int
    held: int
    keys: int
    group: int
    turned: bool


def facts(at: At) -> StepFacts:
    """Facts about the pass that a trace holds."""
    config = at.trace.config
    queries, keys = at.trace[at.block + "scores"].shape[-2:]
    return StepFacts(queries, cached_rows(at.trace, at.layer), keys, config.group, config.positions == "rope")
