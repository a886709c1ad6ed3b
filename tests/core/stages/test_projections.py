"""One X, three roles: the layouts agree, parameters stay where activations move, and mistakes are really made."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from core import layouts, worked
from core.config import ModelConfig
from core.errors import ShapeError
from core.stage import At
from core.stages import projections
from core.stages.projections import fused
from core.toy import ToySizes, toy
from core.trace import Trace
from tests.core.test_snippets import TRACES, run

GROUPED = ToySizes(batch=2, tokens=5, width=12, heads=6, kv_heads=3, ffn_width=4, vocab=7, layers=2)
SOURCES: dict[str, Callable[[], Trace]] = {
    "single_head": worked.single_head, "block": worked.block, "one KV head": lambda: worked.block(1),
    "toy": lambda: toy(GROUPED, 1), "toy with bias": lambda: toy(GROUPED, 1, bias=True)}


def by_hand(trace: Trace, layer: int, letter: str) -> np.ndarray:
    """Q, K or V in float64 NumPy, head by head from that head's own columns: (B, heads, T, Dh)."""
    block, width = f"blocks.{layer}.", trace.config.head_dim
    x, w = (trace[name].double().numpy() for name in (trace.attention_input(layer), f"{block}w{letter}"))
    b = trace[f"{block}b{letter}"].double().numpy() if trace.config.qkv_bias else np.zeros(w.shape[1])
    heads = w.shape[1] // width
    return np.stack([np.stack([x[e] @ w[:, h * width:(h + 1) * width] + b[h * width:(h + 1) * width]
                               for h in range(heads)]) for e in range(x.shape[0])])


@pytest.mark.parametrize("source", SOURCES)
def test_separate_merged_and_fused_give_the_same_numbers(source: str) -> None:
    trace = SOURCES[source]()
    config = trace.config
    for layer in range(config.layers):
        found = fused.compare(At(trace, layer))
        assert [(row.kind, row.products) for row in found.rows] == [
            ("separate", config.heads + 2 * config.kv_heads), ("merged", 3), ("fused", 1)]
        cut = fused.unfuse(found.product, config.heads, config.kv_heads)
        matrices, biases = layouts.weights_of(trace, layer)
        x = trace[trace.attention_input(layer)]
        for letter, whole in zip("qkv", cut, strict=True):
            exact = by_hand(trace, layer, letter)
            w, b = getattr(matrices, letter), getattr(biases, letter)
            for made in (whole, trace[f"blocks.{layer}.{letter}"], layouts.separate(x, w, b, exact.shape[1])):
                np.testing.assert_allclose(made.double().numpy(), exact, atol=2e-6)
        scale = max(1.0, float(found.product.abs().max()))
        assert all(row.difference <= 1e-6 * scale for row in found.rows)
        assert {row.numbers for row in found.rows} == {
            sum(part.numel() for part in (*matrices, *biases) if part is not None)}
        assert found.parts[-1][0] + found.parts[-1][1] == found.fused.shape[1] == found.product.shape[-1]


def test_the_square_case_is_d_by_three_d() -> None:
    """D0 §5.3 and D1 §5.3."""
    found = fused.compare(At(toy(ToySizes(width=8, heads=2, kv_heads=2), 0)))
    assert found.fused.shape == (8, 24)
    assert [row.columns for row in found.rows] == [(4, 4), (8, 8), (24, 24)]


def test_an_edit_of_q_is_no_difference_between_layouts() -> None:
    trace = worked.block().edited({"blocks.0.q": {(0, 0, 1, 0): 50.0}, "blocks.0.k_proj": {(0, 1, 1): -50.0}})
    assert max(row.difference for row in fused.compare(At(trace)).rows) < 1e-5


def test_columns_that_do_not_divide_are_refused() -> None:
    with pytest.raises(ShapeError):
        fused.unfuse(torch.zeros(1, 2, 10), 2, 1)


def from_x(x: list[list[float]], w: torch.Tensor, heads: int, kv_heads: int) -> Trace:
    """A trace of one layer whose three matrices are the leading columns of `w`."""
    width, head_dim = w.shape[0], w.shape[1] // heads
    config = ModelConfig(vocab=1, width=width, layers=1, heads=heads, kv_heads=kv_heads, head_dim=head_dim, ffn_width=1,
                         max_positions=len(x), norm="none", positions="none", ffn="none")
    parts = {"wq": w, "wk": w[:, :kv_heads * head_dim], "wv": w[:, :kv_heads * head_dim]}
    return Trace(config=config, given={"blocks.0.in": torch.tensor([x]), "mask": torch.zeros(1, 1, len(x), len(x)),
                                       **{f"blocks.0.{name}": part for name, part in parts.items()}})


