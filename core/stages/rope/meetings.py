"""A query meets a key under RoPE: pair by pair, at other places the same distance apart, and as a function of distance
(D1 §8.4)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from core import derive
from core.check import largest_difference
from core.stages.rope import rotation
from core.stages.rope.rotation import PairScores
from core.trace import Trace

REACH = 64  # positions to either side of the query over which the score is drawn


class Meeting(NamedTuple):
    """The query of one token and the key of another (rows, from 0), and what they give at two positions."""

    query: int
    key: int
    score: PairScores


class Meetings(NamedTuple):
    """`here` at the tokens' own positions, `there` both moved on by the same number, `other` with another token's key
    at the first one's position (None where all keys of the head are alike); `apart` is the largest difference between
    the first two, pair by pair and in sum."""

    here: Meeting
    there: Meeting
    other: Meeting | None
    apart: float


def meetings(trace: Trace, layer: int, batch: int, head: int, query: int, key: int, together: int) -> Meetings:
    """One query and one key of a head, met three times; `together` is by how many positions both are moved."""
    how = rotation.settings(trace.config)
    q, k = _rows(trace, layer, batch, head)
    positions = rotation.positions_of(trace, batch)
    at = (positions[query], positions[key])

    def meet(chosen: int, moved: int) -> Meeting:
        return Meeting(query, chosen, rotation.pair_scores(q[query], k[chosen], (at[0] + moved, at[1] + moved), how))

    here, there = meet(key, 0), meet(key, together)
    other = next((row for row in range(len(k)) if not torch.equal(k[row], k[key])), None)
    return Meetings(here, there, None if other is None else meet(other, 0), rotation.apart(here.score, there.score))


class Curve(NamedTuple):
    """The score of one query with one key, for every distance key position − query position."""

    key: int
    distances: tuple[int, ...]
    scores: tuple[float, ...]


def curves(trace: Trace, layer: int, batch: int, head: int, found: Meetings) -> tuple[Curve, ...]:
    """The same query with the key of `here` and with that of `other`: two contents, the same rotation."""
    how = rotation.settings(trace.config)
    q, k = _rows(trace, layer, batch, head)
    distances = tuple(range(-REACH, REACH + 1))
    return tuple(
        Curve(met.key, distances, tuple(rotation.by_distance(q[met.query], k[met.key], distances, how).tolist()))
        for met in (found.here, found.other) if met is not None)


def _rows(trace: Trace, layer: int, batch: int, head: int) -> tuple[Tensor, Tensor]:
    """Q and K (T, Dh) of a head as the rotation reads them."""
    before = [trace.steps[f"blocks.{layer}.{letter}_rot"].reads[0] for letter in "qk"]
    q, k = (derive.slice_of(trace, name, batch, head) for name in before)
    return q, k


class Pairings(NamedTuple):
    """One head's rows of Q (T, Dh) in the trace's own order of dimensions and in that of the other pairing, the matrix
    (Dh, Dh) between them, and by how much the layer's scores differ under the other pairing, with the columns put in
    their new places and without."""

    order: tuple[int, ...]
    matrix: Tensor
    before: Tensor
    after: Tensor
    converted: float
    mixed: float


def pairings(trace: Trace, layer: int, batch: int, head: int) -> Pairings:
    """The permutation between adjacent and half pairing, tried on the layer. Edits of computed tensors are left out."""
    how = rotation.settings(trace.config)
    found = rotation.permutation(how.rotary_dim, trace.config.head_dim)
    order = found.half_from_adjacent if how.pairing == "adjacent" else found.adjacent_from_half
    q, _k = _rows(trace, layer, batch, head)
    matrix = rotation.permuting(order)
    right = trace[f"blocks.{layer}.scores"]
    gaps = [largest_difference(rotation.other_pairing(trace, layer, convert=convert)["blocks.0.scores"], right)
            for convert in (True, False)]
    return Pairings(order, matrix, q, q @ matrix, *gaps)


def drift(trace: Trace, layer: int, moved: int) -> float:
    """The largest change of the layer's raw scores when every position moves on by `moved`: rounding, no more."""
    other = rotation.under(trace, layer, rotation.settings(trace.config), moved)
    where = layer if other is trace else 0
    return largest_difference(other[f"blocks.{where}.scores"], trace[f"blocks.{layer}.scores"])
