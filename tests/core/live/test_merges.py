"""Byte-level BPE in the open: the pieces are the engine's, the steps are the lowest ranks, the offsets fit the text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.live import Live
from core.live.errors import TextNotCovered, TextTooLong
from core.live.merges import Merger
from core.live.model import MAX_CHARACTERS
from core.live.tokenizer import Vocabulary

from .conftest import CONTROLS, MERGES, byte_characters, tiny_tokens
from .test_tokenizer import SAMPLES

TINY = Vocabulary(tiny_tokens(), MERGES, [3] * len(CONTROLS) + [1] * (len(tiny_tokens()) - len(CONTROLS)), "smollm")
DOCUMENT = "我喜欢学习 AI Infra"  # D1 §2


@pytest.fixture(scope="module")
def merger(smollm: Live) -> Merger:
    return Merger.of(smollm.tokenizer.vocabulary)


texts = st.one_of(st.text(max_size=40), st.text(alphabet=" \n\t1290,.'sdtlabTheé我喜😀", max_size=60),
                  st.sampled_from([*SAMPLES, DOCUMENT]))


def uncovered(smollm: Live, text: str) -> list[str]:
    """The characters that the tokenizer itself refuses."""
    try:
        smollm.tokenizer.encode(text)
    except TextNotCovered as refused:
        return refused.characters
    return []


@settings(max_examples=300)
@given(text=texts)
def test_the_pieces_are_the_tokenizers_own(smollm: Live, merger: Merger, text: str) -> None:
    """Ids, labels and character offsets; bytes in order make up the text."""
    if refused := uncovered(smollm, text):
        with pytest.raises(TextNotCovered) as caught:
            merger.pre_tokens(text)
        assert caught.value.characters == refused
        return
    expected, found = smollm.tokenizer.encode(text), merger.pre_tokens(text)
    pieces = [piece for pre_token in found for piece in pre_token.pieces]
    assert tuple(piece.id for piece in pieces) == expected.ids
    assert tuple(piece.label for piece in pieces) == expected.pieces
    assert tuple(piece.characters for piece in pieces) == expected.offsets
    assert b"".join(piece.data for piece in pieces) == text.encode()
    assert "".join(pre_token.text for pre_token in found) == text


@settings(max_examples=150)
@given(text=texts)
def test_each_step_merges_the_lowest_rank_there_is(smollm: Live, merger: Merger, text: str) -> None:
    letters = byte_characters()
    ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(smollm.tokenizer.vocabulary.merges)}

    def rank(left: bytes, right: bytes) -> int | None:
        return ranks.get(("".join(letters[b] for b in left), "".join(letters[b] for b in right)))

    for pre_token in () if uncovered(smollm, text) else merger.pre_tokens(text):
        data = pre_token.text.encode()
        assert [symbol.data for symbol in pre_token.symbols] == [bytes([byte]) for byte in data]
        for step, merge in enumerate(pre_token.merges):
            now = pre_token.after(step)
            ranked = [(rank(a.data, b.data), place) for place, (a, b) in enumerate(pairwise(now))]
            lowest, place = min((r, place) for r, place in ranked if r is not None)
            assert (merge.rank, merge.left, merge.right) == (lowest, now[place], now[place + 1])
            assert merge.made.data == merge.left.data + merge.right.data
            assert merge.made.at == (merge.left.at[0], merge.right.at[1])
            assert pre_token.after(step + 1) == (*now[:place], merge.made, *now[place + 2:])
        last = pre_token.after(len(pre_token.merges))
        assert all(rank(a.data, b.data) is None for a, b in pairwise(last))
        assert [symbol.at for symbol in last] == [piece.at for piece in pre_token.pieces]
        assert all(data[a - pre_token.at[0]:b - pre_token.at[0]] == piece.data
                   for piece in pre_token.pieces for a, b in [piece.at])


def test_the_documents_sentence(smollm: Live, merger: Merger) -> None:
    """D1 §2: Chinese characters take three bytes each, and a token may hold part of one; the id is no meaning."""
    found = merger.pre_tokens(DOCUMENT)
    assert [pre_token.text for pre_token in found] == ["我喜欢学习", " AI", " Infra"]
    first = found[0]
    assert len(first.symbols) == 15
    assert first.symbols[0].label == "⟨E6⟩"
    for piece in first.pieces:
        try:
            piece.data.decode()
            decodable = True
        except UnicodeDecodeError:
            decodable = False
        assert piece.whole == decodable
    assert any(not piece.whole for piece in first.pieces)
    assert found[1].at == (15, 18)
    assert found[1].characters == (5, 8)


def test_merges_in_a_vocabulary_small_enough_to_do_by_hand() -> None:
    """"t h", "th e", "Ġ the", "i n", "Ġ Ġ": " the" takes three merges; "in" one; the leftmost of equals first."""
    merger = Merger.of(TINY)
    (the,) = merger.pre_tokens(" the")
    assert [(merge.rank, merge.left.data, merge.right.data) for merge in the.merges] == [
        (0, b"t", b"h"), (1, b"th", b"e"), (2, b" ", b"the")]
    assert [symbol.label for symbol in the.after(0)] == ["␣", "t", "h", "e"]
    assert [symbol.data for symbol in the.after(2)] == [b" ", b"the"]
    assert [piece.data for piece in the.pieces] == [b" the"]
    assert TINY.tokens[the.pieces[0].id] == "Ġthe"
    (twice,) = merger.pre_tokens("inin")
    assert [merge.left.at for merge in twice.merges] == [(0, 1), (2, 3)]


def test_a_symbol_that_lost_its_neighbour_is_not_merged() -> None:
    """"a a" in "aaa": the left pair is taken, the right one no longer exists."""
    merger = Merger({b"a": 0, b"aa": 1}, [(b"a", b"a")], lambda text: [(0, len(text))])
    (found,) = merger.pre_tokens("aaa")
    assert [symbol.data for symbol in found.after(1)] == [b"aa", b"a"]
    assert [piece.id for piece in found.pieces] == [1, 0]


def test_nothing_gives_nothing() -> None:
    assert Merger.of(TINY).pre_tokens("") == ()


def test_what_the_vocabulary_cannot_write_is_named() -> None:
    with pytest.raises(TextNotCovered) as caught:
        Merger.of(TINY).pre_tokens("a\x04b\ud83d\x04")
    assert caught.value.characters == ["\x04", "\ud83d"]


def test_long_texts_are_refused_before_they_are_cut() -> None:
    with pytest.raises(TextTooLong) as caught:
        Merger.of(TINY).pre_tokens("a" * 100_000)
    assert (caught.value.length, caught.value.limit) == (100_000, MAX_CHARACTERS)
    longest = Merger.of(TINY).pre_tokens("in" * (MAX_CHARACTERS // 2))
    assert len(longest[0].merges) == MAX_CHARACTERS // 2
