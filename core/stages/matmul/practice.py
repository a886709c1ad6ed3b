"""Products of matrices: what can be asked, and the program of the page."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import Tensor

from core import comparison, programs, questions
from core.comparison import Comparison
from core.errors import UnknownOption
from core.programs import Program
from core.questions import Question, Verdict
from core.stages.matmul.product import Product, cell


def question(left: Tensor, right: Tensor, number: int) -> Question:
    """The `number`-th question about left (m, n) @ right (n, p): a cell (`row`, `column`), from the last row up."""
    rows, columns = left.shape[-2], right.shape[-1]
    row, column = rows - 1 - number // columns % rows, number % columns
    value = cell(left, right, (row, column)).value
    return Question("value", row, column, value, value)


def judge(left: Tensor, right: Tensor, asked: Question, answer: float, decimals: int) -> Verdict:
    """Whether the cell is right, or which slip would give it: the cell on the other side of the diagonal, only the
    first product of the sum, the sign lost."""
    if questions.equal(answer, asked.answer, decimals):
        return "right"
    made = left @ right
    if max(asked.row, asked.column) < min(made.shape) and questions.equal(
            answer, float(made[asked.column, asked.row]), decimals):
        return "swapped"
    first = cell(left, right, (asked.row, asked.column)).terms[0]
    if questions.equal(answer, first.left * first.right, decimals):
        return "first_term"
    return "sign" if questions.equal(answer, -asked.answer, decimals) else "wrong"


def shape_question(found: Product) -> Question | None:
    """How many numbers the result has; None where there is none."""
    if found.shape is None:
        return None
    count = float(math.prod(found.shape))
    return Question("numbers", 0, 0, count, count)


def judge_shape(found: Product, asked: Question, answer: float) -> Verdict:
    """Whether the count is right; "inner" if the axis that is summed over was counted as well."""
    if answer == asked.answer:
        return "right"
    return "inner" if answer == found.multiplications else "wrong"


SLIPS = ("reshaped", "swapped", "star")


def slip(left: Tensor, right: Tensor, kind: str) -> Comparison:
    """left (m, n) @ right (n, p) done wrong: "reshaped" has rightᵀ at hand and reshapes it in place of transposing it;
    "swapped" is right @ left; "star" is left * right. Where torch refuses, or the result has another shape, there is
    no difference to take. Raises UnknownOption."""
    made: dict[str, Callable[[], Tensor]] = {
        "reshaped": lambda: left @ right.mT.contiguous().reshape(right.shape), "swapped": lambda: right @ left,
        "star": lambda: left * right}
    if kind not in made:
        raise UnknownOption("slip", kind, SLIPS)
    said = comparison.refusal(made[kind])
    wrong = None if said else made[kind]()
    right_one = left @ right
    same = wrong is not None and wrong.shape == right_one.shape
    return Comparison(right_one, wrong, wrong - right_one if wrong is not None and same else None, None, said)


def program(left: Tensor, right: Tensor) -> Program:
    """left @ right in `result`; where it cannot be, `result` is the text of torch's error."""
    body = [f"# a {list(left.shape)}, b {list(right.shape)}", "try:", "    result = a @ b",
            "except RuntimeError as error:", "    result = str(error)", "print(result)"]
    return programs.program_of("matmul", {"a": left, "b": right}, body)
