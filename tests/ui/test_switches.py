"""Switches that the equation holds: what travels with it, and what a browser may send back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ui.on_page import MASK, SCORES, SHARING, opened, payloads, scope
from ui.equation.switches import LARGEST, Flip, Switch, read_flips

HEADS, ORDER, ROPE = "pages/attention/heads.py", "pages/position/order.py", "pages/position/rope.py"
SWITCHES = [Switch("transpose", "Transpose", {"true": "on", "false": "off"}, "true"),
            Switch("kind", "Kind", {"none": "none", "causal": "causal"}, "none")]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["flips", "seq", "key", "code", "kind"]) | st.text(max_size=8), inner, max_size=4),
    max_leaves=20)


@given(JSON)
def test_whatever_a_browser_sends_only_codes_of_a_switch_are_taken(sent: Any) -> None:
    for flip in read_flips(sent, SWITCHES):
        assert flip.code in next(one.options for one in SWITCHES if one.key == flip.key)


def test_thrown_switches_are_read_in_their_order() -> None:
    sent = {"flips": [{"seq": 7, "key": "kind", "code": "causal"}, {"seq": 2, "key": "transpose", "code": "false"},
                      {"seq": 3, "key": "transpose", "code": "maybe"}, {"seq": -1, "key": "kind", "code": "none"},
                      {"seq": True, "key": "kind", "code": "none"}, {"seq": 4, "key": "other", "code": "none"}, 5]}
    assert read_flips(sent, SWITCHES) == [Flip(2, "transpose", "false"), Flip(7, "kind", "causal")]
    assert read_flips({"flips": sent["flips"] * 20}, SWITCHES) == []


@pytest.mark.parametrize(("page", "parts"), [
    (SCORES, {}), (SCORES, {"transpose": "false"}), (SCORES, {"scale": "false"}),
    (SCORES, {"source": "toy", "T": "8", "D": "16"}), (HEADS, {}), (HEADS, {"way": "mixed", "head": "2"}),
    (HEADS, {"way": "viewed", "source": "toy"}), (HEADS, {"example": "rope_pairs"}),
    (MASK, {}), (MASK, {"where": "renormalised", "mask": "window"}), (MASK, {"source": "toy", "where": "after"}),
    (MASK, {"example": "d3_lab", "mask": "padding", "hidden": "2"}), (MASK, {"source": "toy", "T": "8", "layer": "2"}),
    (MASK, {"example": "single_head", "edits": scope("single_head", q={(0, 0, 1, 1): 2.0})}),
    (SHARING, {}), (SHARING, {"kvheads": "1", "which": "k"}), (SHARING, {"source": "toy", "H": "4", "Hkv": "2"}),
    (ROPE, {}), (ROPE, {"letter": "k", "source": "toy"}), (ROPE, {"moved": "7", "base": "100"}), (ORDER, {}),
    (ORDER, {"sight": "causal", "places": "rope"}), (ORDER, {"example": "block", "order": "3.1.2.0"})])
def test_what_one_switch_would_show_travels_along_and_is_what_python_then_draws(
    page: str, parts: dict[str, str],
) -> None:
    sent = payloads(opened(page, lang="en", v="3", **parts))[0]
    own = {frame["id"]: frame for frame in sent["frames"]}
    thrown = [switch for switch in sent["switches"] if switch["key"] not in sent["without"]]
    assert len(sent["variants"]) >= sum(len(switch["options"]) - 1 for switch in thrown) > 0
    assert len(json.dumps(sent["variants"])) < LARGEST
    for variant in sent["variants"]:
        there = payloads(opened(page, lang="en", v="3", **(parts | variant["codes"])))[0]
        frames = [own[frame] if isinstance(frame, str) else frame for frame in variant["frames"]]
        assert frames == there["frames"]
        assert {part: variant[part] for part in parts_of(variant)} == {part: there[part] for part in parts_of(variant)}


def parts_of(variant: dict[str, Any]) -> set[str]:
    """What a variant brings besides its codes and frames."""
    return set(variant) - {"codes", "frames"}


def test_the_live_model_s_variants_do_not_travel(model: object) -> None:
    sent = payloads(opened(SCORES, lang="en", v="3", source="live", text="My sun"))[0]
    assert sent["switches"]
    assert sent["variants"] == []


def test_a_switch_stands_in_the_address_and_is_let_go_with_its_page() -> None:
    at = opened(SCORES, lang="en", v="3", scale="false")
    assert at.query_params["scale"] == "false"
    assert [frame["id"] for frame in payloads(at)[0]["frames"]] == ["q", "k", "scores"]
    at.switch_page("pages/attention/mask.py").run()
    assert not at.exception
    at.query_params.clear()
    at.switch_page(SCORES).run()
    assert [frame["id"] for frame in payloads(at)[0]["frames"]] == ["q", "k", "scores", "scaled"]
