"""Shared KV heads: what is done wrong, what is worth noticing, and what can be asked."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import torch

from core import comparison, ops
from core.comparison import Comparison
from core.questions import Question, Verdict
from core.stages.sharing.shared import read_by
from core.trace import Trace


class Order(NamedTuple):
    """The KV head at each query head's place when KV heads are copied for all: `right` repeats each one in turn
    (`repeat_interleave`), `tiled` repeats them as a whole (`repeat`), `wrong` are the query heads where they differ."""

    right: tuple[int, ...]
    tiled: tuple[int, ...]
    wrong: tuple[int, ...]


def order(heads: int, kv_heads: int) -> Order:
    """Both orders, as torch makes them (case D3). They agree for one KV head and for as many as query heads."""
    group = len(read_by(heads, kv_heads)) // kv_heads
    numbers = torch.arange(kv_heads)
    right, tiled = numbers.repeat_interleave(group).tolist(), numbers.repeat(group).tolist()
    return Order(tuple(right), tuple(tiled), tuple(h for h in range(heads) if right[h] != tiled[h]))


def tiled(trace: Trace, layer: int) -> Comparison:
    """The context of a layer (B, H, T, Dh) when K and V are copied in the wrong order."""
    block, group = f"blocks.{layer}.", trace.config.group
    q, k = (trace[name] for name in trace.steps[block + "scores"].reads)
    k, v = (x.repeat(1, group, 1, 1) for x in (k, trace[block + "v"]))
    wrong = ops.attend(q, k, v, mask=trace["mask"], scale=trace.scales.get(layer)).context
    return comparison.compare(trace[block + "context"], wrong)


class SharingFacts(NamedTuple):
    """About the KV head that one query head reads, from 0: the query heads that share it, and of those the two whose
    weights differ most and by how much (None and 0 where nobody shares). `numbers` is how many numbers of K and V the
    layer keeps for each token, `of` how many MHA would."""

    kv_head: int
    readers: tuple[int, ...]
    furthest: tuple[int, int] | None
    apart: float
    numbers: int
    of: int


def facts(trace: Trace, layer: int, batch: int, head: int) -> SharingFacts:
    """Facts about a layer's sharing, as data: one K does not make the heads that read it equal."""
    config, weights = trace.config, trace[f"blocks.{layer}.weights"][batch]
    kv_head = head // config.group
    readers = tuple(range(kv_head * config.group, (kv_head + 1) * config.group))
    gaps = {(a, b): float((weights[a] - weights[b]).abs().max()) for a, b in itertools.combinations(readers, 2)}
    furthest = max(gaps, key=gaps.__getitem__) if gaps else None
    return SharingFacts(kv_head, readers, furthest, gaps[furthest] if furthest else 0.0,
                        2 * config.kv_heads * config.head_dim, 2 * config.heads * config.head_dim)


def question(heads: int, kv_heads: int, number: int) -> Question:
    """The `number`-th question: which KV head, from 1, a query head reads; `row` is the query head, from 0."""
    head = (heads // 2 + number) % heads
    answer = read_by(heads, kv_heads)[head] + 1.0
    return Question("which", head, 0, answer, answer, of="kv_head")


def judge(heads: int, kv_heads: int, asked: Question, answer: float) -> Verdict:
    """Whether the KV head is right, or which slip would give it: dealt out in turn, counting from 0."""
    if answer == asked.answer:
        return "right"
    if answer == order(heads, kv_heads).tiled[asked.row] + 1:
        return "tiled"
    return "from_zero" if answer == asked.answer - 1 else "wrong"
