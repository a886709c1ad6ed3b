"""How costs grow with the length: what can be asked, and the slip behind a wrong answer."""

from __future__ import annotations

from core.machine.ledger import Growth, Workload, doubling
from core.questions import Question


def growth_question(load: Workload, number: int) -> Question:
    """The `number`-th question about twice as many tokens: by which whole factor an amount of `doubling` grows
    ("growth", `of` its name, `row` its place in that list)."""
    asked = askable(load)
    place, found = asked[number % len(asked)]
    return Question("growth", place, 0, found.factor, found.factor, found.name)


def askable(load: Workload) -> list[tuple[int, Growth]]:
    """The amounts that grow by a whole factor, with their places; the scores come first."""
    whole = [found.once > 0 and found.twice % found.once == 0 for found in doubling(load)]
    return [(place, found) for place, found in enumerate(doubling(load)) if whole[place]]


def judge_growth(question: Question, answer: float) -> str:
    """Whether an answer is right, or the slip: "square" (thought to grow with T²), "linear" (with T only), "constant"
    (not at all), "wrong"."""
    if answer == question.answer:
        return "right"
    return {4.0: "square", 2.0: "linear", 1.0: "constant"}.get(answer, "wrong")
