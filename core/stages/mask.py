"""The mask stage: what a mask leaves to read, where it is put, and the softmax that follows it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from core import ops
from core.comparison import Comparison, compare
from core.errors import UnknownOption
from core.programs import Program, program_of
from core.questions import Question, Verdict
from core.stage import At, CarriedOut, Questions

PLACES = ("none", "before", "after", "renormalised")
SHIFTS = (0, 200, 12)  # lowest, highest and first number added to a row: 12 overflows float16, 90 float32


class MaskFacts(NamedTuple):
    """What a mask leaves: readable pairs of all, the queries (from 0) that nothing is left for, and the largest weight
    that the unmasked softmax would have given to a hidden key, with its place."""

    readable: int
    pairs: int
    empty_rows: list[int]
    leaked: float
    leaked_at: tuple[int, int] | None


def facts(at: At) -> MaskFacts:
    """Facts about the mask of a trace for one head."""
    scaled = at.trace[at.block + "scaled"][at.slice]  # (Tq, Tk)
    mask = at.trace["mask"]
    hidden = (mask.expand(*mask.shape[:2], *scaled.shape)[0, 0] == ops.NEG_INF).to(scaled.device)
    lost = ops.softmax(scaled).masked_fill(~hidden, 0.0)
    worst = int(lost.argmax())
    return MaskFacts(
        int((~hidden).sum()), hidden.numel(), [int(row) for row in hidden.all(dim=-1).nonzero().flatten()],
        float(lost.max()), divmod(worst, hidden.shape[1]) if bool(hidden.any()) else None)


def keep(mask: Tensor) -> Tensor:
    """1 where a key may be read and 0 where not, in the shape of the mask: what a mask after the softmax multiplies."""
    return (mask != ops.NEG_INF).float()


class Masking(NamedTuple):
    """Where the mask is put, and what becomes of the rows: `weights` (B, H, Tq, Tk) and their `sums` (B, H, Tq)."""

    weights: Tensor
    sums: Tensor

    def extent(self, batch: int, head: int) -> tuple[float, float]:
        """The smallest and the largest row sum of one head."""
        sums = self.sums[batch, head]
        return float(sums.min()), float(sums.max())

    def is_one(self, batch: int, head: int) -> bool:
        """Whether every row of one head sums to 1, up to the rounding of float32."""
        return bool(((self.sums[batch, head] - 1.0).abs() < 1e-5).all())


def masking(at: At, place: str) -> Masking:
    """The weights of a layer with its mask put in one of four places (D0 §7.1, case C16).

    "none" leaves the mask out; "before" adds it to the scores, which is right; "after" sets weights to 0 after the
    softmax and leaves it at that; "renormalised" then divides each row by what is left of it. Raises UnknownOption.
    """
    scaled, mask = at.trace[at.block + "scaled"], at.trace["mask"]
    if place == "none":
        weights = ops.softmax(scaled)
    elif place == "before":
        weights = at.trace[at.block + "weights"]
    elif place in ("after", "renormalised"):
        weights = ops.softmax(scaled).masked_fill(mask == ops.NEG_INF, 0.0)
    else:
        raise UnknownOption("place", place, PLACES)
    if place == "renormalised":
        left = weights.sum(dim=-1, keepdim=True)
        weights = weights / left.masked_fill(left == 0, 1.0)
    return Masking(weights, weights.sum(dim=-1))


def _put(at: At, *, place: str) -> Comparison:
    """The weights with the mask before the softmax beside those with it elsewhere."""
    return compare(masking(at, "before").weights, masking(at, place).weights)


MISTAKES: Mapping[str, CarriedOut] = {place: partial(_put, place=place) for place in ("none", "after")}


def ask(at: At, number: int) -> Question:
    """The `number`-th question: how many keys a query may read, from the last row up."""
    masked = at.trace[at.block + "masked"][at.slice]
    row = (masked.shape[0] - 1 - number) % masked.shape[0]
    count = float((masked[row] != ops.NEG_INF).sum())
    return Question("count", row, 0, count, count)


def judge(at: At, question: Question, answer: float, decimals: int) -> Verdict:
    """Whether the number of readable keys is right."""
    return "right" if answer == question.answer else "wrong"


QUESTIONS: Mapping[str, Questions] = {"readable": Questions(ask, judge)}


def program(at: At) -> Program:
    """From S and the mask to the weights A (B, H, Tq, Tk)."""
    inputs = {"scaled": at.trace[at.block + "scaled"], "mask": at.trace["mask"].float()}
    body = ["# scaled (B, H, Tq, Tk); mask broadcasts over B and H: 0 may be read, -inf may not",
            "masked = scaled + mask", "result = torch.softmax(masked, dim=-1).nan_to_num(0.0)  # a row of -inf: zeros",
            "print(result)"]
    return program_of("mask", inputs, body)


class Overflow(NamedTuple):
    """One row of scores through softmax in a floating-point type, as the type computes it: `exponentials` of the plain
    scores and the `naive` quotient (inf and nan where it overflows), and the `stable` one, the maximum subtracted."""

    exponentials: Tensor
    naive: Tensor
    stable: Tensor


def overflow(row: Tensor, dtype: torch.dtype) -> Overflow:
    """row (Tk) -> the same softmax done plainly and stably in `dtype`; exp overflows above 11.09 in float16, 88.72 in
    float32."""
    scores = row.to(dtype)
    exponentials = torch.exp(scores)
    return Overflow(exponentials, exponentials / exponentials.sum(), ops.softmax(scores))


def overflows(at: At, row: int, shift: float) -> list[tuple[str, Overflow]]:
    """One row of masked scores, `shift` added to each, through softmax in float16 and in float32."""
    masked = at.trace[at.block + "masked"][at.slice]
    scores = masked[min(row, masked.shape[0] - 1)] + shift
    return [("float16", overflow(scores, torch.float16)), ("float32", overflow(scores, torch.float32))]
