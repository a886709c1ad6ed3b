"""Attention and order: equivariant without mask and positions, broken by either, and where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core import worked
from core.errors import UnknownOption
from core.stage import At
from core.stages import order
from core.stages.order import reorder
from core.toy import ToySizes, toy
from core.trace import Trace
from tests.core import reference
from tests.core.test_snippets import decoder_trace, run

SIZES = ToySizes(batch=2, tokens=5, width=12, heads=6, kv_heads=2, ffn_width=4, vocab=7, layers=2)
TRACES: dict[str, Callable[[], Trace]] = {
    "word_order": worked.word_order, "word_order learned": lambda: worked.word_order("learned"),
    "single_head": worked.single_head, "block": worked.block, "toy": lambda: toy(SIZES, 1),
    "toy, learned": lambda: toy(SIZES, 2, positions="learned", norm="layer", bias=True),
    "toy, sinusoidal, post-norm": lambda: toy(SIZES, 2, positions="sinusoidal", norm_place="post"),
    "head norms, part turned": lambda: decoder_trace(qk_norm=True, head_dim=6, rope_dim=4, rope_pairing="adjacent"),
    "biases everywhere": lambda: decoder_trace(qkv_bias=True, out_bias=True, norm="layer"),
    "rescaled": lambda: toy(SIZES, 1).with_scale(1, 0.3),
}
BUILT = {kind: make() for kind, make in TRACES.items()}
orders = st.permutations(range(5))


@pytest.mark.parametrize("kind", TRACES)
@settings(max_examples=10)
@given(order_of=orders, layer=st.integers(0, 1))
def test_without_mask_and_positions_outputs_only_change_places(kind: str, order_of: list[int], layer: int) -> None:
    """D1 §7: Attn(PX) = P·Attn(X)."""
    trace = BUILT[kind]
    layer = min(layer, trace.config.layers - 1)
    tokens = trace[f"blocks.{layer}.in"].shape[1]
    chosen = [place for place in order_of if place < tokens]
    found = reorder.reorder(trace, layer, chosen)
    assert found.equivariant
    assert found.difference <= 1e-5 * max(1.0, float(found.expected.abs().max()))
    assert torch.equal(found.expected, found.before[f"blocks.0.{'attn_out' if kind != 'single_head' else 'concat'}"]
                       [:, chosen])
    for name in ("q", "k", "v"):  # the rows go along
        torch.testing.assert_close(found.after[f"blocks.0.{name}"], found.before[f"blocks.0.{name}"][:, :, chosen],
                                   atol=1e-5, rtol=1e-5)
    weights = found.before["blocks.0.weights"][:, :, chosen][..., chosen]
    torch.testing.assert_close(found.after["blocks.0.weights"], weights, atol=1e-5, rtol=1e-4)


def test_the_documents_three_words() -> None:
    """[猫 追 狗] becomes [狗 猫 追]: each word's output is what it was; equivariance, not invariance."""
    found = reorder.reorder(worked.word_order(), 0, [2, 0, 1])
    assert found.after.tokens == ["狗", "猫", "追"]
    assert found.matrix.tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    assert found.equivariant
    assert found.unmoved > 0.1
    x = worked.word_order()["embedding"].double().numpy()
    parts = {name: worked.word_order()[f"blocks.0.{name}"].double().numpy() for name in ("wq", "wk", "wv", "wo")}

    def attend(rows: np.ndarray) -> np.ndarray:
        q, k, v = (reference.heads_of(rows[None] @ parts[f"w{letter}"], 2) for letter in "qkv")
        context = reference.attention(q, k, v, np.ones((1, 3, 3), dtype=bool))["context"]
        return np.concatenate(list(context[0]), axis=-1) @ parts["wo"]

    np.testing.assert_allclose(found.found[0].numpy(), attend(x[[2, 0, 1]]), atol=1e-6)
    np.testing.assert_allclose(found.expected[0].numpy(), attend(x)[[2, 0, 1]], atol=1e-6)


@pytest.mark.parametrize(("mask", "positions"), [("causal", "none"), ("none", "learned"), ("none", "sinusoidal"),
                                                 ("none", "rope"), ("causal", "rope")])
def test_a_mask_or_positions_break_it(mask: str, positions: str) -> None:
    trace = worked.word_order("learned" if positions == "learned" else "none")
    found = reorder.reorder(trace, 0, [2, 0, 1], mask=mask, positions=positions)
    assert not found.equivariant
    assert found.difference > 0.01
    gaps = (found.found - found.expected).abs().amax(dim=(0, 2))
    assert found.broken == tuple(int(row) for row in range(3) if gaps[row] > 1e-4)
    same = reorder.reorder(trace, 0, [0, 1, 2], mask=mask, positions=positions)
    assert same.equivariant
    assert same.difference == 0


def test_positions_belong_to_places() -> None:
    """What is added to a row does not move with the token."""
    trace = worked.word_order("learned")
    found = reorder.reorder(trace, 0, [1, 2, 0], positions="learned")
    expected = trace["embedding"][[1, 2, 0]] + trace["position_table"]
    assert torch.equal(found.after["blocks.0.in"][0], expected)
    sin = reorder.reorder(trace, 0, [1, 2, 0], positions="sinusoidal").after["blocks.0.in"][0].double()
    rows = np.array([reference.sinusoidal(place, 4) for place in range(3)])
    np.testing.assert_allclose(sin.numpy(), trace["embedding"][[1, 2, 0]].numpy() + rows, atol=1e-6)


