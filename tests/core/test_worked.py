"""The worked examples against the source documents' numbers and against the float64 reference."""

from __future__ import annotations

import json
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core import ops, worked
from core.errors import UnknownOption
from core.trace import Trace
from tests.core import reference

# The numbers that the source documents print, beside what they are exactly (six decimals), as the tests' own copy.
NUMBERS = json.loads((Path(__file__).parent / "worked_numbers.json").read_text(encoding="utf-8"))
HEAD = NUMBERS["D0_single_head"]
HALF_A_DIGIT = 6e-7  # "exact" has six decimals; the rest is float32


def head(name: str, mask: str = "none") -> np.ndarray:
    """A tensor of `single_head` without its batch and head axes, as float64."""
    tensor = worked.single_head(mask)[f"blocks.0.{name}"]  # type: ignore[arg-type]
    return tensor.double().reshape(tensor.shape[-2:]).numpy()


def same(result: np.ndarray, expected: Any) -> None:
    np.testing.assert_allclose(result, np.array(expected, dtype=np.float64), atol=HALF_A_DIGIT, rtol=0)


def digits(value: float, decimals: int) -> Decimal:
    return Decimal(value).quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP)


def as_printed(result: np.ndarray, printed: Any) -> None:
    """Rounded to as many decimals as the document shows of an entry, it is what the document shows."""
    for value, shown in zip(result.flat, np.array(printed, dtype=object).flat, strict=True):
        decimals = len(str(shown).partition(".")[2])
        assert digits(float(value), decimals) == Decimal(str(shown)), (value, shown)


@pytest.mark.parametrize(("name", "entry"), [
    ("in", "X"), ("wq", "WQ"), ("wk", "WK"), ("wv", "WV"), ("q", "Q"), ("k", "K"), ("v", "V"), ("scores", "scores")])
def test_the_documents_whole_numbers_come_out_exactly(name: str, entry: str) -> None:
    assert head(name).tolist() == HEAD[entry]


@pytest.mark.parametrize(("name", "entry", "mask"), [
    ("scaled", "scaled", "none"), ("scaled", "scaled", "causal"), ("weights", "weights", "none"),
    ("context", "output", "none"), ("weights", "causal_weights", "causal"), ("context", "causal_output", "causal")])
def test_the_documents_attention(name: str, entry: str, mask: str) -> None:
    """D0 §6 and §7: within 1e-6 of exact, and rounded to the digits that are printed."""
    result = head(name, mask)
    same(result, HEAD[entry]["exact"])
    if "printed" in HEAD[entry]:
        as_printed(result, HEAD[entry]["printed"])


def test_the_documents_exponentials() -> None:
    row = np.exp(head("scaled")[0])
    same(row, HEAD["exp_row_1"]["exact"])
    as_printed(row, HEAD["exp_row_1"]["printed"])


def test_the_row_of_three_words() -> None:
    """D3 §3; it prints 0.605 where 0.605611 rounds to 0.606."""
    row = NUMBERS["D3_row"]
    weights = ops.softmax(torch.tensor(row["scaled_scores"])).double().numpy()
    same(weights, row["weights"]["exact"])
    printed = row["weights"]["printed"]
    as_printed(weights[[0, 2]], [printed[0], printed[2]])
    assert (digits(float(weights[1]), 3), printed[1]) == (Decimal("0.606"), 0.605)
    assert row["weights"]["note"]
    as_printed(np.exp(np.array(row["scaled_scores"])), row["exp"]["printed"])


def test_the_program_in_plain_python() -> None:
    """D3 §9: Q = K = V, causal."""
    example = NUMBERS["D3_pure_python"]
    x = torch.tensor(example["Q=K=V"], dtype=torch.float32)
    result = ops.attend(x, x, x, mask=ops.causal_mask(3))
    same(result.weights.double().numpy(), example["weights"]["exact"])
    same(result.context.double().numpy(), example["output"]["exact"])


