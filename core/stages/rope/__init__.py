"""The RoPE stage: pairs of dimensions turned by their position.

What is looked at is a layer under its own rotation; `rotation.under` gives a trace of it under another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from core import ops, steps
from core.check import largest_difference
from core.comparison import Comparison, compare
from core.programs import Program, edited_lines, program_of, rope_lines
from core.questions import CLOSE, Question, Verdict, equal
from core.stage import At, CarriedOut, Questions
from core.stages.rope import rotation


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


def facts(at: At) -> RotationFacts:
    """Facts about the rotation of a layer, as data."""
    config = at.trace.config
    pairs = rotation.pairs(rotation.settings(config))
    positions = rotation.positions_of(at.trace, at.batch)
    span = max(positions) - min(positions)
    after = [at.trace[at.block + name][at.batch] for name in ("q_rot", "k_rot")]
    before = [x[at.batch] for x in _unturned(at)]
    stretch = max(largest_difference(a.norm(dim=-1), b.norm(dim=-1)) for a, b in zip(after, before, strict=True))
    zero = [row for row, position in enumerate(positions) if position == 0]
    origin = all(torch.equal(a[:, zero], b[:, zero]) for a, b in zip(after, before, strict=True)) if zero else None
    return RotationFacts(
        len(pairs), config.head_dim - config.rotary_dim, pairs[0].wavelength, pairs[-1].wavelength, span,
        sum(pair.wavelength > span for pair in pairs), stretch, origin)


def _unturned(at: At) -> tuple[Tensor, Tensor]:
    """Q and K as the rotation reads them."""
    q, k = (at.trace[at.trace.steps[f"{at.block}{letter}_rot"].reads[0]] for letter in "qk")
    return q, k


def value(at: At) -> Comparison:
    """The context when V is turned as well. Raises UnknownOption for a trace that does not rotate."""
    rotation.settings(at.trace.config)
    v = steps.rotate(at.trace.config, at.trace[at.block + "v"], at.trace["positions"])
    return compare(at.trace[at.block + "context"], ops.mix(at.trace[at.block + "weights"], v))


def restart(at: At) -> Comparison:
    """The raw scores when the last token stands at position 0, its query and its key, as in a decoder that forgets the
    cache's length (case E4)."""
    stuck = at.trace["positions"].clone()
    stuck[:, -1] = 0
    q, k = (steps.rotate(at.trace.config, x, stuck) for x in _unturned(at))
    return compare(at.trace[at.block + "scores"], ops.raw_scores(q, k))


def mixed(at: At) -> Comparison:
    """The raw scores when Q and K, whose columns are ordered for one pairing, are turned in the other (case E1)."""
    other = rotation.other_pairing(at.trace, at.layer, convert=False)
    return compare(at.trace[at.block + "scores"], other["blocks.0.scores"])


MISTAKES: Mapping[str, CarriedOut] = {"value": value, "restart": restart, "mixed": mixed}


class Decoded(NamedTuple):
    """The last token alone, as a decode step sees it, with the turned keys of the others from a cache: its `position`
    (B), its row of raw scores (B, H, Tk), the largest difference of that from the whole pass, and the row that a query
    stuck at position 0 would get."""

    position: Tensor
    row: Tensor
    difference: float
    stuck: Tensor


def decoded(at: At) -> Decoded:
    """Turn the last token by itself: with a cache the position goes on where the cache ends."""
    trace, config, positions = at.trace, at.trace.config, at.trace["positions"][:, -1:]
    cached = trace[at.block + "k_rot"][:, :, :-1]
    q, k = (x[:, :, -1:] for x in _unturned(at))
    rows = []
    for place in (positions, torch.zeros_like(positions)):
        new = steps.rotate(config, k, positions)
        rows.append(ops.raw_scores(steps.rotate(config, q, place), torch.cat([cached, new], dim=2))[:, :, 0])
    right = trace[at.block + "scores"][:, :, -1]
    return Decoded(positions[:, 0], rows[0], largest_difference(rows[0], right), rows[1])


def ask(at: At, number: int) -> Question:
    """The `number`-th question: the angle, in radians, of a pair (`column`, from 0) at a position (`row`)."""
    pairs, positions = rotation.pairs(rotation.settings(at.trace.config)), rotation.positions_of(at.trace, at.batch)
    pair = pairs[(1 + number) % len(pairs)]
    position = positions[(1 + number // len(pairs)) % len(positions)]
    angle = position * pair.theta
    return Question("value", position, pair.number, angle, angle, of="angle")


def judge(at: At, question: Question, answer: float, decimals: int) -> Verdict:
    """Whether an angle is right to the shown decimals, or which slip would give it: degrees, positions counted from 1,
    half the exponent (−i/Dr in place of −2i/Dr), digits missing."""
    if equal(answer, question.answer, decimals):
        return "right"
    how = rotation.settings(at.trace.config)
    theta = rotation.pairs(how)[question.column].theta
    slips: dict[Verdict, float] = {
        "degrees": math.degrees(question.answer), "from_one": question.answer + theta,
        "half_exponent": question.row * how.base ** (-question.column / how.rotary_dim)}
    for verdict, slip in slips.items():
        if equal(answer, slip, decimals):
            return verdict
    return "close" if math.isclose(answer, question.answer, rel_tol=CLOSE) else "wrong"


QUESTIONS: Mapping[str, Questions] = {"angle": Questions(ask, judge)}


def program(at: At) -> Program:
    """From Q and K before the rotation to the raw scores (B, H, Tq, Tk) in `result`."""
    trace, block, group = at.trace, at.block, at.trace.config.group
    inputs = {letter: trace[trace.steps[f"{block}{letter}_rot"].reads[0]] for letter in "qk"}
    more, lines = rope_lines(trace)
    body = ["# q (B, H, T, Dh), k (B, Hkv, T, Dh)", *lines]
    for letter in "qk":
        body += edited_lines(trace, f"{block}{letter}_rot", letter)
    if group > 1:
        body.append(f"k = k.repeat_interleave({group}, dim=1)  # (B, H, T, Dh): {group} query heads read one KV head")
    body += ["result = q @ k.mT  # (B, H, Tq, Tk)", *edited_lines(trace, block + "scores", "result"),
             "print(result)"]
    return program_of("rope", inputs | more, body)
