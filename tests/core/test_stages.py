"""Every stage in one form: facts, mistakes, questions and a program, on each example that reaches it and on a toy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch

from core import worked
from core.comparison import Comparison
from core.stage import At, Questions
from core.stages import STAGES
from core.toy import ToySizes, toy
from core.trace import Trace
from tests.core.test_snippets import run
from ui.shell import syllabus

SIZES = ToySizes(batch=2, tokens=5, width=12, heads=6, kv_heads=2, ffn_width=7, vocab=9, layers=2)
SOURCES: dict[str, Callable[..., Trace]] = {**worked.EXAMPLES, "toy": lambda: toy(SIZES, 3)}


def reaches(trace: Trace, slug: str) -> bool:
    """Whether the trace has the tensor without which the stage makes no sense; what goes on from a prompt needs the
    way from ids to the next token."""
    stage = syllabus.stage(slug)
    needs = {stage.needs, "logits"} if stage.prompted else {stage.needs}
    return all(name in trace or f"blocks.0.{name}" in trace for name in needs)


REACHED = [(slug, source) for source, make in SOURCES.items() for slug in STAGES if reaches(make(), slug)]


def places(source: str) -> list[At]:
    """The first and the last layer, batch entry and head of a source."""
    trace = SOURCES[source]()
    config = trace.config
    return [At(trace), At(trace, config.layers - 1, trace.sizes.get("B", 1) - 1, config.heads - 1)]


def test_every_stage_is_one_of_the_syllabus_and_has_an_example_that_reaches_it() -> None:
    assert {slug for slug, _source in REACHED} == set(STAGES) <= {entry.slug for entry in syllabus.STAGES}


@pytest.mark.parametrize("slug", STAGES)
def test_a_stage_offers_facts_mistakes_questions_and_a_program(slug: str) -> None:
    stage = STAGES[slug]
    assert callable(stage.facts)
    assert callable(stage.program)
    for offered in (stage.MISTAKES, stage.QUESTIONS):
        assert isinstance(offered, Mapping)
        assert offered
    assert all(callable(mistake) for mistake in stage.MISTAKES.values())
    assert all(isinstance(questions, Questions) for questions in stage.QUESTIONS.values())


@pytest.mark.parametrize(("slug", "source"), REACHED)
def test_facts_and_mistakes_are_told_of_any_place(slug: str, source: str) -> None:
    for at in places(source):
        assert STAGES[slug].facts(at) is not None
        for kind, mistake in STAGES[slug].MISTAKES.items():
            result = mistake(at)
            assert isinstance(result, Comparison), kind
            if result.wrong is None:
                assert result.error, kind
            elif result.wrong.shape == result.right.shape:
                assert result.difference is not None, kind
                torch.testing.assert_close(result.difference, result.wrong - result.right, rtol=0, atol=0)
            else:
                assert result.difference is None, kind


@pytest.mark.parametrize(("slug", "source"), REACHED)
def test_every_judge_calls_the_own_answer_right_and_another_not(slug: str, source: str) -> None:
    for at in places(source):
        for kind, (ask, judge) in STAGES[slug].QUESTIONS.items():
            for number in range(6):
                question = ask(at, number)
                if question is not None:
                    assert judge(at, question, question.answer, 3) == "right", (kind, question)
                    assert judge(at, question, question.answer + 77, 3) != "right", (kind, question)


@pytest.mark.parametrize(("slug", "source"), REACHED)
def test_the_program_runs(slug: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for at in places(source):
        program = STAGES[slug].program(at)
        assert "import core" not in program.code
        assert "from core" not in program.code
        run(program, tmp_path, monkeypatch)