@pytest.mark.parametrize("mask", ["none", "causal"])
def test_single_head_equals_the_reference(mask: str) -> None:
    trace = worked.single_head(mask)  # type: ignore[arg-type]
    x = np.array([HEAD["X"]], dtype=np.float64)
    q, k, v = (np.array((x @ np.array(HEAD[w]))[:, None]) for w in ("WQ", "WK", "WV"))
    visible = np.tril(np.ones((1, 3, 3), dtype=bool)) | (mask == "none")
    expected = {"q": q, "k": k, "v": v, "concat": None, **reference.attention(q, k, v, visible)}
    expected["concat"] = expected["context"][:, 0]
    projected = {f"{letter}_proj": expected[letter][:, 0] for letter in "qkv"}
    made = {n.removeprefix("blocks.0.") for n in trace.names() if not trace.is_given(n)}
    assert made == {*expected, *projected}, "single_head has other names than the reference"
    for name, value in {**expected, **projected}.items():
        np.testing.assert_allclose(trace["blocks.0." + name].double().numpy(), value, atol=1e-6, rtol=0)
    assert {tuple(trace[f"blocks.0.{n}"].shape) for n in ("scores", "scaled", "weights")} == {(1, 1, 3, 3)}


def expected_block(trace: Trace, causal: bool) -> dict[str, np.ndarray]:
    parameters = {name: trace[name].numpy() for name in trace.names()
                  if trace.is_given(name) and name not in ("tokens", "positions", "mask")}
    return reference.decode(trace.config, parameters, trace["tokens"].numpy(), causal=causal)


@pytest.mark.parametrize("kv_heads", [2, 1])
@pytest.mark.parametrize("mask", ["causal", "none"])
def test_every_name_of_block_equals_the_reference(kv_heads: int, mask: str) -> None:
    """From the ids to the logits, within 1e-6 of exact."""
    trace = worked.block(kv_heads, mask)  # type: ignore[arg-type]
    expected = expected_block(trace, mask == "causal")
    assert {name for name in trace.names() if not trace.is_given(name)} == set(expected)
    for name, value in expected.items():
        ours = trace[name].double().numpy()
        assert ours.shape == value.shape, name
        assert np.array_equal(np.isneginf(ours), np.isneginf(value)), name
        finite = np.isfinite(value)
        np.testing.assert_allclose(ours[finite], value[finite], atol=1e-6, rtol=1e-6, err_msg=name)


