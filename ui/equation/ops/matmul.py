"""A product of two matrices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from core import derive
from ui.equation.frames import base64_of
from ui.equation.rule import Naming, Rule, Shape


@dataclass(frozen=True)
class Matmul(Rule):
    """out[i,j] = Σ left[i,d]·right[d,j] (+ bias[0,j]); `contracted` is the letter of d.

    Where `right` or `bias` has another total of columns than `out`, it is a block (a head's part of a parameter): its
    first column makes the first of `out`. Where only a part of d was sent, `rest` is what the terms before it and
    those after it add up to, each with the shape of the values of `out`.
    """

    op = "matmul"
    draws = ("project", "unembed", "score", "mix")

    left: str
    right: str
    contracted: str
    bias: str | None = None
    rest: tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]] | None = None

    def operands(self) -> dict[str, str]:
        """Both factors, and the bias where there is one."""
        return {"left": self.left, "right": self.right} | ({"bias": self.bias} if self.bias else {})

    def constants(self) -> dict[str, Any]:
        """The letter summed over, and the sums over what was not sent."""
        before, after = (base64_of(part) for part in self.rest) if self.rest else ("", "")
        return {"contracted": self.contracted, "before": before, "after": after}

    def check(self, shapes: Mapping[str, Shape]) -> None:
        """The rest of the sum has a number for each of the result's."""
        super().check(shapes)
        if self.rest and {part.shape for part in self.rest} != {shapes[self.out]}:
            raise ValueError(f"the rest of {self.out!r} has not its shape: {[part.shape for part in self.rest]}")

    @classmethod
    def drawn(cls, how: derive.Rule, naming: Naming) -> Self:
        """A projection, its bias last; scores; a weighted sum of values; logits."""
        left, right, *bias = (naming.frames[name] for name in how.operands)
        return cls(naming.frames[how.name], left, right, naming.letter(how.contracted or ""),
                   bias[0] if bias else None)
