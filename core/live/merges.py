"""How a byte-level BPE cuts a text, step by step: pre-tokens, their bytes, one merge after the other with its rank.

The engine in `core.live.tokenizer` gives only the result; this module makes the same merges in the open. Its pieces
are equal to the engine's for any text, which a test holds.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from core.live.errors import TextNotCovered, TextTooLong
from core.live.model import MAX_CHARACTERS
from core.live.tokenizer import _BYTE_OF, _PRE_TOKENIZERS, TEXT, Vocabulary, readable

Span = tuple[int, int]  # [start, end)


class Symbol(NamedTuple):
    """A run of bytes that is one symbol at some step: its bytes, a readable label, and where it lies in the text, in
    bytes."""

    data: bytes
    label: str
    at: Span


class Merge(NamedTuple):
    """Two neighbours become one. `rank` is the place of their pair in the list of merges, from 0: of all pairs present
    the one with the lowest rank is merged first, and of equal ones the leftmost."""

    rank: int
    left: Symbol
    right: Symbol
    made: Symbol


class Piece(NamedTuple):
    """A token: its id, bytes, label, the bytes and the characters of the text that it covers, and whether it begins and
    ends where characters do. One that does not shares a character with a neighbour."""

    id: int
    data: bytes
    label: str
    at: Span
    characters: Span
    whole: bool


@dataclass(frozen=True)
class PreToken:
    """A part of the text that merges never cross. `symbols` are its bytes, one each; `merges` what is done to them, in
    order; `pieces` what is left at the end."""

    text: str
    characters: Span
    at: Span
    symbols: tuple[Symbol, ...]
    merges: tuple[Merge, ...]
    pieces: tuple[Piece, ...]

    def after(self, steps: int) -> tuple[Symbol, ...]:
        """The symbols after the first `steps` merges: at 0 the bytes, at len(merges) the tokens."""
        starts = {symbol.at[0]: symbol for symbol in self.symbols}
        for merge in self.merges[:steps]:
            starts[merge.left.at[0]] = merge.made
            del starts[merge.right.at[0]]
        return tuple(starts[start] for start in sorted(starts))


class Merger:
    """Makes the merges of one vocabulary in the open; its ranks are indexed once.

    `ids` gives the id of each token by its bytes, `merges` the pairs in order of rank, `cut` the spans of characters
    that merges never cross.
    """

    def __init__(
        self, ids: Mapping[bytes, int], merges: Iterable[tuple[bytes, bytes]], cut: Callable[[str], Iterable[Span]],
    ) -> None:
        self._ids, self._cut = ids, cut
        self._ranks: dict[tuple[bytes, bytes], int] = {}
        for rank, pair in enumerate(merges):
            self._ranks.setdefault(pair, rank)

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Self:
        """From the tables of a model file, which must have no `fault`."""
        typed = zip(vocabulary.tokens, vocabulary.types, strict=True)
        ids = {_bytes(token): i for i, (token, kind) in enumerate(typed) if kind == TEXT}
        pairs = ((_bytes(left), _bytes(right)) for left, _, right in (m.partition(" ") for m in vocabulary.merges))
        rule = _PRE_TOKENIZERS[vocabulary.pre]()
        return cls(ids, pairs, lambda text: (span for _, span in rule.pre_tokenize_str(text)))

    def pre_tokens(self, text: str) -> tuple[PreToken, ...]:
        """The parts of a text with their merges. Raises TextTooLong, and TextNotCovered for characters some byte of
        which has no token."""
        if len(text) > MAX_CHARACTERS:
            raise TextTooLong(len(text), MAX_CHARACTERS)
        if missing := [char for char in dict.fromkeys(text) if not self._covers(char)]:
            raise TextNotCovered(missing)
        made, at = [], 0
        for start, end in self._cut(text):
            made.append(self._pre_token(text[start:end], start, at))
            at = made[-1].at[1]
        return tuple(made)

    def _covers(self, char: str) -> bool:
        if "\ud800" <= char <= "\udfff":  # half of a surrogate pair
            return False
        return all(bytes([byte]) in self._ids for byte in char.encode())

    def _pre_token(self, text: str, first: int, at: int) -> PreToken:
        data = text.encode()
        symbols = tuple(_symbol(data[i:i + 1], at + i) for i in range(len(data)))
        merges = tuple(self._merges(symbols))
        whole = PreToken(text, (first, first + len(text)), (at, at + len(data)), symbols, merges, ())
        places = [*_character_of(text), len(text)]
        edges = {0, *(i for i in range(1, len(data)) if places[i] != places[i - 1]), len(data)}
        pieces = []
        for symbol in whole.after(len(merges)):
            start, end = (byte - at for byte in symbol.at)
            characters = first + places[start], first + places[end - 1] + 1
            pieces.append(Piece(self._ids[symbol.data], symbol.data, symbol.label, symbol.at, characters,
                                {start, end} <= edges))
        return replace(whole, pieces=tuple(pieces))

    def _merges(self, symbols: tuple[Symbol, ...]) -> Iterator[Merge]:
        """The pair with the lowest rank, then the leftmost, until no pair is in the list: a heap of candidates over a
        linked list of what is there now."""
        now: list[Symbol | None] = [*symbols, None]  # the last stands for the end, before and after everything
        end = len(symbols)
        before, after = [end, *range(end)], [*range(1, end + 1), end]
        heap: list[tuple[int, int]] = []

        def rank_at(place: int) -> int | None:
            left, right = now[place], now[after[place]]
            return self._ranks.get((left.data, right.data)) if left and right else None

        def offer(place: int) -> None:
            if (rank := rank_at(place)) is not None:
                heapq.heappush(heap, (rank, place))

        for place in range(end):
            offer(place)
        while heap:
            rank, place = heapq.heappop(heap)
            left, right = now[place], now[after[place]]
            if not left or not right or rank_at(place) != rank:
                continue  # one of the two has been merged with another neighbour meanwhile
            made = _symbol(left.data + right.data, left.at[0])
            yield Merge(rank, left, right, made)
            gone = after[place]
            now[place], now[gone], after[place] = made, None, after[gone]
            before[after[place]] = place
            offer(before[place])
            offer(place)


def _bytes(token: str) -> bytes:
    return bytes(_BYTE_OF[char] for char in token)


def _symbol(data: bytes, start: int) -> Symbol:
    return Symbol(data, readable(data), (start, start + len(data)))


def _character_of(text: str) -> Iterator[int]:
    """For each byte the number of the character that it belongs to."""
    return (number for number, char in enumerate(text) for _ in char.encode())
