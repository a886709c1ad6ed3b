"""What the component of tokens is sent, and what is believed of what it sends back."""

from __future__ import annotations

from typing import Any

import pytest
import streamlit as st

from core import live
from core.live import Live
from core.live.merges import Merger, PreToken
from core.tokenizers import ToyTokenizer
from ui import bench
from ui.bench.session import Cell, session
from ui.stages.tokens import merging

TEXT = "a cat, 我喜欢 <b>"


@pytest.fixture(scope="module")
def model() -> Live:
    """The real model, for its tokenizer."""
    return live.load()


@pytest.fixture(scope="module")
def pre_tokens(model: Live) -> tuple[PreToken, ...]:
    return Merger.of(model.tokenizer.vocabulary).pre_tokens(TEXT)


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Session state outside a session."""
    held: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", held)
    return held


def test_the_parts_are_the_text_with_its_bytes_and_tokens(model: Live, pre_tokens: tuple[PreToken, ...]) -> None:
    parts = merging.merged(pre_tokens)
    assert "".join(part.text for part in parts) == TEXT
    assert bytes.fromhex(" ".join(data for part in parts for _label, data in part.symbols)) == TEXT.encode()
    encoding = model.tokenizer.encode(TEXT)
    pieces = [piece for part in parts for piece in part.pieces]
    assert [(piece[0], piece[1]) for piece in pieces] == list(zip(encoding.ids, encoding.pieces, strict=True))
    assert [piece[3:5] for piece in pieces] == list(encoding.offsets)


def test_the_merges_sent_join_neighbours_until_the_tokens_are_left(pre_tokens: tuple[PreToken, ...]) -> None:
    for part in merging.merged(pre_tokens):
        now = {start: data for start, (_label, data) in enumerate(part.symbols)}
        for _rank, start, _label, data in part.merges:
            after = start + len(now[start].split())
            assert data == f"{now[start]} {now.pop(after)}"
            now[start] = data
        assert list(now.values()) == [piece[2] for piece in part.pieces]


def test_what_is_asked_for_does_not_leave_python(pre_tokens: tuple[PreToken, ...]) -> None:
    part = merging.merged(pre_tokens)[1]
    sent = merging._sent(part, hidden=True)
    assert sent == {"text": part.text, "asked": True, "symbols": [], "merges": [], "pieces": []}
    assert merging._sent(part, hidden=False)["pieces"]


def test_words_are_parts_of_one_token_each() -> None:
    cut = ToyTokenizer("words", ("the", "cat")).encode("the zebra")
    parts = merging.plain(cut, str.upper)
    assert [part.pieces for part in parts] == [[(0, "THE", "74 68 65", 0, 3, True)],
                                              [(2, "ZEBRA", "7A 65 62 72 61", 4, 9, False)]]
    assert not any(part.merges or part.symbols for part in parts)


@pytest.mark.parametrize("sent", [None, "1,2", [1], [1, 2, 3], [-1, 0], [3, 0], [1, 9], [True, 0], [1.5, 0], {"0": 1}])
def test_a_place_that_does_not_exist_lets_go(state: dict[str, Any], sent: object) -> None:
    state["merging"] = {"place": sent}
    bench.place_taker("merging", "part", [2, 4, 0])()
    assert session().bench.unpinned
    assert bench.place_for("part", [2, 4, 0], (0, 2)) is None


def test_a_place_that_exists_is_kept_and_another_view_s_pin_is_not_taken_for_one(state: dict[str, Any]) -> None:
    sizes = [2, 4, 0]
    assert bench.place_for("part", sizes, (0, 2)) == (0, 2)
    state["merging"] = {"place": [1, 4]}
    bench.place_taker("merging", "part", sizes)()
    assert bench.place_for("part", sizes, (0, 2)) == (1, 4)
    assert bench.place_for("part", [2, 3], (0, 2)) == (0, 2)  # another text
    session().bench.pin = Cell("scores", 1, 1)
    assert bench.place_for("part", sizes, (0, 2)) == (0, 2)


def test_every_text_of_the_component_passes_through_the_translation() -> None:
    seen: list[str] = []

    def translate(text: str) -> str:
        seen.append(text)
        return text

    assert list(merging.default_strings(translate).values()) == seen
