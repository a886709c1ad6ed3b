"""The order of the tokens: what can be asked about it."""

from __future__ import annotations

from collections.abc import Sequence

from core import comparison
from core.comparison import Comparison
from core.errors import UnknownOption
from core.questions import Question, Verdict
from core.stages.order.reorder import Reordered
from core.stages.sharing.shared import output

KINDS = ("invariant", "inverse")


def mistake(found: Reordered, kind: str) -> Comparison:
    """Attn(PX) expected to be something else, (B, T, D): "invariant" takes Attn(X) as it stands, "inverse" Pᵀ·Attn(X),
    an order read the other way round."""
    before = found.before[f"blocks.0.{output(found.before)}"]
    if kind == "invariant":
        return comparison.compare(found.found, before)
    if kind == "inverse":
        return comparison.compare(found.found, found.matrix.mT @ before)
    raise UnknownOption("kind", kind, KINDS)


def question(order: Sequence[int], number: int) -> Question:
    """The `number`-th question: in which row, from 1, of Attn(PX) the output of a token stands; `row` is the token's
    old place, from 0. Tokens that moved come first."""
    tokens = sorted(range(len(order)), key=lambda token: (order[token] == token, token))
    token = tokens[number % len(tokens)]
    answer = list(order).index(token) + 1.0
    return Question("which", token, 0, answer, answer, of="row")


def judge(order: Sequence[int], asked: Question, answer: float) -> Verdict:
    """Whether the row is right, or which slip would give it: the order read the other way, counting from 0."""
    if answer == asked.answer:
        return "right"
    if answer == order[asked.row] + 1:
        return "inverse"
    return "from_zero" if answer == asked.answer - 1 else "wrong"

