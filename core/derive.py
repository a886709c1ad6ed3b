"""How a cell came about: one rule per step, and any single cell of it as data.

The rule (operation, operands, contracted axis, constants) is what the equation view receives to write its arithmetic.
A `Cell` holds the very numbers that go into one entry, and its total in float64, so that tests and exercises can
compare what a page writes with something that did not come out of the page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from core import rope
from core.trace import Index, Trace


class Rule(NamedTuple):
    """How `name` is made. `contracted` is the axis that a product sums over; `constants` the fixed numbers in it."""

    name: str
    op: str
    operands: tuple[str, ...]
    contracted: str | None
    constants: dict[str, float]


@dataclass(frozen=True)
class Factor:
    """One number that goes into a cell, and where it stands."""

    name: str
    index: Index
    value: float


@dataclass(frozen=True)
class Cell:
    """One entry of a step. For sums and products it is Σ of the terms, each the product of its factors; for other
    operations (softmax, a norm, an activation) the terms are what the operation read. `total` is computed here in
    float64 from those factors, `value` is what the trace holds."""

    rule: Rule
    index: Index
    terms: tuple[tuple[Factor, ...], ...]
    total: float
    value: float


def rule(trace: Trace, name: str) -> Rule:
    """The rule of a computed tensor. Raises UnknownName for one that was given rather than computed."""
    step = trace.made_by(name)
    how = OPERATIONS[step.op]
    return Rule(name, step.op, step.reads, how.contracted(trace, step.reads), how.constants(trace, name))


def cell(trace: Trace, name: str, index: Index) -> Cell:
    """The numbers behind one entry; `index` is the full index into the tensor, from 0. An edited entry has a value
    that its total does not give: that is what editing a computed number means."""
    how = rule(trace, name)
    terms, total = OPERATIONS[how.op].terms(trace, how, tuple(index))
    return Cell(how, tuple(index), terms, total, float(trace[name][tuple(index)]))


Terms = tuple[tuple[Factor, ...], ...]
_Terms = Callable[[Trace, Rule, Index], tuple[Terms, float]]


def _factor(trace: Trace, name: str, *index: int) -> Factor:
    return Factor(name, index, float(trace[name][index]))


def exact_sum(values: Iterable[float]) -> float:
    """The sum, rounded once. With ∞ or NaN among the values what float64 makes of them: `math.fsum` refuses ∞ − ∞."""
    listed = list(values)
    return math.fsum(listed) if all(map(math.isfinite, listed)) else sum(listed)


def _sum_of_products(terms: Terms) -> tuple[Terms, float]:
    return terms, exact_sum(math.prod(factor.value for factor in term) for term in terms)


def _project(trace: Trace, how: Rule, index: Index) -> tuple[Terms, float]:
    x, w, *bias = how.operands
    *place, column = index
    terms = [(_factor(trace, x, *place, d), _factor(trace, w, d, column)) for d in range(trace[w].shape[0])]
    return _sum_of_products((*terms, *[(_factor(trace, b, column),) for b in bias]))


def _unembed(trace: Trace, how: Rule, index: Index) -> tuple[Terms, float]:
    x, table = how.operands
    *place, token = index
    return _sum_of_products(tuple(
        (_factor(trace, x, *place, d), _factor(trace, table, token, d)) for d in range(trace[table].shape[1])))


def _score(trace: Trace, how: Rule, index: Index) -> tuple[Terms, float]:
    q, k = how.operands
    batch, head, query, key = index
    shared = head // trace.config.group
    return _sum_of_products(tuple(
        (_factor(trace, q, batch, head, query, d), _factor(trace, k, batch, shared, key, d))
        for d in range(trace[q].shape[-1])))


def _mix(trace: Trace, how: Rule, index: Index) -> tuple[Terms, float]:
    weights, v = how.operands
    batch, head, query, column = index
    shared = head // trace.config.group
    return _sum_of_products(tuple(
        (_factor(trace, weights, batch, head, query, key), _factor(trace, v, batch, shared, key, column))
        for key in range(trace[weights].shape[-1])))


def _scale(trace: Trace, how: Rule, index: Index) -> tuple[Terms, float]:
    source = _factor(trace, how.operands[0], *index)
    return ((source,),), source.value / how.constants["divisor"]


def _mask(trace: Trace, how: Rule, index: Index) -> tuple[Terms, float]:
    scaled, mask = how.operands
    size = trace[mask].shape
    at = tuple(0 if n == 1 else i for i, n in zip(index, size, strict=True))
    return _sum_of_products(((_factor(trace, scaled, *index),), (_factor(trace, mask, *at),)))


def _row(trace: Trace, name: str, index: Index) -> list[Factor]:
    return [_factor(trace, name, *index[:-1], i) for i in range(trace[name].shape[-1])]


def _softmax(trace: Trace, how: Rule, index: Index) -> tuple[Terms, float]:
    row = _row(trace, how.operands[0], index)
    top = max(factor.value for factor in row)
    if top == -math.inf:
        return tuple((factor,) for factor in row), 0.0
    total = exact_sum(math.exp(factor.value - top) for factor in row)
    return tuple((factor,) for factor in row), math.exp(row[index[-1]].value - top) / total


def _norm(trace: Trace, how: Rule, index: Index) -> tuple[Terms, float]:
    x, *gains = how.operands
    row = _row(trace, x, index)
    values = [factor.value for factor in row]
    layer = how.op == "norm" and trace.config.norm == "layer"
    mean = exact_sum(values) / len(values) if layer else 0.0
    square = exact_sum((value - mean) ** 2 for value in values) / len(values)
    gain = [_factor(trace, name, index[-1]) for name in gains]
    total = (values[index[-1]] - mean) / (math.sqrt(square + how.constants["eps"]) or 1.0) * gain[0].value
    return (*((factor,) for factor in row), *((g,) for g in gain)), total + sum(g.value for g in gain[1:])


def _split(trace: Trace, how: Rule, index: Index) -> tuple[Terms, float]:
    batch, head, token, d = index
    source = _factor(trace, how.operands[0], batch, token, head * trace.config.head_dim + d)
    return ((source,),), source.value


def _merge(trace: Trace, how: Rule, index: Index) -> tuple[Terms, float]:
    batch, token, column = index
    head, d = divmod(column, trace.config.head_dim)
    source = _factor(trace, how.operands[0], batch, head, token, d)
    return ((source,),), source.value


def _append(trace: Trace, how: Rule, index: Index) -> tuple[Terms, float]:
    """A row before the constant "past" is copied from the cache, a later one was computed now."""
    past, new = how.operands
    batch, head, row, d = index
    cached = int(how.constants["past"])
    source = _factor(trace, past, *index) if row < cached else _factor(trace, new, batch, head, row - cached, d)
    return ((source,),), source.value


def _lookup(trace: Trace, how: Rule, index: Index) -> tuple[Terms, float]:
    table, ids = how.operands
    batch, token, d = index
    source = _factor(trace, table, int(trace[ids][batch, token]), d)
    return ((source,),), source.value


def _rotate(trace: Trace, how: Rule, index: Index) -> tuple[Terms, float]:
    x, positions = how.operands
    config, (batch, head, token, d) = trace.config, index
    width = config.rotary_dim
    if d >= width:
        source = _factor(trace, x, *index)
        return ((source,),), source.value
    adjacent = config.rope_pairing == "adjacent"
    pair, second = (d // 2, bool(d % 2)) if adjacent else (d % (width // 2), d >= width // 2)
    partner = (d ^ 1) if adjacent else (d - width // 2 if second else d + width // 2)
    theta = rope.frequencies(width, config.rope_base, config.rope_scaling)[pair]
    angle = float(rope.angles(trace[positions][batch, token], theta[None])[0])
    sine = math.sin(angle) if second else -math.sin(angle)
    return _sum_of_products((
        (_factor(trace, x, batch, head, token, d), Factor("cos", (token, pair), math.cos(angle))),
        (_factor(trace, x, batch, head, token, partner), Factor("sin", (token, pair), sine))))


def _factors(trace: Trace, how: Rule, index: Index) -> tuple[Factor, ...]:
    return tuple(_factor(trace, name, *index) for name in how.operands)


def _add(trace: Trace, how: Rule, index: Index) -> tuple[Terms, float]:
    return _sum_of_products(tuple((factor,) for factor in _factors(trace, how, index)))


def _multiply(trace: Trace, how: Rule, index: Index) -> tuple[Terms, float]:
    return _sum_of_products((_factors(trace, how, index),))


def _activation(function: Callable[[float], float]) -> _Terms:
    """An activation in float64 scalars, on its own rather than through `core.feed_forward`."""
    def terms(trace: Trace, how: Rule, index: Index) -> tuple[Terms, float]:
        factors = _factors(trace, how, index)
        return (factors,), function(factors[0].value)
    return terms


def _no_axis(trace: Trace, reads: tuple[str, ...]) -> str | None:
    return None


def _no_constants(trace: Trace, name: str) -> dict[str, float]:
    return {}


def _rows_of_weight(trace: Trace, reads: tuple[str, ...]) -> str:
    return trace.axes(reads[1])[0]


def _divisor(trace: Trace, name: str) -> dict[str, float]:
    factor = trace.scales.get(trace.layer_of(name))
    return {"divisor": math.sqrt(trace.config.head_dim) if factor is None else 1.0 / factor}


def _eps(trace: Trace, name: str) -> dict[str, float]:
    return {"eps": trace.config.norm_eps}


def _past(trace: Trace, name: str) -> dict[str, float]:
    return {"past": trace[trace.steps[name].reads[0]].shape[2]}


class Operation(NamedTuple):
    """How an operation's cells come about, the axis it sums over (by what it reads), its constants (by its name)."""

    terms: _Terms
    contracted: Callable[[Trace, tuple[str, ...]], str | None] = _no_axis
    constants: Callable[[Trace, str], dict[str, float]] = _no_constants


