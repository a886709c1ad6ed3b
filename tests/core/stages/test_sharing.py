"""Shared KV heads: who reads whose, what the same input gives with fewer of them, and the wrong order."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core import ops, worked
from core.errors import Indivisible, UnknownOption
from core.stage import At
from core.stages import sharing
from core.stages.sharing import shared
from core.toy import ToySizes, toy
from core.trace import Trace
from tests.core import reference
from tests.core.test_snippets import decoder_trace, run
from tests.core.test_worked import NUMBERS

TOY = toy(ToySizes(batch=2, tokens=5, width=12, heads=6, kv_heads=2, ffn_width=4, vocab=7, layers=2), 1)
TRACES: dict[str, Callable[[], Trace]] = {
    "single_head": worked.single_head, "block": worked.block, "block with one KV head": lambda: worked.block(1),
    "block without a mask": lambda: worked.block(mask="none"), "grouped": worked.grouped, "toy": lambda: TOY,
    "biases": lambda: decoder_trace(qkv_bias=True, out_bias=True, norm="layer", positions="learned"),
    "head norms": lambda: decoder_trace(qk_norm=True, rope_pairing="adjacent"),
    "rescaled": lambda: TOY.with_scale(0, 0.3),
}


@pytest.mark.parametrize(("heads", "kv_heads", "expected"), [
    (48, 2, [0] * 24 + [1] * 24), (8, 2, [0, 0, 0, 0, 1, 1, 1, 1]), (9, 3, [0, 0, 0, 1, 1, 1, 2, 2, 2]),
    (4, 4, [0, 1, 2, 3]), (4, 1, [0, 0, 0, 0])])
def test_who_reads_whose(heads: int, kv_heads: int, expected: list[int]) -> None:
    """D6."""
    assert list(shared.read_by(heads, kv_heads)) == expected


@pytest.mark.parametrize(("heads", "kv_heads"), [(33, 2), (3, 2), (4, 0), (0, 1)])
def test_what_cannot_be_shared_out_is_refused(heads: int, kv_heads: int) -> None:
    with pytest.raises(Indivisible):
        shared.read_by(heads, kv_heads)


def test_the_documents_wirings() -> None:
    """D1 §6: 32 query heads with 32, 8 and 1 KV heads; the cache shrinks to 1/4 and 1/32."""
    document = NUMBERS["D1_sharing"]
    heads = document["query_heads"]
    whole = shared.wiring(heads, 32, 128, 2048)
    for kind, count in document["kv_heads"].items():
        found = shared.wiring(heads, count, 128, 2048)
        assert found.kind == kind
        assert found.ratio == Fraction(document["cache_ratio"][kind]) == Fraction(found.cache_bytes, whole.cache_bytes)
        assert found.shape == (1, count, 2048, 128)
        assert found.cache_bytes == 2 * 2048 * count * 128 * 2  # K and V, two bytes a number
    assert shared.wiring(32, 8, 128, 1).readers == tuple(tuple(range(4 * kv, 4 * kv + 4)) for kv in range(8))
    assert shared.wiring(32, 1, 128, 1, dtype=torch.float32).cache_bytes == 2 * 128 * 4


@given(st.integers(1, 48))
def test_every_choice_divides_and_partitions_the_query_heads(heads: int) -> None:
    found = shared.choices(heads)
    assert found[0] == heads
    assert found[-1] == 1
    for count in found:
        wired = shared.wiring(heads, count, 2, 3)
        assert sorted(h for readers in wired.readers for h in readers) == list(range(heads))
        assert all(wired.reads[h] == kv for kv, readers in enumerate(wired.readers) for h in readers)


@pytest.mark.parametrize("way", shared.WAYS)
@pytest.mark.parametrize("kind", TRACES)
def test_fewer_kv_heads_on_the_same_input(kind: str, way: str) -> None:
    """Against attention worked out score by score on K and V pooled here."""
    trace = TRACES[kind]()
    config = trace.config
    visible = np.broadcast_to((trace["mask"] == 0).numpy()[:, 0],
                              (trace["blocks.0.v"].shape[0], *trace["mask"].shape[-2:]))
    for count in shared.choices(config.heads):
        found = shared.share(trace, 0, count, way)  # type: ignore[arg-type]
        assert found.trace["blocks.0.k"].shape[1] == count
        k_v = {}
        for name in ("k", "v"):
            own = trace[f"blocks.0.{name}"].double().numpy()
            spread = np.stack([own[:, h // config.group] for h in range(config.heads)], axis=1)
            groups = spread.reshape(own.shape[0], count, -1, *own.shape[2:])
            k_v[name] = groups.mean(axis=2) if way == "mean" else groups[:, :, 0]
            np.testing.assert_allclose(found.trace[f"blocks.0.{name}"].numpy(), k_v[name], atol=1e-6)
        q, k = trace[trace.steps["blocks.0.scores"].reads[0]].double().numpy(), k_v["k"]
        if config.qk_norm:
            gain = trace["blocks.0.k_gamma"].double().numpy()
            k = reference.per_token(lambda row, g=gain: reference.rms_norm(row, g, config.norm_eps), k)
        if config.positions == "rope":
            theta = reference.thetas(config.rotary_dim, config.rope_base)
            k = reference.rotate_all(k, trace["positions"].numpy(), theta, config.rope_pairing)
        factor = trace.scales.get(0, config.head_dim ** -0.5) * config.head_dim ** 0.5
        expected = reference.attention(q * (factor if kind == "rescaled" else 1.0), k, k_v["v"], visible)
        if kind != "rescaled":
            np.testing.assert_allclose(found.trace["blocks.0.scores"].numpy(), expected["scores"], atol=2e-5)
        np.testing.assert_allclose(found.trace["blocks.0.context"].numpy(), expected["context"], atol=1e-5)
        assert found.wiring.cache_bytes == found.trace["blocks.0.k"].nbytes + found.trace["blocks.0.v"].nbytes
        assert found.wiring.shape == tuple(found.trace["blocks.0.v"].shape)
        if count % config.kv_heads == 0:  # copies of what is there already
            assert found.change == ("none" if count == config.kv_heads else "copied")
            assert found.difference < 1e-6
        else:
            assert found.difference > 1e-3


def test_with_its_own_number_nothing_changes_not_even_edits() -> None:
    edited = TOY.edited({"blocks.1.weights": {(0, 3, 2, 1): 0.9}, "blocks.1.k_rot": {(1, 1, 0, 0): 2.0}})
    found = shared.share(edited, 1, 2)
    assert found.difference == 0
    for name in ("q_rot", "k_rot", "v", "weights", "context", "attn_out"):
        assert torch.equal(found.trace[f"blocks.0.{name}"], edited[f"blocks.1.{name}"])


def test_pooled_matrices_give_the_pooled_heads() -> None:
    """K and V are linear in their matrices: pooling the columns of WK, or the heads of K, is the same."""
    trace = worked.block()
    wk = trace["blocks.0.wk"].reshape(4, 2, 2).mean(dim=1)  # (D, Dh): one head
    x = trace[trace.attention_input(0)]
    torch.testing.assert_close(shared.pool(trace["blocks.0.k"], 2, 1)[:, 0], x @ wk)


@pytest.mark.parametrize("count", [4, 2, 1])
def test_the_worked_example_with_fewer_kv_heads_is_what_the_switch_makes_of_it(count: int) -> None:
    """Written down with that many KV heads, or brought down to them here: one and the same layer."""
    found, own = shared.share(worked.grouped(), 0, count).trace, worked.grouped(count)  # type: ignore[arg-type]
    for name in ("q", "k", "v", "weights", "context", "attn_out"):
        torch.testing.assert_close(found[f"blocks.0.{name}"], own[f"blocks.0.{name}"])


@pytest.mark.parametrize(("own", "count", "expected"), [
    (4, 4, "none"), (4, 2, "pooled"), (2, 4, "copied"), (1, 4, "copied"), (2, 3, "pooled"), (3, 9, "copied")])
def test_what_happens_to_the_kv_heads(own: int, count: int, expected: str) -> None:
    assert shared.change(own, count) == expected


def test_another_way_of_pooling_is_refused() -> None:
    with pytest.raises(UnknownOption):
        shared.pool(torch.zeros(1, 2, 1, 1), 2, 1, "last")  # type: ignore[arg-type]


@given(st.integers(0, 2**31))
def test_one_k_does_not_make_heads_equal(seed: int) -> None:
    """D1 §6.2: the queries differ, so the weights do; equal queries would give equal weights."""
    generator = torch.Generator().manual_seed(seed)
    q, k = torch.randn(1, 4, 3, 4, generator=generator), torch.randn(1, 1, 3, 4, generator=generator)
    weights = ops.attend(q, k, k).weights[0]
    assert not torch.allclose(weights[0], weights[1])
    same = ops.attend(q[:, :1].expand(-1, 4, -1, -1), k, k).weights[0]
    torch.testing.assert_close(same[0], same[3])


def test_the_wrong_order_of_copies() -> None:
    """D3: four query heads, two KV heads with values 10 and 20."""
    found = sharing.copies(4, 2)
    values = torch.tensor([10, 20])
    assert values[list(found.right)].tolist() == [10, 10, 20, 20]
    assert values[list(found.tiled)].tolist() == [10, 20, 10, 20]
    assert found.wrong == (1, 2)
    for count in (1, 4):
        assert sharing.copies(4, count).wrong == ()


def test_the_wrong_order_gives_heads_the_values_of_others() -> None:
    result = sharing.MISTAKES["tiled"](At(TOY))
    assert result.wrong is not None
    q, k, v = (TOY[f"blocks.0.{name}"].double().numpy() for name in ("q_rot", "k_rot", "v"))
    visible = np.tril(np.ones((2, 5, 5), dtype=bool))
    order = [0, 1, 0, 1, 0, 1]
    expected = reference.attention(q, k[:, order], v[:, order], visible)["context"]
    np.testing.assert_allclose(result.wrong.numpy(), expected, atol=1e-6)
    wrong = sharing.copies(6, 2).wrong
    assert [h for h in range(6) if result.largest(0, h) > 1e-4] == list(wrong)
    assert sharing.MISTAKES["tiled"](At(worked.block())).largest(0, 0) == 0


def test_facts_about_sharing() -> None:
    found = sharing.facts(At(TOY, 0, 1, 4))
    weights = TOY["blocks.0.weights"][1].numpy()
    gaps = {(a, b): np.abs(weights[a] - weights[b]).max() for a, b in ((3, 4), (3, 5), (4, 5))}
    assert (found.kv_head, found.readers) == (1, (3, 4, 5))
    assert found.furthest == max(gaps, key=gaps.__getitem__)
    assert found.apart == pytest.approx(max(gaps.values()))
    assert (found.numbers, found.of) == (2 * 2 * 2, 2 * 6 * 2)
    alone = sharing.facts(At(worked.block(), head=1))
    assert (alone.readers, alone.furthest, alone.apart) == ((1,), None, 0.0)


def test_questions_about_kv_heads() -> None:
    def layer(kv_heads: int) -> At:
        return At(toy(ToySizes(batch=1, tokens=2, width=16, heads=8, kv_heads=kv_heads, layers=1), 1))

    for number in range(8):
        asked = sharing.ask(layer(2), number)
        assert asked.answer == asked.row // 4 + 1
        assert sharing.judge(layer(2), asked, asked.answer, 3) == "right"
        assert sharing.judge(layer(2), asked, 5, 3) == "wrong"
    first = sharing.ask(layer(4), 0)
    assert (first.row, first.answer) == (4, 3)
    assert sharing.judge(layer(4), first, 1, 3) == "tiled"
    assert sharing.judge(layer(4), first, 2, 3) == "from_zero"


def test_the_program_follows_an_edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edited = TOY.edited({"blocks.1.weights": {(0, 3, 2, 1): 0.9}})
    result = run(sharing.program(At(edited, 1)), tmp_path, monkeypatch)
    torch.testing.assert_close(result, edited["blocks.1.context"], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", TRACES)
def test_the_program_gives_the_pages_numbers(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = TRACES[kind]()
    result = run(sharing.program(At(trace, 0)), tmp_path, monkeypatch)
    torch.testing.assert_close(result, trace["blocks.0.context"], atol=1e-5, rtol=1e-5)
    fewer = shared.share(trace, 0, 1).trace
    result = run(sharing.program(At(fewer, 0)), tmp_path, monkeypatch)
    torch.testing.assert_close(result, fewer["blocks.0.context"], atol=1e-5, rtol=1e-5)
