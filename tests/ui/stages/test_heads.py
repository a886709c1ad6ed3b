"""The pages on heads and on sharing through AppTest: what is sent is what the core returns."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core import toy, worked
from core.stages.heads import index_map, multihead_attention
from core.stages.sharing import shared
from core.toy import ToySizes
from core.trace import Trace
from tests.ui.on_page import TOY, TOY_SIZES, everything, opened, payloads, values
from ui.bench.session import KEY
from ui.components import thumbnails
from ui.equation import Axis, Frame, Grouped, Move, Stack, Wiring, build_payload
from ui.shell.numbers import format_difference

HEADS, SHARING = "pages/attention/heads.py", "pages/attention/sharing.py"
MANY = {"source": "toy", "B": "2", "T": "5", "D": "16", "H": "8", "Hkv": "4", "L": "2", "layer": "2", "b": "2",
        "head": "4", "seed": "3"}


def many() -> Trace:
    return toy.toy(ToySizes(batch=2, tokens=5, width=16, heads=8, kv_heads=4, layers=2), 3)


def frames(at: Any, key: int = 0) -> dict[str, np.ndarray]:
    """The numbers of an equation's frames by name."""
    return {frame["name"]: values(frame) for frame in payloads(at)[key]["frames"]}


def flat(array: Any) -> np.ndarray:
    """A tensor (n, m, w) with its matrices one below another."""
    return np.asarray(array).reshape(-1, array.shape[-1])


@pytest.mark.parametrize(("parts", "make", "layer", "batch"), [
    ({}, worked.block, 0, 0), ({"example": "single_head"}, worked.single_head, 0, 0),
    (TOY, lambda: toy.toy(TOY_SIZES, 7), 1, 1), (MANY, many, 1, 1)])
def test_each_way_shows_the_numbers_of_the_trace(parts: dict[str, str], make: Any, layer: int, batch: int) -> None:
    trace = make()
    block = f"blocks.{layer}."
    before = trace[block + "q_proj"][batch].numpy()
    count = trace.config.heads
    cut = before.reshape(len(before), count, -1)
    shown = frames(opened(HEADS, lang="en", **parts))
    np.testing.assert_array_equal(shown[block + "q_proj"], before)
    np.testing.assert_array_equal(shown["reshaped"], flat(cut))
    np.testing.assert_array_equal(shown["split"], flat(cut.transpose(1, 0, 2)))
    shown = frames(opened(HEADS, lang="en", way="viewed", **parts))
    np.testing.assert_array_equal(shown["viewed"], flat(before.reshape(count, len(before), -1)))
    np.testing.assert_array_equal(shown["split"], flat(cut.transpose(1, 0, 2)))
    shown = frames(opened(HEADS, lang="en", way="merged", **parts))
    context = trace[block + "context"][batch].numpy()
    np.testing.assert_array_equal(shown["heads"], flat(context))
    np.testing.assert_array_equal(shown["turned"], flat(context.transpose(1, 0, 2)))
    np.testing.assert_array_equal(shown[block + "concat"], trace[block + "concat"][batch].numpy())


def test_each_wrong_row_says_whose_numbers_it_holds() -> None:
    wrong = payloads(opened(HEADS, lang="en", way="viewed"))[0]["frames"][1]
    assert wrong["name"] == "viewed"
    tokens = worked.block().tokens
    held = index_map.index_map(4, 2, 2).mixed()
    expected = ["" if owners == (row,) else f"from {tokens[owners[0]]}"
                for head in held for row, owners in enumerate(head)]
    assert wrong["row_notes"] == expected
    assert expected.count("") == 2


def test_without_wo_the_way_through_it_is_not_offered() -> None:
    at = opened(HEADS, lang="en", example="single_head")
    assert "Through WO" not in at.button_group(key="way").options
    assert any("With one head there is nothing to split" in element.value for element in at.markdown)


def test_the_open_question_is_not_answered_by_the_labels() -> None:
    at = opened(HEADS, lang="en")
    at.session_state[KEY].asking("heads-question").place = ("worked", "block", 0, 0, 0)
    at.run()
    (equation,) = payloads(at)
    (frame,) = equation["frames"]
    assert (frame["cols"]["labels"], frame["cols"]["band"], equation["rules"]) == ([], 0, [])
    assert not any("columns" in element.value and "are those of head" in element.value for element in at.markdown)


