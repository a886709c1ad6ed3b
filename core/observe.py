"""What is worth noticing in the numbers on screen, as data; `ui` makes the sentences."""

from __future__ import annotations

from typing import NamedTuple

from core.trace import Trace


class ScoreFacts(NamedTuple):
    """About one head's scaled scores: where the largest and the smallest stand and what they are, whether QKᵀ is
    symmetric, which KV head is read and how many query heads share it; rows and columns from 0."""

    largest: float
    largest_at: tuple[int, int]
    smallest: float
    smallest_at: tuple[int, int]
    negative: int
    cells: int
    symmetric: bool
    kv_head: int
    group: int


def scores(trace: Trace, layer: int, batch: int, head: int) -> ScoreFacts:
    """Facts about `scaled` of one layer, batch entry and query head."""
    matrix = trace[f"blocks.{layer}.scaled"][batch, head]
    columns = matrix.shape[-1]
    top, bottom = int(matrix.argmax()), int(matrix.argmin())
    square = matrix.shape[0] == columns
    return ScoreFacts(
        float(matrix.max()), divmod(top, columns), float(matrix.min()), divmod(bottom, columns),
        int((matrix < 0).sum()), matrix.numel(), square and bool((matrix == matrix.mT).all()),
        head // trace.config.group, trace.config.group)


class FirstTokenFacts(NamedTuple):
    """How many of a layer's query heads give the last query's largest weight to the first token."""

    on_first: int
    heads: int


def first_token(trace: Trace, layer: int, batch: int) -> FirstTokenFacts:
    """Whether the heads of a layer look at the first token; needs the trace to reach `weights`."""
    last = trace[f"blocks.{layer}.weights"][batch, :, -1]  # (H, Tk)
    return FirstTokenFacts(int((last.argmax(dim=-1) == 0).sum()), last.shape[0])
