"""The masks to choose from."""

import math

import numpy as np
import pytest
import torch

from core import masks
from core.errors import SizeOutOfRange, UnknownOption
from core.stages.mask import keep


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
    np.testing.assert_array_equal(keep(mask)[0, 0].numpy(), allowed(kind, tokens, count).astype(np.float32))


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
