"""The masks to choose from, what they leave to read, and the document's lab of three tokens."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from core import experiments, masks, ops, programs, worked
from core.errors import SizeOutOfRange, UnknownOption
from core.toy import ToySizes, toy
from core.trace import Trace


def allowed(kind: str, tokens: int, count: int) -> np.ndarray:
    """Which pairs may be read, from the words of the definition: rows are queries."""
    query, key = np.indices((tokens, tokens))
    return {
        "none": np.full((tokens, tokens), True), "causal": key <= query, "padding": key < tokens - count,
        "both": (key <= query) & (key < tokens - count), "window": (key <= query) & (key > query - count),
        "prefix": (key <= query) | (key < count),
    }[kind]


@pytest.mark.parametrize("kind", masks.KINDS)
@pytest.mark.parametrize(("tokens", "count"), [(1, 1), (5, 1), (5, 3), (6, 6)])
def test_a_mask_is_zero_where_a_key_may_be_read_and_infinite_elsewhere(kind: str, tokens: int, count: int) -> None:
    mask = masks.build(kind, tokens, count)
    assert mask.shape == (1, 1, tokens, tokens)
    wanted = np.where(allowed(kind, tokens, count), 0.0, -math.inf)
    np.testing.assert_array_equal(mask[0, 0].numpy(), wanted)
    np.testing.assert_array_equal(masks.keep(mask)[0, 0].numpy(), allowed(kind, tokens, count).astype(np.float32))


def test_the_broadcast_sum_of_its_parts_is_the_mask() -> None:
    """A padding mask is one row for all queries (B,1,1,T), a causal one a row for each (D0 §7.3)."""
    assert masks.padding(5, 2).shape == (1, 1, 1, 5)
    assert torch.equal(masks.build("causal", 5) + masks.padding(5, 2), masks.build("both", 5, 2))


@pytest.mark.parametrize("count", [0, 6, -1])
def test_a_count_that_does_not_fit_is_refused(count: int) -> None:
    for kind in masks.COUNTED:
        with pytest.raises(SizeOutOfRange):
            masks.build(kind, 5, count)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UnknownOption):
        masks.build("diagonal", 3)


def test_the_document_s_row_and_the_weights_it_prints() -> None:
    """D3 §3: 1.2, 2.0, 0.4 give 0.272, 0.606 (printed 0.605), 0.122; masked, the last key is out of the sum."""
    lab = worked.d3_lab("none")
    np.testing.assert_allclose(lab["blocks.0.weights"][0, 0, 1], [0.272118, 0.605611, 0.122271], atol=1e-6)
    np.testing.assert_allclose(ops.softmax_steps(lab["blocks.0.masked"]).weights[0, 0, 1].numpy(),
                               np.exp([1.2, 2.0, 0.4]) / np.exp([1.2, 2.0, 0.4]).sum(), atol=1e-6)
    hidden = worked.d3_lab()["blocks.0.weights"][0, 0, 1]
    np.testing.assert_allclose(hidden, [*np.exp([1.2, 2.0]) / np.exp([1.2, 2.0]).sum(), 0.0], atol=1e-6)
    assert "blocks.0.context" not in lab


def test_facts_count_what_is_left_and_what_would_leak() -> None:
    trace = worked.single_head("causal")
    facts = masks.facts(trace, 0, 0, 0)
    assert (facts.readable, facts.pairs, facts.empty_rows) == (6, 9, [])
    plain = mask.masking(At(trace, 0), "none").weights[0, 0]
    assert facts.leaked == pytest.approx(0.503490, abs=1e-6)  # D0 prints 0.503 for the first row's last key
    assert facts.leaked_at == (0, 2)
    assert float(plain[0, 2]) == facts.leaked
    nothing = trace.with_mask(masks.build("padding", 3, 3))
    assert masks.facts(nothing, 0, 0, 0).empty_rows == [0, 1, 2]
    assert float(nothing["blocks.0.weights"].abs().max()) == 0.0
    assert masks.facts(worked.single_head("none"), 0, 0, 0).leaked_at is None


def test_row_sums_of_the_four_places() -> None:
    trace = toy(ToySizes(batch=2, tokens=5, width=12, heads=3, kv_heads=1, layers=1), 2)
    for kind, low in (("none", 1.0), ("before", 1.0), ("renormalised", 1.0)):
        assert mask.masking(At(trace, 0), kind).extent(1, 2) == pytest.approx((low, 1.0), abs=1e-6)
    low, high = mask.masking(At(trace, 0), "after").extent(1, 2)
    assert low < 0.9
    assert high == pytest.approx(1.0, abs=1e-6)


def test_questions_ask_for_the_number_of_readable_keys() -> None:
    trace = toy(ToySizes(tokens=4, width=8, heads=2, layers=1), 1).with_mask(masks.build("window", 4, 2))
    asked = [masks.question(trace, 0, 0, 1, number) for number in range(4)]
    assert [(question.row, question.answer) for question in asked] == [(3, 2.0), (2, 2.0), (1, 2.0), (0, 1.0)]
    assert masks.judge(asked[0], 2.0) == "right"
    assert masks.judge(asked[0], 3.0) == "wrong"


def test_a_shifted_row_overflows_in_the_short_type_first_and_its_stable_softmax_does_not_change() -> None:
    trace = worked.single_head("causal")
    for shift, finite in ((0.0, (True, True)), (12.0, (False, True)), (90.0, (False, False))):
        results = experiments.overflows(trace, 0, 0, 0, 2, shift)
        assert [name for name, _ in results] == ["float16", "float32"]
        assert tuple(bool(torch.isfinite(found.naive).all()) for _, found in results) == finite
        for _, found in results:
            np.testing.assert_allclose(found.stable.float().numpy(), [0.140029, 0.283995, 0.575975], atol=0.04)


@pytest.mark.parametrize("trace", [
    worked.single_head("causal"), worked.block(1), worked.d3_lab(),
    worked.single_head().with_mask(masks.build("padding", 3, 3)),
    toy(ToySizes(batch=2, tokens=9, width=12, heads=6, kv_heads=2), 1),
], ids=["single_head", "block", "d3_lab", "nothing left", "toy with a file"])
def test_the_program_gives_the_page_s_weights(trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = programs.mask(trace, 0)
    monkeypatch.chdir(tmp_path)
    if program.file:
        np.savez(program.file, **program.arrays)
    found: dict[str, torch.Tensor] = {}
    exec(program.code.replace("print(result)", ""), found)
    torch.testing.assert_close(found["result"], trace["blocks.0.weights"], atol=1e-6, rtol=0)
    assert "core" not in program.code
