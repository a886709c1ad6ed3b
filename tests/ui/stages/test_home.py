"""The map through AppTest: sizes and presets, a config.json, sizes that cannot work, the notation switch."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import notation
from core.config import PRESETS
from tests.ui.on_page import PAGES, arrived, opened, payloads

LLAMA = {"model_type": "llama", "vocab_size": 100, "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 6,
         "num_key_value_heads": 2, "intermediate_size": 96, "head_dim": 16}


def boxes(at: AppTest) -> dict[str, str]:
    """The text in each box of the map, by the symbol of what the stage makes."""
    bodies = [found.proto.body for found in at.get("html") if 'class="made"' in found.proto.body]
    texts = [re.sub(r"<[^>]+>", "", body.replace("<span class='numbers'>", " ")) for body in bodies if "[" in body]
    return {re.findall(r"<b>(.*?)</b>", body)[0]: text
            for body, text in zip((body for body in bodies if "[" in body), texts, strict=True)}


def field(at: AppTest, letter: str) -> Any:
    return at.number_input(key=f"m{letter}")


def test_it_opens_with_the_walk_of_d0() -> None:
    found = boxes(arrived())
    assert found["ids"].endswith("2×4")
    assert found["S"].endswith("[B,H,T,T] 2×2×4×4")
    assert "2×4×10000" in found["logits"]


@pytest.mark.parametrize("text", ["0", "-3", "1e400", "abc", "99999999999", "2.5"])
def test_a_wrong_size_in_the_address_breaks_nothing(text: str) -> None:
    at = arrived(lang="en", mD=text)
    assert not at.exception
    assert boxes(at)["X"].endswith("2×4×8")


@pytest.mark.parametrize("code", PRESETS)
def test_a_preset_fills_the_fields(code: str) -> None:
    at = arrived()
    at.selectbox(key="_preset").set_value(code).run()
    assert not at.exception
    config = PRESETS[code]
    held = {letter: field(at, letter).value for letter in ("D", "H", "Hkv", "F", "V", "L")}
    assert held == {letter: config.sizes[letter] for letter in held}
    assert f"×{config.vocab} " in boxes(at)["logits"]


def test_sizes_that_cannot_work_say_what_would_and_keep_the_map() -> None:
    at = arrived()
    before = boxes(at)
    field(at, "H").set_value(3).run()
    assert "D = 8" in at.error[0].value
    assert "H = 3" in at.error[0].value
    assert "6 or 9" in at.error[0].value
    assert boxes(at) == before
    field(at, "H").set_value(4).run()
    assert not at.error
    field(at, "Hkv").set_value(3).run()
    assert "H = 4" in at.error[0].value
    assert "Hkv = 3" in at.error[0].value


def read_config(at: AppTest, text: str) -> AppTest:
    at.text_area(key="map-config").set_value(text).run()
    return at.button(key="map-read").click().run()


def test_a_pasted_config_fills_the_fields_its_own_head_width_included() -> None:
    at = read_config(arrived(), json.dumps(LLAMA))
    assert not at.error
    assert [field(at, letter).value for letter in ("D", "H", "Hkv", "Dh", "F", "V", "L")] == [48, 6, 2, 16, 96, 100, 3]
    assert boxes(at)["Q"].endswith("2×6×4×16")


@pytest.mark.parametrize("text", [
    "", "not json", "[1, 2", "[]", "null", "{}", "[" * 50_000, "<script>alert(1)</script>", '{"model_type": "bert"}',
    json.dumps(LLAMA | {"num_key_value_heads": 4}), json.dumps(LLAMA | {"vocab_size": "many"}),
    json.dumps(LLAMA | {"hidden_size": 10**30}), '{"model_type": "llama", "hidden_size": NaN}',
])
def test_a_wrong_config_is_explained_and_changes_nothing(text: str) -> None:
    at = arrived()
    before = boxes(at)
    read_config(at, text)
    assert not at.exception
    assert at.error
    assert "alert" not in at.error[0].value
    assert boxes(at) == before


def test_equal_numbers_are_pointed_out_and_only_where_there_are_any() -> None:
    at = arrived()
    sentence = next(m.value for m in at.markdown if "have the shape [2,2,4,4]" in m.value)
    assert "because H = Hkv = 2, T = Dh = 4." in sentence
    assert all(name in sentence for name in ("Q AV [B,H,T,Dh]", "K V [B,Hkv,T,Dh]", "Kᵀ [B,Hkv,Dh,T]", "S A [B,H,T,T]"))
    field(at, "T").set_value(5).run()
    assert not any("mean different things" in m.value for m in at.markdown)


def test_the_paragraph_has_the_current_sizes() -> None:
    at = arrived()
    field(at, "V").set_value(777).run()
    assert any("[777,8]" in m.value and "[2,4,777]" in m.value for m in at.markdown)


def test_sizes_can_be_taken_from_the_bench_and_given_to_it() -> None:
    at = arrived(source="toy", D="12", H="3", Hkv="3")
    at.button(key="map-bench").click().run()
    assert field(at, "D").value == 12
    assert field(at, "H").value == 3
    field(at, "D").set_value(6).run()
    at.button(key="map-toy").click().run()
    assert not at.exception
    assert at.number_input(key="D").value == 6


def test_sizes_too_large_for_a_toy_are_not_offered_to_it() -> None:
    at = arrived()
    assert not [button for button in at.button if button.key == "map-toy"]  # the vocabulary has 10000 tokens


# Frames of all heads at once, which are no tensors of the trace by themselves, and whose numbers they hold.
STACKS = {"reshaped": "q", "split": "q", "left": "weights", "right": "v", "product": "context"}


@pytest.mark.parametrize("code", notation.NOTATIONS)
@pytest.mark.parametrize("page", [page for page in PAGES if "attention" in page and "matmul" not in page])
def test_a_notation_relabels_every_frame_of_every_page(page: str, code: str) -> None:
    at = opened(page, notation=code, example="block")
    assert not at.exception
    frames = [frame for payload in payloads(at) for frame in payload["frames"]]
    assert frames
    for frame in frames:
        name = STACKS.get(frame["name"], frame["name"])
        assert frame["label"] == notation.symbol(name, code, transposed=frame["transposed"])
        for axis in (frame["rows"], frame["cols"]):
            letters = {notation.axis(letter, code) for letter in ("T", "Tq", "Tk", "D", "Dh", "HDh", "HkvDh", "B")}
            if frame["stack"]:
                pairs = (("T", "H"), ("H", "T"), ("Hkv", "T"))
                letters |= {"·".join(notation.axis(letter, code) for letter in pair) for pair in pairs}
            assert axis["letter"] in letters


def test_the_trace_names_are_the_same_in_every_notation() -> None:
    names = [[frame["name"] for frame in payloads(opened("pages/attention/scores.py", notation=code))[0]["frames"]]
             for code in notation.NOTATIONS]
    assert all(found == names[0] for found in names)


def test_an_unknown_notation_in_the_address_is_left_out_with_a_notice() -> None:
    at = arrived(notation="klingon")
    assert not at.exception
    assert at.warning
    assert boxes(at)["S"].endswith("[B,H,T,T] 2×2×4×4")
