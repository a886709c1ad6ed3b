"""Weights × V: blends lie among the values, mistakes are really made, programs give the page's numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from core import ops, worked
from core.config import ModelConfig
from core.stage import At
from core.stages import mixing
from core.stages.mixing import blend
from core.toy import ToySizes, toy
from core.trace import Trace
from tests.core.test_snippets import TRACES, run

GROUPED = ToySizes(batch=2, tokens=5, width=12, heads=6, kv_heads=3, ffn_width=4, vocab=7, layers=2)
SOURCES: dict[str, Callable[[], Trace]] = {
    "single_head": worked.single_head, "causal": lambda: worked.single_head("causal"), "block": worked.block,
    "one KV head": lambda: worked.block(1), "toy": lambda: toy(GROUPED, 1)}


def heads_of(trace: Trace) -> list[tuple[int, int, int]]:
    """Every (layer, batch, head)."""
    return list(itertools.product(range(trace.config.layers), range(trace.sizes["B"]), range(trace.config.heads)))


def arrays(trace: Trace, layer: int, batch: int, head: int) -> tuple[np.ndarray, np.ndarray]:
    """A (Tq, Tk) and V (Tk, Dv) of one head in float64."""
    block = f"blocks.{layer}."
    return (trace[block + "weights"][batch, head].double().numpy(),
            trace[block + "v"][batch, head // trace.config.group].double().numpy())


@pytest.mark.parametrize("source", SOURCES)
def test_an_untouched_row_gives_the_row_of_the_trace(source: str) -> None:
    trace = SOURCES[source]()
    for layer, batch, head in heads_of(trace):
        weights, v = arrays(trace, layer, batch, head)
        for row in range(len(weights)):
            own = blend.row_of(At(trace, layer, batch, head), row)
            made = blend.blend(own, own.offered)
            assert torch.equal(made.weights[0], trace[f"blocks.{layer}.weights"][batch, head, row])
            np.testing.assert_allclose(made.mixed[0].numpy(), weights[row] @ v, atol=2e-6)
            assert made.place == made.mixed[0, :2].tolist()


def test_chosen_weights_are_divided_by_their_sum() -> None:
    """V = [[1,1],[0,1],[1,2]] of D0 §6.3."""
    own = blend.row_of(At(worked.single_head()), 0)
    made = blend.blend(own, {0: 1.0, 1: 0.5, 2: 0.5})
    assert made.given == 2.0
    assert made.weights.tolist() == [[0.5, 0.25, 0.25]]
    assert made.mixed.tolist() == [[0.75, 1.25]]
    nothing = blend.blend(own, dict.fromkeys(range(3), 0.0))
    assert (nothing.given, nothing.mixed.tolist()) == (0.0, [[0.0, 0.0]])


def test_of_many_keys_the_heaviest_are_offered_and_the_others_keep_theirs() -> None:
    trace = toy(ToySizes(1, 12, 8, 2, 2, 4, 9, 1), 3)
    own = blend.row_of(At(trace, head=1), 11)
    row = trace["blocks.0.weights"][0, 1, 11].tolist()
    assert list(own.offered) == sorted(sorted(range(12), key=lambda key: -row[key])[:blend.MOST_CHOSEN])
    made = blend.blend(own, dict.fromkeys(own.offered, 0.0))
    rest = {key: weight for key, weight in enumerate(row) if key not in own.offered}
    assert made.given == pytest.approx(sum(rest.values()), abs=1e-6)
    for key, weight in enumerate(made.weights[0].tolist()):
        assert weight == pytest.approx(rest.get(key, 0.0) / made.given, abs=1e-5)


def inside(corners: np.ndarray, place: np.ndarray, slack: float) -> bool:
    """Whether a place lies to the left of every edge of a counter-clockwise polygon."""
    edges = np.roll(corners, -1, axis=0) - corners
    to = place - corners
    return bool((edges[:, 0] * to[:, 1] - edges[:, 1] * to[:, 0] >= -slack).all())


@pytest.mark.parametrize("source", SOURCES)
def test_every_output_lies_in_the_hull_of_the_values(source: str) -> None:
    """W16, C3: an attention output is a convex combination of the visible values."""
    trace = SOURCES[source]()
    for layer, batch, head in heads_of(trace):
        plane = blend.plane(At(trace, layer, batch, head))
        assert plane is not None
        corners = plane.values[plane.corners].double().numpy()
        assert all(inside(corners, place, 1e-5) for place in plane.outputs.double().numpy())
        assert all(inside(corners, place, 1e-5) for place in plane.values.double().numpy())


@pytest.mark.parametrize("seed", range(5))
def test_the_hull_is_the_smallest_polygon_round_its_points(seed: int) -> None:
    points = torch.randint(-5, 6, (20, 2), generator=torch.Generator().manual_seed(seed)).double()
    corners = points[blend.hull(points)].numpy()
    assert all(inside(corners, place, 0.0) for place in points.numpy())
    for left_out in range(len(corners)):  # every corner is needed
        rest = np.delete(corners, left_out, axis=0)
        assert not inside(rest, corners[left_out], 0.0)


@pytest.mark.parametrize(("points", "corners"), [
    ([[1, 1]], [0]), ([[1, 1], [1, 1]], [0]), ([[0, 0], [1, 1], [2, 2]], [0, 2]), ([[3, 0], [0, 0]], [1, 0])])
def test_values_on_a_line_or_in_a_point_have_a_hull_too(points: list[list[int]], corners: list[int]) -> None:
    assert blend.hull(torch.tensor(points).float()) == corners


def test_a_head_of_width_one_has_no_plane() -> None:
    assert blend.plane(At(toy(ToySizes(1, 3, 4, 4, 4, 4, 5, 1), 1))) is None


def test_softmax_over_the_wrong_axis() -> None:
    """Case B6: S = [[1,2],[3,5]]; over the columns [[0.119203, 0.047426], [0.880797, 0.952574]]."""
    config = ModelConfig(vocab=1, width=2, layers=1, heads=1, kv_heads=1, head_dim=2, ffn_width=1, max_positions=2,
                         norm="none", positions="none", ffn="none")
    trace = Trace(config=config, given={
        "blocks.0.scaled": torch.tensor([[[[1.0, 2.0], [3.0, 5.0]]]]), "blocks.0.v": torch.eye(2)[None, None],
        "mask": torch.zeros(1, 1, 2, 2)})
    result = mixing.MISTAKES["columns"](At(trace))
    assert result.wrong is not None
    torch.testing.assert_close(result.right[0, 0], torch.tensor([[0.268941, 0.731059], [0.119203, 0.880797]]),
                               atol=1e-6, rtol=0)
    torch.testing.assert_close(result.wrong[0, 0], torch.tensor([[0.119203, 0.047426], [0.880797, 0.952574]]),
                               atol=1e-6, rtol=0)


@pytest.mark.parametrize("source", SOURCES)
def test_the_transposed_weights_collect_by_who_reads(source: str) -> None:
    trace = SOURCES[source]()
    result = mixing.MISTAKES["transposed"](At(trace))
    assert result.wrong is not None
    assert result.difference is not None
    for batch, head in itertools.product(range(trace.sizes["B"]), range(trace.config.heads)):
        weights, v = arrays(trace, 0, batch, head)
        np.testing.assert_allclose(result.wrong[batch, head].numpy(), weights.T @ v, atol=2e-6)
    assert torch.equal(result.difference, result.wrong - result.right)


def test_repeating_the_kv_heads_as_a_whole_gives_a_head_the_values_of_another() -> None:
    trace = toy(GROUPED, 1)  # 6 query heads, 3 KV heads
    result = mixing.MISTAKES["kv_order"](At(trace, 1))
    assert result.wrong is not None
    for head in range(6):
        weights, _ = arrays(trace, 1, 1, head)
        v = trace["blocks.1.v"][1, head % 3].double().numpy()
        np.testing.assert_allclose(result.wrong[1, head].numpy(), weights @ v, atol=2e-6)
        assert (result.largest(1, head) == 0) == (head % 3 == head // 2)
    assert mixing.MISTAKES["kv_order"](At(worked.block())).largest(0, 1) == 0.0


@pytest.mark.parametrize("source", SOURCES)
def test_facts_are_those_of_the_matrices(source: str) -> None:
    trace = SOURCES[source]()
    for layer, batch, head in heads_of(trace):
        weights, v = arrays(trace, layer, batch, head)
        facts = mixing.facts(At(trace, layer, batch, head))
        assert facts.last == len(weights) - 1
        assert weights[-1, facts.heaviest] == facts.weight == weights[-1].max()
        assert facts.heaviest_places == (weights[-1] == facts.weight).sum()
        assert (facts.zeros, facts.cells) == ((weights == 0).sum(), weights.size)
        assert facts.broken == []
        assert facts.between
        assert facts.first_length == pytest.approx(math.hypot(*v[0]), rel=1e-5)
        assert facts.other_length == pytest.approx(np.mean([math.hypot(*row) for row in v[1:]]), rel=1e-5)
        assert facts.telling == max(range(len(weights)), key=lambda row: (weights[row] != 0).sum())


def test_edited_weights_that_are_no_average_are_noticed() -> None:
    trace = worked.single_head().edited({"blocks.0.weights": {(0, 0, 1, 2): 3.0}})
    facts = mixing.facts(At(trace))
    assert facts.broken == [1]
    assert not facts.between
    assert not mixing.facts(At(worked.single_head().edited({"blocks.0.context": {(0, 0, 0, 0): 9.0}}))).between


def test_a_row_that_may_read_nothing_is_no_broken_row() -> None:
    mask = ops.causal_mask(3)[None, None].clone()
    mask[..., 0, :] = -math.inf
    trace = worked.single_head().with_mask(mask)
    facts = mixing.facts(At(trace))
    assert (facts.broken, facts.between) == ([], True)


@pytest.mark.parametrize("source", SOURCES)
def test_every_question_has_the_answer_that_stands_in_the_matrix(source: str) -> None:
    trace = SOURCES[source]()
    head = trace.config.heads - 1
    weights, v = arrays(trace, 0, 0, head)
    context = weights @ v
    asked = set()
    for number in range(context.size):
        question = mixing.ask(At(trace, head=head), number)
        exact = context[question.row, question.column]
        assert (question.kind, question.answer) == ("value", pytest.approx(exact, abs=2e-6))
        assert mixing.judge(At(trace, head=head), question, exact, 3) == "right"
        assert mixing.judge(At(trace, head=head), question, exact + 77, 3) == "wrong"
        asked.add((question.row, question.column))
    assert len(asked) == context.size


def test_many_tokens_are_asked_for_the_heaviest_key() -> None:
    trace = toy(ToySizes(1, 12, 8, 2, 2, 4, 9, 1), 3)
    for number in range(12):
        question = mixing.ask(At(trace, head=1), number)
        row = trace["blocks.0.weights"][0, 1, question.row].tolist()
        assert question.kind == "largest"
        verdicts = [mixing.judge(At(trace, head=1), question, key, 3) for key in range(1, 13)]
        assert verdicts == ["right" if row[key] == max(row) else "wrong" for key in range(12)]


@pytest.mark.parametrize(("answer", "verdict"), [
    (1.576, "right"), (1.3333, "mean"), (2.0, "heaviest"), (-1.576, "sign"), (1.58, "close"), (9.0, "wrong"),
    (2.0568, "transposed")])
def test_a_wrong_answer_is_told_by_its_slip(answer: float, verdict: str) -> None:
    """AV[3,2] = 1.576 of D0 §6.7; the column of V is 1, 1, 2; Aᵀ would give .503 + .401 + 2 × .576."""
    trace = worked.single_head()
    question = mixing.ask(At(trace), 1)
    assert (question.row, question.column) == (2, 1)
    assert mixing.judge(At(trace), question, answer, 3) == verdict


def empty_row() -> Trace:
    mask = ops.causal_mask(4)[None, None].clone()
    mask[..., 0, :] = -math.inf
    return worked.block(1).with_mask(mask)


PROGRAMS = TRACES | {
    "toy": lambda: toy(GROUPED, 1), "an empty row": empty_row,
    "edited on the way": lambda: worked.block(1).edited({
        "blocks.0.v": {(0, 0, 2, 0): 3.5}, "blocks.0.masked": {(0, 1, 3, 1): -2.5},
        "blocks.0.weights": {(0, 0, 3, 1): 1 / 3}, "blocks.0.context": {(0, 1, 0, 0): 7.0}})}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_the_program_gives_the_blends(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = PROGRAMS[kind]()
    for layer in range(trace.config.layers):
        program = mixing.program(At(trace, layer))
        assert max(map(len, program.code.splitlines())) <= 140
        result = run(program, tmp_path, monkeypatch)
        expected = trace[f"blocks.{layer}.context"]
        torch.testing.assert_close(result, expected, atol=2e-6 * max(1.0, float(expected.abs().max())), rtol=0)