def test_a_square_matrix_hides_the_transpose() -> None:
    """Case A5: xW = [31, 42], the same array in a linear layer [21, 43]."""
    trace = from_x([[1.0, 10.0]], torch.tensor([[1.0, 2.0], [3.0, 4.0]]), 1, 1)
    for letter in "qkv":
        result = projections.MISTAKES["transposed"](At(trace), letter=letter)
        assert result.wrong is not None
        assert result.right[0, 0].tolist() == [[31.0, 42.0]]
        assert result.wrong[0, 0].tolist() == [[21.0, 43.0]]
        assert result.largest(0, 0) == 10.0


def test_a_matrix_that_is_not_square_shows_the_transpose_at_once() -> None:
    result = projections.MISTAKES["transposed"](At(worked.block(1)), letter="k")
    assert (result.wrong, result.difference) == (None, None)
    with pytest.raises(RuntimeError) as caught:
        torch.ones(4, 4) @ torch.ones(4, 2).mT
    assert result.error == str(caught.value)


def test_a_fused_matrix_stored_head_by_head_and_cut_in_three() -> None:
    """Case A7: stored [q0, k0, v0, q1, k1, v1], cut in three: Q = [q0, k0], K = [v0, q1], V = [k1, v1]."""
    w = torch.eye(2)
    trace = from_x([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], w, 2, 2)
    trace = trace.edited({"blocks.0.wk": {(0, 0): 3.0, (1, 1): 4.0}, "blocks.0.wv": {(0, 0): 5.0, (1, 1): 6.0}})
    one = {letter: trace[f"blocks.0.{letter}"][0] for letter in "qkv"}  # (2, T, 1)
    wrong = {"q": (one["q"][0], one["k"][0]), "k": (one["v"][0], one["q"][1]), "v": (one["k"][1], one["v"][1])}
    for letter, heads in wrong.items():
        result = projections.MISTAKES["fused_order"](At(trace), letter=letter)
        assert result.wrong is not None
        assert torch.equal(result.right[0], one[letter])
        assert torch.equal(result.wrong[0], torch.stack(heads))


@pytest.mark.parametrize("source", SOURCES)
def test_a_projection_kept_from_before_no_longer_belongs_to_the_input(source: str) -> None:
    trace = SOURCES[source]()
    for letter in "qkv":
        result = projections.MISTAKES["stale"](At(trace), letter=letter)
        assert result.wrong is not None
        assert torch.equal(result.wrong, trace[f"blocks.0.{letter}"])
        np.testing.assert_allclose(result.right.double().numpy(), by_hand(trace, 0, letter)[:, :, ::-1], atol=2e-6)


@pytest.mark.parametrize("source", SOURCES)
def test_an_edit_of_x_moves_its_row_of_q_k_and_v_and_no_parameter(source: str) -> None:
    trace = SOURCES[source]()
    x = trace.attention_input(0)
    width = trace.config.width
    moved = trace.edited({x: {(0, 1, d): float(trace[x][0, 1, d]) + 1.5 + d for d in range(width)}})
    parts = {part.name.rsplit(".", 1)[-1]: part for part in projections.parts(At(moved))}
    assert parts.pop(x.rsplit(".", 1)[-1]).changed == width
    for name, part in parts.items():
        if part.parameter:
            assert part.changed == 0
            assert part.shape[1] == trace.config.head_dim
        else:
            before, after = (one[f"blocks.0.{name}"][0, 0].numpy() for one in (trace, moved))
            places = np.argwhere(before != after)
            assert part.changed == len(places) > 0
            assert set(places[:, 0]) == {1}
    assert all(part.changed == 0 for part in projections.parts(At(trace)))


