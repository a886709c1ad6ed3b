"""What a vocabulary says about an id, and how long one text becomes by vocabularies of different kinds."""

from __future__ import annotations

from typing import NamedTuple

from core.live.tokenizer import Tokenizer
from core.tokenizers import Cut, ToyTokenizer


def read_back(tokenizer: ToyTokenizer, cut: Cut) -> int:
    """How many pieces of a text come back when their ids are looked up in the vocabulary: all but the unknown."""
    return sum(tokenizer.decode([token]) == piece for token, piece in zip(cut.ids, cut.pieces, strict=True))


def neighbours(tokenizer: Tokenizer, token: int, count: int = 3) -> tuple[tuple[int, str], ...]:
    """The ids round a token's, with their labels."""
    return tuple((near, tokenizer.label(near))
                 for near in range(max(0, token - count), min(tokenizer.size, token + count + 1)))


class Lengths(NamedTuple):
    """How one text is cut: by what, into how many tokens, from a vocabulary of what size."""

    kind: str
    tokens: int
    vocabulary: int


def compared(text: str, tokens: int, size: int) -> tuple[Lengths, ...]:
    """Characters, words (a vocabulary of what the text holds) and byte-level BPE of `tokens` and `size`."""
    simple = (ToyTokenizer.of("characters", text), ToyTokenizer.of("words", text))
    return (*(Lengths(made.kind, len(made.encode(text)), made.size) for made in simple), Lengths("bpe", tokens, size))
