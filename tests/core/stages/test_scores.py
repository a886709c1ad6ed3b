"""Scores: facts and questions are those of the matrix, and mistakes are really made on the numbers of the trace."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from core import ops, worked
from core.config import ModelConfig
from core.questions import Question
from core.stage import At
from core.stages import scores
from core.toy import ToySizes, toy
from core.trace import Trace


def one_head(raw: list[float], head_dim: int, width: int) -> Trace:
    """A trace whose first query scores `raw` against two keys: q = (1, 0, …), k = (raw, 0, …)."""
    heads = width // head_dim
    config = ModelConfig(vocab=1, width=width, layers=1, heads=heads, kv_heads=1, head_dim=head_dim, ffn_width=1,
                         max_positions=2, norm="none", positions="none", ffn="none")
    q, k = torch.zeros(1, heads, 2, head_dim), torch.zeros(1, 1, 2, head_dim)
    q[..., 0], k[0, 0, :, 0] = 1.0, torch.tensor(raw)
    return Trace(config=config, given={"blocks.0.q": q, "blocks.0.k": k, "mask": torch.zeros(1, 1, 2, 2)})


@pytest.mark.parametrize(("kind", "raw", "head_dim", "width", "right", "wrong"), [
    ("model_width", [8, 0], 16, 64, [.880797, .119203], [.731059, .268941]),  # B1: too flat, not too sharp
    ("times_root", [2, 0], 4, 4, [.731059, .268941], [.982014, .017986])])  # B3
def test_published_mistakes(
    kind: str, raw: list[float], head_dim: int, width: int, right: list[float], wrong: list[float],
) -> None:
    result = scores.MISTAKES[kind](At(one_head(raw, head_dim, width)))
    assert result.wrong is not None
    for scaled, weights in ((result.right, right), (result.wrong, wrong)):
        torch.testing.assert_close(ops.softmax(scaled)[0, 0, 0], torch.tensor(weights), atol=1e-6, rtol=0)


SIZES = ToySizes(batch=2, tokens=5, width=12, heads=6, kv_heads=2, ffn_width=7, vocab=9, layers=2)
TOY = toy(ToySizes(batch=2, tokens=5, width=12, heads=6, kv_heads=2, ffn_width=4, vocab=7, layers=2), 1)


@pytest.mark.parametrize(("kind", "factor"), [
    ("unscaled", 1.0), ("model_width", 1 / math.sqrt(12)), ("times_root", math.sqrt(2))])
def test_the_wrong_scores_are_the_raw_ones_times_the_wrong_factor(kind: str, factor: float) -> None:
    result = scores.MISTAKES[kind](At(TOY, 1))
    assert torch.equal(result.right, TOY["blocks.1.scaled"])
    assert result.wrong is not None
    assert result.difference is not None
    torch.testing.assert_close(result.wrong, TOY["blocks.1.scores"] * factor, atol=1e-6, rtol=1e-6)
    assert torch.equal(result.difference, result.wrong - result.right)
    for batch, head in itertools.product(range(2), range(6)):
        assert result.largest(batch, head) == float(result.difference[batch, head].abs().max()) > 0
    assert result.divisor == pytest.approx(1 / factor)
    assert result.error is None


def test_the_trace_is_left_alone() -> None:
    before = TOY["blocks.0.scaled"].clone()
    for mistake in scores.MISTAKES.values():
        mistake(At(TOY))
    assert torch.equal(TOY["blocks.0.scaled"], before)
    assert not TOY.scales


def test_without_the_transpose_torch_refuses_and_says_why() -> None:
    """Q (3,2) and K (3,2) do not fit; the message is torch's own."""
    result = scores.MISTAKES["untransposed"](At(worked.single_head()))
    assert (result.wrong, result.difference, result.largest(0, 0)) == (None, None, 0.0)
    with pytest.raises(RuntimeError) as caught:
        torch.ones(3, 2) @ torch.ones(3, 2)
    assert result.error == str(caught.value)


