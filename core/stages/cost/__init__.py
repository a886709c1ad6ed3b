"""The cost stage: where computation and memory go, for a prefill and for a decode step."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import torch

from core import cost
from core.comparison import Comparison, compare
from core.machine import ledger
from core.machine.datasheet import DEVICES, Device
from core.machine.ledger import Workload
from core.programs import Program
from core.questions import Question
from core.stage import At, CarriedOut, Questions
from core.stages.cost.program import program_of_load
from core.stages.cost.questions import growth_question, judge_growth

DEVICE = "a100"  # where none is chosen


def workload(at: At) -> Workload:
    """The model of a trace on texts as long as its own, half precision throughout."""
    sizes = at.trace.sizes
    return Workload(at.trace.config, sizes.get("B", 1), sizes["T"], "float16", "float16")


class CostFacts(NamedTuple):
    """About a workload on a device: the decode step of the whole batch and of one text alone, the prefill, the share of
    each part in the prefill's arithmetic, the parameters of a block, the first batch whose decode step is bound by
    arithmetic (None: no batch is), the bytes of weights and cache, and whether the device can hold them."""

    decode: cost.Roofline
    alone: cost.Roofline
    prefill: cost.Roofline
    shares: dict[str, float]
    parameters: dict[str, int]
    first_bound: int | None
    held: int
    fits: bool


def facts(at: At, *, load: Workload | None = None, device: Device | None = None) -> CostFacts:
    """Facts about a workload (by default that of the trace) on a device."""
    load, device = load or workload(at), device or DEVICES[DEVICE]
    held = ledger.weight_bytes(load.config, load.weights) + cost.kv_cache_bytes(
        load.config, load.batch, load.tokens, cost.CACHED[load.cache])
    return CostFacts(
        ledger.estimate(load, "decode", device), ledger.estimate(load._replace(batch=1), "decode", device),
        ledger.estimate(load, "prefill", device), ledger.shares(load, load.tokens), cost.block_parameters(load.config),
        ledger.first_compute_bound(load, device), held, held <= device.memory)


def _slip(at: At, *, kind: str, load: Workload | None = None, device: Device | None = None) -> Comparison:
    """An amount, right and mistaken, without an axis; `core.machine.ledger.slip` says what each kind is."""
    found = ledger.slip(load or workload(at), device or DEVICES[DEVICE], kind)
    return compare(torch.tensor(found.right), torch.tensor(found.wrong))


def ask(at: At, number: int, *, load: Workload | None = None) -> Question:
    """The `number`-th question about twice as many tokens."""
    return growth_question(load or workload(at), number)


def judge(at: At, question: Question, answer: float, decimals: int) -> str:
    """Whether the factor is right, or which other law of growth it would be."""
    return judge_growth(question, answer)


def program(at: At, *, load: Workload | None = None) -> Program:
    """`result` maps "parameters", "prefill FLOP", "decode FLOP" and "decode bytes" to whole numbers."""
    return program_of_load(load or workload(at))


MISTAKES: Mapping[str, CarriedOut] = {kind: partial(_slip, kind=kind) for kind in ledger.SLIPS}
QUESTIONS: Mapping[str, Questions] = {"growth": Questions(ask, judge)}
