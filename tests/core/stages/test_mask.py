"""The mask in its four places, the softmax opened, and overflow where it really happens."""

import math

import numpy as np
import pytest
import torch

from core import experiments, ops, toy, worked
from core.errors import ShapeError, UnknownOption
from core.toy import ToySizes


def test_masking_after_the_softmax_loses_weight_and_renormalising_restores_what_masking_before_gives() -> None:
    trace = toy.toy(ToySizes(batch=2, tokens=5, width=12, heads=4, kv_heads=2, layers=2), seed=3)
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
        mask.masking(At(worked.single_head("causal"), 0), "beside")


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
    below = experiments.overflow(torch.tensor([0.0, limit]), dtype)
    above = experiments.overflow(torch.tensor([0.0, limit + 1.0]), dtype)
    assert below.exponentials.dtype == dtype
    assert torch.isfinite(below.exponentials).all()
    assert torch.isinf(above.exponentials).any()
    assert torch.isnan(above.naive).any()
    assert torch.isfinite(above.stable).all()
    assert float(above.stable.sum()) == pytest.approx(1.0, abs=1e-3)


def test_a_prefix_is_read_by_every_query_and_the_rest_stays_causal() -> None:
    mask = ops.prefix_mask(4, 4, 2)
    assert (mask[:, :2] == 0).all()
    assert torch.equal(mask[:, 2:], ops.causal_mask(4)[:, 2:])
    assert torch.equal(ops.prefix_mask(2, 5, 0), ops.causal_mask(2, 5))
    with pytest.raises(ShapeError):
        ops.prefix_mask(3, 3, 4)


def test_another_mask_moves_what_follows_its_layer_and_nothing_before() -> None:
    trace = toy.toy(ToySizes(tokens=5, width=8, heads=2, layers=3), seed=1)
    other = trace.with_mask(torch.zeros(1, 1, 5, 5), layer=1)
    assert torch.equal(other["blocks.1.scaled"], trace["blocks.1.scaled"])
    assert not torch.equal(other["blocks.1.weights"], trace["blocks.1.weights"])
    assert not torch.equal(other["blocks.2.in"], trace["blocks.2.in"])
    assert torch.equal(trace["mask"], ops.causal_mask(5)[None, None])


def test_a_mask_of_another_size_is_refused() -> None:
    with pytest.raises(ShapeError):
        worked.single_head().with_mask(torch.zeros(1, 1, 4, 4))
