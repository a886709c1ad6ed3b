"""The state file: everything chosen comes back, and nothing that a stranger writes into it may raise or get through."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.live.model import MAX_CHARACTERS
from core.toy import LIMITS
from ui.bench import address, state_file
from ui.bench.limits import SIZE_LETTERS
from ui.bench.state_file import State, from_json, to_json

Q = "blocks.0.q"
EDITS: address.ScopedEdits = {"toy": {Q: {(0, 0, 0, 0): 2.5}}}
SIZES = {letter: LIMITS[name] for letter, name in SIZE_LETTERS.items()}


@given(
    st.fixed_dictionaries(
        {"source": st.sampled_from(["worked", "toy", "live"]), "text": st.text(max_size=50),
         "example": st.sampled_from(["", "single_head", "block", "block_shared", "d3_lab"]),
         "bias": st.sampled_from(["", "on"]), "mask": st.sampled_from(["", "causal", "none"]),
         "seed": st.integers(*LIMITS["seed"]), "layer": st.integers(1, 30), "head": st.integers(1, 9)}
        | {letter: st.integers(*limits) for letter, limits in SIZES.items()}))
def test_all_that_was_chosen_comes_back(choices: dict[str, Any]) -> None:
    assert from_json(to_json(EDITS, choices).encode()) == State(EDITS, choices, 0)


HOSTILE: dict[str, tuple[str, Any]] = {
    "a key that is not chosen": ("_edits", {}), "an inner key": ("_written", {}), "a path": ("../x", "y"),
    "a language": ("lang", "zh"), "an unknown source": ("source", "internet"), "a list": ("source", ["toy"]),
    "a number for a code": ("source", 1), "null": ("example", None), "an unknown mask": ("mask", "<b>"),
    "true for a number": ("T", True), "a float": ("T", 3.5), "a text for a number": ("T", "3"), "zero": ("T", 0),
    "too large": ("D", 10**9), "an endless integer": ("seed", 10**400), "negative": ("layer", -1),
    "not a number": ("head", float("nan")), "infinity": ("b", float("inf")), "a mapping": ("V", {"a": 1}),
    "a text that is too long": ("text", "a" * (MAX_CHARACTERS + 1)), "half a surrogate pair": ("text", "\ud800"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_an_unsound_choice_is_dropped_and_counted_and_the_others_stay(kind: str) -> None:
    key, value = HOSTILE[kind]
    raw = json.dumps({"view": {"seed": 7, key: value} if key != "seed" else {"T": 7, key: value}, "edits": {}})
    found = from_json(raw.encode())
    assert (found.choices, found.dropped) == ({"seed": 7} if key != "seed" else {"T": 7}, 1)


@pytest.mark.parametrize("raw", [
    b"", b"\xff\xfe", b"[]", b"5", b"null", b"{}", b'{"edits": 3}', b'{"edits": [], "view": {}}', b"[" * 100_000,
    b'{"edits": {}, "view": {' + b" " * address.LARGEST_TEXT + b"}}"])
def test_what_is_no_state_file_gives_nothing(raw: bytes) -> None:
    assert from_json(raw) == State({}, {}, 1)


def test_a_file_without_choices_or_with_broken_ones_still_gives_its_edits() -> None:
    edits = json.loads(address.edits_to_json(EDITS))
    assert from_json(json.dumps({"edits": edits}).encode()) == State(EDITS, {}, 0, old=True)
    assert from_json(json.dumps({"v": "3", "edits": edits, "view": [1]}).encode()) == State(EDITS, {}, 1)


def test_every_saved_choice_is_read_back() -> None:
    plain = json.loads(state_file.saved())
    assert from_json(json.dumps(plain).encode()) == State({}, plain["view"], 0)