def test_the_check_line_compares_with_torchs_module() -> None:
    found = multihead_attention.parity(worked.block(), 0)
    captions = [element.value for element in opened(HEADS, lang="en").caption]
    (line,) = [text for text in captions if "MultiheadAttention" in text]
    assert format_difference(found.weights_difference) in line
    assert format_difference(found.output_difference) in line


@pytest.mark.parametrize("key", ["maps", "columns", "added", "memory", "sizes", "promise", "wrong", "code"])
@pytest.mark.parametrize("parts", [{}, {"example": "single_head"}, MANY])
def test_every_section_of_heads_opens(key: str, parts: dict[str, str]) -> None:
    at = opened(HEADS, lang="en", **parts)
    at.session_state[f"open-{key}"] = True
    at.run()
    assert not at.exception


def test_the_documents_sizes_stand_beside_those_on_screen() -> None:
    at = opened(HEADS, lang="en")
    at.session_state["open-sizes"] = True
    at.run()
    table = next(element.value for element in at.markdown if "D0 §8" in element.value)
    for shape in ("[2, 4, 2, 4]", "[2, 2, 4, 4]", "[1, 2048, 32, 128]", "[1, 32, 2048, 128]", "[1, 2048, 4096]"):
        assert shape in table


@pytest.mark.parametrize("count", [8, 4, 2, 1])
@pytest.mark.parametrize("which", ["k", "v"])
def test_the_switch_moves_wiring_shapes_bytes_and_output_together(count: int, which: str) -> None:
    found = shared.share(many(), 1, count)
    at = opened(SHARING, lang="en", kvheads=str(count), which=which, **MANY)
    assert not at.exception
    payload = payloads(at)[0]
    assert payload["wiring"]["reads"] == list(shared.read_by(8, count))
    kind, shape, size, output = payload["wiring"]["notes"]
    assert kind == found.wiring.kind
    assert "×".join(map(str, (2, count, 5, 2))) in shape
    assert f"{found.trace['blocks.0.k'].nbytes + found.trace['blocks.0.v'].nbytes:,} bytes" in size
    assert ("by up to" in output) == (count < 4)
    shown = frames(at)
    trace = found.trace
    q, k = (trace[name][1] for name in trace.steps["blocks.0.scores"].reads)
    left, right, product = (q, k.mT, trace["blocks.0.scores"][1]) if which == "k" else (
        trace["blocks.0.weights"][1], trace["blocks.0.v"][1], trace["blocks.0.context"][1])
    np.testing.assert_array_equal(shown["left"], flat(left.numpy()))
    np.testing.assert_array_equal(shown["right"], flat(right.contiguous().numpy()))
    np.testing.assert_array_equal(shown["product"], flat(product.numpy()))


def strip(at: AppTest) -> str:
    """The sizes below the main line, without their markup."""
    (found,) = [element.value for element in at.get("html") if 'class="sizes"' in element.value]
    return re.sub(r"<[^>]*>", "", found.split('class="sizes"')[1])


@pytest.mark.parametrize("count", [4, 2, 1])
def test_the_worked_example_opens_between_mha_and_mqa_and_all_follows_the_switch(count: int) -> None:
    parts = {} if count == 2 else {"kvheads": str(count)}
    at, found = opened(SHARING, lang="en", **parts), shared.share(worked.grouped(), 0, count)
    payload = payloads(at)[0]
    assert payload["wiring"]["reads"] == list(shared.read_by(4, count))
    assert payload["wiring"]["notes"][0] == {4: "MHA", 2: "GQA", 1: "MQA"}[count]
    assert f"{2 * count * 3 * 2 * 4} bytes" in payload["wiring"]["notes"][2]
    assert f"Hkv={count}" in strip(at)
    assert "H=4" in strip(at)
    np.testing.assert_array_equal(frames(at)["product"], flat(found.trace["blocks.0.context"][0].numpy()))
    other = opened(HEADS, lang="en", **parts)
    assert "H=2" in strip(other)


def test_the_number_of_kv_heads_begins_anew_with_another_source() -> None:
    at = opened(SHARING, lang="en")
    at.session_state["source"] = "toy"
    at.run()
    assert payloads(at)[0]["wiring"]["notes"][0] == "MHA"


@pytest.mark.parametrize(("own", "count", "said"), [
    ("2", "6", "here each was copied"), ("2", "3", "do not divide"), ("6", "3", "were averaged"), ("2", "2", "")])
