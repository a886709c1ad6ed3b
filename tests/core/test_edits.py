"""Edits: an entry replaced moves everything computed from it, leaves everything else, and cuts the link above it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from core import worked
from core.errors import EditError, UnknownName
from core.toy import ToySizes, toy
from core.trace import Trace
from tests.core import reference
from tests.core.test_model import SIZES, close, random_decoder, random_ids

CONFIG: dict[str, Any] = {**SIZES, "norm": "layer", "positions": "learned", "ffn": "gelu", "qkv_bias": True}


def traced() -> Trace:
    result = Trace(source="test")
    random_decoder(**CONFIG)(random_ids(), trace=result)
    return result


def depends_on(result: Trace, name: str) -> set[str]:
    """The names whose computation reads `name`, directly or through others."""
    found = {name}
    for made, step in result.steps.items():
        if found & set(step.reads):
            found.add(made)
    return found


def place(result: Trace, name: str) -> tuple[int, ...]:
    """An entry of the last token, which reads several keys, or of the row of the first token's id."""
    if name == "embedding":
        return int(result["tokens"][0, 0]), 0
    return tuple(size - 1 if axis in ("T", "Tq") else 0
                 for axis, size in zip(result.axes(name), result[name].shape, strict=True))


EDITABLE = [name for name in traced().names() if name not in ("tokens", "positions", "mask")]


@pytest.mark.parametrize("name", EDITABLE)
def test_an_edit_moves_what_is_made_from_it_and_nothing_else(name: str) -> None:
    """Every name of a model: those that cannot follow from it stay equal to the last bit."""
    before = traced()
    index = place(before, name)
    after = before.edited({name: {index: float(before[name][index]) + 0.75}})
    assert after[name][index] == before[name][index] + 0.75
    follows = depends_on(before, name)
    for other in before.names():
        if other not in follows:
            assert torch.equal(after[other], before[other]), other
    restored = after[name].clone()
    restored[index] = before[name][index]
    close(restored, before[name], 2e-6)
    moved = {other for other in follows if not torch.allclose(after[other], before[other], atol=1e-6)}
    readers = {other for other, step in before.steps.items() if name in step.reads}
    assert moved & readers or not readers, "nothing that reads it has moved"


def test_an_edited_parameter_gives_the_model_that_has_that_parameter() -> None:
    decoder, ids, result = random_decoder(**CONFIG), random_ids(), Trace()
    decoder(ids, trace=result)
    after = result.edited({"blocks.0.wk": {(3, 5): 1.5}, "embedding": {(int(ids[0, 2]), 1): -2.0}})
    decoder.get_parameter("blocks.0.wk")[3, 5] = 1.5
    decoder.get_parameter("embedding")[ids[0, 2], 1] = -2.0
    torch.testing.assert_close(after["logits"], decoder(ids), atol=5e-6, rtol=5e-6)


def test_an_edited_input_gives_the_reference_of_that_input() -> None:
    """X of the second token changed: causally, the first token's results stay and the later ones follow."""
    before = worked.single_head("causal")
    after = before.edited({"blocks.0.in": {(0, 1, 0): 2.5}})
    x = [[1, 0], [2.5, 1], [1, 1]]
    q, k, v = (torch.tensor([[x]], dtype=torch.float64) @ before[f"blocks.0.w{n}"].double() for n in "qkv")
    expected = reference.attention(q.numpy(), k.numpy(), v.numpy(), torch.ones(1, 3, 3).tril().bool().numpy())
    for name, value in expected.items():
        close(after["blocks.0." + name], value, 1e-6)
    assert torch.equal(after["blocks.0.context"][:, :, 0], before["blocks.0.context"][:, :, 0])
    assert not torch.allclose(after["blocks.0.context"][:, :, 1], before["blocks.0.context"][:, :, 1])


def test_editing_a_computed_tensor_cuts_the_link_above_it() -> None:
    """With Q[1,1] set by hand, X no longer reaches that entry, but still reaches the others."""
    cut = worked.single_head().edited({"blocks.0.q": {(0, 0, 0, 0): 9.0}})
    assert cut["blocks.0.q_proj"][0, 0, 0] == 1
    assert cut["blocks.0.scores"][0, 0].tolist() == [[9, 9, 18], [0, 1, 1], [1, 2, 3]]
    moved = cut.edited({"blocks.0.in": {(0, 0, 0): 5.0}})
    assert moved["blocks.0.q_proj"][0, 0, 0] == 5
    assert moved["blocks.0.q"][0, 0, 0].tolist() == [9, 0]
    assert moved["blocks.0.k"][0, 0, 0].tolist() == [5, 0]
    assert set(moved.edits) == {"blocks.0.q", "blocks.0.in"}


def test_an_edit_leaves_the_trace_it_came_from_and_its_tensors_alone() -> None:
    before = traced()
    copies = {name: before[name].clone() for name in before.names()}
    after = before.edited({name: {place(before, name): 3.0} for name in EDITABLE})
    for name in after.names():
        assert after[name] is not None
    for name, copy in copies.items():
        assert torch.equal(before[name], copy), name
    assert not before.edits


