"""New rows below those of a cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from core import derive
from ui.equation.rule import Naming, Rule


@dataclass(frozen=True)
class Append(Rule):
    """out = the rows of `cached` and below them those of `computed`, each copied."""

    op = "append"
    draws = ("append",)

    cached: str
    computed: str

    def operands(self) -> dict[str, str]:
        """What was there, and what comes below it."""
        return {"left": self.cached, "right": self.computed}

    @classmethod
    def drawn(cls, how: derive.Rule, naming: Naming) -> Self:
        """K or V of a step with a cache."""
        cached, computed = (naming.frames[name] for name in how.operands)
        return cls(naming.frames[how.name], cached, computed)
