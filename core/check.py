"""What the numbers on screen were compared with, and how far apart they are."""

from __future__ import annotations

import math
from typing import NamedTuple

from torch import Tensor


class Check(NamedTuple):
    """What the numbers were compared with: `kind` is "float64" (a step, against the same step carried out in float64 on
    the same operands), "stream" (the block's output, written out, against the next block's captured input, fused),
    "sdpa" (the context against torch's fused attention on the same q, k, v) or "at_once" (K and V in a cache, against
    those of the whole text read without one); `difference` is the largest one, `size` the largest absolute value among
    the numbers compared."""

    kind: str
    name: str
    difference: float
    size: float


def compare(kind: str, name: str, written_out: Tensor, fused: Tensor) -> Check | None:
    """The check over all entries of which at least one is finite: the difference is ∞ where only one of them is. None
    where there is no such entry."""
    compared = written_out.isfinite() | fused.isfinite()
    if not bool(compared.any()):
        return None
    differences, sizes = (written_out - fused)[compared], fused[compared]
    return Check(kind, name, _largest(differences), _largest(sizes))


def largest_difference(one: Tensor, other: Tensor) -> float:
    """The largest absolute difference between two tensors of one shape; 0 for what is the same on both sides, an
    infinity or a NaN too, and for tensors without entries; ∞ where only one side has a finite number, or each another
    of those."""
    if not one.numel():
        return 0.0
    same = (one == other) | (one.isnan() & other.isnan())
    return _largest((one - other).masked_fill(same, 0.0))


def _largest(values: Tensor) -> float:
    return float(values.abs().nan_to_num(nan=math.inf, posinf=math.inf).max())