OPERATIONS: dict[str, Operation] = {
    "project": Operation(_project, _rows_of_weight),
    "unembed": Operation(_unembed, lambda trace, reads: "D"),
    "score": Operation(_score, lambda trace, reads: "Dh"),
    "mix": Operation(_mix, lambda trace, reads: "Tk"),
    "scale": Operation(_scale, constants=_divisor),
    "mask": Operation(_mask),
    "softmax": Operation(_softmax),
    "norm": Operation(_norm, constants=_eps),
    "head_norm": Operation(_norm, constants=_eps),
    "split_heads": Operation(_split),
    "split_kv_heads": Operation(_split),
    "merge_heads": Operation(_merge),
    "append": Operation(_append, constants=_past),
    "lookup": Operation(_lookup),
    "rotate": Operation(_rotate),
    "add": Operation(_add),
    "copy": Operation(_add),
    "multiply": Operation(_multiply),
    "relu": Operation(_activation(lambda x: max(x, 0.0))),
    "gelu": Operation(_activation(lambda x: 0.5 * x * (1.0 + math.erf(x / math.sqrt(2.0))))),
    "gelu_tanh": Operation(_activation(
        lambda x: 0.5 * x * (1.0 + math.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3))))),
    "silu": Operation(_activation(lambda x: x / (1.0 + math.exp(-x)) if x > -700 else 0.0)),
}


