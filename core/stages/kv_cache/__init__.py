"""The KV cache stage: what a cache holds, its bytes over the length, the time of a step with it and without."""

from __future__ import annotations

from typing import NamedTuple

from core.decoding import cached_rows
from core.stage import At
from core.stages.kv_cache.program import program
from core.stages.kv_cache.questions import MISTAKES, QUESTIONS, written

__all__ = ["MISTAKES", "QUESTIONS", "CacheFacts", "facts", "program"]


class CacheFacts(NamedTuple):
    """About the cache after a pass: rows of each head that are written, those of them that are `new`, matrices of K and
    of V in the whole model (one pair for each KV head of each layer), query heads for each KV head."""

    written: int
    new: int
    pairs: int
    group: int


def facts(at: At) -> CacheFacts:
    """Facts about what the pass left in the cache."""
    config, _batch, rows, _size = written(at)
    return CacheFacts(rows, rows - cached_rows(at.trace, at.layer), config.layers * config.kv_heads, config.group)
