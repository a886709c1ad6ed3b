"""Tokens taken apart wrongly: a word without its space, tokens decoded one by one, what a vocabulary cannot give back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from core import worked
from core.live.merges import PreToken
from core.live.tokenizer import Tokenizer
from core.stages.tokens.texts import Plain
from core.tokenizers import ToyTokenizer


class Spelling(NamedTuple):
    """A word and the same word after a space, and the ids that each becomes."""

    word: str
    ids: tuple[int, ...]
    spaced: tuple[int, ...]


def spellings(tokenizer: Tokenizer, pre_tokens: Sequence[PreToken]) -> tuple[Spelling, ...]:
    """Every word of a text that stands after a space, once, with and without it."""
    words = dict.fromkeys(part.text[1:] for part in pre_tokens if part.text[:1] == " " and part.text[1:].strip())
    return tuple(Spelling(word, tokenizer.encode(word).ids, tokenizer.encode(" " + word).ids) for word in words)


class Decoded(NamedTuple):
    """A text decoded at once, and token by token and then joined; `torn` counts the tokens that are no text alone."""

    whole: str
    joined: str
    torn: int


def one_by_one(tokenizer: Tokenizer | ToyTokenizer, ids: Sequence[int]) -> Decoded:
    """What becomes of characters that several tokens share when each is turned into text by itself."""
    texts = [tokenizer.decode([token]) for token in ids]
    lost = "\N{REPLACEMENT CHARACTER}"
    return Decoded(tokenizer.decode(ids), "".join(texts), sum(lost in text for text in texts))


def given_back(plain: Plain) -> list[tuple[str, str]]:
    """The text, and what its ids give back; where that is the same, also for the text with words after it that the
    vocabulary lacks."""
    longer = f"{plain.text}  {worked.TEXTS['d1']}"
    texts = [plain.text] if _again(plain, plain.text) != plain.text else [plain.text, longer]
    return [(text, _again(plain, text)) for text in texts]


def _again(plain: Plain, text: str) -> str:
    return plain.tokenizer.decode(plain.tokenizer.encode(text).ids)
