"""What one step of a generation leaves for the next: the rows of K and V, and nothing else."""

from __future__ import annotations

from typing import NamedTuple

from core import cost, steps
from core.check import Check, compare
from core.config import ModelConfig
from core.generation import GenerationStep
from core.model import Decoder
from core.trace import Trace


class Carried(NamedTuple):
    """A tensor of a layer's attention: its trace name, its shape, and the name under which the next step reads its rows
    ("" where it does not)."""

    name: str
    shape: tuple[int, ...]
    read_as: str


def carried(trace: Trace, layer: int) -> list[Carried]:
    """For each tensor of a layer's attention whether the next step reads it. That is read off the list of steps of a
    pass on top of a cache: what it appends to cached rows is what the pass before must have left."""
    block = f"blocks.{layer}."
    plan = steps.plan(trace.config, cached=True)
    appended = {step.reads[1]: step.reads[0] for step in plan.values() if step.op == "append"}
    query = plan[block + "scores"].reads[0]
    new = [plan[f"{block}{letter}_all"].reads[1] for letter in "kv"]
    names = [query, *new, *(block + short for short in ("scores", "weights", "context"))]
    return [Carried(name, tuple(trace[name].shape), appended.get(name, "")) for name in names]


def cached_rows(trace: Trace, layer: int) -> int:
    """Rows of K that a pass read from the cache, for each text and KV head; 0 in a pass without one."""
    name = f"blocks.{layer}.k_past"
    return trace[name].shape[2] if name in trace else 0


def left_for_next(trace: Trace, after: Trace, layer: int) -> float:
    """The largest difference between the rows of K and V that a step had after appending and those that the next one
    read from the cache; 0 when they are the same numbers."""
    block, found = f"blocks.{layer}.", []
    for letter in "kv":
        past = after[f"{block}{letter}_past"]
        if past.shape[2]:
            before = trace[f"{block}{letter}_all"][:, :, -past.shape[2]:]
            found.append(compare("at_once", f"{block}{letter}_all", before, past))
    return max((check.difference for check in found if check is not None), default=0.0)


def against_at_once(trace: Trace, whole: Trace, layer: int) -> Check | None:
    """The rows of K and V that the steps so far left in the cache of a layer, against those of the same text read at
    once without one (`whole`); where a window forgets, against its last rows. None where none of them is finite."""
    block, found = f"blocks.{layer}.", []
    for letter in "kv":
        kept = trace[f"{block}{letter}_all"]
        at_once = whole[trace.steps[f"{block}{letter}_all"].reads[1]][:, :, -kept.shape[2]:]
        found.append(compare("at_once", f"{block}k_all", kept, at_once))
    checks = [check for check in found if check is not None]
    if not checks:
        return None
    return checks[0]._replace(difference=max(check.difference for check in checks),
                              size=max(check.size for check in checks))


def held_bytes(trace: Trace) -> int:
    """Bytes of all rows of K and V that a step on top of a cache leaves, over all layers, as its tensors say."""
    return sum(trace[f"blocks.{layer}.{letter}_all"].nbytes for layer in range(trace.config.layers) for letter in "kv")


class Rows(NamedTuple):
    """Rows of q, k or v in one step, over all texts, layers and heads: computed now, and read from the cache."""

    letter: str
    computed: int
    reused: int


def rows(config: ModelConfig, step: GenerationStep) -> list[Rows]:
    """What a step computed and what it reused, counted over the whole model."""
    batch, found = step.text.shape[0] * config.layers, []
    for letter in "qkv":
        heads = batch * (config.heads if letter == "q" else config.kv_heads)
        found.append(Rows(letter, heads * step.computed_rows[letter], heads * step.reused_rows[letter]))
    return found


class Predicted(NamedTuple):
    """FLOP and bytes of a step by the formulas of `core.cost`, with the head for the last token only."""

    flops: int
    bytes: int


def predicted(decoder: Decoder, step: GenerationStep) -> Predicted:
    """What a step should cost; weights and cache in the type of the decoder's weights."""
    config, batch, new, past = decoder.config, step.text.shape[0], step.inputs.shape[1], step.length_before
    size = decoder.get_parameter("embedding").element_size()
    arithmetic = cost.flops(config, batch, new, past, head_tokens=int(step.logits is not None))
    moved = cost.traffic(config, batch, new, past, bytes_per_weight=size, bytes_per_cache=size)
    return Predicted(arithmetic["total"], moved["total"])


def spared(decoder: Decoder, step: GenerationStep) -> int:
    """FLOP of reading the whole text so far at once, less those of the step, by formula; 0 where nothing was cached."""
    whole = cost.flops(decoder.config, step.text.shape[0], step.text.shape[1], head_tokens=int(step.logits is not None))
    return whole["total"] - predicted(decoder, step).flops
