"""The page on sharing through AppTest: what is sent is what the core returns."""

from __future__ import annotations

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core import worked
from core.stages.sharing import shared
from tests.ui.on_page import MANY, SHARING, everything, flat, frames, many, opened, payloads

HEADS = "pages/attention/heads.py"


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
    ("2", "6", "here each was copied"), ("2", "3", "cannot be divided"), ("6", "3", "were averaged"), ("2", "2", "")])
def test_what_was_done_to_k_and_v_is_told(own: str, count: str, said: str) -> None:
    at = opened(SHARING, lang="en", source="toy", D="12", H="6", Hkv=own, kvheads=count)
    assert not at.exception
    for text in ("here each was copied", "cannot be divided", "were averaged"):
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
