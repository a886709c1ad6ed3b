"""What may be multiplied: the rule against torch and NumPy, torch's own words, batches, one cell."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core import worked
from core.errors import SizeOutOfRange
from core.stage import At
from core.stages import matmul
from core.stages.matmul import product
from core.toy import ToySizes, toy
from tests.core.test_snippets import run

shapes = st.lists(st.sampled_from([1, 2, 3]), max_size=4).map(tuple)
ANYWHERE = At(worked.single_head())  # the operands are given


def test_the_documents_examples() -> None:
    """D0 §4.1: [3,2] × [2,4] = [3,4]; [3,2] × [3,4] cannot be, since 2 is not 3."""
    good = product.product([3, 2], [2, 4])
    assert (good.shape, good.fault, good.inner, good.torch_error) == ((3, 4), None, (2, 2), None)
    assert (good.products, good.multiplications) == (1, 24)
    bad = product.product([3, 2], [3, 4])
    assert (bad.shape, bad.fault, bad.inner) == (None, "inner", (2, 3))
    with pytest.raises(RuntimeError) as caught:
        torch.zeros(3, 2) @ torch.zeros(3, 4)
    assert bad.torch_error == str(caught.value)
    assert "3x2 and 3x4" in bad.torch_error


def test_the_documents_heads() -> None:
    """D0 §4.2 and §8: B·H independent products [T,Dh] × [Dh,T]; with T = Dh = 4 all three shapes look the same."""
    found = product.product([2, 2, 4, 4], [2, 2, 4, 4])
    assert found.shape == (2, 2, 4, 4)
    assert found.products == 4
    assert [product.place(found, number) for number in range(4)] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    unequal = product.product([2, 8, 5, 4], [2, 1, 4, 5])
    assert unequal.shape == (2, 8, 5, 5)
    assert [axis.fit for axis in unequal.batch] == ["equal", "right is stretched"]


@settings(max_examples=400)
@given(shapes, shapes)
def test_the_rule_is_torchs_and_numpys(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    found = product.product(left, right)
    try:
        expected = np.matmul(np.zeros(left), np.zeros(right)).shape
    except ValueError:
        expected = None
    assert found.shape == expected
    assert (found.torch_error is None) == (expected is not None) == (found.fault is None)
    if expected is None:
        assert (found.products, found.multiplications) == (0, 0)
        with pytest.raises(RuntimeError) as caught:
            torch.zeros(left) @ torch.zeros(right)
        assert found.torch_error == str(caught.value)
    else:
        assert tuple((torch.zeros(left) @ torch.zeros(right)).shape) == expected
        assert found.multiplications == int(np.prod(expected)) * left[-1]
        assert found.products == int(np.prod([axis.result for axis in found.batch]))
        places = [product.place(found, number) for number in range(found.products)]
        assert places == list(itertools.product(*(range(axis.result or 0) for axis in found.batch)))


@pytest.mark.parametrize(("left", "right", "fit", "result"), [
    (3, 3, "equal", 3), (1, 3, "left is stretched", 3), (3, 1, "right is stretched", 3), (1, 1, "equal", 1),
    (2, 3, "differ", None)])
def test_batch_axes(left: int, right: int, fit: str, result: int | None) -> None:
    found = product.product([left, 2, 2], [right, 2, 2])
    assert found.batch == ((left, right, fit, result),)
    assert found.fault == (None if result else "batch")


def test_missing_batch_axes() -> None:
    assert product.product([2, 3, 4, 5], [5, 6]).batch == ((2, None, "only left", 2), (3, None, "only left", 3))
    assert product.product([4, 5], [3, 5, 6]).batch == ((None, 3, "only right", 3),)
    assert product.product([], [2]).fault == "scalar"
    assert product.product([3], [3]).shape == ()


@pytest.mark.parametrize(("left", "right"), [([33, 2], [2, 2]), ([0, 2], [2, 2]), ([1] * 6, [1]), ([32] * 5, [1]),
                                             ([32, 32, 32, 1, 32], [32, 32]), ([True, 2], [2, 2])])
def test_what_is_too_large_to_try_is_refused(left: list[int], right: list[int]) -> None:
    with pytest.raises(SizeOutOfRange):
        product.product(left, right)


@given(st.integers(0, 99), st.sampled_from([((3, 2), (2, 4)), ((2, 3, 2, 4), (3, 4, 2)), ((2, 1, 2, 3), (2, 2, 3, 1)),
                                            ((1, 2, 2), (3, 2, 2))]), st.data())
def test_one_cell(seed: int, sizes: tuple[tuple[int, ...], tuple[int, ...]], data: st.DataObject) -> None:
    left, right = (product.numbers(size, seed + n) for n, size in enumerate(sizes))
    made = np.matmul(left.double().numpy(), right.double().numpy())
    index = tuple(data.draw(st.integers(0, size - 1)) for size in made.shape)
    found = product.cell(left, right, index)
    assert found.at == index
    assert found.total == found.value == made[index]
    wide = [np.broadcast_to(x.numpy(), (*made.shape[:-2], *x.shape[-2:])) for x in (left, right)]
    for i, term in enumerate(found.terms):
        assert (term.left, term.right) == (wide[0][(*index[:-1], i)], wide[1][(*index[:-2], i, index[-1])])
        assert (left[term.left_index], right[term.right_index]) == (term.left, term.right)


def test_numbers_are_small_whole_and_repeatable() -> None:
    one = product.numbers((4, 5), 3)
    assert torch.equal(one, product.numbers((4, 5), 3))
    assert not torch.equal(one, product.numbers((4, 5), 4))
    assert (one == one.round()).all()
    assert one.abs().max() <= 3
    with pytest.raises(SizeOutOfRange):
        product.numbers((33,), 0)


def test_questions_about_cells() -> None:
    operands = torch.tensor([[1.0, 2], [3, 4]]), torch.tensor([[5.0, 6], [7, 8]])
    asked = [matmul.ask_cell(ANYWHERE, number, operands=operands) for number in range(4)]
    assert [(a.row, a.column, a.answer) for a in asked] == [(1, 0, 43), (1, 1, 50), (0, 0, 19), (0, 1, 22)]
    first = asked[0]
    for answer, verdict in ((43, "right"), (22, "swapped"), (15, "first_term"), (-43, "sign"), (1, "wrong")):
        assert matmul.judge_cell(ANYWHERE, first, answer, 3, operands=operands) == verdict


def test_questions_about_sizes() -> None:
    operands = product.numbers((2, 3, 4), 0), product.numbers((4, 5), 0)
    asked = matmul.ask_shape(ANYWHERE, 0, operands=operands)
    assert asked is not None
    assert asked.answer == 30
    for answer, verdict in ((30, "right"), (120, "inner"), (20, "wrong")):
        assert matmul.judge_shape(ANYWHERE, asked, answer, 3, operands=operands) == verdict
    unfit = product.numbers((3, 2), 0), product.numbers((3, 4), 0)
    assert matmul.ask_shape(ANYWHERE, 0, operands=unfit) is None


@pytest.mark.parametrize("sizes", [((3, 2), (2, 4)), ((2, 1, 2, 3), (2, 2, 3, 1)), ((32, 32), (32, 32)),
                                   ((3, 2), (3, 4))])
def test_the_program(sizes: tuple[tuple[int, ...], tuple[int, ...]], tmp_path: Path,
                     monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = (product.numbers(size, n) for n, size in enumerate(sizes))
    result = run(matmul.program(ANYWHERE, operands=(left, right)), tmp_path, monkeypatch)
    found = product.product(*sizes)
    assert result == found.torch_error if found.fault else torch.equal(result, left @ right)


@pytest.mark.parametrize("name", worked.SHAPES)
def test_the_slices_of_a_case_are_numpys(name: str) -> None:
    found = product.product(*worked.SHAPES[name])
    left, right = product.pair(found, 3)
    if found.shape is None:
        assert found.torch_error
        return
    wanted = np.matmul(left.double().numpy(), right.double().numpy())
    for number in range(found.products):
        part = product.slice_of(left, right, found, number)
        np.testing.assert_array_equal(part.product.numpy(), wanted[part.at])
        np.testing.assert_array_equal((part.left.double() @ part.right.double()).numpy(), wanted[part.at])
        assert torch.equal(part.left, left[part.left_at])
        assert torch.equal(part.right, right[part.right_at])


@pytest.mark.parametrize("shapes", [((3,), (3,)), ((2, 3), (3,)), ((3,), (2, 3, 4))])
def test_a_vector_stands_as_a_row_or_a_column(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    found = product.product(*shapes)
    left, right = product.pair(found, 0)
    part = product.slice_of(left, right, found, 0)
    made = np.matmul(left.numpy(), right.numpy())
    np.testing.assert_array_equal(part.product.numpy().reshape(-1), made[part.at].reshape(-1))
    assert part.left.shape[-1] == part.right.shape[-2] == 3


def test_every_way_is_really_tried() -> None:
    left, right = product.numbers((3, 2), 0), product.numbers((2, 4), 1)
    found = {way.code: way for way in product.ways(left, right)}
    assert found["a @ b"].shape == found["torch.mm(a, b)"].shape == found["np.matmul(a, b)"].shape == (3, 4)
    for code, attempt in (("a * b", lambda: left * right), ("torch.bmm(a, b)", lambda: torch.bmm(left, right)),
                          ("b @ a", lambda: right @ left), ("a @ b.mT", lambda: left @ right.mT)):
        with pytest.raises(RuntimeError) as caught:
            attempt()
        assert found[code] == (code, None, str(caught.value).splitlines()[0])


@pytest.mark.parametrize(("text", "shape"), [
    ("3, 2", (3, 2)), ("[3,2]", (3, 2)), (" [ 2 ,4 , 8 ] ", (2, 4, 8)), ("7", (7,)), ("[7,]", (7,)), ("[]", ()),
    ("", ()), ("3;2", None), ("a,b", None), ("3,,2", None), ("-1,2", None), ("1.5,2", None), ("٣,2", None),
    ("9999999,1", None),
])
def test_typed_shapes(text: str, shape: tuple[int, ...] | None) -> None:
    assert product.read_shape(text) == shape


def test_the_difference_from_float64() -> None:
    left, right = product.numbers((4, 5), 0), product.numbers((5, 3), 1)
    assert product.exact_difference(left, right) == 0  # small whole numbers
    left = left / 3
    wanted = np.abs(np.float64(left.numpy() @ right.numpy()) - left.double().numpy() @ right.double().numpy()).max()
    assert product.exact_difference(left, right) == pytest.approx(wanted, abs=1e-7)


def test_the_scores_of_a_trace_as_shapes() -> None:
    assert product.of_scores(worked.block(2), 0) == ((1, 2, 4, 2), (1, 2, 2, 4))
    assert product.of_scores(worked.block(1), 0) is None  # one KV head for two query heads is no plain product


@pytest.mark.parametrize("kind", matmul.MISTAKES)
def test_slips_are_carried_out(kind: str) -> None:
    left, right = product.numbers((3, 3), 0), product.numbers((3, 3), 1)
    found = matmul.MISTAKES[kind](ANYWHERE, operands=(left, right))
    a, b = left.numpy(), right.numpy()
    wrong = {"reshaped": a @ np.ascontiguousarray(b.T).reshape(3, 3), "swapped": b @ a, "star": a * b}[kind]
    assert found.wrong is not None
    assert found.difference is not None
    np.testing.assert_array_equal(found.wrong.numpy(), wrong)
    np.testing.assert_array_equal(found.difference.numpy(), wrong - a @ b)
    left, right = product.numbers((3, 2), 0), product.numbers((2, 4), 1)
    assert (matmul.MISTAKES[kind](ANYWHERE, operands=(left, right)).error is None) == (kind == "reshaped")


def test_without_other_operands_it_is_the_head_that_is_looked_at() -> None:
    at = At(worked.block(1), head=1)
    q, k = (at.trace[f"blocks.0.{name}"][0] for name in "qk")
    left, right = matmul.of_head(at)
    assert torch.equal(left, q[1])
    assert torch.equal(right, k[0].mT)
    assert matmul.facts(at).shape == (4, 4)
    wide = At(toy(ToySizes(tokens=2, width=64, heads=1, kv_heads=1)))
    assert [tensor.shape for tensor in matmul.of_head(wide)] == [(2, 32), (32, 2)]
