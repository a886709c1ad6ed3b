"""The matmul stage: which shapes may be multiplied, and what each number of the product is made of.

The setting `operands` of all that is offered here are the two tensors, by default Q and Kᵀ of the head looked at.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import partial

from torch import Tensor

from core.comparison import Comparison, compare, refusal
from core.programs import Program, program_of
from core.questions import Question, Verdict, equal
from core.stage import At, CarriedOut, Questions
from core.stages.matmul import product
from core.stages.matmul.product import LARGEST_SIZE, Product, cell

Operands = tuple[Tensor, Tensor]


def of_head(at: At) -> Operands:
    """Q (T, Dh) and Kᵀ (Dh, T) of a head; of an axis that is too long to be tried here, the first entries."""
    q, k = (at.trace[name] for name in at.trace.steps[at.block + "scores"].reads)
    left, right = q[at.slice], k[at.batch, at.head // at.trace.config.group].mT
    return left[:LARGEST_SIZE, :LARGEST_SIZE], right[:LARGEST_SIZE, :LARGEST_SIZE]


def facts(at: At, *, operands: Operands | None = None) -> Product:
    """Whether the two may be multiplied and why, decided from their shapes. Raises SizeOutOfRange."""
    left, right = operands or of_head(at)
    return product.product(left.shape, right.shape)


def _done(at: At, *, by: Callable[[Tensor, Tensor], Tensor], operands: Operands | None = None) -> Comparison:
    """left (m, n) @ right (n, p), and what is made `by` another operation. Where torch refuses, or the result has
    another shape, there is no difference to take."""
    left, right = operands or of_head(at)
    error = refusal(lambda: by(left, right))
    return compare(left @ right, by(left, right)) if error is None else Comparison(
        left @ right, None, None, None, error)


def _reshaped(left: Tensor, right: Tensor) -> Tensor:
    """With rightᵀ at hand, reshaped in place of transposed."""
    return left @ right.mT.contiguous().reshape(right.shape)


def _swapped(left: Tensor, right: Tensor) -> Tensor:
    return right @ left


MISTAKES: Mapping[str, CarriedOut] = {
    code: partial(_done, by=by) for code, by in {
        "reshaped": _reshaped, "swapped": _swapped, "star": operator.mul}.items()}


def ask_cell(at: At, number: int, *, operands: Operands | None = None) -> Question:
    """The `number`-th question about left (m, n) @ right (n, p): a cell (`row`, `column`), from the last row up."""
    left, right = operands or of_head(at)
    rows, columns = left.shape[-2], right.shape[-1]
    row, column = rows - 1 - number // columns % rows, number % columns
    value = cell(left, right, (row, column)).value
    return Question("value", row, column, value, value)


def judge_cell(
    at: At, question: Question, answer: float, decimals: int, *, operands: Operands | None = None,
) -> Verdict:
    """Whether the cell is right, or which slip would give it: the cell on the other side of the diagonal, only the
    first product of the sum, the sign lost."""
    left, right = operands or of_head(at)
    if equal(answer, question.answer, decimals):
        return "right"
    made = left @ right
    swapped = max(question.row, question.column) < min(made.shape)
    if swapped and equal(answer, float(made[question.column, question.row]), decimals):
        return "swapped"
    first = cell(left, right, (question.row, question.column)).terms[0]
    if equal(answer, first.left * first.right, decimals):
        return "first_term"
    return "sign" if equal(answer, -question.answer, decimals) else "wrong"


def ask_shape(at: At, _number: int, *, operands: Operands | None = None) -> Question | None:
    """How many numbers the result has; None where there is none."""
    shape = facts(at, operands=operands).shape
    if shape is None:
        return None
    count = float(math.prod(shape))
    return Question("numbers", 0, 0, count, count)


def judge_shape(
    at: At, question: Question, answer: float, _decimals: int, *, operands: Operands | None = None,
) -> Verdict:
    """Whether the count is right; "inner" if the axis that is summed over was counted as well."""
    if answer == question.answer:
        return "right"
    return "inner" if answer == facts(at, operands=operands).multiplications else "wrong"


QUESTIONS: Mapping[str, Questions] = {
    "cell": Questions(ask_cell, judge_cell), "shape": Questions(ask_shape, judge_shape)}


def program(at: At, *, operands: Operands | None = None) -> Program:
    """left @ right in `result`; where it cannot be, `result` is the text of torch's error."""
    left, right = operands or of_head(at)
    body = [f"# a {list(left.shape)}, b {list(right.shape)}", "try:", "    result = a @ b",
            "except RuntimeError as error:", "    result = str(error)", "print(result)"]
    return program_of("matmul", {"a": left, "b": right}, body)
