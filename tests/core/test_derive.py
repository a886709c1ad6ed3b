"""Any cell as data: its factors are entries of the trace, and they give the value that the trace holds.

The totals are recombined here from rule and factors alone, so that what a page writes out is really how the number
came about. Every cell of every computed name is looked at.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from core import derive, steps, worked
from core.cache import KVCache
from core.errors import UnknownName
from core.toy import ToySizes, toy
from core.trace import Trace
from tests.core import reference
from tests.core.test_model import LLAMA3, SIZES, random_decoder, random_ids

RELATIVE = 1e-5

SMALL: dict[str, Any] = {**SIZES, "layers": 1, "vocab": 7, "ffn_width": 3}


def decoder_trace(**choices: Any) -> Trace:
    result = Trace()
    random_decoder(**{**SMALL, **choices})(random_ids(2, 3) % SMALL["vocab"], trace=result)
    return result


def cached_trace(first: int, **choices: Any) -> Trace:
    """The pass that reads what follows the first tokens, which lie in a cache."""
    decoder, ids = random_decoder(**{**SMALL, **choices}), random_ids(2, 5) % SMALL["vocab"]
    cache, result = KVCache(decoder.config, 2, 5), Trace()
    decoder(ids[:, :first], cache=cache)
    decoder(ids[:, first:], cache=cache, trace=result)
    return result


TRACES: dict[str, Callable[[], Trace]] = {
    "single_head": worked.single_head,
    "single_head causal": lambda: worked.single_head("causal"),
    "block": worked.block,
    "block with one KV head": lambda: worked.block(1),
    "toy": lambda: toy(ToySizes(batch=2, tokens=3, width=12, heads=6, kv_heads=2, ffn_width=5, vocab=7, layers=2), 3),
    "toy without positions": lambda: toy(ToySizes(1, 4, 9, 3, 1, 4, 5, 1), 1, positions="rope", ffn="gelu"),
    "biased LayerNorm": lambda: decoder_trace(
        norm="layer", qkv_bias=True, out_bias=True, ffn="gelu_tanh", ffn_bias=True),
    "post-norm": lambda: decoder_trace(norm="layer", norm_place="post", positions="sinusoidal", ffn="relu"),
    "adjacent pairs in part of the head": lambda: decoder_trace(
        rope_pairing="adjacent", head_dim=6, rope_dim=4, qk_norm=True, tied_head=True, rope_scaling=LLAMA3),
    "half pairs in part of the head": lambda: decoder_trace(head_dim=6, rope_dim=4, sliding_window=2),
    "two tokens on top of three cached ones": lambda: cached_trace(3),
    "one token on top of a window": lambda: cached_trace(4, sliding_window=3, kv_heads=1, positions="learned"),
    "rescaled": lambda: worked.block().with_scale(0, 0.3),
}


def product(cell: derive.Cell) -> float:
    return sum(math.prod(factor.value for factor in term) for term in cell.terms)


def values(cell: derive.Cell) -> list[float]:
    assert all(len(term) == 1 for term in cell.terms)
    return [term[0].value for term in cell.terms]


def recombined(cell: derive.Cell, trace: Trace) -> float:
    """The value of a cell from its rule's operation, its constants and its factors."""
    op, constants, last = cell.rule.op, cell.rule.constants, cell.index[-1]
    if op in ("project", "unembed", "score", "mix", "rotate", "multiply", "add", "mask", "copy", "append", "lookup",
              "split_heads", "split_kv_heads", "merge_heads"):
        return product(cell)
    if op == "scale":
        return product(cell) / constants["divisor"]
    if op == "softmax":
        return float(reference.softmax(torch.tensor(values(cell), dtype=torch.float64).numpy())[last])
    if op in ("norm", "head_norm"):
        width = trace[cell.rule.operands[0]].shape[-1]
        row, gains = values(cell)[:width], values(cell)[width:]
        centre = sum(row) / width if op == "norm" and trace.config.norm == "layer" else 0.0
        size = math.sqrt(sum((x - centre) ** 2 for x in row) / width + constants["eps"])
        return (row[last] - centre) / size * gains[0] + sum(gains[1:])
    return reference.ACTIVATIONS[op](values(cell)[0])


