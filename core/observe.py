"""What is worth noticing in the numbers on screen, as data; `ui` makes the sentences."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import torch
from torch import Tensor

from core import derive
from core.trace import Trace

SUM_SLACK = 1e-4  # how far float32 rounding may take a sum of weights from one


class Part(NamedTuple):
    """A tensor of the projections as one head sees it: its trace name, whether it is a parameter (the others follow
    the input), its rows and columns, and how many of its numbers differ from those before any edit."""

    name: str
    parameter: bool
    shape: tuple[int, int]
    changed: int

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)


def projection_parts(trace: Trace, layer: int, batch: int, head: int) -> list[Part]:
    """X, the matrices and biases, and Q, K, V of one head, with what the learner's edits have moved."""
    before = trace.unedited() if trace.edits else trace
    block = f"blocks.{layer}."
    names = [trace.attention_input(layer), *(f"{block}{kind}{letter}" for kind in "wb" for letter in "qkv"),
             *(block + letter for letter in "qkv")]
    parts = []
    for name in names:
        if name in trace:
            now, then = (_of_head(one, name, batch, head) for one in (trace, before))
            rows, columns = now.shape
            parameter = name.rsplit(".", 1)[-1][0] in "wb"
            parts.append(Part(name, parameter, (rows, columns), int((now != then).sum())))
    return parts


def head_columns(trace: Trace, name: str, head: int) -> tuple[int, int]:
    """(first, count): the columns of a projection's matrix or bias that belong to a query head, or to the KV head that
    it reads."""
    width = trace.config.head_dim
    place = head if name.rsplit(".", 1)[-1] in ("wq", "bq", "q_proj") else head // trace.config.group
    return place * width, width


def _of_head(trace: Trace, name: str, batch: int, head: int) -> Tensor:
    matrix = derive.slice_of(trace, name, batch, head)
    if name.rsplit(".", 1)[-1][0] not in "wb":
        return matrix
    first, count = head_columns(trace, name, head)
    return matrix[:, first:first + count]


class ProjectionFacts(NamedTuple):
    """About one head's projections: which of Q, K, V have the identity for a matrix and so equal the input, which pairs
    of them equal each other, which KV head is read and how many query heads share it."""

    identity: list[str]
    same: list[tuple[str, str]]
    kv_head: int
    group: int


def projections(trace: Trace, layer: int, batch: int, head: int) -> ProjectionFacts:
    """Facts about Q, K and V of one batch entry and query head, as data."""
    block = f"blocks.{layer}."
    x = derive.slice_of(trace, trace.attention_input(layer), batch, head)
    made = {letter: derive.slice_of(trace, block + letter, batch, head) for letter in "qkv"}
    return ProjectionFacts(
        [letter for letter, matrix in made.items() if torch.equal(matrix, x) and _is_identity(
            _of_head(trace, f"{block}w{letter}", batch, head))],
        [(a, b) for a, b in itertools.combinations("qkv", 2) if torch.equal(made[a], made[b])],
        head // trace.config.group, trace.config.group)


def _is_identity(matrix: Tensor) -> bool:
    return matrix.shape[0] == matrix.shape[1] and torch.equal(matrix, torch.eye(matrix.shape[0]))


class MixingFacts(NamedTuple):
    """About one head's weights and what they make of V; rows and keys from 0.

    `telling` is the first of the rows that read most keys; `heaviest` the key with the last row's largest weight, which
    stands at `heaviest_places`; `zeros` of `cells` weights are exactly 0; `broken` rows do not sum to one (rows that
    nothing may be read in left out); `between` whether every number of AV lies between the smallest and the largest of
    its column of V; `first_length` and `other_length` are the length of the first token's value and the mean length of
    the others'; `kv_head` is the KV head that is read, by `group` query heads.
    """

    telling: int
    last: int
    heaviest: int
    heaviest_places: int
    weight: float
    zeros: int
    cells: int
    broken: list[int]
    between: bool
    first_length: float
    other_length: float
    kv_head: int
    group: int


def mixing(trace: Trace, layer: int, batch: int, head: int) -> MixingFacts:
    """Facts about A, V and AV of one batch entry and query head."""
    block = f"blocks.{layer}."
    weights, v, context = (derive.slice_of(trace, block + name, batch, head) for name in ("weights", "v", "context"))
    last = weights[-1]
    sums = weights.sum(dim=-1)
    broken = ((sums - 1).abs() > SUM_SLACK) & (weights != 0).any(dim=-1)
    low, high = v.amin(dim=0), v.amax(dim=0)
    slack = SUM_SLACK * max(1.0, float(v.abs().max()))
    readable = (weights != 0).any(dim=-1)
    between = ((context >= low - slack) & (context <= high + slack)) | ~readable[:, None]
    lengths = torch.linalg.vector_norm(v, dim=-1)
    return MixingFacts(
        int((weights != 0).sum(dim=-1).argmax()), len(weights) - 1, int(last.argmax()),
        int((last == last.max()).sum()), float(last.max()), int((weights == 0).sum()), weights.numel(),
        broken.nonzero().flatten().tolist(), bool(between.all()), float(lengths[0]),
        float(lengths[1:].mean()) if len(lengths) > 1 else float(lengths[0]), head // trace.config.group,
        trace.config.group)
