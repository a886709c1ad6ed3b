"""The cosine of each position's angles."""

from __future__ import annotations

from dataclasses import dataclass

from ui.equation.rule import OfAngles


@dataclass(frozen=True)
class Cos(OfAngles):
    """out[i,p] = cos(positions[i] · theta[p])."""

    op = "cos"
