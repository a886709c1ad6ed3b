"""The sine of each position's angles."""

from __future__ import annotations

from dataclasses import dataclass

from ui.equation.rule import OfAngles


@dataclass(frozen=True)
class Sin(OfAngles):
    """out[i,p] = sin(positions[i] · theta[p])."""

    op = "sin"
