"""The projections stage: one X, three roles; parameters stay, activations follow the input."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from core import derive, ops
from core.comparison import Comparison, compare, refusal
from core.layouts import head_columns, merged, weights_of
from core.programs import Program, edited_lines, program_of
from core.questions import BY_HAND, CLOSE, Question, Verdict, equal
from core.stage import At, CarriedOut, Questions
from core.stages.projections.fused import by_head, unfuse
from core.trace import Trace


class ProjectionFacts(NamedTuple):
    """About one head's projections: which of Q, K, V have the identity for a matrix and so equal the input, which pairs
    of them equal each other, which KV head is read and how many query heads share it."""

    identity: list[str]
    same: list[tuple[str, str]]
    kv_head: int
    group: int


def facts(at: At) -> ProjectionFacts:
    """Facts about Q, K and V of one batch entry and query head, as data."""
    x = derive.slice_of(at.trace, at.trace.attention_input(at.layer), *at.slice)
    made = {letter: derive.slice_of(at.trace, at.block + letter, *at.slice) for letter in "qkv"}
    return ProjectionFacts(
        [letter for letter, matrix in made.items() if torch.equal(matrix, x) and _is_identity(
            _of_head(at.trace, f"{at.block}w{letter}", *at.slice))],
        [(a, b) for a, b in itertools.combinations("qkv", 2) if torch.equal(made[a], made[b])],
        at.head // at.trace.config.group, at.trace.config.group)


def _is_identity(matrix: Tensor) -> bool:
    return matrix.shape[0] == matrix.shape[1] and torch.equal(matrix, torch.eye(matrix.shape[0]))


class Part(NamedTuple):
    """A tensor of the projections as one head sees it: its trace name, whether it is a parameter (the others follow
    the input), its rows and columns, and how many of its numbers differ from those before any edit."""

    name: str
    parameter: bool
    shape: tuple[int, int]
    changed: int

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)


def parts(at: At) -> list[Part]:
    """X, the matrices and biases, and Q, K, V of one head, with what the learner's edits have moved."""
    trace, block = at.trace, at.block
    before = trace.unedited() if trace.edits else trace
    names = [trace.attention_input(at.layer), *(f"{block}{kind}{letter}" for kind in "wb" for letter in "qkv"),
             *(block + letter for letter in "qkv")]
    found = []
    for name in names:
        if name in trace:
            now, then = (_of_head(one, name, *at.slice) for one in (trace, before))
            rows, columns = now.shape
            found.append(Part(name, _is_parameter(name), (rows, columns), int((now != then).sum())))
    return found


def _of_head(trace: Trace, name: str, batch: int, head: int) -> Tensor:
    matrix = derive.slice_of(trace, name, batch, head)
    if not _is_parameter(name):
        return matrix
    first, count = head_columns(trace, name, head)
    return matrix[:, first:first + count]


def _is_parameter(name: str) -> bool:
    return name.rsplit(".", 1)[-1][0] in "wb"


def _transposed(at: At, *, letter: str = "k") -> Comparison:
    """Q, K or V by Wᵀ in place of W (case A5)."""
    x, w, b, heads = _operands(at, letter)
    if w.shape[0] != w.shape[1]:
        return Comparison(merged(x, w, b, heads), None, None, None, refusal(lambda: x[0] @ w.mT))
    return compare(merged(x, w, b, heads), merged(x, w.mT, b, heads))


def _stale(at: At, *, letter: str = "k") -> Comparison:
    """The projection taken for something fixed: the tokens are put in reverse order, and the old one is kept."""
    x, w, b, heads = _operands(at, letter)
    return compare(merged(x.flip(-2), w, b, heads), merged(x, w, b, heads))


def _fused_order(at: At, *, letter: str = "k") -> Comparison:
    """The fused matrix stored head by head and cut as if all heads of Q came first, then K, then V (case A7)."""
    config = at.trace.config
    matrices, biases = weights_of(at.trace, at.layer)
    stored, bias = (by_head(parameters, config.kv_heads) for parameters in (matrices, biases))
    assert stored is not None
    x, w, b, heads = _operands(at, letter)
    cut = unfuse(ops.project(x, stored, bias), config.heads, config.kv_heads)
    return compare(merged(x, w, b, heads), cut["qkv".index(letter)])


def _operands(at: At, letter: str) -> tuple[Tensor, Tensor, Tensor | None, int]:
    """X (B, T, D), the matrix (D, heads·Dh), the bias (heads·Dh) if there is one, and the number of heads of a role.
    """
    config = at.trace.config
    _matrices, biases = weights_of(at.trace, at.layer)
    bias: Tensor | None = getattr(biases, letter)
    return (at.trace[at.trace.attention_input(at.layer)], at.trace[f"{at.block}w{letter}"], bias,
            config.heads if letter == "q" else config.kv_heads)


