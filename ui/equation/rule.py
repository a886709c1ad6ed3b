"""What operations of an equation have in common: how a rule names its frames, checks them, goes to the browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

from core import derive

Shape = tuple[int, int]


class Naming(NamedTuple):
    """How a rule from `core.derive` is named on screen: trace name → frame id, the letter of an axis, the text of the
    divisor of the scores ("√2")."""

    frames: Mapping[str, str]
    letter: Callable[[str], str]
    root: str


@dataclass(frozen=True)
class Rule:
    """How the frame `out` follows from others. `op` is the operation's name here and in the browser; `draws` are the
    operations of `core.derive` that it shows."""

    op: ClassVar[str]
    draws: ClassVar[tuple[str, ...]] = ()

    out: str

    def operands(self) -> dict[str, str]:
        """The frames that are read, by the part that each plays in the rule."""
        raise NotImplementedError

    def constants(self) -> dict[str, Any]:
        """What else the browser is told, as JSON."""
        return {}

    def check(self, shapes: Mapping[str, Shape]) -> None:
        """Raise ValueError unless the rule fits frames of these shapes, by id."""
        if unknown := {self.out, *self.operands().values()} - set(shapes):
            raise ValueError(f"rule {self.op!r} names frames that are not there: {sorted(unknown)}")

    def payload(self) -> dict[str, Any]:
        """The rule as the browser reads it."""
        return {"op": self.op, "out": self.out} | self.operands() | self.constants()

    @classmethod
    def drawn(cls, how: derive.Rule, naming: Naming) -> Self:
        """The rule that shows a derived one. Raises TypeError where the operation draws nothing of `core.derive`."""
        raise TypeError(f"{cls.__name__} draws no operation of the core, so not {how.op!r}")


@dataclass(frozen=True)
class OfOne(Rule):
    """A rule with one operand."""

    source: str

    def operands(self) -> dict[str, str]:
        """The one frame that is read."""
        return {"in": self.source}

    @classmethod
    def drawn(cls, how: derive.Rule, naming: Naming) -> Self:
        """The rule with the derived one's operand."""
        return cls(naming.frames[how.name], naming.frames[how.operands[0]])


@dataclass(frozen=True)
class OfTwo(Rule):
    """A rule with two operands, taken cell by cell: a `right` of one row serves every row, of one column every
    column."""

    left: str
    right: str

    def operands(self) -> dict[str, str]:
        """Both frames."""
        return {"left": self.left, "right": self.right}

    @classmethod
    def drawn(cls, how: derive.Rule, naming: Naming) -> Self:
        """The rule with the derived one's operands."""
        left, right = (naming.frames[name] for name in how.operands)
        return cls(naming.frames[how.name], left, right)


@dataclass(frozen=True)
class OfAngles(Rule):
    """A rule whose cells are made from numbers alone: out[i,p] is a function of positions[i] · theta[p], in radians."""

    positions: Sequence[float]
    theta: Sequence[float]

    def operands(self) -> dict[str, str]:
        """None: positions and θ are sent with the rule."""
        return {}

    def constants(self) -> dict[str, Any]:
        """Positions and θ."""
        return {"positions": list(self.positions), "theta": list(self.theta)}