def same(a: float, b: float, scale: float) -> bool:
    """Equal within 1e-5 of the numbers that went in: a sum of large terms may be small."""
    return a == b or abs(a - b) <= RELATIVE * max(abs(b), scale)


def test_every_operation_that_a_step_can_have_is_derived() -> None:
    assert set(derive.OPERATIONS) == {*steps.OPERATIONS, "scale"}


@pytest.mark.parametrize("kind", TRACES)
def test_every_cell_is_made_of_what_it_says(kind: str) -> None:
    trace = TRACES[kind]()
    computed = [name for name, step in trace.steps.items() if all(read in trace for read in step.reads)]
    assert {name for name in trace.names() if not trace.is_given(name)} <= set(computed)
    for name in computed:
        rule = derive.rule(trace, name)
        assert (rule.op, rule.operands) == tuple(trace.steps[name])
        for index in itertools.product(*map(range, trace[name].shape)):
            cell = derive.cell(trace, name, index)
            assert cell.value == float(trace[name][index])
            factors = list(itertools.chain(*cell.terms))
            for factor in factors:
                if factor.name not in ("cos", "sin"):
                    assert factor.name in rule.operands
                    assert factor.value == float(trace[factor.name][factor.index]), (name, index, factor)
            scale = max((abs(math.prod(f.value for f in term)) for term in cell.terms), default=0.0)
            assert same(cell.total, cell.value, scale), (name, index, cell)
            assert same(recombined(cell, trace), cell.total, scale * 1e-4), (name, index, cell)


@pytest.mark.parametrize("kind", ["single_head", "block with one KV head", "toy", "biased LayerNorm"])
def test_a_product_runs_over_the_whole_contracted_axis_and_adds_its_bias(kind: str) -> None:
    trace = TRACES[kind]()
    sizes = {**trace.config.sizes, **trace.sizes}
    for name, step in trace.steps.items():
        if name in trace and step.op in ("project", "unembed", "score", "mix"):
            rule, cell = derive.rule(trace, name), derive.cell(trace, name, (0,) * trace[name].ndim)
            assert rule.contracted in trace.axes(step.reads[1]) or rule.contracted == "Tk"
            assert rule.contracted is not None
            biases = len(step.reads) - 2
            assert len(cell.terms) == sizes[rule.contracted] + biases
            assert [len(term) for term in cell.terms] == [2] * sizes[rule.contracted] + [1] * biases


