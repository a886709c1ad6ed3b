"""The toy, and the facts and questions that pages draw from a trace."""

from __future__ import annotations

import itertools

import pytest
import torch

from core import observe, questions, worked
from core.errors import ConfigError, Indivisible, SizeOutOfRange
from core.model import Decoder
from core.toy import LIMITS, ToySizes, toy

SIZES = ToySizes(batch=2, tokens=5, width=12, heads=6, kv_heads=2, ffn_width=7, vocab=9, layers=2)


def test_a_seed_and_sizes_give_the_same_numbers_whatever_was_drawn_before() -> None:
    first = toy(SIZES, 3)
    torch.manual_seed(77)
    again = toy(SIZES, 3)
    assert first.names() == again.names()
    for name in first.names():
        assert torch.equal(first[name], again[name]), name
    assert not torch.equal(toy(SIZES, 4)["logits"], first["logits"])


def test_a_toy_is_the_decoder_that_has_its_parameters() -> None:
    trace = toy(SIZES, 5, norm="layer", positions="learned", ffn="gelu")
    decoder = Decoder(trace.config)
    decoder.load_state_dict({name: trace[name] for name in decoder.state_dict()})
    torch.testing.assert_close(decoder(trace["tokens"]), trace["logits"], atol=5e-6, rtol=5e-6)
    assert trace["tokens"].shape == (2, 5)
    assert trace.tokens == [f"#{token}" for token in trace["tokens"][0].tolist()]


@pytest.mark.parametrize("seed", range(4))
def test_numbers_keep_an_ordinary_size_through_the_widest_and_deepest_toy(seed: int) -> None:
    trace = toy(ToySizes(4, 32, 64, 8, 2, 128, 64, 4), seed)
    for layer, short in itertools.product(range(4), ("in", "q", "k", "v", "scaled", "ffn_out")):
        assert 0.05 < float(trace[f"blocks.{layer}.{short}"].std()) < 5, (layer, short)


@pytest.mark.parametrize("bound", [0, 1])
@pytest.mark.parametrize("field", [name for name in LIMITS if name != "seed"])
def test_every_size_at_its_bound_is_a_toy_and_the_next_one_is_refused(field: str, bound: int) -> None:
    one = ToySizes(1, 3, 8, 1, 1, 4, 5, 1)
    edge, beyond = LIMITS[field][bound], LIMITS[field][bound] + (1 if bound else -1)
    rest = {"heads": edge} if field == "kv_heads" else {}  # as many query heads, or they could not be shared
    assert toy(one._replace(**{field: edge}, **rest))["logits"].isfinite().all()
    with pytest.raises(SizeOutOfRange) as caught:
        toy(one._replace(**{field: beyond}))
    assert (caught.value.field, caught.value.value) == (field, beyond)
    assert (caught.value.low, caught.value.high) == LIMITS[field]


@pytest.mark.parametrize("seed", [-1, 2**31, 1.5, True])
def test_a_seed_is_a_whole_number_in_range(seed: object) -> None:
    with pytest.raises(SizeOutOfRange):
        toy(SIZES, seed)  # type: ignore[arg-type]


def test_sizes_that_do_not_divide_say_which_would() -> None:
    with pytest.raises(Indivisible) as caught:
        toy(SIZES._replace(width=10))
    assert (caught.value.field, caught.value.fits) == ("width", [6, 12])
    with pytest.raises(Indivisible) as caught:
        toy(SIZES._replace(kv_heads=4))
    assert (caught.value.field, caught.value.by, caught.value.divisor) == ("heads", "kv_heads", 4)
    with pytest.raises(ConfigError):
        toy(SIZES._replace(kv_heads=8))


def test_an_odd_head_width_has_no_rotation() -> None:
    trace = toy(ToySizes(1, 3, 9, 3, 1, 4, 5, 1))
    assert "blocks.0.q_rot" not in trace
    assert "blocks.0.q_rot" in toy(ToySizes(1, 3, 12, 3, 1, 4, 5, 1))


