"""Why this token: the likeliest candidates of one step, what all others have together, and where the draw fell."""

from __future__ import annotations

from typing import NamedTuple

import torch

from core import sampling
from core.sampling import SamplingSteps

MOST = 8  # candidates that are told apart


class Candidate(NamedTuple):
    """A token, its probability as the model gave it (`plain`: temperature 1, nothing left out) and after all settings,
    and its part of the unit interval, from `start` up to `end`."""

    token: int
    plain: float
    probability: float
    start: float
    end: float


class Candidates(NamedTuple):
    """The likeliest tokens, the chosen one among them; `others` tokens more have those two probabilities together.
    `kept` of all tokens can be drawn."""

    top: list[Candidate]
    others: int
    others_plain: float
    others_probability: float
    kept: int


def candidates(steps: SamplingSteps, row: int, chosen: int, count: int = MOST) -> Candidates:
    """The `count` likeliest tokens of text `row` in steps over (B, V), ties to the lower id, and the `chosen` one."""
    logits, probabilities = steps.logits[row].double().cpu(), steps.probabilities[row].double().cpu()  # (V,)
    plain, ends = logits.softmax(dim=-1), sampling.cumulative(steps)[row].cpu()
    order = logits.argsort(descending=True, stable=True)[:count].tolist()
    if chosen not in order:
        order.append(chosen)
    top = [Candidate(token, float(plain[token]), float(probabilities[token]),
                     float(ends[token - 1]) if token else 0.0, float(ends[token])) for token in order]
    others = torch.ones(len(logits), dtype=torch.bool)
    others[order] = False
    return Candidates(top, int(others.sum()), float(plain[others].sum()), float(probabilities[others].sum()),
                      int(steps.kept[row].sum()))
