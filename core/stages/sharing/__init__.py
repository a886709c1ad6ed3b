"""The sharing stage: who reads whose keys and values.

What is looked at is a layer with the number of KV heads that it has; `shared.share` gives a trace of it with another.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import torch

from core import ops
from core.check import largest_difference
from core.comparison import Comparison, compare
from core.programs import Program, attention, program_of
from core.questions import Question, Verdict
from core.stage import At, CarriedOut, Questions
from core.stages.sharing.shared import read_by


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


def facts(at: At) -> SharingFacts:
    """Facts about the sharing of a layer and query head: one K does not make the heads that read it equal."""
    config, weights = at.trace.config, at.trace[at.block + "weights"][at.batch]
    kv_head = at.head // config.group
    readers = tuple(range(kv_head * config.group, (kv_head + 1) * config.group))
    gaps = {(a, b): largest_difference(weights[a], weights[b]) for a, b in itertools.combinations(readers, 2)}
    furthest = max(gaps, key=gaps.__getitem__) if gaps else None
    return SharingFacts(kv_head, readers, furthest, gaps[furthest] if furthest else 0.0,
                        2 * config.kv_heads * config.head_dim, 2 * config.heads * config.head_dim)


class Copies(NamedTuple):
    """The KV head at each query head's place when KV heads are copied for all: `right` repeats each one in turn
    (`repeat_interleave`), `tiled` repeats them as a whole (`repeat`), `wrong` are the query heads where they differ."""

    right: tuple[int, ...]
    tiled: tuple[int, ...]
    wrong: tuple[int, ...]


def copies(heads: int, kv_heads: int) -> Copies:
    """Both orders, as torch makes them (case D3). They agree for one KV head and for as many as query heads."""
    group = len(read_by(heads, kv_heads)) // kv_heads
    numbers = torch.arange(kv_heads)
    right, tiled = numbers.repeat_interleave(group).tolist(), numbers.repeat(group).tolist()
    return Copies(tuple(right), tuple(tiled), tuple(h for h in range(heads) if right[h] != tiled[h]))


def tiled(at: At) -> Comparison:
    """The context of a layer (B, H, T, Dh) when K and V are copied in the wrong order."""
    trace, block, group = at.trace, at.block, at.trace.config.group
    q, k = (trace[name] for name in trace.steps[block + "scores"].reads)
    k, v = (x.repeat(1, group, 1, 1) for x in (k, trace[block + "v"]))
    wrong = ops.attend(q, k, v, mask=trace["mask"], scale=trace.scales.get(at.layer)).context
    return compare(trace[block + "context"], wrong)


MISTAKES: Mapping[str, CarriedOut] = {"tiled": tiled}


def ask(at: At, number: int) -> Question:
    """The `number`-th question: which KV head, from 1, a query head reads; `row` is the query head, from 0."""
    heads, kv_heads = at.trace.config.heads, at.trace.config.kv_heads
    head = (heads // 2 + number) % heads
    answer = read_by(heads, kv_heads)[head] + 1.0
    return Question("which", head, 0, answer, answer, of="kv_head")


def judge(at: At, question: Question, answer: float, decimals: int) -> Verdict:
    """Whether the KV head is right, or which slip would give it: dealt out in turn, counting from 0."""
    if answer == question.answer:
        return "right"
    if answer == copies(at.trace.config.heads, at.trace.config.kv_heads).tiled[question.row] + 1:
        return "tiled"
    return "from_zero" if answer == question.answer - 1 else "wrong"


QUESTIONS: Mapping[str, Questions] = {"kv_head": Questions(ask, judge)}


def program(at: At) -> Program:
    """From Q, K, V to AV (B, H, Tq, Dh) in `result`: KV heads copied for the query heads that read them, and torch's
    fused attention, which does without the copies. After an edit between Q and AV the fused one has nothing to compare
    with, and is left out."""
    trace, block = at.trace, at.block
    if any(block + name in trace.edits for name in ("scores", "scaled", "masked", "weights", "context")):
        return attention(trace, at.layer)
    q, k = trace.steps[block + "scores"].reads
    inputs = {"q": trace[q], "k": trace[k], "v": trace[block + "v"]}
    mask = trace["mask"]
    causal = mask.shape[:2] == (1, 1) and torch.equal(mask[0, 0].cpu(), ops.causal_mask(mask.shape[-1]))
    if not causal:
        inputs["mask"] = mask.float()
    size, group, scale = mask.shape[-1], trace.config.group, trace.scales.get(at.layer)
    body = [f"# q (B, {trace.config.heads}, T, Dh), k and v (B, {trace.config.kv_heads}, T, Dh)",
            *([f"mask = torch.full(({size}, {size}), -math.inf).triu(1)  # causal"] if causal else []),
            f"scale = {'1 / math.sqrt(q.shape[-1])' if scale is None else repr(scale)}",
            f"keys, values = (x.repeat_interleave({group}, dim=1) for x in (k, v))  # query head h reads KV head "
            f"h // {group}",
            "weights = (q @ keys.mT * scale + mask).softmax(dim=-1).nan_to_num(0.0)  # (B, H, Tq, Tk)",
            "result = weights @ values  # (B, H, Tq, Dh)",
            "fused = torch.nn.functional.scaled_dot_product_attention(",
            "    q, k, v, attn_mask=mask, scale=scale, enable_gqa=True)  # no copies in memory",
            "assert torch.allclose(result, fused, rtol=1e-4, atol=1e-4 * float(v.abs().max()))",
            "print(result)"]
    return program_of("sharing", inputs, body)
