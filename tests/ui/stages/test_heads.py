"""The page on heads through AppTest: what is sent is what the core returns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core import toy, worked
from core.stages.heads import index_map, multihead_attention
from tests.ui.on_page import MANY, TOY, TOY_SIZES, flat, frames, many, opened, payloads
from ui.bench.session import KEY
from ui.components import thumbnails
from ui.equation import Axis, Frame, Grouped, Move, Stack, Wiring, build_payload
from ui.shell.numbers import format_difference

HEADS = "pages/attention/heads.py"


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
    (way,) = payloads(at)[0]["switches"]
    assert [code for code, _label in way["options"]] == ["split", "merged", "viewed"]
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
    table = next(element.value for element in at.markdown if "Matrices §8" in element.value)
    for shape in ("[2, 4, 2, 4]", "[2, 2, 4, 4]", "[1, 2048, 32, 128]", "[1, 32, 2048, 128]", "[1, 2048, 4096]"):
        assert shape in table


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
