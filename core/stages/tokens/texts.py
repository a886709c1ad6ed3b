"""A text as the stage sees it: merged into the tokens of a model, or cut into characters or words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.live.merges import Piece, PreToken
from core.live.tokenizer import Tokenizer
from core.stage import At
from core.tokenizers import Cut, ToyTokenizer


@dataclass(frozen=True)
class Merged:
    """A text, the parts that merges never cross with the merges made in them, and the tokenizer."""

    text: str
    pre_tokens: tuple[PreToken, ...]
    tokenizer: Tokenizer


@dataclass(frozen=True)
class Plain:
    """A text cut into characters or words, and by what."""

    text: str
    cut: Cut
    tokenizer: ToyTokenizer


Text = Merged | Plain


def of_trace(at: At) -> Plain:
    """The tokens of a batch entry as words. In their vocabulary an id is the piece that the trace names it by, or its
    own number."""
    trace = at.trace
    named = dict(zip(trace["tokens"][0].tolist(), trace.tokens, strict=False))
    pieces = tuple(named.get(token, f"#{token}") for token in range(trace.config.vocab))
    tokenizer = ToyTokenizer("words", tuple(
        str(token) if piece == f"#{token}" else piece for token, piece in enumerate(pieces)))
    text = tokenizer.decode(trace["tokens"][at.batch].tolist())
    return Plain(text, tokenizer.encode(text), tokenizer)


def pieces_of(pre_tokens: Sequence[PreToken]) -> tuple[Piece, ...]:
    """The tokens of the whole text, in order."""
    return tuple(piece for pre_token in pre_tokens for piece in pre_token.pieces)
