"""From ids to vectors, and the fixed position table."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core import embedding
from core.errors import ShapeError, TokenOutOfRange
from tests.core import reference

TABLE = torch.tensor([[0., 1], [2, 3], [4, 5], [6, 7]])


@pytest.mark.parametrize("read", [embedding.lookup, embedding.one_hot_product])
def test_an_id_is_a_row_of_the_table(read: object) -> None:
    """A1: the last row is still one; V and negative ids are not, though NumPy would take −1."""
    assert read(TABLE, torch.tensor([3])).tolist() == [[6, 7]]  # type: ignore[operator]
    for wrong in (4, -1):
        with pytest.raises(TokenOutOfRange) as caught:
            read(TABLE, torch.tensor([[0, 2], [wrong, 1]]))  # type: ignore[operator]
        assert (caught.value.token, caught.value.vocab) == (wrong, 4)
    assert TABLE.numpy()[-1].tolist() == [6, 7]


@given(st.integers(1, 9), st.integers(1, 4), st.lists(st.integers(0, 8), min_size=6, max_size=6))
def test_a_lookup_is_a_product_with_one_hot_rows(vocab: int, width: int, ids: list[int]) -> None:
    table = torch.arange(vocab * width, dtype=torch.float32).reshape(vocab, width)
    batch = (torch.tensor(ids) % vocab).reshape(2, 3)
    rows = embedding.lookup(table, batch)
    assert rows.shape == (2, 3, width)
    assert torch.equal(rows, embedding.one_hot_product(table, batch))
    assert rows[1, 2].tolist() == [float(ids[5] % vocab * width + column) for column in range(width)]


def test_the_documents_embedding_sizes() -> None:
    """D1 §2: a table of 32000 × 4096, ids (1, 10) -> X (1, 10, 4096); no copy of the table is needed for the shape."""
    table = torch.zeros(1, 1).expand(32000, 4096)
    assert embedding.lookup(table, torch.full((1, 10), 31999)).shape == (1, 10, 4096)


def test_paired_columns_share_their_exponent() -> None:
    """E18."""
    row = embedding.sinusoidal(2, 4)[1].tolist()
    assert row == pytest.approx([.841471, .540302, .01, .99995], abs=1e-6)
    for fault in ([.841471, .99995, .0001, 1], [.841471, .995004, .01, 1]):  # 2·column, and an exponent for each
        assert max(abs(own - other) for own, other in zip(row, fault, strict=True)) > 4e-5


def test_the_whole_table_equals_the_reference() -> None:
    expected = np.array([reference.sinusoidal(position, 10) for position in range(1000)])
    np.testing.assert_allclose(embedding.sinusoidal(1000, 10).numpy(), expected, atol=1e-7)


@pytest.mark.parametrize(("length", "width"), [(0, 4), (3, 0), (3, 5)])
def test_a_table_without_rows_or_with_half_a_pair_is_refused(length: int, width: int) -> None:
    with pytest.raises(ShapeError) as caught:
        embedding.sinusoidal(length, width)
    assert caught.value.shapes == {"table": (length, width)}
