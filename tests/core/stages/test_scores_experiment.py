"""The scale experiment: what was measured lies where statistics puts it, and saturation is what it is defined to be."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from core.stages.scores import experiment
from tests.core import reference


@pytest.fixture(scope="module")
def rows() -> list[experiment.ScaleRow]:
    return experiment.scale_experiment(seed=1)


def test_the_standard_deviation_of_a_dot_product_is_the_root_of_its_length(
    rows: list[experiment.ScaleRow],
) -> None:
    """D0 §6.5, within four standard errors. A query's 16 products share its length: given q they are normal with
    variance |q|², whose own relative variance is 2/Dh, so that of the estimated variance is
    (2/Dh + 2(1 + 2/Dh)/16) / 512, and the standard deviation has half its relative error."""
    assert [row.head_width for row in rows] == list(experiment.HEAD_WIDTHS)
    for row in rows:
        assert row.predicted_std == math.sqrt(row.head_width)
        share = 2 / row.head_width
        error = math.sqrt((share + 2 * (1 + share) / experiment.KEYS) / experiment.QUERIES) / 2
        assert abs(row.measured_std / row.predicted_std - 1) < 4 * error, row.head_width
        assert row.measured_std != row.predicted_std, "a measurement, not the formula again"


def test_without_the_scale_attention_saturates_and_with_it_it_does_not(rows: list[experiment.ScaleRow]) -> None:
    entropy = [row.unscaled.entropy for row in rows]
    gradient = [row.unscaled.gradient for row in rows]
    assert entropy == sorted(entropy, reverse=True)
    assert gradient[-1] < gradient[2] / 4
    assert rows[-1].unscaled.largest > 0.9
    for row in rows[2:]:
        assert row.scaled.entropy == pytest.approx(rows[-1].scaled.entropy, abs=0.1)
        assert row.scaled.largest < 0.5
    for row in rows[1:]:
        assert row.scaled.entropy > row.unscaled.entropy
        assert row.scaled.largest < row.unscaled.largest
    assert rows[0].scaled == rows[0].unscaled, "with one dimension the divisor is 1"


def test_draws_depend_on_the_seed_alone(rows: list[experiment.ScaleRow]) -> None:
    torch.manual_seed(99)
    assert experiment.scale_experiment(seed=1) == rows
    assert experiment.scale_experiment(seed=2)[3].measured_std != rows[3].measured_std


def test_saturation_equals_its_definition() -> None:
    """Entropy and largest weight in NumPy, the gradient as the norm of the Jacobian that autograd gives."""
    scores = torch.randn(6, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64) * 3
    weights = np.array([reference.softmax(row) for row in scores.numpy()])
    jacobians = [torch.autograd.functional.jacobian(lambda x: torch.softmax(x, -1), row) for row in scores]
    result = experiment.saturation(scores)
    assert result.entropy == pytest.approx(float(-(weights * np.log(weights)).sum(-1).mean()), rel=1e-12)
    assert result.largest == pytest.approx(float(weights.max(-1).mean()), rel=1e-12)
    assert result.gradient == pytest.approx(float(np.mean([float(j.norm()) for j in jacobians])), rel=1e-9)


@pytest.mark.parametrize(("scores", "entropy", "largest", "gradient"), [
    ([0.0, 0.0, 0.0, 0.0], math.log(4), 0.25, math.sqrt(3) / 4),  # even: the Jacobian is (I − 1/4)/4
    ([900.0, 0.0, 0.0, 0.0], 0.0, 1.0, 0.0),  # one key takes all, and nothing can be learnt
    ([1.0, -math.inf, -math.inf, 1.0], math.log(2), 0.5, 0.5)])
def test_saturation_at_its_ends(scores: list[float], entropy: float, largest: float, gradient: float) -> None:
    result = experiment.saturation(torch.tensor([scores], dtype=torch.float64))
    assert result == pytest.approx((entropy, largest, gradient), abs=1e-9)
