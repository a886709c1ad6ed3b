"""What every stage offers in one form: facts, mistakes carried out, questions with their judges, a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from core.comparison import Comparison
from core.programs import Program
from core.questions import Question
from core.trace import Trace


class At(NamedTuple):
    """What is looked at: a trace, and in it a layer, a batch entry and a query head, from 0."""

    trace: Trace
    layer: int = 0
    batch: int = 0
    head: int = 0

    @property
    def block(self) -> str:
        """What the names of this layer's tensors begin with: "blocks.0."."""
        return f"blocks.{self.layer}."

    @property
    def slice(self) -> tuple[int, int]:
        """(batch, head): the matrix of a (B, H, rows, columns) tensor."""
        return self.batch, self.head


CarriedOut = Callable[..., Comparison]  # (at, **settings of the stage): a mistake on the numbers that are looked at


class Questions(NamedTuple):
    """One kind of question: `ask(at, number)` gives the number-th, from 0, or None where nothing can be asked;
    `judge(at, question, answer, decimals)` whether the answer is right to the shown decimals, or which slip it is."""

    ask: Callable[..., Question | None]
    judge: Callable[..., str]


class Stage(Protocol):
    """A module of `core.stages`.

    `facts(at, **settings)` is what is worth noticing, as data that `ui` words; `MISTAKES` go by the code of what is
    done wrong, `QUESTIONS` by their kind; `program(at, **settings)` stands alone and leaves the stage's numbers in
    `result`. Settings are the stage's own and have defaults.
    """

    MISTAKES: Mapping[str, CarriedOut]
    QUESTIONS: Mapping[str, Questions]
    facts: Callable[..., Any]
    program: Callable[..., Program]
