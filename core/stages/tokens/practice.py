"""From text to ids: what is worth noticing, and what can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from core.live.merges import Piece, PreToken
from core.live.tokenizer import Tokenizer
from core.questions import Question, Verdict
from core.stages.tokens.tokenizers import Cut, ToyTokenizer


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


def read_back(tokenizer: ToyTokenizer, cut: Cut) -> int:
    """How many pieces of a text come back when their ids are looked up in the vocabulary: all but the unknown."""
    return sum(tokenizer.decode([token]) == piece for token, piece in zip(cut.ids, cut.pieces, strict=True))


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


def one_by_one(tokenizer: Tokenizer, ids: Sequence[int]) -> Decoded:
    """What becomes of characters that several tokens share when each is turned into text by itself."""
    texts = [tokenizer.decode([token]) for token in ids]
    lost = "\N{REPLACEMENT CHARACTER}"
    return Decoded(tokenizer.decode(ids), "".join(texts), sum(lost in text for text in texts))


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


def id_question(cut: Cut, number: int) -> Question:
    """The `number`-th question about a text without merges, of one token or more: the id of a token, the last first."""
    place = (len(cut) - 1 - number) % len(cut)
    return Question("which", place, 0, float(place), float(cut.ids[place]), of="id")


def judge_id(asked: Question, answer: float) -> Verdict:
    """Whether the id is right, or the place was taken for it, counted from 0 or from 1."""
    if answer == asked.answer:
        return "right"
    return "place" if answer in (asked.row, asked.row + 1) else "wrong"


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
