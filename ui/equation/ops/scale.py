"""A division of every cell by one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from core import derive
from ui.equation.rule import Naming, OfOne


@dataclass(frozen=True)
class Scale(OfOne):
    """out[i,j] = source[i,j] ÷ divisor; `text` is how the divisor is written ("√2")."""

    op = "scale"
    draws = ("scale",)

    divisor: float
    text: str = ""

    def constants(self) -> dict[str, Any]:
        """The divisor, as a number and as it is written."""
        return {"divisor": float(self.divisor), "text": self.text}

    @classmethod
    def drawn(cls, how: derive.Rule, naming: Naming) -> Self:
        """The scores divided by √Dh, or by what a model says instead."""
        return cls(naming.frames[how.name], naming.frames[how.operands[0]], how.constants["divisor"], naming.root)