MISTAKES: Mapping[str, CarriedOut] = {"transposed": _transposed, "stale": _stale, "fused_order": _fused_order}


_ORDER = "kvq"  # in the first example Q = X, so it is asked for last


def ask(at: At, number: int) -> Question:
    """The `number`-th question about the projections of a head: K, V and Q in turn, walking over their cells from the
    last row up; where D is too large to sum by hand, how many numbers the head's matrix holds."""
    letter = _ORDER[number % len(_ORDER)]
    config = at.trace.config
    if config.width > BY_HAND:
        return Question("numbers", 0, 0, 0.0, float(config.width * config.head_dim), letter)
    matrix = derive.slice_of(at.trace, at.block + letter, *at.slice)
    rows, columns = matrix.shape
    places = [(r, c) for r in reversed(range(rows)) for c in range(columns)]
    row, column = places[(number // len(_ORDER) + number) % len(places)]
    value = float(matrix[row, column])
    return Question("value", row, column, value, value, letter)


def judge(at: At, question: Question, answer: float, decimals: int) -> Verdict:
    """Whether an answer is right, or which slip would give it: the matrix of another role, the bias left out, Wᵀ in
    place of W, the sign lost, digits missing; of a count, all heads in place of one."""
    if question.kind == "numbers":
        every = at.trace[f"{at.block}w{question.of}"].numel()
        return "right" if answer == question.answer else "all_heads" if answer == every else "wrong"
    if equal(answer, question.answer, decimals):
        return "right"
    for verdict, value in _slips(at, question):
        if equal(answer, value, decimals):
            return verdict
    return "close" if math.isclose(answer, question.answer, rel_tol=CLOSE) else "wrong"


def _slips(at: At, question: Question) -> Iterator[tuple[Verdict, float]]:
    """What each slip would give, in the order in which they are looked for."""
    cell, config = (question.row, question.column), at.trace.config
    place = at.head if question.of == "q" else at.head // config.group
    if config.qkv_bias:
        bias = at.trace[f"{at.block}b{question.of}"][place * config.head_dim + question.column]
        yield "no_bias", question.answer - float(bias)
    for letter in "qkv":
        if letter != question.of:
            yield "other_role", float(derive.slice_of(at.trace, at.block + letter, *at.slice)[cell])
    transposed = _transposed(at, letter=question.of).wrong
    if transposed is not None:
        yield "transposed", float(transposed[at.batch, place][cell])
    yield "sign", -question.answer


QUESTIONS: Mapping[str, Questions] = {"projection": Questions(ask, judge)}


def program(at: At) -> Program:
    """From X to Q, K and V, one head after the other in `result` (B, H + 2·Hkv, T, Dh), before any rotation: with one
    fused product, as real code does it."""
    trace, block, config = at.trace, at.block, at.trace.config
    letters = ("q", "k", "v")
    inputs = {"x": trace[trace.attention_input(at.layer)]}
    inputs |= {f"{kind}{letter}": trace[f"{block}{kind}{letter}"] for kind in "wb" for letter in letters
               if f"{block}{kind}{letter}" in trace}
    q, kv = config.heads * config.head_dim, config.kv_heads * config.head_dim
    body = ["# x (B, T, D), wq (D, H·Dh), wk and wv (D, Hkv·Dh)",
            "w = torch.cat((wq, wk, wv), dim=1)  # (D, (H + 2·Hkv)·Dh): one product for all three"]
    if config.qkv_bias:
        body.append("b = torch.cat((bq, bk, bv))")
    body.append(f"q, k, v = (x @ w{' + b' if config.qkv_bias else ''}).split([{q}, {kv}, {kv}], dim=-1)")
    for letter in letters:
        body += edited_lines(trace, f"{block}{letter}_proj", letter)
    for letter, heads, axis in (("q", config.heads, "H"), ("k", config.kv_heads, "Hkv"), ("v", config.kv_heads, "Hkv")):
        body.append(f"{letter} = {letter}.unflatten(-1, ({heads}, {config.head_dim})).transpose(1, 2)"
                    f"  # (B, {axis}, T, Dh)")
        cells = edited_lines(trace, block + letter, letter)
        body += [f"{letter} = {letter}.clone()", *cells] if cells else []
    body += ["result = torch.cat((q, k, v), dim=1)  # every head, Q before K before V", "print(result)"]
    return program_of("projections", inputs, body)
