"""The exponential of every cell."""

from __future__ import annotations

from dataclasses import dataclass

from ui.equation.rule import OfOne


@dataclass(frozen=True)
class Exp(OfOne):
    """out[i,j] = e^source[i,j]."""

    op = "exp"
