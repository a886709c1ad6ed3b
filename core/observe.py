"""What is worth noticing in the numbers on screen, as data; `ui` makes the sentences."""

from __future__ import annotations

from typing import NamedTuple

from core.trace import Trace


class ScoreFacts(NamedTuple):
    """About one head's scores: the largest, where it stands first and at how many places, how many are negative of how
    many, whether the table is symmetric, which KV head is read and how many query heads share it; from 0."""

    largest: float
    largest_at: tuple[int, int]
    largest_places: int
    negative: int
    cells: int
    symmetric: bool
    kv_head: int
    group: int


def scores(trace: Trace, name: str, batch: int, head: int) -> ScoreFacts:
    """Facts about the scores `name` (raw or scaled) of one batch entry and query head."""
    matrix = trace[name][batch, head]
    rows, columns = matrix.shape
    largest = matrix.max()
    return ScoreFacts(
        float(largest), divmod(int(matrix.argmax()), columns), int((matrix == largest).sum()),
        int((matrix < 0).sum()), matrix.numel(), rows == columns and bool((matrix == matrix.mT).all()),
        head // trace.config.group, trace.config.group)


class FirstTokenFacts(NamedTuple):
    """How many of a layer's query heads give the last query's largest weight to the first token."""

    on_first: int
    heads: int


def first_token(trace: Trace, layer: int, batch: int) -> FirstTokenFacts:
    """Whether the heads of a layer look at the first token; needs the trace to reach `weights`."""
    last = trace[f"blocks.{layer}.weights"][batch, :, -1]  # (H, Tk)
    return FirstTokenFacts(int((last.argmax(dim=-1) == 0).sum()), last.shape[0])
