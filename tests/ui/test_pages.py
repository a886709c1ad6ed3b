"""Every page through AppTest: both languages, every source. The digits that are sent are the trace's."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core import live, toy, worked
from core.trace import NAMES
from tests.ui.on_page import (
    MASK,
    PAGES,
    ROOT,
    SCORES,
    SENTENCE,
    SOURCES,
    TOY,
    TOY_SIZES,
    assert_shows,
    everything,
    messages,
    on_screen,
    opened,
    payloads,
    scope,
    sections,
    shown,
    unfold,
)
from tests.waiting import LONGEST


def test_every_page_file_is_listed_and_every_listed_file_is_there() -> None:
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "pages").rglob("*.py")}
    assert files == set(PAGES)


# How many frames of the page, all sections open, have the name of a tensor: at least. One, unless it says here.
LEAST = {"embedding": 3, "projections": 3, "scores": 4, "mask": 5, "mixing": 6, "heads": 4, "sharing": 2, "rope": 3,
         "generation": 7, "kv_cache": 6,
         "home": 0, "tokens": 0, "matmul": 0, "order": 0, "cost": 0}


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_with_every_section_open_shows_the_numbers_of_its_source(
    page: str, source: str, lang: str, model: live.Live,
) -> None:
    at = opened(page, lang=lang, **SOURCES[source][0])
    assert not at.exception
    wanted = on_screen(page, source, model)
    assert len(messages(at)) == wanted.elsewhere
    declared = set(sections(at))
    assert declared <= set(unfold(at))
    assert assert_shows(at, wanted.trace, batch=wanted.batch, head=wanted.head) >= LEAST.get(Path(page).stem, 1)


@pytest.mark.parametrize("page", PAGES)
def test_the_two_languages_differ_and_the_numbers_do_not(page: str) -> None:
    english, chinese = (opened(page, lang=lang) for lang in ("en", "zh"))
    assert everything(english) != everything(chinese)
    own_words = re.sub(r"`[^`]*`", "", everything(english))  # tokens are quoted as they are
    assert not any("\u4e00" <= letter <= "\u9fff" for letter in own_words)
    assert any("\u4e00" <= letter <= "\u9fff" for letter in everything(chinese))
    for one, other in zip(payloads(english), payloads(chinese), strict=True):
        assert [frame["values"] for frame in one["frames"]] == [frame["values"] for frame in other["frames"]]
        assert set(one["strings"]) == set(other["strings"])


def test_the_browser_s_language_is_the_first_one_shown_and_the_address_wins() -> None:
    for locale, parts, language in (("zh-TW", {}, "zh"), ("fr-FR", {}, "en"), ("zh-CN", {"lang": "en"}, "en")):
        at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=LONGEST)
        at.context = {"locale": locale}
        for key, value in parts.items():
            at.query_params[key] = value
        at.run()
        assert not at.exception
        assert at.query_params["lang"] == language


def test_head_layer_and_batch_entry_choose_the_slice(model: live.Live) -> None:
    at, trace = opened(lang="en", **TOY), toy.toy(TOY_SIZES, 7)
    seen = set()
    for layer, head, batch in ((1, 1, 1), (3, 2, 1), (1, 3, 2)):
        at.number_input(key="layer").set_value(layer)
        at.number_input(key="head").set_value(head)
        at.number_input(key="b").set_value(batch).run()
        assert {frame["name"] for frame in payloads(at)[0]["frames"]} == {
            f"blocks.{layer - 1}.{short}" for short in ("q_rot", "k_rot", "scores", "scaled")}
        assert assert_shows(at, trace, batch=batch - 1, head=head - 1) == 4
        seen.add(shown(at, f"blocks.{layer - 1}.scores").tobytes())
        at.run()  # that ran what holds the numbers only, and the test's browser keeps nothing else
    assert len(seen) == 3


def test_a_smaller_model_keeps_layer_and_head_inside_it() -> None:
    at = opened(lang="en", **TOY)
    at.number_input(key="L").set_value(1)
    at.number_input(key="H").set_value(1).run()
    assert not at.exception
    small = toy.toy(TOY_SIZES._replace(layers=1, heads=1), 7)
    assert assert_shows(at, small, batch=1, head=0) == 4


def test_an_edit_of_x_flows_through_everything_after_it() -> None:
    at = opened(lang="en", edits=scope("single_head", **{"in": {(0, 0, 1): 3.0}}))
    before, after = worked.single_head(), worked.single_head().edited({"blocks.0.in": {(0, 0, 1): 3.0}})
    assert not at.exception
    assert assert_shows(at, after) == 4
    for short in ("q", "k", "scores", "scaled"):
        assert not torch.equal(before[f"blocks.0.{short}"], after[f"blocks.0.{short}"])


def test_an_edit_of_q_changes_the_scores_and_not_what_q_came_from() -> None:
    edit = {"q": {(0, 0, 0, 1): -2.5}}
    at = opened(lang="en", edits=scope("single_head", **edit))
    at.session_state["open-from"] = True
    at.run()
    trace = worked.single_head()
    assert shown(at, "blocks.0.q")[0, 1] == -2.5
    np.testing.assert_array_equal(shown(at, "blocks.0.scores"), [[1, -1.5, -0.5], [0, 1, 1], [1, 2, 3]])
    assert_shows(at, trace.edited({"blocks.0.q": {(0, 0, 0, 1): -2.5}}))
    np.testing.assert_array_equal(shown(at, "blocks.0.in", 1), trace["blocks.0.in"][0])
    frames = {frame["name"]: frame for frame in payloads(at)[0]["frames"]}
    assert payloads(at)[0]["edits"] == {"blocks.0.q": {"0,1": -2.5}}
    assert frames["blocks.0.q"]["cut"]
    assert not frames["blocks.0.k"]["cut"]
    assert any("Q" in text for text in (element.value for element in at.markdown))


def test_edits_are_taken_back() -> None:
    at = opened(lang="en", edits=scope("single_head", q={(0, 0, 0, 1): -2.5}, k={(0, 0, 2, 0): 9}))
    revision = payloads(at)[0]["rev"]
    at.button(key="revert").click().run()
    assert not at.exception
    assert assert_shows(at, worked.single_head()) == 4
    assert payloads(at)[0]["edits"] == {}
    assert payloads(at)[0]["rev"] > revision  # otherwise the browser would keep its own
    assert "edits" not in at.query_params


def test_edits_of_one_example_leave_the_others_and_wait_for_it() -> None:
    at = opened(lang="en", edits=scope("block", q={(0, 1, 0, 0): 9.0}))
    assert assert_shows(at, worked.single_head()) == 4
    at.button_group(key="_example").set_value("block").run()
    at.number_input(key="head").set_value(2).run()
    assert assert_shows(at, worked.block().edited({"blocks.0.q": {(0, 1, 0, 0): 9.0}}), head=1) == 4


def test_edits_that_do_not_fit_are_listed_and_can_be_discarded() -> None:
    at = opened(lang="en", edits=scope("single_head", q={(0, 0, 0, 9): 1.0, (0, 0, 0, 1): 4.0}))
    assert len(at.info) == 1
    assert "blocks.0.q[1,1,1,10]" in at.info[0].value
    assert_shows(at, worked.single_head().edited({"blocks.0.q": {(0, 0, 0, 1): 4.0}}))
    next(button for button in at.button if button.key != "revert").click().run()
    assert messages(at) == []
    assert assert_shows(at, worked.single_head()) == 4


def test_the_live_model_is_not_edited(model: live.Live) -> None:
    at = opened(lang="en", source="live", text=SENTENCE)
    assert not any(frame["editable"] for payload in payloads(at) for frame in payload["frames"])


@pytest.mark.parametrize("name", ["in", "q", "k", "scaled", "wq"])
def test_numbers_at_the_end_of_float32_are_shown_as_what_they_give(name: str) -> None:
    axes = len(NAMES["blocks.{l}." + name].axes)
    low, high = (0,) * axes, (*(0,) * (axes - 1), 1)
    edits = {name: {low: 3e38, high: -3e38}}
    at = opened(lang="en", edits=scope("single_head", **edits))
    at.session_state["open-wrong"] = at.session_state["open-from"] = at.session_state["open-code"] = True
    at.run()
    assert not at.exception
    assert_shows(at, worked.single_head().edited({f"blocks.0.{name}": edits[name]}))


def test_the_page_opens_with_a_telling_cell_and_the_address_can_choose_another_or_none() -> None:
    assert payloads(opened(lang="en"))[0]["pin"] == {"id": "scaled", "row": 1, "col": 2}
    assert payloads(opened(lang="en", pin="scores.2.0"))[0]["pin"] == {"id": "scores", "row": 2, "col": 0}
    assert payloads(opened(lang="en", pin="none"))[0]["pin"] is None


def test_the_formula_puts_in_the_numbers_of_the_pinned_cell() -> None:
    at = opened(lang="en", pin="scaled.2.1", decimals="4")
    formulas = [element.value for element in at.markdown if "displaystyle" in element.value]
    assert r"S_{3,2}" in formulas[1]
    assert r"1 \times 1 + 1 \times 1" in formulas[1]
    assert "1.4142" in formulas[1]


def test_nothing_that_is_one_is_told_in_the_plural() -> None:
    ones = {"source": "toy", "B": "1", "T": "1", "D": "2", "H": "1", "Hkv": "1", "L": "1", "V": "2", "lang": "en"}
    names = "tokens|rows|blocks|heads|merges|characters|bytes|texts|layers|numbers|pairs|keys|hands|columns|places"
    told = {}
    for page in PAGES:
        for parts in (ones, {"lang": "en", "example": "block_shared", "kvheads": "2"},
                      {"lang": "en", "source": "live", "text": "a", "new": "1"}):
            at = opened(page, **parts)
            assert not at.exception
            found = re.findall(rf"(?<![\d.,/×=·] )(?<![\d.,/×·–-])\b1 (?:{names})\b", everything(at))
            told |= {page: found} if found else {}
    assert told == {}


@pytest.mark.parametrize(("example", "origin"), [
    ("single_head", "The numbers come from Matrices §6."), ("block", "The numbers are this app's own."),
    ("grouped", "The numbers are this app's own."),
    ("matrices", "X to AV come from Matrices §6; what stands before and after is this app's own."),
    ("rope_pairs", "The positions come from Quick start §8; Q, K and V are this app's own."),
    ("d3_lab", "One row comes from Three tokens §3; the others are this app's own."),
    ("word_order", "The words come from Quick start §7; the numbers are this app's own.")])
def test_the_chips_say_whose_example_it_is(example: str, origin: str) -> None:
    page = {"rope_pairs": "pages/position/rope.py", "d3_lab": MASK}.get(example, SCORES)
    at = opened(page, lang="en", example=example)
    assert any(element.value.startswith(origin) for element in at.caption)


def test_ids_of_words_are_looked_up_again() -> None:
    at = opened("pages/input/tokens.py", lang="en")
    assert any("Pieces that come back: 4 of 4; unknown: 0." in element.value for element in at.caption)


def test_the_slowest_hand_of_d1_comes_round_every_6283_185_positions() -> None:
    """2π·1000 = 6283.18530…; the nearest float32 would print 6283.186."""
    assert "the slowest every 6283.185." in everything(opened("pages/position/rope.py", lang="en"))


@pytest.mark.parametrize(("parts", "sizes"), [
    ({"source": "toy"}, "T=4 V=5"), ({"source": "toy", "cut": "characters", "sample": "abcab"}, "T=5 V=4"),
    ({}, "T=4 V=12"), ({"cut": "characters"}, "T=14 V=19")])
def test_the_strip_of_tokens_counts_the_text_and_the_vocabulary_on_screen(parts: dict[str, str], sizes: str) -> None:
    """The unknown counts as an entry; the worked block's own words are the 12 rows of its E."""
    at = opened("pages/input/tokens.py", lang="en", **parts)
    (strip,) = [re.sub("<[^>]*>", "", element.value) for element in at.get("html") if 'class="sizes"' in element.value]
    assert " ".join(re.findall(r"(?<!\S|\w)[TV]=\d+", strip)) == sizes
