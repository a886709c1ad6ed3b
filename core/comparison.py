"""Common mistakes, really carried out on the numbers of a trace, beside what is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from core.check import largest_difference


class Comparison(NamedTuple):
    """The right result and the wrong one, and their difference wrong − right: (B, H, T, ·), (B, T, ·) where no heads
    are told apart, with B = 1 for a text that stands alone, or a matrix. `divisor` is what the wrong way divides QKᵀ
    by. When it cannot even be computed, `error` is what torch said and `wrong` is None."""

    right: Tensor
    wrong: Tensor | None
    difference: Tensor | None
    divisor: float | None
    error: str | None

    def largest(self, batch: int, head: int) -> float:
        """The largest absolute difference in one head, or in what stands alone; 0 where there is none to take."""
        if self.wrong is None or self.difference is None:
            return 0.0
        return largest_difference(*(_of_head(x, batch, head) for x in (self.wrong, self.right)))


def compare(right: Tensor, wrong: Tensor, divisor: float | None = None) -> Comparison:
    """The two beside each other; no difference where their shapes differ."""
    return Comparison(right, wrong, wrong - right if right.shape == wrong.shape else None, divisor, None)


def _of_head(x: Tensor, batch: int, head: int) -> Tensor:
    """(B, H, T, ·), (B, T, ·) or a matrix -> the matrix of one head, or the one that stands alone."""
    if x.ndim > 2:
        x = x[batch if len(x) > 1 else 0]
    return x[head] if x.ndim > 2 else x


def refusal(attempt: Callable[[], object]) -> str | None:
    """What torch says to an operation that cannot be; None when it can."""
    try:
        attempt()
    except (RuntimeError, IndexError) as error:
        return str(error)
    return None
