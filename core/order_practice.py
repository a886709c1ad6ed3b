"""The order of the tokens: what can be asked about it."""

from __future__ import annotations

from collections.abc import Sequence

from core.quiz import Question, Verdict


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

