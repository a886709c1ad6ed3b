"""Several heads: the index map, memory, what each head adds, and torch's own module on the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core import worked
from core.errors import ShapeError
from core.stage import At
from core.stages import heads
from core.stages.heads import index_map, multihead_attention
from core.toy import ToySizes, toy
from core.trace import Trace
from tests.core.test_snippets import decoder_trace, run

TOY = toy(ToySizes(batch=2, tokens=5, width=12, heads=6, kv_heads=2, ffn_width=4, vocab=7, layers=2), 1)
TRACES: dict[str, Callable[[], Trace]] = {
    "single_head": worked.single_head, "block": worked.block, "block with one KV head": lambda: worked.block(1),
    "block without a mask": lambda: worked.block(mask="none"), "toy": lambda: TOY,
    "learned positions, biases": lambda: toy(ToySizes(batch=2, heads=4, kv_heads=2), 3, positions="learned", bias=True),
    "biases and LayerNorm": lambda: decoder_trace(qkv_bias=True, out_bias=True, norm="layer", positions="learned"),
    "head norms, another head width": lambda: decoder_trace(qk_norm=True, head_dim=6, out_bias=True),
}


def test_the_published_case_of_a_view_without_transpose() -> None:
    """D1: arange(12) as (3, 4) in two heads."""
    found = index_map.index_map(3, 2, 2)
    assert found.split.tolist() == [[[0, 1], [4, 5], [8, 9]], [[2, 3], [6, 7], [10, 11]]]
    assert found.viewed.tolist() == [[[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9], [10, 11]]]
    assert found.mixed() == (((0,), (0,), (1,)), ((1,), (2,), (2,)))
    assert found.misplaced() == 8  # the first and the last row stay where they were


@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 5))
def test_the_index_map_says_where_every_number_goes_and_back(tokens: int, count: int, width: int) -> None:
    found = index_map.index_map(tokens, count, width)
    assert torch.equal(found.merged, found.before)
    for token in range(tokens):
        for column in range(count * width):
            place = int(found.before[token, column])
            head, row, d = index_map.after(token, column, width)
            assert (head, row, d) == (column // width, token, column % width)
            assert int(found.split[head, row, d]) == place
            assert int(found.reshaped[token, head, d]) == place
            assert found.origin(place) == (token, column)
    flat = np.arange(tokens * count * width)
    assert np.array_equal(found.viewed.numpy(), flat.reshape(count, tokens, width))
    owners = flat.reshape(count, tokens, width) // (count * width)
    assert found.mixed() == tuple(tuple(tuple(sorted(set(row.tolist()))) for row in head) for head in owners)
    assert (found.misplaced() == 0) == (tokens == 1 or count == 1)


def test_without_tokens_there_is_no_map() -> None:
    with pytest.raises(ShapeError):
        index_map.index_map(0, 2, 2)


def test_the_documents_shapes_in_memory() -> None:
    """D0 §8: [2,4,8] → [2,4,2,4] → [2,2,4,4] and back; only `contiguous` and the last reshape copy."""
    found = index_map.memory(torch.arange(64.0).reshape(2, 4, 8), 2)
    assert [step.shape for step in found.steps] == [(2, 4, 8), (2, 4, 2, 4), (2, 2, 4, 4), (2, 2, 4, 4), (2, 4, 2, 4),
                                                    (2, 4, 8)]
    assert [step.strides for step in found.steps] == [(32, 8, 1), (32, 8, 4, 1), (32, 4, 8, 1), (32, 16, 4, 1),
                                                      (32, 4, 16, 1), (32, 8, 1)]
    assert [step.contiguous for step in found.steps] == [True, True, False, True, False, True]
    assert [step.moved for step in found.steps] == [False, False, False, True, False, True]
    assert found.refused is not None
    assert "view size is not compatible" in found.refused


def test_with_one_head_the_view_agrees() -> None:
    found = index_map.memory(torch.zeros(1, 3, 2), 1)
    assert found.refused is None
    assert not any(step.moved for step in found.steps)


def test_the_documents_large_sizes() -> None:
    """D1 §5: 4096 = 32 × 128; the fused product of §5.3 over 2048 tokens."""
    assert index_map.after(0, 4095, 128) == (31, 0, 127)
    assert index_map.after(7, 128, 128) == (1, 7, 0)
    assert index_map.fused_shapes(1, 2048, 4096, 32, 32, 128) == ((2048, 4096), (4096, 12288), (2048, 12288))
    assert index_map.fused_shapes(2, 4, 8, 2, 2, 4) == ((8, 8), (8, 24), (8, 24))


@pytest.mark.parametrize("letter", ["q", "k", "v"])
@pytest.mark.parametrize("kind", TRACES)
def test_a_block_of_columns_is_a_heads_own_matrix(kind: str, letter: str) -> None:
    trace = TRACES[kind]()
    blocks = index_map.own_blocks(trace, 0, letter)
    assert len(blocks) == (trace.config.heads if letter == "q" else trace.config.kv_heads)
    x = trace[trace.attention_input(0)].double().numpy()
    w = trace[f"blocks.0.w{letter}"].double().numpy()
    b = trace[f"blocks.0.b{letter}"].double().numpy() if f"blocks.0.b{letter}" in trace else np.zeros(w.shape[1])
    for block in blocks:
        columns = slice(block.first, block.first + block.width)
        own = x @ w[:, columns] + b[columns]
        np.testing.assert_allclose(trace[f"blocks.0.{letter}"][:, block.head].numpy(), own, atol=1e-5, rtol=1e-5)
        assert block.difference <= 1e-5


@pytest.mark.parametrize("kind", TRACES)
def test_the_scores_of_one_wide_head_are_the_sum_of_the_heads(kind: str) -> None:
    """Its softmax is one distribution for each query, where H heads have H."""
    trace = TRACES[kind]()
    found = index_map.one_head(trace, 0)
    batch, count, tokens, _ = found.several.shape
    assert found.single.weights.shape == (batch, 1, tokens, tokens)
    assert count == trace.config.heads
    raw = trace["blocks.0.scores"].double().sum(dim=1, keepdim=True)
    torch.testing.assert_close(found.single.raw.double(), raw, atol=1e-4, rtol=1e-5)
    exact = torch.softmax(raw / (count * trace.config.head_dim) ** 0.5 + trace["mask"][:, :1], dim=-1)
    torch.testing.assert_close(found.single.weights.double(), exact, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", [kind for kind in TRACES if kind != "single_head"])
def test_the_parts_of_the_heads_add_up_to_the_output(kind: str) -> None:
    trace = TRACES[kind]()
    for layer in range(trace.config.layers):
        found = index_map.contributions(trace, layer)
        width = trace.config.head_dim
        context, w = trace[f"blocks.{layer}.context"].double().numpy(), trace[f"blocks.{layer}.wo"].double().numpy()
        for head in range(trace.config.heads):
            own = context[:, head] @ w[head * width:(head + 1) * width]
            np.testing.assert_allclose(found.parts[:, head].numpy(), own, atol=1e-5, rtol=1e-4)
        total = np.concatenate(list(np.moveaxis(context, 1, 0)), axis=-1) @ w
        total = total + (found.bias.double().numpy() if found.bias is not None else 0.0)
        np.testing.assert_allclose(found.total.numpy(), total, atol=1e-5, rtol=1e-4)
        assert torch.equal(found.whole, trace[f"blocks.{layer}.attn_out"])
        assert found.difference == float((found.total - found.whole).abs().max()) <= 1e-5 * max(1, abs(total).max())


def test_wo_mixes_heads_and_never_tokens() -> None:
    for trace in (worked.block(), TOY):
        for token in range(trace["blocks.0.concat"].shape[1]):
            assert index_map.rows_moved(trace, 0, token) == [token]


@pytest.mark.parametrize("kind", TRACES)
def test_torchs_module_gives_the_same(kind: str) -> None:
    trace = TRACES[kind]()
    for layer in range(trace.config.layers):
        found = multihead_attention.parity(trace, layer)
        block = f"blocks.{layer}."
        torch.testing.assert_close(found.weights, trace[block + "weights"], atol=1e-6, rtol=1e-5)
        ours = trace[block + ("attn_out" if kind != "single_head" else "concat")]
        torch.testing.assert_close(found.output, ours, atol=1e-5, rtol=1e-5)
        assert found.weights_difference == float((found.weights - trace[block + "weights"]).abs().max())
        assert found.output_difference == float((found.output - ours).abs().max())
        torch.testing.assert_close(found.averaged, found.weights.mean(dim=1), atol=1e-6, rtol=0)
        assert found.empty == 0
        makes = trace.config.positions != "rope" and not trace.config.qk_norm
        assert found.given == ("x" if makes and trace.config.width == trace[block + "wo" if kind != "single_head" else
                                                                       block + "wq"].shape[0] else "qkv")


def test_torchs_module_follows_an_edit() -> None:
    edited = worked.block().edited({"blocks.0.q": {(0, 1, 2, 0): 3.5}})
    found = multihead_attention.parity(edited, 0)
    assert found.given == "qkv"
    torch.testing.assert_close(found.weights, edited["blocks.0.weights"], atol=1e-6, rtol=1e-5)
    assert not torch.allclose(found.weights, worked.block()["blocks.0.weights"])


def test_rows_that_read_nothing_are_counted_and_left_out() -> None:
    mask = torch.zeros(1, 1, 4, 4)
    mask[..., 1, :] = -torch.inf
    found = multihead_attention.parity(worked.block().with_mask(mask), 0)
    assert found.empty == 1
    assert found.weights[0, :, 1].isnan().all()
    assert found.weights_difference < 1e-6
    assert found.output_difference < 1e-5


def test_the_mean_of_the_weights_is_no_heads_weights() -> None:
    """A8: [1, 0] and [0, 1] are returned as [0.5, 0.5]."""
    weights = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert weights.mean(dim=0).tolist() == [.5, .5]
    wrong = heads.MISTAKES["averaged"](At(TOY, 0))
    mean = TOY["blocks.0.weights"].double().mean(dim=1).numpy()
    assert wrong.wrong is not None
    for head in range(6):
        own = mean @ TOY["blocks.0.v"][:, head // 3].double().numpy()
        np.testing.assert_allclose(wrong.wrong[:, head].numpy(), own, atol=1e-6)
    assert wrong.largest(0, 0) > 0.01


def test_the_wrong_view_is_the_same_memory_in_the_right_shape() -> None:
    result = heads.MISTAKES["viewed"](At(TOY, 1))
    q = TOY["blocks.1.q_proj"].numpy()
    assert result.wrong is not None
    assert np.array_equal(result.wrong.numpy(), q.reshape(2, 6, 5, 2))
    assert torch.equal(result.right, TOY["blocks.1.q"])
    back = heads.MISTAKES["unmerged"](At(TOY, 1))
    assert back.wrong is not None
    assert np.array_equal(back.wrong.numpy(), TOY["blocks.1.context"].numpy().reshape(2, 5, 12))
    assert back.largest(0, 0) == float((back.wrong - TOY["blocks.1.concat"])[0].abs().max()) > 0


def test_adding_the_heads_up_does_not_fit_and_loses_them() -> None:
    """D0 §14, error 7: the sum forgets which head said what, so swapping two heads does not change it."""
    result = heads.MISTAKES["added"](At(TOY, 0))
    context, w = TOY["blocks.0.context"].double().numpy(), TOY["blocks.0.wo"].double().numpy()
    assert result.wrong is not None
    np.testing.assert_allclose(result.wrong.numpy(), context.sum(axis=1) @ w[:2], atol=1e-5)
    with pytest.raises(RuntimeError) as caught:
        torch.zeros(2, 5, 2) @ torch.zeros(12, 12)
    assert result.error == str(caught.value)
    assert result.largest(1, 0) > 0.1


def test_without_wo_the_sum_of_one_head_is_the_output() -> None:
    result = heads.MISTAKES["added"](At(worked.single_head()))
    assert result.error is None
    assert torch.equal(result.right, worked.single_head()["blocks.0.concat"])
    assert result.largest(0, 0) == 0


def test_facts_about_heads() -> None:
    found = heads.facts(At(TOY, 0, 1))
    weights = TOY["blocks.0.weights"][1].numpy()
    gaps = {(a, b): np.abs(weights[a] - weights[b]).max() for a in range(6) for b in range(a + 1, 6)}
    assert found.maps == 6
    assert found.furthest == max(gaps, key=gaps.__getitem__)
    assert found.apart == pytest.approx(max(gaps.values()))
    lengths = [np.linalg.norm(TOY["blocks.0.context"][1, h, -1].double().numpy()
                              @ TOY["blocks.0.wo"][2 * h:2 * h + 2].double().numpy()) for h in range(6)]
    assert found.lengths == pytest.approx(lengths, rel=1e-5)
    assert found.loudest == int(np.argmax(lengths))
    one = heads.facts(At(worked.single_head()))
    assert (one.maps, one.furthest, one.apart, one.loudest, one.lengths) == (1, None, 0.0, None, ())


def test_questions_about_columns() -> None:
    asked = [heads.ask(At(TOY), number) for number in range(24)]
    assert {question.column for question in asked} == set(range(12))
    for question in asked:
        assert question.answer == question.column // 2 + 1
        assert heads.judge(At(TOY), question, question.answer, 3) == "right"
        assert heads.judge(At(TOY), question, 99, 3) == "wrong"
    first = asked[0]
    assert (first.column, first.answer) == (2, 2)
    assert heads.judge(At(TOY), first, 3, 3) == "interleaved"
    assert heads.judge(At(TOY), first, 1, 3) == "from_zero"


PROGRAMS: dict[str, Callable[[], Trace]] = {
    **TRACES, "concat edited": lambda: worked.block().edited({"blocks.0.concat": {(0, 1, 2): -0.7}}),
    "output edited": lambda: worked.block(1).edited({"blocks.0.attn_out": {(0, 3, 1): 1 / 3}}),
    "split edited": lambda: TOY.edited({"blocks.1.q": {(1, 5, 4, 1): 2.5}}),
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_the_programs_give_the_pages_numbers(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace: Any = PROGRAMS[kind]()
    for layer in range(trace.config.layers):
        block = f"blocks.{layer}."
        output = run(heads.program(At(trace, layer)), tmp_path, monkeypatch)
        name = "attn_out" if block + "attn_out" in trace else "concat"
        torch.testing.assert_close(output, trace[block + name], atol=1e-6, rtol=1e-5)
        assert torch.equal(run(heads.splitting(At(trace, layer)), tmp_path, monkeypatch), trace[block + "q"])


@pytest.mark.parametrize("kind", TRACES)
def test_the_stages_carry_the_numbers_of_q(kind: str) -> None:
    trace = TRACES[kind]()
    found = index_map.stages(trace["blocks.0.q_proj"][0], trace.config.heads)
    before = trace["blocks.0.q_proj"][0].numpy()
    cut = before.reshape(len(before), trace.config.heads, -1)
    np.testing.assert_array_equal(found.reshaped.numpy(), cut)
    np.testing.assert_array_equal(found.split.numpy(), cut.transpose(1, 0, 2))
    np.testing.assert_array_equal(found.merged.numpy(), before)
    np.testing.assert_array_equal(found.viewed.numpy(), before.reshape(found.split.shape))


@pytest.mark.parametrize("kind", [kind for kind in TRACES if kind != "single_head"])
def test_one_heads_part_and_that_of_the_others_are_the_output(kind: str) -> None:
    trace = TRACES[kind]()
    width, wo = trace.config.head_dim, trace["blocks.0.wo"].double().numpy()
    concat, output = (trace[f"blocks.0.{name}"][0].double().numpy() for name in ("concat", "attn_out"))
    for head in range(trace.config.heads):
        own = slice(head * width, (head + 1) * width)
        found = index_map.added(trace, 0, 0, head)
        np.testing.assert_allclose(found.part.numpy(), concat[:, own] @ wo[own], atol=1e-5)
        np.testing.assert_array_equal(found.block.numpy(), trace["blocks.0.wo"][own].numpy())
        np.testing.assert_allclose(found.part.numpy() + found.others.numpy(), output, atol=1e-5)


def test_what_lies_outside_a_part_of_the_sum() -> None:
    before, after = index_map.outside(TOY, 1, 1, 3, 7)
    concat, wo = TOY["blocks.1.concat"][1].double().numpy(), TOY["blocks.1.wo"].double().numpy()
    np.testing.assert_allclose(before.numpy(), concat[:, :3] @ wo[:3])
    np.testing.assert_allclose(after.numpy(), concat[:, 7:] @ wo[7:])