@pytest.mark.parametrize("letter", "qkv")
@pytest.mark.parametrize(("start", "stop"), [(0, 4), (3, 7), (8, 12), (0, 12)])
def test_what_is_left_of_a_sum_before_and_after_a_part_of_it_is_that_of_its_terms(
    letter: str, start: int, stop: int,
) -> None:
    trace = toy(ToySizes(batch=2, tokens=3, width=12, heads=6, kv_heads=2, vocab=7), 3, bias=True)
    name = f"blocks.1.{letter}_proj"
    for head in range(6):
        before, after = derive.rest_of(trace, name, 1, head, start, stop)
        first = 2 * (head if letter == "q" else head // 3)
        for row, column in itertools.product(range(3), range(2)):
            terms = derive.cell(trace, name, (1, row, first + column)).terms
            sums = [math.fsum(math.prod(f.value for f in term) for term in part)
                    for part in (terms[:start], terms[stop:12])]
            assert [float(before[row, column]), float(after[row, column])] == pytest.approx(sums, abs=1e-12)


@pytest.mark.parametrize(("start", "stop"), [(0, 2), (1, 4), (3, 5), (0, 5)])
def test_what_the_unseen_keys_add_to_a_context_is_that_of_its_terms(start: int, stop: int) -> None:
    trace = toy(ToySizes(batch=2, tokens=5, width=12, heads=6, kv_heads=2, vocab=7), 3)
    for head in range(6):
        before, after = derive.rest_of(trace, "blocks.1.context", 1, head, start, stop)
        for row, column in itertools.product(range(5), range(2)):
            terms = derive.cell(trace, "blocks.1.context", (1, head, row, column)).terms
            sums = [math.fsum(math.prod(f.value for f in term) for term in part)
                    for part in (terms[:start], terms[stop:])]
            assert [float(before[row, column]), float(after[row, column])] == pytest.approx(sums, abs=1e-7)


def test_the_cell_that_the_document_writes_out() -> None:
    """D0 §6: K[3,1] = 1×1 + 1×1 = 2, and S[2,3] = (0×2 + 1×1) ÷ √2."""
    trace = worked.single_head()
    cell = derive.cell(trace, "blocks.0.k_proj", (0, 2, 0))
    assert [[(f.name, f.index, f.value) for f in term] for term in cell.terms] == [
        [("blocks.0.in", (0, 2, d), 1.0), ("blocks.0.wk", (d, 0), 1.0)] for d in (0, 1)]
    assert cell.total == 2
    cell = derive.cell(trace, "blocks.0.scores", (0, 0, 1, 2))
    assert [[f.value for f in term] for term in cell.terms] == [[0, 2], [1, 1]]
    assert derive.cell(trace, "blocks.0.scaled", (0, 0, 1, 2)).rule.constants["divisor"] == math.sqrt(2)


def test_each_query_head_derives_from_the_kv_head_of_its_group() -> None:
    trace = TRACES["toy"]()
    for head, shared in enumerate([0, 0, 0, 1, 1, 1]):
        for name, operand in (("scores", "k_rot"), ("context", "v")):
            cell = derive.cell(trace, f"blocks.1.{name}", (1, head, 2, 1))
            read = {f.index[:2] for term in cell.terms for f in term if f.name == f"blocks.1.{operand}"}
            assert read == {(1, shared)}


def test_an_edited_entry_has_a_value_that_its_factors_do_not_give() -> None:
    trace = worked.single_head().edited({"blocks.0.q": {(0, 0, 0, 0): 9.0}})
    cell = derive.cell(trace, "blocks.0.q", (0, 0, 0, 0))
    assert (cell.value, cell.total) == (9, 1)
    after = derive.cell(trace, "blocks.0.scores", (0, 0, 0, 2))
    assert (after.value, after.total) == (18, 18)


@pytest.mark.parametrize("name", ["blocks.0.wq", "mask", "blocks.0.in", "blocks.0.attn_out", "nonsense"])
def test_what_was_given_or_is_not_there_has_no_rule(name: str) -> None:
    with pytest.raises(UnknownName) as caught:
        derive.rule(worked.single_head(), name)
    assert caught.value.name == name


@pytest.mark.parametrize("kind", ["single_head causal", "toy"])
def test_what_was_given_is_not_said_to_be_missing(kind: str) -> None:
    """The message names what is computed, and the tensor asked for is not among it."""
    trace = TRACES[kind]()
    for name in trace.names():
        if name in trace.steps and not trace.is_given(name):
            assert derive.rule(trace, name).name == name
        if name not in trace.steps or any(read not in trace for read in trace.steps[name].reads):
            with pytest.raises(UnknownName) as caught:
                derive.rule(trace, name)
            assert caught.value.given
            assert name not in caught.value.known
            assert all(derive.rule(trace, other).name == other for other in caught.value.known)
            assert "was given" in str(caught.value)
    with pytest.raises(UnknownName) as caught:
        derive.rule(trace, "nonsense")
    assert not caught.value.given
    assert caught.value.known == trace.names()


@pytest.mark.parametrize("kind", ["single_head causal", "block with one KV head", "toy", "biased LayerNorm"])
def test_a_cell_of_a_slice_is_the_cell_of_the_tensor_at_its_full_index(kind: str) -> None:
    """For every name, batch entry and head: the matrix on screen and the index that an edit of it uses."""
    trace = TRACES[kind]()
    batches = trace["blocks.0.in"].shape[0]
    for name, batch, head in itertools.product(trace.names(), range(batches), range(trace.config.heads)):
        matrix = derive.slice_of(trace, name, batch, head)
        assert matrix.ndim == 2
        assert matrix.dtype == torch.float32
        for row, column in itertools.product(*map(range, matrix.shape)):
            index = derive.full_index(trace, name, batch, head, row, column)
            assert float(trace[name][index]) == float(matrix[row, column]), (name, batch, head, row, column)


def test_the_traces_looked_at_contain_every_operation() -> None:
    seen = {step.op for kind in TRACES for step in TRACES[kind]().steps.values()}
    assert seen == {*steps.OPERATIONS, "scale"}
