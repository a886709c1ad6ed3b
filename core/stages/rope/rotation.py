"""RoPE pair by pair: the angles, one turn in digits, scores by distance, and the two pairings as one permutation.

Formulas of Su et al. 2021 §3; `core.rope` is what models compute with, this module takes it apart. Positions from 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from core import rope
from core.check import largest_difference
from core.config import ModelConfig, Pairing
from core.errors import ShapeError, UnknownOption
from core.layer import isolated_layer
from core.trace import Trace


class Rope(NamedTuple):
    """What a rotation depends on, apart from vector and position."""

    rotary_dim: int
    base: float = 10000.0
    pairing: Pairing = "half"
    scaling: Mapping[str, Any] | None = None


def settings(config: ModelConfig) -> Rope:
    """The rotation of a model. Raises UnknownOption for one that does not rotate."""
    if config.positions != "rope":
        raise UnknownOption("positions", config.positions, ["rope"])
    return Rope(config.rotary_dim, config.rope_base, config.rope_pairing, config.rope_scaling)


def turned(x: Tensor, positions: Sequence[int], how: Rope) -> Tensor:
    """x (…, T, Dh) at positions (T)."""
    return rope.rotate(x, torch.tensor(positions), base=how.base, rotary_dim=how.rotary_dim, pairing=how.pairing,
                       scaling=how.scaling)


BASES = (100.0, 1000.0, 10000.0, 100000.0, 500000.0, 1000000.0)  # the paper's is 10000, that of Llama 3 500000
FARTHEST = 100  # positions by which everything can be moved on, so that the third of four hands is seen to turn
MOVES = (0, 1, 2, 5, 10, 50, FARTHEST)  # those to choose among
SAMPLE = 8  # labels of dimensions that are given as a sample
ELSEWHERE = 10  # positions by which D1 §8.4 moves q and k together


def under(trace: Trace, layer: int, how: Rope, moved: int = 0) -> Trace:
    """The layer alone (names `blocks.0.…`) with its Q, K and V before the rotation, turned as `how` says, every
    position `moved` on. The trace itself where that changes nothing. Raises as `core.config` does."""
    if how == settings(trace.config) and not moved:
        return trace
    return isolated_layer(trace, layer, keep=("q", "k", "v"), put={"positions": trace["positions"] + moved},
                     rope_base=how.base, rope_pairing=how.pairing, rope_scaling=how.scaling,
                     rope_dim=None if how.rotary_dim == trace.config.head_dim else how.rotary_dim)


def positions_of(trace: Trace, batch: int) -> list[int]:
    """The positions of the tokens of one batch entry."""
    positions = trace["positions"]
    found: list[int] = positions[min(batch, positions.shape[0] - 1)].tolist()
    return found


class Angles(NamedTuple):
    """What turns the rows of one batch entry: `positions` (T), `theta` (Dr/2), and of their products `cos` and `sin`
    (T, Dr/2), all float64 on the CPU."""

    positions: Tensor
    theta: Tensor
    cos: Tensor
    sin: Tensor


def angles(trace: Trace, batch: int) -> Angles:
    """Of a trace that rotates. Raises UnknownOption for one that does not."""
    how = settings(trace.config)
    theta = rope.frequencies(how.rotary_dim, how.base, how.scaling)
    positions = trace["positions"][min(batch, trace["positions"].shape[0] - 1)].cpu().double()  # (T)
    angle = rope.angles(positions, theta)  # (T, Dr/2)
    return Angles(positions, theta, angle.cos(), angle.sin())


def permuting(order: Sequence[int]) -> Tensor:
    """The matrix (Dh, Dh) that a row of a head is multiplied by to have its dimensions in that order."""
    return torch.eye(len(order))[list(order)].mT


class Pair(NamedTuple):
    """A pair of dimensions that turn together, from 0; `theta` in radians per position, `wavelength` in positions per
    full turn."""

    number: int
    first: int
    second: int
    theta: float
    wavelength: float


def pairs(how: Rope) -> tuple[Pair, ...]:
    """All pairs, fastest first. Raises as `core.rope.frequencies` does."""
    thetas = rope.frequencies(how.rotary_dim, how.base, how.scaling).tolist()
    order = rope.half_from_adjacent(how.rotary_dim) if how.pairing == "adjacent" else range(how.rotary_dim)
    half = how.rotary_dim // 2
    return tuple(Pair(i, order[i], order[half + i], theta, 2 * math.pi / theta) for i, theta in enumerate(thetas))


class Turn(NamedTuple):
    """One pair turned: by `angle` = position · θ radians, from `before` (a, b) to `after`
    (a cos − b sin, b cos + a sin); `length` √(a² + b²) stays."""

    pair: Pair
    position: int
    angle: float
    cos: float
    sin: float
    before: tuple[float, float]
    after: tuple[float, float]
    length: float


def turns(vector: Tensor, position: int, how: Rope) -> tuple[Turn, ...]:
    """A head's vector (Dh) at one position, pair by pair, in float64. Raises ShapeError when it is too short."""
    if vector.ndim != 1 or vector.shape[0] < how.rotary_dim:
        raise ShapeError("one vector, at least as long as what is turned", x=vector.shape, rotary_dim=(how.rotary_dim,))
    done = turned(vector.double()[None], [position], how)[0].tolist()
    made = []
    for pair in pairs(how):
        a, b = float(vector[pair.first]), float(vector[pair.second])
        angle = position * pair.theta
        made.append(Turn(pair, position, angle, math.cos(angle), math.sin(angle), (a, b),
                         (done[pair.first], done[pair.second]), math.hypot(a, b)))
    return tuple(made)