def test_what_was_done_to_k_and_v_is_told(own: str, count: str, said: str) -> None:
    at = opened(SHARING, lang="en", source="toy", D="12", H="6", Hkv=own, kvheads=count)
    assert not at.exception
    for text in ("here each was copied", "do not divide", "were averaged"):
        assert (text in everything(at)) == (text == said)


@pytest.mark.parametrize(("count", "said", "unsaid"), [
    (4, ["equally many heads", "keeps 16 numbers"], ["get fewer columns", "would keep"]),
    (2, ["and K and V fewer heads", "keeps 8 numbers", "would keep 16"], ["equally many", "single head"]),
    (1, ["those of a single head", "keeps 4 numbers", "would keep 16"], ["equally many", "K and V fewer heads"])])
def test_what_is_said_of_sharing_holds_for_mha_gqa_and_mqa(count: int, said: list[str], unsaid: list[str]) -> None:
    """Four query heads of width 2: 2·Hkv·2 numbers of K and V for each token."""
    text = everything(opened(SHARING, lang="en", kvheads=str(count)))
    assert all(part in text for part in said)
    assert not any(part in text for part in unsaid)


def test_the_document_s_ratios_stand_in_the_table() -> None:
    at = opened(SHARING, lang="en")
    at.session_state["open-sizes"] = True
    at.run()
    table = next(element.value for element in at.markdown if "| MQA | 32 | 1 |" in element.value)
    assert "| MHA | 32 | 32 | 1 |" in table
    assert table.index("1/4") < table.index("1/32")


@pytest.mark.parametrize("key", ["weights", "choices", "sizes", "wrong", "code"])
@pytest.mark.parametrize("parts", [{}, {"kvheads": "4"}, {"example": "block_shared"}, MANY, {**MANY, "kvheads": "1"}])
def test_every_section_of_sharing_opens(key: str, parts: dict[str, str]) -> None:
    at = opened(SHARING, lang="en", **parts)
    at.session_state[f"open-{key}"] = True
    at.run()
    assert not at.exception


def test_the_wrong_order_is_within_reach_of_the_example_that_the_page_opens_with() -> None:
    at = opened(SHARING, lang="en")
    at.session_state["open-wrong"] = True
    at.run()
    assert "1, 1, 2, 2" in everything(at)
    assert "1, 2, 1, 2" in everything(at)
    assert np.abs(frames(at, 1)["difference"]).max() > 0


def test_the_wrong_order_is_shown_in_a_head_that_it_changes() -> None:
    at = opened(SHARING, lang="en", **{**MANY, "head": "1"})
    at.session_state["open-wrong"] = True
    at.run()
    assert "1, 1, 2, 2, 3, 3, 4, 4" in everything(at)
    assert "1, 2, 3, 4, 1, 2, 3, 4" in everything(at)
    assert np.abs(frames(at, 1)["difference"]).max() > 0


def stacked(count: int, rows: int, cols: int, id: str = "x") -> Frame:
    return Frame(id, id, "X", "query", np.zeros((count * rows, cols), np.float32), Axis("H·T"), Axis("Dh", index="d"),
                 stack=Stack("H", count, "T", ("H", "T"), ("h", "t")))


def test_the_payload_carries_stacks_moves_products_and_wiring_as_json() -> None:
    rules = [Move("y", "x", (2, 3, 2)), Move("z", "x"), Grouped("w", "x", "y", 3, 2)]
    payload = build_payload([stacked(2, 3, 2, id) for id in "xyzw"], rules, decimals=3, strings={}, pin=None, edits={},
                            rev=0, seq=0, hidden_note="", wiring=Wiring((0, 0), ("MQA",)))
    assert payload["frames"][0]["stack"] == {"axis": "H", "count": 2, "inner": "T", "letters": ["H", "T"],
                                             "indices": ["h", "t"]}
    assert [rule["op"] for rule in payload["rules"]] == ["move", "move", "grouped"]
    assert [rule.get("swapped") for rule in payload["rules"]] == [[2, 3, 2], None, None]
    assert payload["wiring"] == {"reads": [0, 0], "notes": ["MQA"]}


@pytest.mark.parametrize(("sent", "kept"), [(2, 2), (0.0, 0), (3, 1), (-1, 1), ("1", 1), (None, 1), (True, 1), (1.5, 1),
                                            (float("nan"), 1)])
def test_a_chosen_thumbnail_is_one_of_those_drawn(sent: object, kept: int) -> None:
    assert thumbnails.read_chosen(sent, 3, 1) == kept