def test_edits_add_up_and_the_last_one_of_an_entry_counts() -> None:
    at = {"blocks.0.wq": {(0, 0): 7.0}}
    result = worked.single_head().edited(at).edited({"blocks.0.wq": {(0, 1): -1.0}})
    result = result.edited({"blocks.0.wq": {(0, 0): 2.0}})
    assert result["blocks.0.wq"].tolist() == [[2, -1], [0, 1]]
    assert result.edits == {"blocks.0.wq": {(0, 0): 2.0, (0, 1): -1.0}}


def test_a_toys_edit_goes_through_all_its_layers() -> None:
    before = toy(ToySizes(batch=2, tokens=5, width=12, heads=6, kv_heads=2, ffn_width=10, vocab=9, layers=3), seed=4)
    after = before.edited({"blocks.0.in": {(1, 3, 2): 4.0}})
    for layer in range(1, 3):
        moved = (after[f"blocks.{layer}.in"] - before[f"blocks.{layer}.in"]).abs().amax(-1)
        assert (moved[0] < 2e-6).all(), "another batch entry moved"
        assert (moved[1, :3] < 2e-6).all(), "an earlier token moved"
        assert (moved[1, 3:] > 1e-4).all()
    assert after.stream == [], "the captured stream belongs to other numbers"


@pytest.mark.parametrize(("name", "index", "value"), [
    ("blocks.0.wq", (0, 2), 1.0), ("blocks.0.wq", (-1, 0), 1.0), ("blocks.0.wq", (0,), 1.0),
    ("blocks.0.wq", (0, 0, 0), 1.0), ("blocks.0.wq", (0, 0), math.nan), ("blocks.0.wq", (0, 0), math.inf),
    ("blocks.0.wq", (0, 0), 1e39), ("blocks.0.scores", (0, 0, 3, 0), 1.0)])
def test_an_edit_that_cannot_be_made_is_refused_with_its_place(name: str, index: tuple[int, ...], value: float) -> None:
    with pytest.raises(EditError) as caught:
        worked.single_head().edited({name: {index: value}})
    assert (caught.value.name, caught.value.index) == (name, index)


def test_what_is_not_a_real_number_or_not_there_cannot_be_edited() -> None:
    with pytest.raises(EditError):
        worked.block().edited({"tokens": {(0, 0): 2.0}})
    for name in ("blocks.0.w1", "blocks.7.wq", "nonsense"):
        with pytest.raises(UnknownName):
            worked.single_head().edited({name: {(0, 0): 1.0}})


def test_an_edit_before_the_blocks_leaves_a_given_block_input_in_place() -> None:
    """Single head has no embeddings to make X from; a softened mask still reaches the context."""
    after = worked.single_head().edited({"mask": {(0, 0, 0, 2): -2.0}})
    assert after.names() == worked.single_head().names()
    expected = reference.softmax(np.array([1, 1, 2]) / math.sqrt(2) + [0, 0, -2])
    close(after["blocks.0.weights"][0, 0, 0], expected, 1e-6)


def test_another_scale_changes_the_scaled_scores_and_what_follows() -> None:
    before = worked.single_head()
    after = before.with_scale(0, 1.0)
    assert torch.equal(after["blocks.0.scaled"], before["blocks.0.scores"])
    assert torch.equal(after["blocks.0.scores"], before["blocks.0.scores"])
    expected = reference.softmax(before["blocks.0.scores"][0, 0, 0].double().numpy())
    close(after["blocks.0.weights"][0, 0, 0], expected, 1e-6)


def test_another_scale_holds_in_one_layer_and_survives_an_edit() -> None:
    before = traced()
    after = before.with_scale(1, 0.25).edited({"blocks.1.q": {(1, 2, 3, 0): 2.0}})
    assert torch.equal(after["blocks.0.scaled"], before["blocks.0.scaled"])
    assert torch.equal(after["blocks.1.in"], before["blocks.1.in"])
    assert torch.equal(after["blocks.1.scaled"], after["blocks.1.scores"] * 0.25)
    assert (after["logits"] - before["logits"]).abs().max() > 1e-3


@pytest.mark.parametrize("name", ["scores", "scaled", "masked", "weights", "context"])
def test_no_check_is_claimed_across_an_edit(name: str) -> None:
    """Between q and context an edit makes the fused kernel compute something else; before q it does not."""
    block = worked.block()
    assert block.check(0) is not None
    assert block.edited({f"blocks.0.{name}": {(0, 0, 0, 0): 0.5}}).check(0) is None
    assert block.with_scale(0, 1.0).check(0) is None
    check = block.edited({"blocks.0.q": {(0, 1, 2, 1): 0.5}, "blocks.0.in": {(0, 0, 0): 0.5}}).check(0)
    assert check is not None
    assert check.difference < 1e-6


def test_a_step_is_checked_against_float64_and_an_edited_one_is_not() -> None:
    trace = toy(ToySizes(batch=2, tokens=5, width=12, heads=6, kv_heads=2, layers=2), 5)
    for name in trace.steps:
        check = trace.check_step(name)
        assert check is not None
        assert (check.kind, check.name) == ("float64", name)
        assert check.difference <= 1e-6 * max(1.0, check.size), name
    edited = trace.edited({"blocks.0.scaled": {(0, 0, 0, 0): 9.0}})
    assert edited.check_step("blocks.0.scaled") is None
    with pytest.raises(UnknownName):
        trace.check_step("blocks.0.wq")
