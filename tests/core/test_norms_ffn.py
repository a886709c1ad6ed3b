"""LayerNorm, RMSNorm, activations and feed-forward networks: published cases and their laws."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import nn

from core import feed_forward, norms
from core.errors import ShapeError, UnknownOption
from tests.core import reference


def double(*rows: object) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def is_close(result: torch.Tensor, expected: object, atol: float = 1e-6) -> None:
    torch.testing.assert_close(result, torch.as_tensor(expected, dtype=result.dtype), atol=atol, rtol=0)


def test_layer_norm_has_the_frameworks_variance_and_epsilon() -> None:
    """F1: the other convention would give 1.499997."""
    is_close(norms.layer_norm(double(1, 0, 0, 0)), [1.732005, -.577335, -.577335, -.577335])


def test_layer_norm_is_per_token() -> None:
    """F3, and its extra: a constant vector becomes 0, but 1 under RMSNorm."""
    is_close(norms.layer_norm(double([1, 2], [3, 4])), [[-.99998, .99998]] * 2, atol=5e-6)
    five = torch.full((4,), 5.0)
    is_close(norms.layer_norm(five), [0.0] * 4)
    is_close(norms.rms_norm(five), [1.0] * 4)
    is_close(norms.layer_norm(five, eps=0), [0.0] * 4)


@pytest.mark.parametrize(("x", "eps", "expected"), [
    ([.001, .001], 1e-5, [.301511] * 2), ([.001, .001], 1e-6, [.707107] * 2), ([.001, .001], 0, [1.0] * 2),
    ([3, 4], 1e-5, [.84853, 1.13137]), ([3, 4], 1e-6, [.84853, 1.13137]),  # F6
    ([1, 2, 3, 4], 0, [.365148, .730297, 1.095445, 1.460593]),  # W12
    ([0, 0], 0, [0, 0])])
def test_rms_norm_keeps_epsilon_inside_the_root(x: list[float], eps: float, expected: list[float]) -> None:
    is_close(norms.rms_norm(double(*x), eps=eps), expected, atol=5e-6 if x == [3, 4] else 1e-6)


def test_where_the_norm_stands() -> None:
    """F13: x = [1,3], f(z) = 2z: LN(x + f(x)) against x + f(LN(x))."""
    x = double(1, 3)
    is_close(norms.layer_norm(x + 2 * x, eps=0), [-1, 1])
    is_close(x + 2 * norms.layer_norm(x, eps=0), [-1, 5])


vectors = arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(2, 9)), elements=st.floats(-100, 100))


@given(vectors, st.floats(-10, 10), st.floats(0.5, 20))
def test_normalised_rows_have_the_statistics_they_are_named_for(x: np.ndarray, shift: float, factor: float) -> None:
    """Invariant 9, and what each norm ignores: LayerNorm a shift and a factor, RMSNorm a factor only."""
    t = torch.from_numpy(x) + torch.linspace(-1, 1, x.shape[1], dtype=torch.float64) * 300  # no constant rows
    layer, rms = norms.layer_norm(t, eps=0), norms.rms_norm(t, eps=0)
    is_close(layer.mean(-1), torch.zeros(len(x)), atol=1e-9)
    is_close((layer**2).mean(-1), torch.ones(len(x)), atol=1e-9)
    is_close((rms**2).mean(-1), torch.ones(len(x)), atol=1e-9)
    is_close(norms.layer_norm(t * factor + shift, eps=0), layer, atol=1e-8)
    is_close(norms.rms_norm(t * factor, eps=0), rms, atol=1e-9)


def test_norms_equal_torchs_and_the_reference() -> None:
    generator = torch.Generator().manual_seed(0)
    x, gamma, beta = (torch.randn(*size, generator=generator) for size in ((2, 3, 7), (7,), (7,)))
    is_close(norms.layer_norm(x, gamma, beta, 0.01), nn.functional.layer_norm(x, (7,), gamma, beta, 0.01))
    is_close(norms.rms_norm(x, gamma, 0.01), nn.functional.rms_norm(x, (7,), gamma, 0.01))
    for t in range(3):
        row, gain, shift = (a.double().numpy() for a in (x[1, t], gamma, beta))
        is_close(norms.layer_norm(x, gamma, beta)[1, t], reference.layer_norm(row, gain, shift, 1e-5))
        is_close(norms.rms_norm(x, gamma)[1, t], reference.rms_norm(row, gain, 1e-6))


@pytest.mark.parametrize(("x", "erf", "tanh"), [
    (1, .841345, .841192), (3, 2.995950, 2.996363), (-1, -.158655, -.158808)])
def test_two_gelus(x: float, erf: float, tanh: float) -> None:
    """F8."""
    is_close(feed_forward.gelu(double(x)), [erf])
    is_close(feed_forward.gelu(double(x), "tanh"), [tanh])
    is_close(feed_forward.gelu_tanh(double(x)), [tanh])


def test_the_largest_gap_between_the_gelus() -> None:
    """F8: 4.7324e-4 at 2.699 (the gap is even, so at −2.699 as well)."""
    x = torch.linspace(0, 6, 60001, dtype=torch.float64)
    gap = (feed_forward.gelu(x) - feed_forward.gelu(x, "tanh")).abs()
    assert float(gap.max()) == pytest.approx(4.7324e-4, abs=5e-9)
    assert float(x[gap.argmax()]) == pytest.approx(2.699, abs=1e-3)


def test_silu_is_no_valve_between_zero_and_one() -> None:
    """F18."""
    is_close(feed_forward.silu(double(5, -1)), [4.966536, -.268941])
    x = torch.linspace(-3, 0, 300001, dtype=torch.float64)
    y = feed_forward.silu(x)
    assert float(y.min()) == pytest.approx(-.278465, abs=1e-6)
    assert float(x[y.argmin()]) == pytest.approx(-1.27846, abs=2e-5)


@pytest.mark.parametrize("kind", sorted(feed_forward.ACTIVATIONS))
def test_an_activation_equals_the_reference_far_from_zero_too(kind: str) -> None:
    x = torch.cat([torch.linspace(-6, 6, 121), torch.tensor([-1e4, -90, 90, 1e4])])
    expected = reference.activate(kind, x.double().numpy())
    np.testing.assert_allclose(feed_forward.ACTIVATIONS[kind](x).numpy(), expected, rtol=1e-6, atol=5e-7)


def test_the_gate_passes_through_silu_and_up_does_not() -> None:
    """F9: gate 2 and up 3; swapped it would be 5.715445."""
    one = double([1])
    is_close(feed_forward.swiglu(one, double([2]), double([3]), double([1])), [[5.284782]])
    is_close(feed_forward.swiglu(one, double([3]), double([2]), double([1])), [[5.715445]])


@pytest.mark.parametrize("kind", ["relu", "gelu", "gelu_tanh", "silu"])
def test_a_feed_forward_network_is_two_linear_layers_around_its_activation(kind: str) -> None:
    generator = torch.Generator().manual_seed(1)
    x, w1, b1, w2, b2, w3 = (torch.randn(*size, generator=generator) for size in (
        (2, 3, 5), (5, 7), (7,), (7, 5), (5,), (5, 7)))
    theirs = {"relu": nn.ReLU(), "gelu": nn.GELU(), "gelu_tanh": nn.GELU("tanh"), "silu": nn.SiLU()}[kind]
    linear = nn.functional.linear
    is_close(feed_forward.feed_forward(x, w1, b1, w2, b2, kind), linear(theirs(linear(x, w1.T, b1)), w2.T, b2), 1e-5)
    is_close(feed_forward.feed_forward(x, w1, None, w2, None, theirs), linear(theirs(linear(x, w1.T)), w2.T), 1e-5)
    gated = linear(nn.functional.silu(linear(x, w1.T)) * linear(x, w3.T), w2.T)
    is_close(feed_forward.swiglu(x, w1, w3, w2), gated, 1e-5)


def test_each_token_goes_through_alone() -> None:
    x, w1, w2 = torch.randn(4, 5), torch.randn(5, 7), torch.randn(7, 5)
    whole = feed_forward.feed_forward(x, w1, None, w2, None, "gelu")
    is_close(whole[2:3], feed_forward.feed_forward(x[2:3], w1, None, w2, None, "gelu"), 1e-5)


def test_unknown_activations_and_shapes_are_refused() -> None:
    with pytest.raises(UnknownOption) as caught:
        feed_forward.feed_forward(torch.ones(1, 2), torch.ones(2, 3), None, torch.ones(3, 2), None, "tanhish")
    assert caught.value.value == "tanhish"
    assert "gelu" in caught.value.known
    with pytest.raises(UnknownOption):
        feed_forward.gelu(torch.ones(1), "erf")  # type: ignore[arg-type]
    with pytest.raises(ShapeError):
        feed_forward.swiglu(torch.ones(1, 2), torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 2))
