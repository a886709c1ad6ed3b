"""The two tokenizers that need no training: one token for each character, or one for each word.

Their vocabulary is what occurs in a text that they are given; everything else becomes one token for the unknown. With
them a learner sees what a byte-level BPE avoids: long sequences on the one hand, unknown words on the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from core.errors import TokenOutOfRange, UnknownOption

Kind = Literal["characters", "words"]
KINDS: tuple[Kind, ...] = ("characters", "words")
_WORD = re.compile(r"\w+|[^\w\s]")  # a run of letters and digits, or one sign; white space only separates
Span = tuple[int, int]


@dataclass(frozen=True)
class Cut:
    """A text as tokens: ids, the pieces as they stand in the text, their characters [start, end), and the places of
    those that the vocabulary does not know."""

    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    offsets: tuple[Span, ...]
    unknown: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class ToyTokenizer:
    """`vocabulary[id]` is the piece of an id; the id after the last is that of the unknown."""

    kind: Kind
    vocabulary: tuple[str, ...]

    @classmethod
    def of(cls, kind: Kind, text: str) -> Self:
        """Every piece of `text` once, in the order of first occurrence. Raises UnknownOption."""
        return cls(kind, tuple(dict.fromkeys(text[start:end] for start, end in spans(kind, text))))

    @property
    def unknown(self) -> int:
        """The id that every unknown piece gets."""
        return len(self.vocabulary)

    @property
    def size(self) -> int:
        """V, the unknown counted."""
        return len(self.vocabulary) + 1

    def encode(self, text: str) -> Cut:
        """Cut a text; nothing is added to it."""
        ids_of = {piece: i for i, piece in enumerate(self.vocabulary)}
        places = spans(self.kind, text)
        pieces = tuple(text[start:end] for start, end in places)
        ids = tuple(ids_of.get(piece, self.unknown) for piece in pieces)
        return Cut(ids, pieces, places, tuple(place for place, i in enumerate(ids) if i == self.unknown))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`, the unknown as U+FFFD. Words come back with one space between them: what stood there, line
        breaks say, is lost. Raises TokenOutOfRange."""
        return (" " if self.kind == "words" else "").join(self._piece(i) for i in ids)

    def _piece(self, token: int) -> str:
        if not 0 <= token < self.size:
            raise TokenOutOfRange(token, self.size)
        return "\N{REPLACEMENT CHARACTER}" if token == self.unknown else self.vocabulary[token]


def spans(kind: str, text: str) -> tuple[Span, ...]:
    """Where the pieces of a text lie. Raises UnknownOption for a kind that there is not."""
    ways: dict[str, Callable[[], Sequence[Span]]] = {
        "characters": lambda: [(i, i + 1) for i in range(len(text))],
        "words": lambda: [match.span() for match in _WORD.finditer(text)]}
    if kind not in ways:
        raise UnknownOption("tokenizer", kind, KINDS)
    return tuple(ways[kind]())
