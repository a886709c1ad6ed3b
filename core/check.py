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


def _largest(values: Tensor) -> float:
    return float(values.abs().nan_to_num(nan=math.inf, posinf=math.inf).max())
