"""Common mistakes, really carried out on the numbers of a trace, beside what is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor


class Comparison(NamedTuple):
    """The right result and the wrong one, both (B, H, T, ·), or (B, T, ·) where no heads are told apart, and their
    difference wrong − right; `divisor` is what the wrong way divides QKᵀ by. When it cannot even be computed, `error`
    is what torch said and `wrong` is None."""

    right: Tensor
    wrong: Tensor | None
    difference: Tensor | None
    divisor: float | None
    error: str | None

    def largest(self, batch: int, head: int) -> float:
        """The largest absolute difference in one head; 0 where there is none to take."""
        if self.difference is None:
            return 0.0
        place = (batch, head) if self.difference.ndim == 4 else batch
        return float(self.difference[place].abs().max())


def compare(right: Tensor, wrong: Tensor, divisor: float | None = None) -> Comparison:
    """The two beside each other; no difference where their shapes differ."""
    return Comparison(right, wrong, wrong - right if right.shape == wrong.shape else None, divisor, None)


def refusal(attempt: Callable[[], object]) -> str | None:
    """What torch says to an operation that cannot be; None when it can."""
    try:
        attempt()
    except (RuntimeError, IndexError) as error:
        return str(error)
    return None
