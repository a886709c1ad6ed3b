"""The operations of an equation: a file for each here, and one of the same name for the browser in ../js/ops."""

from __future__ import annotations

from core import derive
from ui.equation.ops.add import Add
from ui.equation.ops.append import Append
from ui.equation.ops.cos import Cos
from ui.equation.ops.difference import Difference
from ui.equation.ops.divide import Divide
from ui.equation.ops.exp import Exp
from ui.equation.ops.grouped import Grouped
from ui.equation.ops.lookup import Lookup
from ui.equation.ops.matmul import Matmul
from ui.equation.ops.move import Move
from ui.equation.ops.multiply import Multiply
from ui.equation.ops.rotate import Rotate
from ui.equation.ops.rowmax import RowMax
from ui.equation.ops.rowsum import RowSum
from ui.equation.ops.scale import Scale
from ui.equation.ops.sin import Sin
from ui.equation.ops.softmax import Softmax
from ui.equation.ops.transpose import Transpose
from ui.equation.rule import Naming, Rule

__all__ = [
    "DRAWING", "OPERATIONS", "Add", "Append", "Cos", "Difference", "Divide", "Exp", "Grouped", "Lookup", "Matmul",
    "Move", "Multiply", "Rotate", "RowMax", "RowSum", "Scale", "Sin", "Softmax", "Transpose", "UnknownOperation",
    "drawn", "operation",
]

_ALL: tuple[type[Rule], ...] = (
    Add, Append, Cos, Difference, Divide, Exp, Grouped, Lookup, Matmul, Move, Multiply, Rotate, RowMax, RowSum, Scale,
    Sin, Softmax, Transpose)
OPERATIONS: dict[str, type[Rule]] = {kind.op: kind for kind in _ALL}
DRAWING: dict[str, type[Rule]] = {op: kind for kind in _ALL for op in kind.draws}


class UnknownOperation(ValueError):
    """An operation that no file here describes."""

    def __init__(self, op: str, known: dict[str, type[Rule]]) -> None:
        super().__init__(f"no operation {op!r}; there are {', '.join(sorted(known))}")


def operation(op: str) -> type[Rule]:
    """The rule's class by the operation's name. Raises UnknownOperation."""
    if op not in OPERATIONS:
        raise UnknownOperation(op, OPERATIONS)
    return OPERATIONS[op]


def drawn(how: derive.Rule, naming: Naming) -> Rule:
    """The rule that shows a derived one. Raises UnknownOperation for an operation of the core that none draws."""
    if how.op not in DRAWING:
        raise UnknownOperation(how.op, DRAWING)
    return DRAWING[how.op].drawn(how, naming)