def test_an_edit_of_wk_moves_k_alone_and_only_that_head() -> None:
    trace = toy(GROUPED, 1).edited({"blocks.0.wk": {(3, 2): 4.0}})  # the first column of the second KV head
    for head in range(6):
        parts = {part.name[9:]: part.changed for part in projections.parts(At(trace, head=head))}
        assert {name for name, changed in parts.items() if changed} == ({"wk", "k"} if head // 2 == 1 else set())
    assert torch.equal(trace.unedited()["blocks.0.k"], toy(GROUPED, 1)["blocks.0.k"])
    assert not trace.unedited().edits


def test_facts_about_the_first_example() -> None:
    """WQ is the identity, so Q = X; K and V are others (D0 §6)."""
    facts = projections.facts(At(worked.single_head()))
    assert (facts.identity, facts.same, facts.group) == (["q"], [], 1)
    equal = worked.single_head().edited({"blocks.0.wk": {(1, 0): 0.0}})
    assert projections.facts(At(equal))[:2] == (["q", "k"], [("q", "k")])
    assert projections.facts(At(worked.block(1), head=1))[2:] == (0, 2)


def test_a_bias_leaves_every_other_number_of_the_toy_alone() -> None:
    plain, biased = toy(GROUPED, 9), toy(GROUPED, 9, bias=True)
    shared = [name for name in plain.names() if plain.is_given(name) and ".in" not in name]
    assert all(torch.equal(plain[name], biased[name]) for name in shared)
    for letter, layer in itertools.product("qkv", range(2)):
        assert float(biased[f"blocks.{layer}.b{letter}"].abs().min()) > 0
    added = biased["blocks.0.k_proj"] - plain["blocks.0.k_proj"]
    torch.testing.assert_close(added, biased["blocks.0.bk"].expand_as(added), atol=1e-6, rtol=1e-6)
    assert "blocks.0.bq" not in plain


@pytest.mark.parametrize("source", ["single_head", "block", "one KV head", "small toy with bias"])
def test_every_question_has_the_answer_that_stands_in_the_matrix(source: str) -> None:
    small = ToySizes(1, 3, 6, 3, 1, 4, 5, 1)
    trace = toy(small, 3, bias=True) if source == "small toy with bias" else SOURCES[source]()
    head = trace.config.heads - 1
    asked = set()
    for number in range(40):
        question = projections.ask(At(trace, head=head), number)
        place = head if question.of == "q" else head // trace.config.group
        exact = by_hand(trace, 0, question.of)[0, place, question.row, question.column]
        assert question.answer == pytest.approx(exact, abs=1e-6)
        assert projections.judge(At(trace, head=head), question, exact, 3) == "right"
        assert projections.judge(At(trace, head=head), question, exact + 77, 3) == "wrong"
        asked.add((question.of, question.row, question.column))
    assert {letter for letter, _, _ in asked} == set("qkv")
    assert len(asked) >= 6


def test_a_wide_x_is_asked_for_the_size_of_the_matrix() -> None:
    trace = toy(GROUPED, 1)
    question = projections.ask(At(trace, head=4), 0)
    assert (question.kind, question.answer) == ("numbers", 24.0)
    verdicts = [projections.judge(At(trace, head=4), question, answer, 3) for answer in (24, 72, 12)]
    assert verdicts == ["right", "all_heads", "wrong"]


@pytest.mark.parametrize(("answer", "verdict"), [
    (2.0, "right"), (1.0, "other_role"), (1.9999, "right"), (-2.0, "sign"), (2.01, "close"), (9.0, "wrong")])
def test_a_wrong_answer_is_told_by_its_slip(answer: float, verdict: str) -> None:
    trace = worked.single_head()  # K[3,1] = 2, Q[3,1] = V[3,1] = 1
    question = projections.ask(At(trace), 0)
    assert (question.of, question.row, question.column) == ("k", 2, 0)
    assert projections.judge(At(trace), question, answer, 3) == verdict


def test_the_transpose_and_a_forgotten_bias_are_named() -> None:
    trace = from_x([[1.0, 10.0]], torch.tensor([[1.0, 2.0], [3.0, 4.0]]), 1, 1).edited(
        {"blocks.0.wv": {(0, 0): 7.0}, "blocks.0.wq": {(0, 0): 8.0}})
    question = projections.ask(At(trace), 0)
    assert projections.judge(At(trace), question, 21.0, 3) == "transposed"
    biased = toy(ToySizes(1, 3, 6, 3, 1, 4, 5, 1), 3, bias=True)
    question = projections.ask(At(biased, head=2), 0)
    without = question.answer - float(biased["blocks.0.bk"][question.column])
    assert projections.judge(At(biased, head=2), question, without, 3) == "no_bias"


PROGRAMS = TRACES | {
    "toy with bias": lambda: toy(GROUPED, 1, bias=True),
    "edited on the way": lambda: worked.block(1).edited({
        "blocks.0.q": {(0, 1, 2, 0): 3.5}, "blocks.0.v_proj": {(0, 0, 1): -2.5}, "blocks.0.k": {(0, 0, 3, 1): 1 / 3}})}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_the_program_gives_q_k_and_v(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = PROGRAMS[kind]()
    for layer in range(trace.config.layers):
        program = projections.program(At(trace, layer))
        assert max(map(len, program.code.splitlines())) <= 140
        result = run(program, tmp_path, monkeypatch)
        expected = torch.cat([trace[f"blocks.{layer}.{letter}"] for letter in "qkv"], dim=1)
        torch.testing.assert_close(result, expected, atol=1e-6 * max(1.0, float(expected.abs().max())), rtol=0)
