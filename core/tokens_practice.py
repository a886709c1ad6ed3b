"""From text to ids: what is worth noticing, and what can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from core.live.merges import Piece, PreToken
from core.quiz import Question, Verdict


class TokenFacts(NamedTuple):
    """About one text: how many characters, bytes and tokens it has, the longest token's characters and place (the first
    of that length), the places of tokens that hold part of a character, the ids that occur several times with their
    places, the places of tokens that begin with a space, and how many merges were made."""

    characters: int
    bytes: int
    tokens: int
    longest: int
    longest_at: int
    parts: tuple[int, ...]
    repeats: dict[int, tuple[int, ...]]
    spaced: tuple[int, ...]
    merges: int


def facts(pre_tokens: Sequence[PreToken]) -> TokenFacts | None:
    """Facts about the pieces of a text, as data; None where there are none."""
    pieces = pieces_of(pre_tokens)
    if not pieces:
        return None
    lengths = [end - start for start, end in (piece.characters for piece in pieces)]
    places: dict[int, list[int]] = {}
    for place, piece in enumerate(pieces):
        places.setdefault(piece.id, []).append(place)
    return TokenFacts(
        pieces[-1].characters[1], pieces[-1].at[1], len(pieces), max(lengths), lengths.index(max(lengths)),
        tuple(place for place, piece in enumerate(pieces) if not piece.whole),
        {token: tuple(found) for token, found in places.items() if len(found) > 1},
        tuple(place for place, piece in enumerate(pieces) if piece.data.startswith(b" ")),
        sum(len(pre_token.merges) for pre_token in pre_tokens))


def pieces_of(pre_tokens: Sequence[PreToken]) -> tuple[Piece, ...]:
    """The tokens of the whole text, in order."""
    return tuple(piece for pre_token in pre_tokens for piece in pre_token.pieces)


def question(pre_tokens: Sequence[PreToken], number: int) -> Question:
    """The `number`-th question: how many tokens a pre-token (`row`, from 0) becomes; those of several first. `score` is
    its number of bytes. There must be at least one pre-token."""
    order = sorted(range(len(pre_tokens)), key=lambda row: (len(pre_tokens[row].pieces) < 2, row))
    row = order[number % len(order)]
    asked = pre_tokens[row]
    return Question("count", row, 0, float(len(asked.symbols)), float(len(asked.pieces)), of="tokens")


def judge(pre_tokens: Sequence[PreToken], asked: Question, answer: float) -> Verdict:
    """Whether the count is right, or which slip would give it: bytes counted, or characters, in place of tokens."""
    if answer == asked.answer:
        return "right"
    if answer == asked.score:
        return "bytes"
    return "characters" if answer == len(pre_tokens[asked.row].text) else "wrong"