def assert_equals_the_reference(trace: Trace, *, causal: bool) -> None:
    """Every computed name, within 1e-6 of exact."""
    expected = expected_block(trace, causal)
    assert {name for name in trace.names() if not trace.is_given(name)} == set(expected)
    for name, value in expected.items():
        ours, finite = trace[name].double().numpy(), np.isfinite(value)
        assert np.array_equal(np.isneginf(ours), np.isneginf(value)), name
        np.testing.assert_allclose(ours[finite], value[finite], atol=1e-6, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("ids", [(4,), (0, 4, 7), (11, 10, 9, 8, 7, 6, 5, 4)])
def test_block_with_other_ids_equals_the_reference(ids: tuple[int, ...]) -> None:
    trace = worked.block(ids=ids)
    assert trace["tokens"].tolist() == [list(ids)]
    assert trace.tokens == [worked.BLOCK_VOCABULARY[token] for token in ids]
    assert_equals_the_reference(trace, causal=True)


@pytest.mark.parametrize("ids", [(0, 1, 2), (5, 3, 1, 0, 2)])
@pytest.mark.parametrize("mask", ["none", "causal"])
def test_every_name_of_matrices_equals_the_reference(mask: str, ids: tuple[int, ...]) -> None:
    """From the ids to the logits, post-norm."""
    assert_equals_the_reference(worked.matrices(mask, ids), causal=mask == "causal")  # type: ignore[arg-type]


@pytest.mark.parametrize("mask", ["none", "causal"])
def test_matrices_holds_the_documents_head_unchanged(mask: str) -> None:
    """D0 §6: the looked-up rows are its X, and up to AV every number is the document's."""
    trace, head = worked.matrices(mask), worked.single_head(mask)  # type: ignore[arg-type]
    same(trace["embed"][0].double().numpy(), HEAD["X"])
    assert not any("position" in name for name in trace.names() if name != "positions")
    for name in head.names():
        torch.testing.assert_close(trace[name], head[name], atol=0, rtol=0, msg=name)
    for name in trace.names():
        if trace.is_given(name) and name != "mask":
            assert torch.equal(trace[name], trace[name].round()), name


@pytest.mark.parametrize(("example", "text", "ids"), [
    ("block", "the dog runs .", (0, 4, 7, 11)), ("block", "the dog runs.", (0, 4, 7, 11)), ("block", "a", (3,)),
    ("block", "the Dog", None), ("block", "", None), ("block", "  ", None), ("block", "a " * 9, None),
    ("matrices", "you like tea", (4, 1, 2)), ("matrices", "the", None),
    ("word_order", "狗 追 猫", None), ("single_head", "1 2", None)])
def test_a_text_in_known_words_has_ids(example: str, text: str, ids: tuple[int, ...] | None) -> None:
    assert worked.EXAMPLES[example].ids_of(text) == ids


@pytest.mark.parametrize("example", [one for one in worked.EXAMPLES.values() if one.prompt], ids=lambda one: one.name)
def test_an_example_s_own_text_is_that_of_its_ids(example: worked.Example) -> None:
    trace = example()
    assert trace["tokens"].tolist() == [list(example.prompt)]
    assert example.text.split() == trace.tokens
    assert not example.longest or example.ids_of(example.text) == example.prompt
    assert len(set(example.words)) == len(example.words) == trace.config.vocab == len(example.glosses)


@pytest.mark.parametrize("kv_heads", [2, 1])
def test_block_is_what_it_says_it_is(kv_heads: int) -> None:
    """T=4, D=4, H=2, Dh=2, F=8, V=12; small whole numbers; the likeliest token after "the cat sees a" is "dog"."""
    trace = worked.block(kv_heads)  # type: ignore[arg-type]
    sizes = {axis: trace.sizes[axis] for axis in ("B", "T", "D", "H", "Hkv", "Dh", "F", "V")}
    assert sizes == {"B": 1, "T": 4, "D": 4, "H": 2, "Hkv": kv_heads, "Dh": 2, "F": 8, "V": 12}
    assert trace.tokens == ["the", "cat", "sees", "a"]
    assert [worked.BLOCK_VOCABULARY[i] for i in trace["tokens"][0].tolist()] == trace.tokens
    assert len(set(worked.BLOCK_VOCABULARY)) == 12
    for name in trace.names():
        if trace.is_given(name) and name != "mask":
            values = trace[name]
            assert torch.equal(values, values.round()), name
            assert values.abs().max() <= 3, name
    last = expected_block(trace, True)["logits"][0, -1]
    assert worked.BLOCK_VOCABULARY[int(last.argmax())] == "dog"
    assert np.sort(last)[-1] - np.sort(last)[-2] > 0.05, "hardly likelier than the next"


def test_one_kv_head_is_read_by_both_query_heads() -> None:
    two, one = worked.block(2), worked.block(1)
    assert one["blocks.0.k"].shape == (1, 1, 4, 2)
    for name in ("k", "weights"):  # products of another width may be summed in another order
        torch.testing.assert_close(one[f"blocks.0.{name}"][:, 0], two[f"blocks.0.{name}"][:, 0], atol=1e-6, rtol=0)
    assert not torch.allclose(one["blocks.0.weights"][:, 1], two["blocks.0.weights"][:, 1], atol=1e-2)


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("mask", ["causal", "none"])
def test_every_name_of_grouped_equals_the_reference(kv_heads: int, mask: str) -> None:
    """Four query heads, from X to the block's output."""
    trace = worked.grouped(kv_heads, mask)  # type: ignore[arg-type]
    assert {axis: trace.sizes[axis] for axis in ("B", "T", "D", "H", "Hkv", "Dh")} == {
        "B": 1, "T": 3, "D": 8, "H": 4, "Hkv": kv_heads, "Dh": 2}
    given = {name: trace[f"blocks.0.{name}"].double().numpy() for name in ("in", "wq", "wk", "wv", "wo")}
    for name, values in given.items():
        assert np.array_equal(values, values.round()), name
        assert np.abs(values).max() <= 2, name
    x, heads = given["in"], {"q": 4, "k": kv_heads, "v": kv_heads}
    expected = {f"{letter}_proj": x @ given[f"w{letter}"] for letter in "qkv"}
    expected |= {letter: reference.heads_of(expected[f"{letter}_proj"], count) for letter, count in heads.items()}
    visible = np.tril(np.ones((1, 3, 3), dtype=bool)) | (mask == "none")
    expected |= reference.attention(expected["q"], expected["k"], expected["v"], visible)
    expected["concat"] = np.concatenate(list(expected["context"].transpose(1, 0, 2, 3)), axis=-1)
    expected["attn_out"] = expected["concat"] @ given["wo"]
    expected["resid_mid"] = expected["out"] = x + expected["attn_out"]
    assert {name.removeprefix("blocks.0.") for name in trace.names() if not trace.is_given(name)} == set(expected)
    for name, value in expected.items():
        ours, finite = trace[f"blocks.0.{name}"].double().numpy(), np.isfinite(value)
        np.testing.assert_allclose(ours[finite], value[finite], atol=1e-6, rtol=1e-6, err_msg=name)


def test_grouped_tells_every_number_of_kv_heads_apart() -> None:
    """What the page on sharing opens on: each number gives another output and other weights for every query head, and
    with the number it opens with, copies in the wrong order show."""
    found = {count: worked.grouped(count) for count in (4, 2, 1)}  # type: ignore[arg-type]
    for one, other in ((4, 2), (2, 1), (4, 1)):
        gaps = (found[one]["blocks.0.context"] - found[other]["blocks.0.context"]).abs().amax(dim=(0, 2, 3))
        assert bool((gaps > 0.1).all())
    weights = found[1]["blocks.0.weights"][0]
    assert all((weights[a] - weights[b]).abs().max() > 0.05 for a in range(4) for b in range(a))
    assert found[worked.OPENING_KV_HEADS["grouped"]].config.group not in (1, 4)
    k, v = (found[4][f"blocks.0.{name}"] for name in "kv")
    for count in (2, 1):
        for name, four in (("k", k), ("v", v)):
            own = four.unflatten(1, (count, 4 // count)).mean(dim=2)
            torch.testing.assert_close(found[count][f"blocks.0.{name}"], own)


@pytest.mark.parametrize("positions", ["none", "learned", "sinusoidal", "rope"])
@pytest.mark.parametrize("mask", ["causal", "none"])
def test_every_name_of_word_order_equals_the_reference(positions: str, mask: str) -> None:
    """D1 §7: three words; the numbers of `block` up to the attention's output."""
    trace = worked.word_order(positions, mask)  # type: ignore[arg-type]
    assert trace.tokens == ["猫", "追", "狗"]
    given = {name: trace[name].numpy() for name in trace.names() if trace.is_given(name)}
    expected = reference.decode(trace.config, {**given, "w_vocab": np.zeros((4, 3))}, given["tokens"],
                                causal=mask == "causal")
    made = {name for name in trace.names() if not trace.is_given(name)}
    assert made == set(expected) - {"logits"}
    for name in made:
        ours, finite = trace[name].double().numpy(), np.isfinite(expected[name])
        np.testing.assert_allclose(ours[finite], expected[name][finite], atol=1e-6, rtol=1e-6, err_msg=name)
    same = {name for name in given if name in worked.block() and "position" not in name and name not in (
        "tokens", "mask", "embedding")}
    assert all(torch.equal(trace[name], worked.block()[name]) for name in same)


@pytest.mark.parametrize("pairing", ["adjacent", "half"])
@pytest.mark.parametrize("mask", ["causal", "none"])
def test_rope_pairs_equals_the_reference(pairing: str, mask: str) -> None:
    """D1 §8: eight dimensions at positions 3, 8, 13 and 18, each pair turned as a complex number."""
    trace = worked.rope_pairs(pairing, mask)  # type: ignore[arg-type]
    assert trace["positions"].tolist() == [[place for at in NUMBERS["D1_rope"]["equal_distance"] for place in at]]
    theta = reference.thetas(NUMBERS["D1_rope"]["dims"], NUMBERS["D1_rope"]["base"])
    q, k, v = (trace[f"blocks.0.{letter}"].double().numpy() for letter in "qkv")
    turned = [reference.rotate_all(x, trace["positions"].numpy(), theta, pairing) for x in (q, k)]
    visible = np.tril(np.ones((1, 4, 4), dtype=bool)) | (mask == "none")
    expected = {"q_rot": turned[0], "k_rot": turned[1], **reference.attention(*turned, v, visible)}
    for name, value in expected.items():
        ours, finite = trace[f"blocks.0.{name}"].double().numpy(), np.isfinite(value)
        np.testing.assert_allclose(ours[finite], value[finite], atol=2e-6, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("example", sorted(worked.EXAMPLES))
@pytest.mark.parametrize("mask", ["none", "causal"])
def test_every_row_of_weights_sums_to_one_and_no_later_key_is_read(example: str, mask: str) -> None:
    weights = worked.EXAMPLES[example](mask=mask)["blocks.0.weights"]
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]), atol=1e-6, rtol=0)
    assert bool((weights.triu(1) == 0).all()) is (mask == "causal")


@pytest.mark.parametrize("call", [
    lambda: worked.single_head("both"), lambda: worked.block(3), lambda: worked.block(2, "x"),  # type: ignore[arg-type]
    lambda: worked.grouped(3), lambda: worked.word_order("alibi"), lambda: worked.rope_pairs("odd")])  # type: ignore[arg-type]
def test_an_unknown_switch_is_refused(call: Any) -> None:
    with pytest.raises(UnknownOption):
        call()
