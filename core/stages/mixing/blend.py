"""One row of weights chosen by hand: the blend of the values that it makes, and where that lies among them.

With weights that are not negative and sum to one a blend lies in the convex hull of the values: of three values in the
plane, in their triangle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from core import derive
from core.stage import At

MOST_CHOSEN = 8  # keys of one row that are offered to be chosen
PLANE = 2  # features of a value that a picture shows


class Row(NamedTuple):
    """One row of weights (Tk), the values that it weighs (Tk, Dv), and the weights that are offered to be chosen by
    key, from 0: all, or the heaviest."""

    weights: Tensor
    v: Tensor
    offered: dict[int, float]


def row_of(at: At, row: int) -> Row:
    """That row of A of one head, with its V."""
    weights, v = (derive.slice_of(at.trace, at.block + name, *at.slice) for name in ("weights", "v"))
    heaviest = torch.sort(weights[row], descending=True, stable=True).indices[:MOST_CHOSEN].tolist()
    return Row(weights[row], v, {key: float(weights[row, key]) for key in sorted(heaviest)})


class Blend(NamedTuple):
    """`given` is the sum of the weights as chosen, `weights` (1, Tk) those over their sum, `mixed` (1, Dv) the blend.
    Where the sum is zero, they are left as they are."""

    given: float
    weights: Tensor
    mixed: Tensor

    @property
    def place(self) -> list[float]:
        """Where the blend lies in the plane of the first two features."""
        return [float(feature) for feature in self.mixed[0, :PLANE]]


def blend(row: Row, chosen: Mapping[int, float]) -> Blend:
    """The weights of a row with the `chosen` ones in place of its own, divided by their sum, times V.

    Untouched, the row is left as it is, so that it gives the very numbers of the trace.
    """
    weights = row.weights.clone()
    for key, weight in chosen.items():
        weights[key] = weight
    given = float(weights.sum())
    if given != 0 and not torch.equal(weights, row.weights):
        weights = weights / given
    return Blend(given, weights[None], weights[None] @ row.v)


class Plane(NamedTuple):
    """What a picture of one head's values shows: the first two features of the values (Tk, 2) and of the outputs
    (Tq, 2), and the corners of the values' convex hull in order, as numbers of keys."""

    values: Tensor
    outputs: Tensor
    corners: list[int]


def plane(at: At) -> Plane | None:
    """The values and outputs of one head in the plane of their first two features; None where there is only one."""
    values, outputs = (
        derive.slice_of(at.trace, at.block + name, *at.slice)[:, :PLANE] for name in ("v", "context"))
    return None if values.shape[1] < PLANE else Plane(values, outputs, hull(values))


def hull(points: Tensor) -> list[int]:
    """The corners of the convex hull of points (n, 2), counter-clockwise, by number (Andrew's monotone chain)."""
    places: list[tuple[float, float]] = [(float(x), float(y)) for x, y in points]
    order = sorted(dict.fromkeys(places))
    if len(order) <= PLANE:
        return [places.index(place) for place in order]
    lower, upper = _chain(order), _chain(order[::-1])
    return [places.index(place) for place in lower[:-1] + upper[:-1]]


def _chain(order: list[tuple[float, float]]) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for place in order:
        while len(found) >= PLANE and _turn(found[-2], found[-1], place) <= 0:
            found.pop()
        found.append(place)
    return found


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """Positive where a → b → c turns to the left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
