"""What may be multiplied: the rule for two shapes, axis by axis, and what torch says when they really are multiplied.

The rule is that of `@` in PyTorch and NumPy: the last two axes are rows and columns, the axes before them are batches,
which are equal, or 1 and stretched, or missing in front (D0 §4).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from core import comparison
from core.check import largest_difference
from core.derive import exact_sum
from core.errors import SizeOutOfRange
from core.trace import Trace

LARGEST_SIZE = 32  # of one axis, so that trying is quick
MOST_AXES = 5
MOST_NUMBERS = 2**20  # in an operand, and multiplications in a product

Fit = Literal["equal", "left is stretched", "right is stretched", "only left", "only right", "differ"]
Fault = Literal["inner", "batch", "scalar"]


class BatchAxis(NamedTuple):
    """One batch axis of both operands, as sizes (None where it is missing), how they fit, and the size of the result;
    None where they do not."""

    left: int | None
    right: int | None
    fit: Fit
    result: int | None


class Product(NamedTuple):
    """Whether two shapes may be multiplied, and why or why not.

    `batch` has the batch axes from the first; `inner` the two sizes that must be equal (the left operand's last and the
    right one's last but one, or last if it has only one). `shape` is that of the result, `fault` the first thing that
    does not fit, `products` how many independent matrix products it takes, `multiplications` how many in all.
    `torch_error` is torch's own text from really trying, None when it agreed.
    """

    left: tuple[int, ...]
    right: tuple[int, ...]
    batch: tuple[BatchAxis, ...]
    inner: tuple[int, int] | None
    shape: tuple[int, ...] | None
    fault: Fault | None
    products: int
    multiplications: int
    torch_error: str | None


def product(left: Sequence[int], right: Sequence[int]) -> Product:
    """Decide by the rule, and have torch multiply tensors of these shapes. Raises SizeOutOfRange for more than five
    axes, a size outside 1..32, or shapes whose product would be too large to try."""
    a, b = _checked(left), _checked(right)
    batch = _batch(a[:-2], b[:-2])
    shape: tuple[int, ...] | None = None
    inner = (a[-1], b[-2] if len(b) > 1 else b[0]) if a and b else None
    fault: Fault | None = None
    if inner is None:
        fault = "scalar"
    elif inner[0] != inner[1]:
        fault = "inner"
    elif any(axis.result is None for axis in batch):
        fault = "batch"
    else:
        stretched = tuple(axis.result or 0 for axis in batch)
        shape = (*stretched, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))
        _bounded((*shape, inner[0]))
    products = 0 if shape is None else math.prod(axis.result or 0 for axis in batch)
    work = 0 if shape is None or inner is None else math.prod(shape) * inner[0]
    said = comparison.refusal(lambda: torch.zeros(a) @ torch.zeros(b))
    return Product(a, b, batch, inner, shape, fault, products, work, said)


def _checked(shape: Sequence[int]) -> tuple[int, ...]:
    if len(shape) > MOST_AXES:
        raise SizeOutOfRange("axes", len(shape), 0, MOST_AXES)
    for size in shape:
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= LARGEST_SIZE:
            raise SizeOutOfRange("axis", size, 1, LARGEST_SIZE)
    _bounded(shape)
    return tuple(shape)


def _bounded(shape: Sequence[int]) -> None:
    if math.prod(shape) > MOST_NUMBERS:
        raise SizeOutOfRange("numbers", math.prod(shape), 1, MOST_NUMBERS)


def _batch(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[BatchAxis, ...]:
    pairs = list(itertools.zip_longest(reversed(left), reversed(right)))
    return tuple(_axis(a, b) for a, b in reversed(pairs))


def _axis(left: int | None, right: int | None) -> BatchAxis:
    if left is None or right is None:
        return BatchAxis(left, right, "only right" if left is None else "only left", right if left is None else left)
    if left == right:
        return BatchAxis(left, right, "equal", left)
    if 1 in (left, right):
        return BatchAxis(left, right, "left is stretched" if left == 1 else "right is stretched", max(left, right))
    return BatchAxis(left, right, "differ", None)


def place(found: Product, number: int) -> tuple[int, ...]:
    """The batch indices of the `number`-th of the independent products, counted with the last axis fastest."""
    sizes = [axis.result or 1 for axis in found.batch]
    return tuple(int(i) for i in torch.unravel_index(torch.tensor(number % max(found.products, 1)), sizes)) \
        if sizes else ()


class Term(NamedTuple):
    """One product in a cell: the index of each factor in its operand, and their values."""

    left_index: tuple[int, ...]
    right_index: tuple[int, ...]
    left: float
    right: float


class CellSum(NamedTuple):
    """One cell of left @ right: its terms in the order of the inner axis, their exact sum in float64, and what torch's
    product holds there."""

    at: tuple[int, ...]
    terms: tuple[Term, ...]
    total: float
    value: float


def cell(left: Tensor, right: Tensor, index: Sequence[int]) -> CellSum:
    """How a cell of left (…, m, n) @ right (…, n, p) comes about; where a batch axis is stretched, its only entry is
    read again and again. Both operands have at least two axes."""
    made = left @ right
    *batch, row, column = (int(i) for i in index)
    one, other = (_own(operand, batch) for operand in (left, right))
    places = (((*one, row, i), (*other, i, column)) for i in range(left.shape[-1]))
    terms = tuple(Term(a, b, float(left[a]), float(right[b])) for a, b in places)
    return CellSum((*batch, row, column), terms, exact_sum(term.left * term.right for term in terms),
                   float(made[(*batch, row, column)]))


def _own(operand: Tensor, batch: Sequence[int]) -> tuple[int, ...]:
    """The batch indices of an operand that stand behind those of the result."""
    sizes = operand.shape[:-2]
    used = batch[len(batch) - len(sizes):]
    return tuple(0 if size == 1 else i for size, i in zip(sizes, used, strict=True))


class Slice(NamedTuple):
    """One of the independent products: its batch indices in the result and in each operand, from 0, and the matrices
    left (m, n), right (n, p) and their product (m, p); a vector stands as one row, or on the right as one column."""

    at: tuple[int, ...]
    left_at: tuple[int, ...]
    right_at: tuple[int, ...]
    left: Tensor
    right: Tensor
    product: Tensor


def slice_of(left: Tensor, right: Tensor, found: Product, number: int) -> Slice:
    """The `number`-th product of left and right, whose shapes `found` says fit; the product is that of all together."""
    made, at = left @ right, place(found, number)
    a = left if left.ndim > 1 else left[None]
    b = right if right.ndim > 1 else right[:, None]
    made = made.reshape(*made.shape[:len(at)], a.shape[-2], b.shape[-1])
    left_at, right_at = _own(a, at), _own(b, at)
    return Slice(at, left_at, right_at, a[left_at], b[right_at], made[at])


class Way(NamedTuple):
    """One way to write a product: the code, the shape it gives, or the library's own words."""

    code: str
    shape: tuple[int, ...] | None
    error: str | None


def ways(left: Tensor, right: Tensor) -> tuple[Way, ...]:
    """Each really tried on the same two tensors."""
    tries: dict[str, Callable[[], Tensor | np.ndarray]] = {
        "a @ b": lambda: left @ right, "torch.mm(a, b)": lambda: torch.mm(left, right),
        "torch.bmm(a, b)": lambda: torch.bmm(left, right), "np.matmul(a, b)": lambda: left.numpy() @ right.numpy(),
        "a * b": lambda: left * right, "b @ a": lambda: right @ left, "a @ b.mT": lambda: left @ right.mT}
    return tuple(_tried(code, attempt) for code, attempt in tries.items())


def _tried(code: str, attempt: Callable[[], Tensor | np.ndarray]) -> Way:
    try:
        return Way(code, tuple(attempt().shape), None)
    except (RuntimeError, ValueError) as error:
        return Way(code, None, str(error).splitlines()[0])


def exact_difference(left: Tensor, right: Tensor) -> float:
    """The largest difference between the product in float32 and the same in float64."""
    return largest_difference((left @ right).double(), left.double() @ right.double())


def read_shape(text: str) -> tuple[int, ...] | None:
    """A typed shape, "3, 2" or "[3, 2]", "[]" being a single number; None for anything else. Not checked for size."""
    inside = text.strip().removeprefix("[").removesuffix("]").strip().removesuffix(",")
    parts = [part.strip() for part in inside.split(",")] if inside else []
    if not all(part.isascii() and part.isdecimal() and len(part) <= _DIGITS for part in parts):
        return None
    return tuple(int(part) for part in parts)


_DIGITS = 6


def pair(found: Product, seed: int) -> tuple[Tensor, Tensor]:
    """Numbers for both operands of a product."""
    return numbers(found.left, 2 * seed), numbers(found.right, 2 * seed + 1)


def of_scores(trace: Trace, layer: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The shapes of Q Kᵀ in a trace; None where they are too large to try here, or K has fewer heads than Q."""
    q, k = (trace[name].shape for name in trace.steps[f"blocks.{layer}.scores"].reads)
    shapes = tuple(q), (*k[:-2], k[-1], k[-2])
    return shapes if max(map(max, shapes)) <= LARGEST_SIZE and q[1] == k[1] else None


def numbers(shape: Sequence[int], seed: int) -> Tensor:
    """Small whole numbers, −3 to 3, in a tensor of that shape; the same seed gives the same ones."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-3, 4, _checked(shape), generator=generator).float()