def test_without_the_transpose_a_square_case_goes_through_and_is_wrong() -> None:
    """With as many tokens as dimensions nothing complains, and Q K is another matrix than Q Kᵀ."""
    square = toy(ToySizes(batch=2, tokens=4, width=24, heads=6, kv_heads=2, ffn_width=4, vocab=7, layers=1), 1)
    result = scores.MISTAKES["untransposed"](At(square))
    assert result.wrong is not None
    q, k = square["blocks.0.q_rot"].double(), square["blocks.0.k_rot"].double()
    for head in range(6):
        expected = torch.einsum("btd,bds->bts", q[:, head], k[:, head // 3])
        torch.testing.assert_close(result.wrong[:, head].double(), expected, atol=1e-6, rtol=1e-6)
        assert result.largest(0, head) > 0.1


def test_facts_about_scores_are_those_of_the_matrix() -> None:
    trace = toy(SIZES, 8)
    for layer, batch, head in itertools.product(range(2), range(2), range(6)):
        rows = trace[f"blocks.{layer}.scaled"][batch, head].tolist()
        cells = {(r, c): value for r, row in enumerate(rows) for c, value in enumerate(row)}
        facts = scores.facts(At(trace, layer, batch, head))
        assert cells[facts.largest_at] == facts.largest == max(cells.values())
        assert facts.largest_places == list(cells.values()).count(facts.largest)
        assert facts.negative == sum(value < 0 for value in cells.values())
        assert facts.cells == 25
        assert facts.symmetric is all(cells[r, c] == cells[c, r] for r, c in cells)
        assert (facts.kv_head, facts.group) == (head // 3, 3)


def test_scores_of_a_sequence_with_itself_are_symmetric_only_with_equal_projections() -> None:
    single = worked.single_head()
    assert not scores.facts(At(single), of="scores").symmetric
    equal = single.edited({"blocks.0.wk": {(1, 0): 0.0}})  # WK = WQ = I
    assert scores.facts(At(equal), of="scores").symmetric


def test_heads_that_look_at_the_first_token_are_counted() -> None:
    trace = toy(SIZES, 8)
    for layer, batch in itertools.product(range(2), range(2)):
        last = [rows[-1] for rows in trace[f"blocks.{layer}.weights"][batch].tolist()]
        expected = sum(row[0] == max(row) for row in last)
        assert scores.first_token(At(trace, layer, batch)) == (expected, 6)


def test_every_question_has_the_answer_that_stands_in_the_matrix() -> None:
    at = At(worked.block(1), head=1)
    raw = at.trace["blocks.0.scores"][0, 1].tolist()
    asked = [scores.ask(at, number) for number in range(16)]
    assert len({(question.row, question.column) for question in asked}) == 16, "a cell is asked twice before all were"
    assert asked[0].row != asked[0].column
    for question in asked:
        assert (question.kind, question.answer) == ("value", raw[question.row][question.column])
        assert scores.judge(at, question, question.answer, 3) == "right"
        assert scores.judge(at, question, question.answer + 0.01, 3) != "right"


def test_a_wide_head_is_asked_for_its_largest_score() -> None:
    at = At(toy(ToySizes(1, 6, 36, 2, 1, 4, 5, 1), 2), head=1)
    raw = at.trace["blocks.0.scores"][0, 1].tolist()
    for number in range(6):
        question = scores.ask(at, number)
        row = raw[question.row]
        assert question.kind == "largest"
        assert question.score == row[int(question.answer) - 1] == max(row)
        verdicts = [scores.judge(at, question, key, 3) for key in range(1, 7)]
        assert verdicts == ["right" if key == question.answer else "wrong" for key in range(1, 7)]


@pytest.mark.parametrize(("answer", "verdict"), [
    (2.0, "right"), (2.0009, "right"), (1.414, "scaled"), (-2.0, "sign"), (0.0, "swapped"), (7.0, "wrong")])
def test_a_wrong_answer_is_told_by_its_slip(answer: float, verdict: str) -> None:
    """Raw scores [[1,1,2],[0,1,1],[1,2,3]] with the first query's third entry asked, K[1] made to differ from it."""
    trace = worked.single_head().edited({"blocks.0.k": {(0, 0, 0, 0): 0.0}})
    assert trace["blocks.0.scores"][0, 0].tolist() == [[0, 1, 2], [0, 1, 1], [0, 2, 3]]
    question = Question("value", 0, 2, 2.0, 2.0)
    assert scores.judge(At(trace), question, answer, 3) == verdict
