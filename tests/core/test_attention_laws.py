"""What holds for attention whatever the numbers are."""

from __future__ import annotations

import math

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from core import ops
from tests.core import reference

INF = math.inf

rows = arrays(np.float64, array_shapes(min_dims=1, max_dims=3, max_side=6), elements=st.floats(-50, 50))


@given(rows, st.floats(-500, 500))
def test_softmax_ignores_a_constant_added_to_the_row(scores: np.ndarray, shift: float) -> None:
    x = torch.from_numpy(scores)
    torch.testing.assert_close(ops.softmax(x + shift), ops.softmax(x), atol=1e-12, rtol=1e-10)


@given(rows, st.data())
def test_softmax_rows_sum_to_one_or_are_declared_empty(scores: np.ndarray, data: st.DataObject) -> None:
    hidden = data.draw(arrays(np.bool_, scores.shape))
    x = torch.from_numpy(np.where(hidden, -INF, scores))
    weights = ops.softmax(x)
    empty = torch.from_numpy(hidden).all(-1)
    torch.testing.assert_close(weights.sum(-1), (~empty).double(), atol=1e-12, rtol=0)
    assert (weights[torch.from_numpy(hidden)] == 0).all()
    expected = np.apply_along_axis(reference.softmax, -1, x.numpy())
    np.testing.assert_allclose(weights.numpy(), expected, atol=1e-14)


@given(st.integers(0, 2**31), st.integers(1, 5), st.integers(0, 4))
def test_a_context_vector_lies_between_the_values_it_may_read(seed: int, t_q: int, cached: int) -> None:
    """Invariant 6; bounding each coordinate suffices for an axis-aligned check, random directions for the hull."""
    generator = torch.Generator().manual_seed(seed)
    t_k = t_q + cached
    q, k, v = (torch.randn(2, 3, t, 4, generator=generator, dtype=torch.float64) for t in (t_q, t_k, t_k))
    context = ops.attend(q * 3, k, v, mask=ops.causal_mask(t_q, t_k)).context
    directions = torch.randn(4, 8, generator=generator, dtype=torch.float64)
    along, values = context @ directions, v @ directions
    for i in range(t_q):
        seen = values[..., :cached + i + 1, :]
        assert (along[..., i, :] <= seen.amax(-2) + 1e-12).all()
        assert (along[..., i, :] >= seen.amin(-2) - 1e-12).all()
    if cached == 0:
        assert torch.equal(context[..., 0, :], v[..., 0, :])