def test_the_layer_as_it_is_comes_out_under_its_own_setting() -> None:
    for kind, mask, positions in (("toy", "causal", "rope"), ("toy, learned", "causal", "learned"),
                                  ("word_order", "none", "none"), ("head norms, part turned", "causal", "rope")):
        found = reorder.setting(BUILT[kind], 0, mask, positions)
        torch.testing.assert_close(found["blocks.0.attn_out"], BUILT[kind]["blocks.0.attn_out"], atol=1e-6, rtol=1e-5)
    rescaled = reorder.setting(BUILT["rescaled"], 1, "causal", "rope")
    torch.testing.assert_close(rescaled["blocks.0.scaled"], BUILT["rescaled"]["blocks.1.scaled"])


def test_why_a_causal_mask_breaks_it() -> None:
    """追 moves to the front: 猫, which it could read, now comes after it; 猫 may read 追 in turn."""
    seen = reorder.sights([1, 0, 2], "causal")
    assert [(s.token, s.before, s.after) for s in seen] == [
        (1, (0, 1), (1,)), (0, (0,), (0, 1)), (2, (0, 1, 2), (0, 1, 2))]
    assert [(s.lost, s.gained) for s in seen] == [((0,), ()), ((), (1,)), ((), ())]
    found = reorder.reorder(worked.word_order(), 0, [1, 0, 2], mask="causal")
    assert found.broken == (0, 1)
    assert all(not s.lost and not s.gained for s in reorder.sights([2, 0, 1], "none"))


@given(orders)
def test_rows_that_see_the_same_give_the_same(chosen: list[int]) -> None:
    """Under a causal mask exactly those rows can break that lost or gained a token."""
    found = reorder.reorder(BUILT["toy"], 0, chosen, mask="causal")
    changed = {row for row, seen in enumerate(reorder.sights(chosen, "causal")) if seen.lost or seen.gained}
    assert set(found.broken) <= changed


@pytest.mark.parametrize("wrong", [[0, 1], [0, 0, 1], [0, 1, 3], [0, 1, 2, 2], [-1, 0, 1]])
def test_what_is_no_order_is_refused(wrong: list[int]) -> None:
    with pytest.raises(UnknownOption) as caught:
        reorder.reorder(worked.word_order(), 0, wrong)
    assert (caught.value.field, caught.value.value) == ("order", wrong)


def test_settings_that_cannot_be_are_refused() -> None:
    assert reorder.possible(worked.word_order(), 0) == ("none", "sinusoidal", "rope")
    assert reorder.possible(BUILT["toy, learned"], 0) == reorder.POSITIONS
    assert "learned" not in reorder.possible(BUILT["toy, learned"], 1)
    for mask, positions in (("window", "none"), ("none", "learned"), ("none", "alibi")):
        with pytest.raises(UnknownOption):
            reorder.setting(worked.word_order(), 0, mask, positions)


@given(st.permutations(range(4)), st.integers(0, 7))
def test_questions_about_rows(chosen: list[int], number: int) -> None:
    at = At(worked.block())
    asked = order.ask(at, number, order=chosen)
    assert chosen[int(asked.answer) - 1] == asked.row
    assert order.judge(at, asked, asked.answer, 3, order=chosen) == "right"
    if chosen[asked.row] + 1 != asked.answer:
        assert order.judge(at, asked, chosen[asked.row] + 1, 3, order=chosen) == "inverse"
    assert order.judge(at, asked, 99, 3, order=chosen) == "wrong"


def test_a_row_counted_from_zero() -> None:
    at = At(worked.word_order())
    asked = order.ask(at, 0)
    assert (asked.row, asked.answer) == (0, 2)
    assert order.judge(at, asked, 1, 3) == "from_zero"
    assert order.judge(at, asked, 3, 3) == "inverse"


def test_what_is_taken_for_the_right_order() -> None:
    trace = worked.word_order()
    found = order.facts(At(trace))
    assert found.order == (2, 0, 1)
    assert torch.equal(found.reordered[0], trace["embedding"][[2, 0, 1]])
    assert torch.equal(found.gap, found.found - found.expected)
    before = found.before["blocks.0.attn_out"]
    assert torch.equal(found.original, before)
    invariant, inverse = (order.MISTAKES[kind](At(trace)) for kind in ("invariant", "inverse"))
    assert invariant.wrong is not None
    assert inverse.wrong is not None
    assert torch.equal(invariant.wrong, before)
    assert torch.equal(inverse.wrong, before[:, [1, 2, 0]])
    assert invariant.largest(0, 0) == pytest.approx(found.unmoved)
    swapped = order.MISTAKES["inverse"](At(trace), order=[1, 0, 2])
    assert swapped.largest(0, 0) < 1e-5  # a swap is its own inverse
    assert set(order.MISTAKES) == {"invariant", "inverse"}


@pytest.mark.parametrize("mask", reorder.MASKS)
@pytest.mark.parametrize("kind", TRACES)
def test_the_program_gives_the_pages_numbers(
    kind: str, mask: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    trace = BUILT[kind]
    for layer in range(trace.config.layers):
        for positions in reorder.possible(trace, layer):
            chosen = [*range(1, trace[f"blocks.{layer}.in"].shape[1]), 0]
            found = reorder.reorder(trace, layer, chosen, mask=mask, positions=positions)
            program = order.program(At(trace, layer), order=chosen, mask=mask, positions=positions)
            result = run(program, tmp_path, monkeypatch)
            torch.testing.assert_close(result.float(), found.found, atol=1e-5, rtol=1e-4)
