"""The tokens stage: from a text to a row of ids, by the merges of a model or by cutting into characters or words.

The setting `text` of all that is offered here is the text in either form; by default the tokens of the trace, as words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch

from core.comparison import Comparison, compare
from core.live.merges import PreToken
from core.programs import Program
from core.questions import Question, Verdict
from core.stage import At, CarriedOut, Questions
from core.stages.tokens import mistakes, programs
from core.stages.tokens.texts import Merged, Text, of_trace, pieces_of


class MergeFacts(NamedTuple):
    """About one text of a model: how many characters, bytes and tokens it has, the longest token's characters and place
    (the first of that length), the places of tokens that hold part of a character, the ids that occur several times
    with their places, the places of tokens that begin with a space, and how many merges were made."""

    characters: int
    bytes: int
    tokens: int
    longest: int
    longest_at: int
    parts: tuple[int, ...]
    repeats: dict[int, tuple[int, ...]]
    spaced: tuple[int, ...]
    merges: int


class CutFacts(NamedTuple):
    """About one text without merges: how many tokens it has, how many entries the vocabulary, the unknown counted, the
    places of the unknown pieces, and the id that all of them get."""

    tokens: int
    vocabulary: int
    unknown: tuple[int, ...]
    unknown_id: int


def facts(at: At, *, text: Text | None = None) -> MergeFacts | CutFacts | None:
    """Facts about the tokens of a text; None where a model's text has none."""
    shown = text or of_trace(at)
    if isinstance(shown, Merged):
        return _merge_facts(shown.pre_tokens)
    return CutFacts(len(shown.cut), shown.tokenizer.size, shown.cut.unknown, shown.tokenizer.unknown)


def _merge_facts(pre_tokens: Sequence[PreToken]) -> MergeFacts | None:
    pieces = pieces_of(pre_tokens)
    if not pieces:
        return None
    lengths = [end - start for start, end in (piece.characters for piece in pieces)]
    places: dict[int, list[int]] = {}
    for place, piece in enumerate(pieces):
        places.setdefault(piece.id, []).append(place)
    return MergeFacts(
        pieces[-1].characters[1], pieces[-1].at[1], len(pieces), max(lengths), lengths.index(max(lengths)),
        tuple(place for place, piece in enumerate(pieces) if not piece.whole),
        {token: tuple(found) for token, found in places.items() if len(found) > 1},
        tuple(place for place, piece in enumerate(pieces) if piece.data.startswith(b" ")),
        sum(len(pre_token.merges) for pre_token in pre_tokens))


def _space(at: At, *, text: Text | None = None) -> Comparison:
    """The ids of the text's second word, or of its only one, with and without the space before it; (1, tokens)."""
    shown = text or of_trace(at)
    word = "".join(shown.text.split()[:2][-1:])
    right, wrong = (torch.tensor([shown.tokenizer.encode(part).ids]) for part in (f" {word}", word))
    return compare(right, wrong)


def _decode(at: At, *, text: Text | None = None) -> Comparison:
    """The characters of the text, as numbers (1, characters), and those of its tokens decoded one by one and joined."""
    shown = text or of_trace(at)
    found = mistakes.one_by_one(shown.tokenizer, shown.tokenizer.encode(shown.text).ids)
    return compare(_characters(found.whole), _characters(found.joined))


def _lost(at: At, *, text: Text | None = None) -> Comparison:
    """The characters of a text, as numbers (1, characters), and those that its ids give back; a model's gives all."""
    shown = text or of_trace(at)
    if isinstance(shown, Merged):
        return compare(_characters(shown.text), _characters(shown.tokenizer.decode(
            shown.tokenizer.encode(shown.text).ids)))
    right, wrong = map(_characters, mistakes.given_back(shown)[-1])
    return compare(right, wrong)


def _characters(text: str) -> torch.Tensor:
    return torch.tensor([[ord(character) for character in text]])


MISTAKES: Mapping[str, CarriedOut] = {"space": _space, "decode": _decode, "lost": _lost}


def ask_count(at: At, number: int, *, text: Text | None = None) -> Question | None:
    """The `number`-th question about a model's text: how many tokens a pre-token (`row`, from 0) becomes; those of
    several first. `score` is its number of bytes."""
    if not isinstance(text, Merged) or not text.pre_tokens:
        return None
    sizes = [len(part.pieces) for part in text.pre_tokens]
    order = sorted(range(len(sizes)), key=lambda row: (sizes[row] < 2, row))
    row = order[number % len(order)]
    return Question("count", row, 0, float(len(text.pre_tokens[row].symbols)), float(sizes[row]), of="tokens")


def judge_count(at: At, question: Question, answer: float, _decimals: int, *, text: Merged) -> Verdict:
    """Whether the count is right, or which slip would give it: bytes counted, or characters, in place of tokens."""
    if answer == question.answer:
        return "right"
    if answer == question.score:
        return "bytes"
    return "characters" if answer == len(text.pre_tokens[question.row].text) else "wrong"


def ask_id(at: At, number: int, *, text: Text | None = None) -> Question | None:
    """The `number`-th question about a text without merges: the id of a token, the last first."""
    shown = text or of_trace(at)
    if isinstance(shown, Merged) or not len(shown.cut):
        return None
    place = (len(shown.cut) - 1 - number) % len(shown.cut)
    return Question("which", place, 0, float(place), float(shown.cut.ids[place]), of="id")


def judge_id(at: At, question: Question, answer: float, _decimals: int, *, text: Text | None = None) -> Verdict:
    """Whether the id is right, or the place was taken for it, counted from 0 or from 1."""
    if answer == question.answer:
        return "right"
    return "place" if answer in (question.row, question.row + 1) else "wrong"


QUESTIONS: Mapping[str, Questions] = {
    "count": Questions(ask_count, judge_count), "id": Questions(ask_id, judge_id)}


def program(at: At, *, text: Text | None = None) -> Program:
    """From the text to its ids in `result`, in plain Python."""
    shown = text or of_trace(at)
    return programs.merged(shown.pre_tokens) if isinstance(shown, Merged) else \
        programs.simple(shown.tokenizer, shown.text)
