"""What a page shows is what the next goes on with: one default for the whole app, and choices that carry."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core import live, worked
from tests.ui.on_page import (
    BUILT,
    GENERATION,
    MASK,
    MIXING,
    OWN,
    PAGES,
    PROJECTIONS,
    SCORES,
    SENTENCE,
    assert_shows,
    chip,
    everything,
    frames,
    lit,
    messages,
    opened,
    payloads,
    shown,
    throw,
    thrown,
)
from ui.bench.limits import DEFAULT_EXAMPLE
from ui.shell.syllabus import stage

TOKENS, EMBEDDING = "pages/input/tokens.py", "pages/input/embedding.py"
HEADS = "pages/attention/heads.py"


@pytest.mark.parametrize("slug", BUILT)
def test_every_page_opens_with_the_block_or_with_its_own_example_and_says_so(slug: str) -> None:
    at = opened(stage(slug).page, lang="en")
    assert not at.exception
    if not at.get("button_group") or "_example" not in at.session_state:
        assert slug in ("home", "matmul", "cost")
        stays = [element.value for element in at.caption if "What you look at elsewhere stays" in element.value]
        assert len(stays) == (slug != "home")
        return
    assert lit(at) == OWN.get(slug, DEFAULT_EXAMPLE)
    assert not messages(at)
    said = [element.value for element in at.caption if "own example:" in element.value]
    assert len(said) == (slug in OWN)
    if slug in OWN:
        assert stage(slug).because in said[0]
        chip(at, DEFAULT_EXAMPLE if slug != "rope" else "toy")
        assert "own example:" not in everything(at)


def test_only_pages_that_need_other_sizes_have_an_example_of_their_own() -> None:
    assert set(OWN) == {"sharing", "order", "rope"}
    assert all(stage(slug).because for slug in OWN)
    assert DEFAULT_EXAMPLE in worked.EXAMPLES


@pytest.mark.parametrize("kind", ["", "none", "causal", "window", "padding"])
def test_the_weights_of_the_mask_page_are_those_that_mixing_goes_on_with(kind: str) -> None:
    at = opened(MASK, lang="en", v="3")
    if kind:
        throw(at, "mask", kind)
    before = shown(at, "blocks.0.weights")
    at.switch_page(MIXING).run()
    np.testing.assert_array_equal(shown(at, "blocks.0.weights"), before)


def test_the_mask_page_says_which_mask_is_in_effect() -> None:
    at = opened(MASK, lang="en", v="3")
    for example in ("matrices", "block", "d3_lab", "toy"):
        chip(at, example)
        own = worked.EXAMPLES[example].mask if example in worked.EXAMPLES else "causal"
        assert thrown(at, "mask") == own


def test_a_chip_brings_the_example_s_own_mask() -> None:
    at = opened(MIXING, lang="en", v="3", mask="window", reach="2", sample="a dog")
    assert any("Your words: `a dog`." in element.value for element in at.caption)
    assert any("Mask: sliding window." in element.value for element in at.caption)
    chip(at, "matrices")
    assert not {"mask", "sample"} & set(at.query_params)
    assert any("Mask: none." in element.value for element in at.caption)
    assert_shows(at, worked.matrices())


def test_the_chips_are_the_examples_that_have_numbers_here_the_toy_and_the_model() -> None:
    for slug in ("tokens", "projections", "mask", "rope", "generation"):
        at = opened(stage(slug).page, lang="en")
        needs = stage(slug).needs
        wanted = [name for name, example in worked.EXAMPLES.items() if example.offered
                  and {needs, f"blocks.0.{needs}"} & set(example().names())
                  and (example.whole or not stage(slug).prompted)]
        assert len(at.button_group(key="_example").options) == len(wanted) + 2
    assert not worked.EXAMPLES["single_head"].offered


def test_words_typed_on_tokens_carry_to_the_pages_after_it() -> None:
    at = opened(TOKENS, lang="en", v="3")
    at.text_input(key="_sample").set_value("the dog runs .").run()
    trace = worked.block(ids=(0, 4, 7, 11))
    for page in (EMBEDDING, PROJECTIONS, SCORES, MASK, MIXING, HEADS):
        at.switch_page(page).run()
        assert not at.exception
        assert not messages(at)
        assert at.query_params["sample"] == "the dog runs ."
        assert assert_shows(at, trace)
    at.switch_page(GENERATION).run()
    assert "runs" in everything(at) or any("runs" in found.value for found in at.get("html"))
    assert shown(at, "blocks.0.q").shape[-1] == 2


@pytest.mark.parametrize(("text", "why"), [
    ("the elephant runs", "`elephant`"), ("the cat sees a small red dog and it", "longer than the 8 tokens")])
def test_words_that_the_example_has_no_rows_for_are_told_and_can_be_forgotten(text: str, why: str) -> None:
    at = opened(TOKENS, lang="en", v="3")
    at.text_input(key="_sample").set_value(text).run()
    assert "goes no further" in everything(at)
    at.switch_page(EMBEDDING).run()
    assert text in messages(at)[0]
    assert why in messages(at)[0]
    assert_shows(at, worked.block())
    at.button(key="forget-typed").click().run()
    assert not messages(at)
    assert "sample" not in at.query_params


def test_words_typed_on_tokens_reach_the_run_up_to_its_last_position() -> None:
    at = opened(GENERATION, lang="en", v="3", sample="the cat sees a small red dog and")
    assert not at.exception
    assert any("positions for 8 tokens" in element.value for element in at.caption)


def test_another_example_has_other_words() -> None:
    at = opened(TOKENS, lang="en", v="3", example="matrices")
    assert at.text_input(key="_sample").value == worked.EXAMPLES["matrices"].text
    at.switch_page(EMBEDDING).run()
    np.testing.assert_array_equal(frames(at)["embed"], worked.single_head()["blocks.0.in"][0])


def test_characters_are_cut_on_this_page_only_and_no_size_of_the_model_is_claimed_for_them() -> None:
    at = opened(TOKENS, lang="en", v="3", cut="characters")
    assert "on this page only" in everything(at)
    (strip,) = [element.value for element in at.get("html") if 'class="sizes"' in element.value]
    assert set(re.findall(r"([A-Za-z]+)</b>=", strip)) == {"B", "T", "V"}


def test_the_softmax_opened_follows_where_the_mask_is_put() -> None:
    trace = worked.block()
    for where, name in (("before", "masked"), ("none", "scaled"), ("after", "scaled")):
        at = opened(MASK, lang="en", v="3", where=where)
        at.session_state["open-softmax"] = True
        at.run()
        assert not at.exception
        np.testing.assert_array_equal(shown(at, f"blocks.0.{name}", 1), trace[f"blocks.0.{name}"][0, 0])
        expected = torch.softmax(trace[f"blocks.0.{name}"][0, 0], dim=-1)
        np.testing.assert_allclose(frames(at, 1)["weights"], expected, atol=1e-6)


@pytest.mark.parametrize(("slug", "parts", "present"), [
    ("tokens", {"source": "toy", "B": "2"}, set()), ("tokens", {"source": "live", "text": SENTENCE}, set()),
    ("embedding", {"source": "toy", "B": "2"}, {"b"}), ("cost", {"example": "block"}, set()),
    ("cost", {"cost_of": "llama-2-7b", "example": "grouped"}, set()), ("matmul", {}, set()), ("home", {}, set()),
    ("order", {"source": "toy", "B": "2", "L": "2"}, {"layer", "b"}),
    ("scores", {"source": "toy", "B": "2", "L": "2"}, {"layer", "head", "b"})])
def test_controls_of_what_a_page_does_not_look_at_are_not_on_it(
    slug: str, parts: dict[str, str], present: set[str], model: live.Live,
) -> None:
    at = opened(stage(slug).page, lang="en", v="3", **parts)
    assert not at.exception
    assert {field.key for field in at.number_input} & {"layer", "head", "b"} == present


def test_without_the_transpose_there_is_nothing_to_divide_and_nothing_to_check() -> None:
    at = opened(SCORES, lang="en", v="3", transpose="false")
    assert payloads(at)[0]["without"] == ["scale"]
    assert not any(element.value.startswith("Check:") for element in at.caption)


def test_another_sentence_to_try_is_in_the_field_of_the_sentence_too(model: live.Live) -> None:
    at = opened(TOKENS, lang="en", v="3", source="live", text=SENTENCE)
    at.button(key="try-d1").click().run()
    assert at.text_area(key="text").value == worked.TEXTS["d1"]
    assert at.query_params["text"] == worked.TEXTS["d1"]


def test_changed_settings_of_a_generation_make_its_steps_again_at_once() -> None:
    at = opened(GENERATION, lang="en", v="3", made="4", at="3")
    before = frames(at)
    at.number_input(key="temperature").set_value(2.0).run()
    at.number_input(key="draw").set_value(5).run()
    assert not at.exception
    assert at.query_params["made"] == "4"
    assert at.query_params["at"] == "3"
    assert any(not np.array_equal(before[name], frames(at)[name]) for name in before)


@pytest.mark.parametrize(("parts", "example"), [
    ({"lang": "en"}, "block"), ({}, "block"), ({"lang": "en", "decimals": "4"}, "single_head"),
    ({"lang": "en", "v": "3", "decimals": "4"}, "block"), ({"pin": "scaled.1.1"}, "single_head"),
    ({"lang": "en", "example": "block", "head": "2"}, "block")])
def test_an_address_without_a_version_means_what_it_meant(parts: dict[str, str], example: str) -> None:
    at = opened(SCORES, **parts)
    assert lit(at) == example
    assert at.query_params["v"] == "3"
    assert ("example" in at.query_params) == (example == "single_head" or "example" in parts)
    at.switch_page(MIXING).run()
    assert lit(at) == example


def test_an_old_address_of_the_mask_page_carries_its_mask_on() -> None:
    at = opened(MASK, lang="en", pin="weights.1.0")
    assert_shows(at, worked.single_head("causal"))
    at.switch_page(MIXING).run()
    assert_shows(at, worked.single_head("causal"))


@pytest.mark.parametrize(("page", "parts"), [
    (MASK, {"where": "after"}), (SCORES, {"scale": "false"}), (EMBEDDING, {"positions": "sinusoidal"}),
    ("pages/position/order.py", {"sight": "causal"}), ("pages/position/rope.py", {"moved": "5"}),
    ("pages/attention/sharing.py", {"kvheads": "1"})])
def test_what_is_tried_on_one_page_is_said_to_stay_there(page: str, parts: dict[str, str]) -> None:
    def said(at: AppTest) -> bool:
        words = "on this page only"
        return words in everything(at) or any(words in str(payload["wiring"]) for payload in payloads(at))

    assert said(opened(page, lang="en", v="3", **parts))
    plain = {"kvheads": "4"} if "kvheads" in parts else {}  # sharing opens on fewer KV heads than its example has
    assert not said(opened(page, lang="en", v="3", **plain))


def reloaded(at: AppTest, page: str) -> AppTest:
    """The page opened in another session with the address that this one has."""
    return opened(page, **{key: str(value) for key, value in at.query_params.items()})


@pytest.mark.parametrize(("parts", "number"), [({"mask": "window", "reach": "3"}, "reach"),
                                               ({"mask": "padding", "hidden": "2"}, "hidden")])
def test_the_number_of_a_mask_is_in_the_address_of_every_page(parts: dict[str, str], number: str) -> None:
    at = opened(MASK, lang="en", v="3", **parts)
    at.switch_page(MIXING).run()
    assert at.query_params[number] == parts[number]
    np.testing.assert_array_equal(shown(reloaded(at, MIXING), "blocks.0.weights"), shown(at, "blocks.0.weights"))


def test_the_map_s_model_is_in_the_address_of_the_page_about_cost() -> None:
    at = opened(PAGES[0], lang="en", v="3", mD="64", mH="4", mHkv="2", mL="7", mffn="swiglu", mtied="true")
    at.switch_page("pages/inference/cost.py").run()
    at.selectbox(key="cost_of").set_value("map").run()
    strip = [element.value for element in at.get("html") if 'class="sizes"' in element.value]
    again = reloaded(at, "pages/inference/cost.py")
    assert [element.value for element in again.get("html") if 'class="sizes"' in element.value] == strip
    tables = [element.value for element in at.get("html") if "ledger" in element.value]
    assert [element.value for element in again.get("html") if "ledger" in element.value] == tables
    assert "D</b>=64" in strip[0]


@pytest.mark.parametrize(("parts", "told"), [
    ({"v": "99"}, 1), ({"v": "3"}, 0), ({"sample": "x" * 301, "v": "3"}, 1), ({"sample": "   ", "v": "3"}, 0),
    ({"reach": "abc", "v": "3"}, 1)])
def test_what_an_address_says_that_cannot_be_is_told(parts: dict[str, str], told: int) -> None:
    at = opened(SCORES, lang="en", **parts)
    assert not at.exception
    assert len(at.warning) == told
    assert_shows(at, worked.block())