class PairScores(NamedTuple):
    """q at one position times k at another, by pairs: `parts` one product for each pair, `rest` that of the dimensions
    that are not turned, `total` their sum."""

    positions: tuple[int, int]
    parts: tuple[float, ...]
    rest: float
    total: float


def pair_scores(q: Tensor, k: Tensor, positions: tuple[int, int], how: Rope) -> PairScores:
    """q and k (Dh), each turned to its position, multiplied pair by pair in float64."""
    query, key = (turned(x.double()[None], [at], how)[0] for x, at in zip((q, k), positions, strict=True))
    product = query * key
    parts = tuple(float(product[pair.first] + product[pair.second]) for pair in pairs(how))
    return PairScores(positions, parts, float(product[how.rotary_dim:].sum()), float(product.sum()))


def apart(one: PairScores, other: PairScores) -> float:
    """The largest difference between two scores, pair by pair and in sum."""
    return largest_difference(*(torch.tensor([*score.parts, score.rest, score.total], dtype=torch.float64)
                                for score in (one, other)))


def by_distance(q: Tensor, k: Tensor, distances: Sequence[int], how: Rope) -> Tensor:
    """The score of q and k (Dh) for each distance key position − query position -> (n) float64."""
    keys = turned(k.double().expand(len(distances), -1), distances, how)
    return keys @ turned(q.double()[None], [0], how)[0]


class Permutation(NamedTuple):
    """The reordering of one head's dimensions between the pairings, as lists of old places in their new order; both
    leave what is not turned alone (case E2)."""

    half_from_adjacent: tuple[int, ...]
    adjacent_from_half: tuple[int, ...]


def permutation(rotary_dim: int, head_dim: int) -> Permutation:
    """For a head of Dh dimensions of which the first Dr are turned."""
    rest = range(rotary_dim, head_dim)
    order = (*rope.half_from_adjacent(rotary_dim), *rest)
    return Permutation(order, tuple(sorted(range(head_dim), key=order.__getitem__)))


def other_pairing(trace: Trace, layer: int, *, convert: bool = True) -> Trace:
    """The layer alone (names `blocks.0.…`) under the other pairing. With `convert` the columns of WQ and WK, their
    biases and head norms are permuted within each head, and the scores stay what they were; without, they do not.

    A trace that has no WQ has the columns of Q and K permuted in its place. Edits of computed tensors are left out.
    """
    how, config = settings(trace.config), trace.config
    other: Pairing = "adjacent" if how.pairing == "half" else "half"
    found = permutation(how.rotary_dim, config.head_dim)
    order = list(found.half_from_adjacent if other == "half" else found.adjacent_from_half)
    block = f"blocks.{layer}."
    names = ("wq", "wk", "bq", "bk", "q_gamma", "k_gamma") if block + "wq" in trace else ("q", "k")
    put = {}
    for name in names:
        if convert and block + name in trace:
            tensor = trace[block + name]
            heads = tensor.reshape(*tensor.shape[:-1], -1, config.head_dim)  # (…, heads, Dh)
            put[name] = heads[..., order].reshape(tensor.shape)
    return isolated_layer(trace, layer, put=put, rope_pairing=other)
