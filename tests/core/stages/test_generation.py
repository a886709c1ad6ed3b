"""What a step of a generation leaves for the next, why a token came next, mistakes of going on, questions, the program.

References are NumPy in float64 and hand numbers of the public cases (C6, C7, H9) and documents (D0 §11, D1 §13).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core import cost, decoding, ops, sampling, toy, worked
from core.cache import KVCache
from core.errors import UnknownName, UnknownOption
from core.model import decoder_of
from core.stage import At
from core.stages import generation
from core.stages.generation import candidates, mistakes
from core.toy import ToySizes
from core.trace import Trace
from tests.core.steps import LONG, WINDOWED, block_steps, steps_of, traced
from tests.core.test_model import LAWS, SIZES, close, label, random_decoder, random_ids
from tests.core.test_snippets import run

GROUPED = ToySizes(batch=2, tokens=5, width=12, heads=6, kv_heads=3, ffn_width=4, vocab=7, layers=2)


@pytest.mark.parametrize("make", [worked.block, lambda: worked.block(1), lambda: toy.toy(GROUPED, 3),
                                  lambda: toy.toy(ToySizes(), 1, bias=True, norm="layer", ffn="gelu")])
def test_a_decoder_from_a_trace_computes_what_the_trace_holds(make: Callable[[], Trace]) -> None:
    trace = make()
    close(decoder_of(trace)(trace["tokens"]), trace["logits"])


def test_it_has_the_edited_parameters_and_shares_the_others() -> None:
    trace = worked.block().edited({"blocks.0.wk": {(0, 1): 3.0}})
    decoder = decoder_of(trace)
    close(decoder(trace["tokens"]), trace["logits"])
    assert decoder.get_parameter("blocks.0.wk")[0, 1] == 3.0
    assert decoder.get_parameter("blocks.0.wq").data_ptr() == trace["blocks.0.wq"].data_ptr()
    assert worked.block()["blocks.0.wk"][0, 1] == 0.0


def test_a_trace_without_embedding_makes_no_decoder() -> None:
    with pytest.raises(UnknownName):
        decoder_of(worked.single_head())


def test_the_block_goes_on_to_the_end_of_its_positions() -> None:
    steps = block_steps()
    assert [worked.BLOCK_VOCABULARY[int(step.token)] for step in steps if step.token is not None] == [
        "dog", "and", "sees", "a", "cat"]
    assert steps[-1].text.shape[1] == worked.block().config.max_positions


@pytest.mark.parametrize("choices", [{**laws, **LONG} for laws in LAWS], ids=label)
def test_only_k_and_v_are_read_again_and_unchanged(choices: dict[str, Any]) -> None:
    decoder = random_decoder(**choices)
    steps = steps_of(decoder, random_ids(2, 4) % decoder.config.vocab, 4)
    for before, after in itertools.pairwise(steps):
        for layer in range(decoder.config.layers):
            found = {one.name.rsplit(".", 1)[-1][0]: one for one in decoding.carried(traced(before), layer)
                     if one.read_as}
            assert {letter: one.read_as for letter, one in found.items()} == {
                "k": f"blocks.{layer}.k_past", "v": f"blocks.{layer}.v_past"}
            assert len(decoding.carried(traced(before), layer)) == 6
            assert decoding.left_for_next(traced(before), traced(after), layer) == 0.0
            names = set(traced(after).names())
            assert {f"blocks.{layer}.k_past", f"blocks.{layer}.v_past"} <= names
            assert traced(after)[f"blocks.{layer}.q"].shape[2] == 1  # no old query is there at all


@pytest.mark.parametrize("choices", [{**laws, **LONG} for laws in LAWS], ids=label)
def test_what_all_steps_left_is_k_and_v_of_the_text_read_at_once(choices: dict[str, Any]) -> None:
    decoder = random_decoder(**choices)
    config = decoder.config
    for step in steps_of(decoder, random_ids(2, 4) % config.vocab, 4):
        whole = Trace()
        decoder.stream(step.text, trace=whole)
        for layer in range(config.layers):
            found = decoding.against_at_once(traced(step), whole, layer)
            assert found.difference <= 1e-5 * found.size
            assert found.size > 0
    other = Trace()
    decoder.stream(step.text.flip(1), trace=other)
    assert decoding.against_at_once(traced(step), other, 1).difference > 1e-3


def test_what_the_cache_spares_is_nothing_in_the_prompt_and_all_old_rows_after_it() -> None:
    """D0 §11.2 in FLOP: the whole text of n tokens, with the head for one, less the new token alone."""
    trace = toy.toy(GROUPED, 3)
    decoder = decoder_of(trace)
    prefill, *later = steps_of(decoder, trace["tokens"], 3)
    assert decoding.spared(decoder, prefill) == 0
    for step in later:
        n = step.text.shape[1]
        whole, alone = (cost.flops(decoder.config, 2, new, n - new, head_tokens=1)["total"] for new in (n, 1))
        assert decoding.spared(decoder, step) == whole - alone > 0


def test_rows_are_counted_over_texts_layers_and_heads() -> None:
    """D0 §11.2: one new row of q, k, v, all older ones of k and v from the cache. B=2, L=2, H=6, Hkv=3."""
    trace = toy.toy(GROUPED, 3)
    prefill, decode, *_rest = steps_of(decoder_of(trace), trace["tokens"], 3)
    assert decoding.rows(trace.config, prefill) == [("q", 2 * 2 * 6 * 5, 0), ("k", 2 * 2 * 3 * 5, 0),
                                                   ("v", 2 * 2 * 3 * 5, 0)]
    assert decoding.rows(trace.config, decode) == [("q", 24, 0), ("k", 12, 12 * 5), ("v", 12, 12 * 5)]


@pytest.mark.parametrize("kv_heads", [2, 1])
def test_held_bytes_are_those_of_the_formula_and_of_a_real_cache(kv_heads: int) -> None:
    trace = worked.block(kv_heads)  # type: ignore[arg-type]
    cache = KVCache(trace.config, 1, 8)
    decoder = decoder_of(trace)
    for step in block_steps(kv_heads):
        decoder(step.inputs, cache=cache)
        assert decoding.held_bytes(traced(step)) == cache.used_nbytes == cost.kv_cache_bytes(
            trace.config, 1, step.length_after, 4) == 2 * 1 * 1 * step.length_after * kv_heads * 2 * 4


def test_predicted_costs_fall_by_the_rows_that_are_not_read_again() -> None:
    trace = toy.toy(GROUPED, 3)
    decoder = decoder_of(trace)
    cached, whole = (steps_of(decoder, trace["tokens"], 3, use_cache=use)[-1] for use in (True, False))
    few, many = (decoding.predicted(decoder, step) for step in (cached, whole))
    assert few.flops == cost.flops(decoder.config, 2, 1, 6, head_tokens=1)["total"] < many.flops
    assert many.flops == cost.flops(decoder.config, 2, 7, 0, head_tokens=1)["total"]
    assert few.bytes == cost.traffic(decoder.config, 2, 1, 6, bytes_per_weight=4, bytes_per_cache=4)["total"]


@pytest.mark.parametrize("settings", [{"temperature": 0.0}, {"temperature": 1.0}, {"temperature": 2.0, "top_k": 4},
                                      {"temperature": 0.7, "top_p": 0.8}])
@pytest.mark.parametrize("count", [1, 3, 8, 20])
def test_candidates_and_all_others_are_the_whole_distribution(settings: dict[str, Any], count: int) -> None:
    logits = torch.randn(3, 17, generator=torch.Generator().manual_seed(1)) * 2
    made, u = sampling.distribution(logits, **settings), torch.tensor([0.1, 0.5, 0.93], dtype=torch.float64)
    tokens = sampling.draw(made, u)
    exact = np.exp(logits.double().numpy())
    exact /= exact.sum(axis=-1, keepdims=True)
    for row, token in enumerate(tokens.tolist()):
        found = candidates.candidates(made, row, token, count)
        assert len(found.top) + found.others == 17
        assert math.isclose(sum(one.probability for one in found.top) + found.others_probability, 1, abs_tol=1e-6)
        assert math.isclose(sum(one.plain for one in found.top) + found.others_plain, 1, abs_tol=1e-9)
        best = sorted(range(17), key=lambda at: -exact[row, at])[:count]
        assert [one.token for one in found.top[:count]] == best
        assert found.kept == int((made.probabilities[row] > 0).sum())
        chosen = next(one for one in found.top if one.token == token)
        if settings["temperature"]:
            assert chosen.start <= float(u[row]) < chosen.end
        for one in found.top:
            assert math.isclose(one.plain, exact[row, one.token], rel_tol=1e-5)
            assert math.isclose(one.end - one.start, one.probability, abs_tol=1e-6)


def test_a_mask_aligned_at_the_start_hides_what_came_before() -> None:
    """C6: V = [10, 20, 30, 60], equal scores: 30 is right, the wrong mask gives 10. H9: three cached, two new."""
    steps = block_steps()
    wrong = mistakes.aligned_at_start(traced(steps[1]))[0, 0]
    assert (wrong == 0).tolist() == [[True, False, False, False, False]]
    v = torch.tensor([[10.0], [20.0], [30.0], [60.0]])
    rows = [ops.softmax(torch.zeros(1, 4) + mask) @ v for mask in (torch.zeros(1, 4), wrong[:, :4])]
    assert [float(row) for row in rows] == [30.0, 10.0]
    chunked = steps_of(decoder_of(worked.block()), torch.tensor([[0, 1, 2, 3, 4]]), 1, chunk=3)
    right = traced(chunked[1])["mask"][0, 0]
    assert (right == 0).tolist() == [[True, True, True, True, False], [True] * 5]
    assert (mistakes.aligned_at_start(traced(chunked[1]))[0, 0] == 0).tolist() == [
        [True, False, False, False, False], [True, True, False, False, False]]


@pytest.mark.parametrize("choices", [{**laws, **LONG} for laws in LAWS], ids=label)
def test_the_wrong_weights_are_those_of_the_wrong_mask(choices: dict[str, Any]) -> None:
    decoder = random_decoder(**choices)
    trace = traced(steps_of(decoder, random_ids(1, 4) % decoder.config.vocab, 3)[-1])
    found = generation.MISTAKES["aligned_start"](At(trace, 0))
    assert found.wrong is not None
    assert torch.equal(found.wrong[..., 0], torch.ones_like(found.wrong[..., 0]))
    assert not found.wrong[..., 1:].any()
    close(found.right.sum(-1), torch.ones(found.right.shape[:-1]))


def test_positions_that_begin_again_are_those_of_a_decoder_that_forgot_the_past() -> None:
    """The new token's row is what the same cached rows give with its embedding and RoPE at position 0."""
    for choices in ({**SIZES, **LONG, "positions": "rope"}, {**SIZES, **LONG, "positions": "learned"}):
        decoder = random_decoder(**choices)
        ids = random_ids(1, 5)
        trace = traced(steps_of(decoder, ids, 2)[-1])
        wrong = mistakes.wrong_step(trace, 0, "restarted")
        assert wrong["positions"].tolist() == [[0]]
        x = decoder.get_parameter("embedding")[trace["tokens"]]
        if choices["positions"] == "learned":
            x = x + decoder.get_parameter("position_table")[:1]
        close(wrong["blocks.0.in"], x)
        for name in ("blocks.0.k_past", "blocks.1.v_past"):
            assert torch.equal(wrong[name], trace[name])
        assert not torch.allclose(wrong["blocks.0.weights"], trace["blocks.0.weights"], atol=1e-4)
        if choices["positions"] == "rope":
            assert torch.equal(wrong["blocks.0.q_rot"], wrong["blocks.0.q"])  # position 0 turns nothing
            assert torch.equal(wrong["blocks.0.q"], trace["blocks.0.q"])