def test_facts_about_scores_are_those_of_the_matrix() -> None:
    trace = toy(SIZES, 8)
    for layer, batch, head in itertools.product(range(2), range(2), range(6)):
        rows = trace[f"blocks.{layer}.scaled"][batch, head].tolist()
        cells = {(r, c): value for r, row in enumerate(rows) for c, value in enumerate(row)}
        facts = observe.scores(trace, f"blocks.{layer}.scaled", batch, head)
        assert cells[facts.largest_at] == facts.largest == max(cells.values())
        assert facts.largest_places == list(cells.values()).count(facts.largest)
        assert facts.negative == sum(value < 0 for value in cells.values())
        assert facts.cells == 25
        assert facts.symmetric is all(cells[r, c] == cells[c, r] for r, c in cells)
        assert (facts.kv_head, facts.group) == (head // 3, 3)


def test_scores_of_a_sequence_with_itself_are_symmetric_only_with_equal_projections() -> None:
    single = worked.single_head()
    assert not observe.scores(single, "blocks.0.scores", 0, 0).symmetric
    equal = single.edited({"blocks.0.wk": {(1, 0): 0.0}})  # WK = WQ = I
    assert observe.scores(equal, "blocks.0.scores", 0, 0).symmetric


def test_heads_that_look_at_the_first_token_are_counted() -> None:
    trace = toy(SIZES, 8)
    for layer, batch in itertools.product(range(2), range(2)):
        last = [rows[-1] for rows in trace[f"blocks.{layer}.weights"][batch].tolist()]
        expected = sum(row[0] == max(row) for row in last)
        assert observe.first_token(trace, layer, batch) == (expected, 6)


def test_every_question_has_the_answer_that_stands_in_the_matrix() -> None:
    trace = worked.block(1)
    raw = trace["blocks.0.scores"][0, 1].tolist()
    questions = [questions.score_question(trace, 0, 0, 1, number) for number in range(16)]
    assert len({(q.row, q.column) for q in questions}) == 16, "a cell is asked twice before all were"
    assert questions[0].row != questions[0].column
    for question in questions:
        assert (question.kind, question.answer) == ("value", raw[question.row][question.column])
        assert questions.judge_score(trace, 0, 0, 1, question, question.answer, 3) == "right"
        assert questions.judge_score(trace, 0, 0, 1, question, question.answer + 0.01, 3) != "right"


def test_a_wide_head_is_asked_for_its_largest_score() -> None:
    trace = toy(ToySizes(1, 6, 36, 2, 1, 4, 5, 1), 2)
    raw = trace["blocks.0.scores"][0, 1].tolist()
    for number in range(6):
        question = questions.score_question(trace, 0, 0, 1, number)
        row = raw[question.row]
        assert question.kind == "largest"
        assert question.score == row[int(question.answer) - 1] == max(row)
        verdicts = [questions.judge_score(trace, 0, 0, 1, question, key, 3) for key in range(1, 7)]
        assert verdicts == ["right" if key == question.answer else "wrong" for key in range(1, 7)]


@pytest.mark.parametrize(("answer", "verdict"), [
    (2.0, "right"), (2.0009, "right"), (1.414, "scaled"), (-2.0, "sign"), (0.0, "swapped"), (7.0, "wrong")])
def test_a_wrong_answer_is_told_by_its_slip(answer: float, verdict: str) -> None:
    """Raw scores [[1,1,2],[0,1,1],[1,2,3]] with the first query's third entry asked, K[1] made to differ from it."""
    trace = worked.single_head().edited({"blocks.0.k": {(0, 0, 0, 0): 0.0}})
    assert trace["blocks.0.scores"][0, 0].tolist() == [[0, 1, 2], [0, 1, 1], [0, 2, 3]]
    question = questions.Question("value", 0, 2, 2.0, 2.0)
    assert questions.judge_score(trace, 0, 0, 0, question, answer, 3) == verdict
