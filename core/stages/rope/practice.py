"""RoPE on a trace: what holds, what is done wrong, what is worth noticing, and what can be asked."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from core import comparison, ops, questions, steps
from core.comparison import Comparison
from core.errors import UnknownOption
from core.questions import Question, Verdict
from core.stages.rope import rotation
from core.trace import Trace

KINDS = ("value", "restart", "mixed")


def mistake(trace: Trace, layer: int, kind: str) -> Comparison:
    """The rotation of a layer done wrong.

    "value" turns V as well, against the context. "restart" puts the last token at position 0, its query and its key,
    as a decoder does that forgets the cache's length (case E4), against the raw scores. "mixed" turns Q and K, whose
    columns are ordered for one pairing, in the other (case E1), against the raw scores.
    """
    block, config = f"blocks.{layer}.", trace.config
    rotation.settings(config)
    if kind == "value":
        v = steps.rotate(config, trace[block + "v"], trace["positions"])
        return comparison.compare(trace[block + "context"], ops.mix(trace[block + "weights"], v))
    right = trace[block + "scores"]
    if kind == "restart":
        stuck = trace["positions"].clone()
        stuck[:, -1] = 0
        q, k = (steps.rotate(config, x, stuck) for x in _before(trace, layer))
        return comparison.compare(right, ops.raw_scores(q, k))
    if kind == "mixed":
        return comparison.compare(right, rotation.other_pairing(trace, layer, convert=False)["blocks.0.scores"])
    raise UnknownOption("kind", kind, KINDS)


def _before(trace: Trace, layer: int) -> tuple[Tensor, Tensor]:
    """Q and K as the rotation reads them."""
    q, k = (trace[trace.steps[f"blocks.{layer}.{letter}_rot"].reads[0]] for letter in "qk")
    return q, k


class Decoded(NamedTuple):
    """The last token alone, as a decode step sees it, with the turned keys of the others from a cache: its `position`
    (B), its row of raw scores (B, H, Tk), the largest difference of that from the whole pass, and the row that a query
    stuck at position 0 would get."""

    position: Tensor
    row: Tensor
    difference: float
    stuck: Tensor


def decoded(trace: Trace, layer: int) -> Decoded:
    """Turn the last token by itself: with a cache the position goes on where the cache ends."""
    block, config, positions = f"blocks.{layer}.", trace.config, trace["positions"][:, -1:]
    cached = trace[block + "k_rot"][:, :, :-1]
    q, k = (x[:, :, -1:] for x in _before(trace, layer))
    rows = []
    for place in (positions, torch.zeros_like(positions)):
        new = steps.rotate(config, k, positions)
        rows.append(ops.raw_scores(steps.rotate(config, q, place), torch.cat([cached, new], dim=2))[:, :, 0])
    right = trace[block + "scores"][:, :, -1]
    return Decoded(positions[:, 0], rows[0], float((rows[0] - right).abs().max()), rows[1])


class RotationFacts(NamedTuple):
    """About one head: how many pairs turn and how many dimensions do not, the wavelengths of the fastest and slowest
    pair in positions, how many pairs make less than one full turn over the positions on screen (`span`), the largest
    change of length of a row of Q or K by the rotation, and whether a token at position 0 stands unturned (None where
    there is none)."""

    pairs: int
    still: int
    fastest: float
    slowest: float
    span: int
    under_one_turn: int
    stretch: float
    origin: bool | None


def facts(trace: Trace, layer: int, batch: int) -> RotationFacts:
    """Facts about the rotation of a layer, as data."""
    block, config = f"blocks.{layer}.", trace.config
    pairs = rotation.pairs(rotation.settings(config))
    positions = trace["positions"][batch]
    span = int(positions.max() - positions.min())
    after = [trace[block + name][batch] for name in ("q_rot", "k_rot")]
    before = [x[batch] for x in _before(trace, layer)]
    stretch = max(float((a.norm(dim=-1) - b.norm(dim=-1)).abs().max()) for a, b in zip(after, before, strict=True))
    zero = (positions == 0).nonzero().flatten().tolist()
    origin = all(torch.equal(a[:, zero], b[:, zero]) for a, b in zip(after, before, strict=True)) if zero else None
    return RotationFacts(
        len(pairs), config.head_dim - config.rotary_dim, pairs[0].wavelength, pairs[-1].wavelength, span,
        sum(pair.wavelength > span for pair in pairs), stretch, origin)


def question(how: rotation.Rope, positions: list[int], number: int) -> Question:
    """The `number`-th question: the angle, in radians, of a pair (`column`, from 0) at a position (`row`)."""
    pairs = rotation.pairs(how)
    pair = pairs[(1 + number) % len(pairs)]
    position = positions[(1 + number // len(pairs)) % len(positions)]
    angle = position * pair.theta
    return Question("value", position, pair.number, angle, angle, of="angle")


def judge(how: rotation.Rope, asked: Question, answer: float, decimals: int) -> Verdict:
    """Whether an angle is right to the shown decimals, or which slip would give it: degrees, positions counted from 1,
    half the exponent (−i/Dr in place of −2i/Dr), digits missing."""
    if questions.equal(answer, asked.answer, decimals):
        return "right"
    theta = rotation.pairs(how)[asked.column].theta
    slips: dict[Verdict, float] = {"degrees": math.degrees(asked.answer), "from_one": asked.answer + theta,
                                   "half_exponent": asked.row * how.base ** (-asked.column / how.rotary_dim)}
    for verdict, value in slips.items():
        if questions.equal(answer, value, decimals):
            return verdict
    return "close" if math.isclose(answer, asked.answer, rel_tol=questions.CLOSE) else "wrong"