def test_without_positions_they_cannot_begin_again() -> None:
    decoder = random_decoder(**{**SIZES, **LONG, "positions": "none"})
    trace = traced(steps_of(decoder, random_ids(1, 5), 2)[-1])
    assert generation.MISTAKES["restarted"](At(trace, 1)).largest(0, 0) == pytest.approx(0, abs=1e-6)
    with pytest.raises(UnknownOption):
        mistakes.wrong_step(trace, 0, "other")


def test_the_next_token_is_that_of_the_step_when_nothing_is_wrong() -> None:
    for step in block_steps():
        found = mistakes.consequence(At(traced(step), 0, 0), "restarted")
        assert step.token is not None
        assert step.logits is not None
        assert found.right == int(step.token)
        assert found.size == pytest.approx(float(step.logits.abs().max()), abs=1e-6)


def test_a_mask_aligned_at_the_start_changes_logits_and_one_that_hides_nothing_does_not() -> None:
    prefill, decode, *_rest = block_steps()
    assert mistakes.consequence(At(traced(prefill), 0, 0), "aligned_start").difference == 0.0
    assert mistakes.consequence(At(traced(decode), 0, 0), "aligned_start").difference > 0.01


@pytest.mark.parametrize("number", range(9))
def test_the_answer_to_every_question_is_right_and_its_slips_are_named(number: int) -> None:
    trace = toy.toy(GROUPED._replace(width=12), 3)
    step = steps_of(decoder_of(trace), trace["tokens"], 3)[1]
    made = traced(step)
    for head in range(6):
        question = generation.QUESTIONS["step"].ask(At(made, 1, 1, head), number)

        def judged(answer: float, head: int = head, question: Any = question) -> str:
            return generation.QUESTIONS["step"].judge(At(made, 1, 1, head), question, answer, 3)

        assert judged(question.answer) == "right"
        assert judged(question.answer + 1000) == "wrong"
        if question.kind == "count":
            assert question.answer == step.cached == 5
            assert (judged(6), judged(1)) == ("all", "new")
        elif question.kind == "numbers":
            assert question.answer == 2 * 2 * 3 * 1 * 2  # B·L·Hkv·Tq·Dh
            assert [judged(question.answer * factor) for factor in (1 / 2, 2, 6)] == [
                "one_layer", "query_heads", "every_row"]
        else:
            assert question.row == 0
            exact = made["blocks.1.q_rot"][1, head, 0].double() @ made["blocks.1.k_all"][
                1, head // 2, question.column].double()
            assert math.isclose(question.answer, float(exact), abs_tol=1e-5)
            assert judged(question.answer / math.sqrt(2)) in ("scaled", "right")
            assert judged(-question.answer) in ("sign", "right")


def test_a_wide_head_is_not_asked_to_be_summed() -> None:
    trace = toy.toy(ToySizes(width=64, heads=2), 3)
    made = traced(steps_of(decoder_of(trace), trace["tokens"], 3)[1])
    kinds = {generation.QUESTIONS["step"].ask(At(made), number).kind for number in range(6)}
    assert kinds == {"count", "numbers"}


@pytest.mark.parametrize("choices", [*({**laws, **LONG} for laws in LAWS), WINDOWED], ids=label)
@pytest.mark.parametrize("chunk", [None, 3])
def test_the_program_gives_the_numbers_of_the_step(
    choices: dict[str, Any], chunk: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoder = random_decoder(**choices)
    for step in steps_of(decoder, random_ids(2, 5) % decoder.config.vocab, 2, chunk=chunk):
        trace = traced(step)
        for layer in range(decoder.config.layers):
            close(run(generation.program(At(trace, layer)), tmp_path, monkeypatch), trace[f"blocks.{layer}.context"])