def slice_of(trace: Trace, name: str, batch: int, head: int) -> Tensor:
    """The matrix that a view shows for one batch entry and one query head: rows × columns, float32 on the CPU.

    KV tensors give the head that this query head reads; a mask is broadcast; vectors become one row.
    """
    tensor = trace[name]
    axes = trace.axes(name)
    if axes[0] == "B":
        tensor = tensor[min(batch, tensor.shape[0] - 1)]
        axes = axes[1:]
    if axes[0] in ("H", "Hkv"):
        at = head // trace.config.group if axes[0] == "Hkv" else head
        tensor = tensor[min(at, tensor.shape[0] - 1)]
    matrix = tensor if tensor.ndim == 2 else tensor[None]
    return matrix.detach().float().cpu()


def full_index(trace: Trace, name: str, batch: int, head: int, row: int, column: int) -> Index:
    """The index into the whole tensor of a cell of `slice_of`; a broadcast mask has one entry for all heads."""
    axes, shape = trace.axes(name), trace[name].shape
    lead: list[int] = []
    if axes[0] == "B":
        lead.append(min(batch, shape[0] - 1))
    if len(axes) > 1 and axes[1] in ("H", "Hkv"):
        lead.append(min(head // trace.config.group if axes[1] == "Hkv" else head, shape[1] - 1))
    rest = (row, column) if len(axes) - len(lead) > 1 else (column,)
    return (*lead, *rest)


def rest_of(trace: Trace, name: str, batch: int, head: int, start: int, stop: int) -> tuple[Tensor, Tensor]:
    """What the terms before `start` and those from `stop` on add up to, in every cell of a head's projection or
    context.

    Two (T, Dh) float64 tensors on the CPU, without the bias: with the terms between them and the bias they are q_proj,
    k_proj or v_proj of that head, or of the KV head that it reads; for context, where keys are summed over, A × V.
    """
    left, right = trace.steps[name].reads[:2]
    width = trace.config.head_dim
    place = head if name.endswith("q_proj") else head // trace.config.group
    rows = slice_of(trace, left, batch, head).double()  # (T, D) or (Tq, Tk)
    block = slice_of(trace, right, batch, head).double()  # (D, …) or (Tk, Dh)
    if name.endswith("_proj"):
        block = block[:, place * width:(place + 1) * width]  # (D, Dh)
    return rows[:, :start] @ block[:start], rows[:, stop:] @ block[stop:]
