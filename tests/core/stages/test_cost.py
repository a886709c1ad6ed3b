"""The cost stage: its program counts the page's numbers, its questions ask for whole factors."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pytest

from core import cost
from core.config import ModelConfig
from core.machine import ledger
from core.machine.ledger import Workload
from core.stages.cost import questions
from core.stages.cost.program import program_of_load
from tests.core.machine.test_ledger import LOADS
from tests.core.test_model import GRID, SIZES


@pytest.mark.parametrize("load", [
    *LOADS.values(), *(Workload(ModelConfig(**{**SIZES, **choices}), 2, 5, "int8") for choices in GRID[::7])], ids=str)
def test_the_program_gives_the_page_s_numbers(load: Workload) -> None:
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(program_of_load(load).code, "program.py", "exec"), names)
    total = ledger.ledger(load)[-1]
    assert names["result"] == {"parameters": total.parameters, "prefill FLOP": total.prefill_flops,
                               "decode FLOP": total.decode_flops, "decode bytes": total.decode_bytes}
    assert printed.getvalue().strip() == str(names["result"])
    assert names["parameters"] == {part: n for part, n in cost.parameters(load.config).items() if part != "total"}


def test_questions_ask_for_whole_factors_and_slips_are_told_apart() -> None:
    asked = [questions.growth_question(LOADS["D1 §11"], number) for number in range(9)]
    assert [question.of for question in asked] == ["scores", "projections", "pairs", "ffn", "head", "cache",
                                                   "decode_ffn", "weights", "scores"]
    assert [questions.judge_growth(asked[0], answer) for answer in (4, 2, 1, 3)] == [
        "right", "linear", "constant", "wrong"]
    assert [questions.judge_growth(asked[5], answer) for answer in (2, 4, 1)] == ["right", "square", "constant"]
