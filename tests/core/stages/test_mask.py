"""The mask in its four places, what it leaves to read, the softmax opened, and overflow where it really happens."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from core import masks, ops, worked
from core.errors import ShapeError, UnknownOption
from core.stage import At
from core.stages import mask
from core.toy import ToySizes, toy
from core.trace import Trace


def test_masking_after_the_softmax_loses_weight_and_renormalising_restores_what_masking_before_gives() -> None:
    trace = toy(ToySizes(batch=2, tokens=5, width=12, heads=4, kv_heads=2, layers=2), seed=3)
    before, after, again, none = (
        mask.masking(At(trace, 1), kind) for kind in ("before", "after", "renormalised", "none"))
    torch.testing.assert_close(before.sums, torch.ones_like(before.sums), atol=1e-6, rtol=0)
    torch.testing.assert_close(again.weights, before.weights, atol=1e-6, rtol=0)
    torch.testing.assert_close(none.sums, torch.ones_like(none.sums), atol=1e-6, rtol=0)
    assert (after.sums[..., :-1] < 1).all()
    torch.testing.assert_close(after.sums[..., -1], torch.ones(2, 4), atol=1e-6, rtol=0)
    assert (after.weights.triu(1) == 0).all()
    assert (none.weights.triu(1) > 0).any()


def test_the_case_of_two_tokens_masked_after_the_softmax() -> None:
    """Case C16: S = [[1,2],[3,4]], causal; left alone the first row keeps 0.268941 only."""
    weights = ops.softmax(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    left = weights.masked_fill(ops.causal_mask(2) == ops.NEG_INF, 0.0)
    np.testing.assert_allclose(left.numpy(), [[0.268941, 0.0], [0.268941, 0.731059]], atol=1e-6)


def test_an_unknown_place_for_the_mask_is_refused() -> None:
    with pytest.raises(UnknownOption):
        mask.masking(At(worked.single_head("causal")), "beside")


def test_the_steps_of_the_softmax_are_the_softmax() -> None:
    scores = torch.tensor([[1.2, 2.0, 0.4], [-math.inf, 0.5, -math.inf], [-math.inf] * 3])
    steps = ops.softmax_steps(scores)
    np.testing.assert_allclose(steps.top[:2, 0], [2.0, 0.5])
    np.testing.assert_allclose(steps.exponentials[0], np.exp([1.2 - 2.0, 0.0, 0.4 - 2.0]), rtol=1e-6)
    np.testing.assert_allclose(steps.total[0], np.exp([1.2 - 2.0, 0.0, 0.4 - 2.0]).sum(), rtol=1e-6)
    np.testing.assert_allclose(steps.weights[0], [0.272118, 0.605611, 0.122271], atol=1e-6)  # D3 §3
    assert steps.weights[1].tolist() == [0.0, 1.0, 0.0]
    assert steps.weights[2].tolist() == [0.0, 0.0, 0.0]
    assert torch.equal(steps.weights, ops.softmax(scores))


@pytest.mark.parametrize(("dtype", "limit"), [(torch.float16, 11.0), (torch.float32, 88.0)])
def test_the_plain_exponential_overflows_just_above_the_limit_of_its_type(dtype: torch.dtype, limit: float) -> None:
    below = mask.overflow(torch.tensor([0.0, limit]), dtype)
    above = mask.overflow(torch.tensor([0.0, limit + 1.0]), dtype)
    assert below.exponentials.dtype == dtype
    assert torch.isfinite(below.exponentials).all()
    assert torch.isinf(above.exponentials).any()
    assert torch.isnan(above.naive).any()
    assert torch.isfinite(above.stable).all()
    assert float(above.stable.sum()) == pytest.approx(1.0, abs=1e-3)


def test_a_prefix_is_read_by_every_query_and_the_rest_stays_causal() -> None:
    prefix = ops.prefix_mask(4, 4, 2)
    assert (prefix[:, :2] == 0).all()
    assert torch.equal(prefix[:, 2:], ops.causal_mask(4)[:, 2:])
    assert torch.equal(ops.prefix_mask(2, 5, 0), ops.causal_mask(2, 5))
    with pytest.raises(ShapeError):
        ops.prefix_mask(3, 3, 4)


def test_another_mask_moves_what_follows_its_layer_and_nothing_before() -> None:
    trace = toy(ToySizes(tokens=5, width=8, heads=2, layers=3), seed=1)
    other = trace.with_mask(torch.zeros(1, 1, 5, 5), layer=1)
    assert torch.equal(other["blocks.1.scaled"], trace["blocks.1.scaled"])
    assert not torch.equal(other["blocks.1.weights"], trace["blocks.1.weights"])
    assert not torch.equal(other["blocks.2.in"], trace["blocks.2.in"])
    assert torch.equal(trace["mask"], ops.causal_mask(5)[None, None])


def test_a_mask_of_another_size_is_refused() -> None:
    with pytest.raises(ShapeError):
        worked.single_head().with_mask(torch.zeros(1, 1, 4, 4))


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
    facts = mask.facts(At(trace))
    assert (facts.readable, facts.pairs, facts.empty_rows) == (6, 9, [])
    plain = mask.masking(At(trace), "none").weights[0, 0]
    assert facts.leaked == pytest.approx(0.503490, abs=1e-6)  # D0 prints 0.503 for the first row's last key
    assert facts.leaked_at == (0, 2)
    assert float(plain[0, 2]) == facts.leaked
    nothing = trace.with_mask(masks.build("padding", 3, 3))
    assert mask.facts(At(nothing)).empty_rows == [0, 1, 2]
    assert float(nothing["blocks.0.weights"].abs().max()) == 0.0
    assert mask.facts(At(worked.single_head("none"))).leaked_at is None


def test_row_sums_of_the_four_places() -> None:
    trace = toy(ToySizes(batch=2, tokens=5, width=12, heads=3, kv_heads=1, layers=1), 2)
    for kind, low in (("none", 1.0), ("before", 1.0), ("renormalised", 1.0)):
        assert mask.masking(At(trace), kind).extent(1, 2) == pytest.approx((low, 1.0), abs=1e-6)
    low, high = mask.masking(At(trace), "after").extent(1, 2)
    assert low < 0.9
    assert high == pytest.approx(1.0, abs=1e-6)


def test_questions_ask_for_the_number_of_readable_keys() -> None:
    at = At(toy(ToySizes(tokens=4, width=8, heads=2, layers=1), 1).with_mask(masks.build("window", 4, 2)), head=1)
    asked = [mask.ask(at, number) for number in range(4)]
    assert [(question.row, question.answer) for question in asked] == [(3, 2.0), (2, 2.0), (1, 2.0), (0, 1.0)]
    assert mask.judge(at, asked[0], 2.0, 3) == "right"
    assert mask.judge(at, asked[0], 3.0, 3) == "wrong"


def test_a_shifted_row_overflows_in_the_short_type_first_and_its_stable_softmax_does_not_change() -> None:
    at = At(worked.single_head("causal"))
    for shift, finite in ((0.0, (True, True)), (12.0, (False, True)), (90.0, (False, False))):
        results = mask.overflows(at, 2, shift)
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
    program = mask.program(At(trace))
    monkeypatch.chdir(tmp_path)
    if program.file:
        np.savez(program.file, **program.arrays)
    found: dict[str, torch.Tensor] = {}
    exec(program.code.replace("print(result)", ""), found)
    torch.testing.assert_close(found["result"], trace["blocks.0.weights"], atol=1e-6, rtol=0)
    assert "core" not in program.code
