"""Characters and words as tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import tokenizers
from core.errors import TokenOutOfRange, UnknownOption
from core.stages.tokens import vocabularies
from core.tokenizers import ToyTokenizer


def test_words_and_what_they_lose() -> None:
    tokenizer = ToyTokenizer.of("words", "the cat sees the dog.")
    assert tokenizer.vocabulary == ("the", "cat", "sees", "dog", ".")
    cut = tokenizer.encode("the  dog\nsees a cat")
    assert cut.ids == (0, 3, 2, 5, 1)
    assert cut.pieces == ("the", "dog", "sees", "a", "cat")
    assert cut.offsets == ((0, 3), (5, 8), (9, 13), (14, 15), (16, 19))
    assert cut.unknown == (3,)
    assert tokenizer.decode(cut.ids) == "the dog sees \ufffd cat"
    assert (tokenizer.size, tokenizer.unknown) == (6, 5)


def test_a_sentence_without_spaces_is_one_word() -> None:
    """D1 §2: words are no unit for every language."""
    assert ToyTokenizer.of("words", "我喜欢学习 AI Infra").vocabulary == ("我喜欢学习", "AI", "Infra")
    assert len(ToyTokenizer.of("characters", "我喜欢学习 AI Infra").vocabulary) == 12


@given(st.text(max_size=40), st.text(max_size=40))
def test_characters_come_back_if_they_are_known(learnt: str, text: str) -> None:
    tokenizer = ToyTokenizer.of("characters", learnt)
    cut = tokenizer.encode(text)
    assert "".join(cut.pieces) == text
    assert len(cut) == len(text)
    known = "".join(c if c in learnt else "\ufffd" for c in text)
    assert tokenizer.decode(cut.ids) == known
    assert [cut.pieces[place] for place in cut.unknown] == [c for c in text if c not in learnt]


@given(st.text(max_size=60))
def test_words_leave_out_white_space_only(text: str) -> None:
    cut = ToyTokenizer.of("words", text).encode(text)
    assert "".join(cut.pieces) == "".join(text.split())
    assert all(text[start:end] == piece for piece, (start, end) in zip(cut.pieces, cut.offsets, strict=True))
    assert cut.unknown == ()


def test_what_there_is_not_is_refused() -> None:
    with pytest.raises(UnknownOption):
        tokenizers.spans("syllables", "a")
    for token in (-1, 2):
        with pytest.raises(TokenOutOfRange):
            ToyTokenizer("characters", ("a",)).decode([token])


@pytest.mark.parametrize(("text", "expected"), [("the cat sees a", 4), ("the dog sees a", 3), ("", 0)])
def test_the_ids_of_known_pieces_give_them_back(text: str, expected: int) -> None:
    tokenizer = ToyTokenizer.of("words", "the cat sees a")
    assert vocabularies.read_back(tokenizer, tokenizer.encode(text)) == expected
