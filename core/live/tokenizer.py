"""Text to ids and back, with a readable label for every token; here from the tables in a GGUF file.

A byte-level vocabulary writes each byte as one printable character (GPT-2's table), so that any text can be
cut anywhere, also in the middle of a character. Labels undo that: they show the text a token stands for.
`tokenizer_json` reads the tokenizers of Hugging Face folders.
"""

from __future__ import annotations

import json
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Self

import numpy as np
from tokenizers import Regex, models, pre_tokenizers
from tokenizers import Tokenizer as Engine

from core.errors import TokenOutOfRange
from core.live import chat
from core.live.chat import Dialog
from core.live.errors import TextNotCovered

TEXT, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)  # token types of GGUF
# Llama 3's rule: contractions, words with one sign before them, up to three digits, signs, line breaks, spaces.
_LLAMA3_WORDS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                 r"|\s*[\r\n]+|\s+(?!\S)|\s+")
_VISIBLE = {" ": "␣", "\n": "↵", "\r": "␍", "\t": "⇥"}


@dataclass(frozen=True)
class Vocabulary:
    """The tables of a byte-level BPE as a GGUF file holds them.

    `tokens[id]` in GPT-2's byte alphabet, `merges` as "left right" in order of rank, `types[id]` (1 text,
    3 control), `pre` the name of the rule that cuts text before merging.
    """

    tokens: list[str]
    merges: list[str]
    types: list[int]
    pre: str

    def fault(self) -> str | None:
        """What makes the tables unusable, or None."""
        known = set(self.tokens)
        text = {token for token, kind in zip(self.tokens, self.types, strict=False) if kind == TEXT}
        if self.pre not in _PRE_TOKENIZERS:
            return f"pre-tokenizer {self.pre!r} is not one of {sorted(_PRE_TOKENIZERS)}"
        if len(self.types) != len(self.tokens):
            return f"{len(self.tokens)} tokens but {len(self.types)} token types"
        if len(known) != len(self.tokens):
            return "the vocabulary lists a token twice"
        if strange := set(self.types) - {TEXT, UNKNOWN, CONTROL, UNUSED}:
            return f"token types {sorted(strange)} do not belong to a byte-level vocabulary"
        if not all(token and _BYTE_OF.keys() >= set(token) for token in text):
            return "a text token is not written in the byte alphabet"
        for merge in self.merges:
            left, _, right = merge.partition(" ")
            if not {left, right, left + right} <= text:
                return f"the merge {merge!r} uses or makes a token that is not in the vocabulary"
        return None

    def to_json(self) -> str:
        """As text, for the cache."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Inverse of `to_json`."""
        return cls(**json.loads(text))


@dataclass(frozen=True)
class Encoding:
    """A text as tokens.

    `ids`; `pieces`, one readable label per token; `offsets`, the characters of the text [start, end) that each
    token touches: tokens that share a character have overlapping offsets.
    """

    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    offsets: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Conversation:
    """Messages as the model reads them: one text with its control tokens by name, and its tokens."""

    text: str
    encoding: Encoding


Span = tuple[int, int]


class Tokenizer(ABC):
    """Text to ids and back. `controls` are the tokens, by name, that no typed text becomes; `stop_ids` end a text."""

    def __init__(self, table: Sequence[bytes], controls: Mapping[str, int], dialog: Dialog) -> None:
        self._bytes, self.controls, self.dialog = table, controls, dialog
        longest_first = "|".join(re.escape(name) for name in sorted(controls, key=len, reverse=True))
        self._control = re.compile(f"({longest_first})") if controls else None

    @property
    def size(self) -> int:
        """V, the number of tokens, control tokens included."""
        return len(self._bytes)

    @property
    def stop_ids(self) -> tuple[int, ...]:
        """Tokens after which the model has finished; none if its files name none."""
        return self.dialog.stop_ids

    def encode(self, text: str, *, control: bool = False) -> Encoding:
        """Cut `text` into tokens; nothing is added to it.

        With `control`, the names of control tokens in the text (`<|im_start|>`) become those tokens; without,
        they are text like any other. Raises TextNotCovered for characters that the vocabulary cannot write (one
        learnt from data need not hold every byte) and for halves of surrogate pairs, which are no characters.
        """
        return self._encode(self._control.split(text) if control and self._control else [text])

    def chat(self, messages: Sequence[Mapping[str, str]], *, answer: bool = True) -> Conversation:
        """Messages ({"role", "content"}; roles of `chat.ROLES`) through the model's own template.

        Control tokens come from the template only, never from what a message says. With `answer`, the text ends
        where the model's answer begins. Raises ChatUnavailable, ChatRefused, TextNotCovered.
        """
        pieces = chat.render(self.dialog, messages, self.controls, answer=answer)
        return Conversation("".join(pieces), self._encode(pieces))

    def _encode(self, pieces: Sequence[str]) -> Encoding:
        """Text and names of control tokens in turn, text first."""
        ids: list[int] = []
        offsets: list[Span] = []
        at = 0
        for number, piece in enumerate(pieces):
            found = self._tokens(piece, first=at == 0) if number % 2 == 0 else [(self.controls[piece], (0, len(piece)))]
            for token, (start, end) in found:
                ids.append(token)
                offsets.append((at + start, at + end))
            at += len(piece)
        return Encoding(tuple(ids), tuple(self.label(i) for i in ids), tuple(offsets))

    @abstractmethod
    def _tokens(self, text: str, *, first: bool) -> Iterable[tuple[int, Span]]:
        """The tokens of plain text with the characters they touch; `first` where nothing stands before it."""

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`; control tokens by their names, bytes that form no character as U+FFFD."""
        return b"".join(self.token_bytes(i) for i in ids).decode("utf-8", errors="replace")

    def token_bytes(self, token: int) -> bytes:
        """The bytes that a token stands for. Raises TokenOutOfRange."""
        if not 0 <= token < self.size:
            raise TokenOutOfRange(token, self.size)
        return self._bytes[token]

    def label(self, token: int) -> str:
        """A readable label: spaces ␣, newlines ↵, part of a character ⟨E6⟩, invisible characters ⟨U+200B⟩.

        A row of the embedding that no token uses is ⟨#7⟩, by its id.
        """
        return readable(self.token_bytes(token)) or f"⟨#{token}⟩"


class TableTokenizer(Tokenizer):
    """Byte-level BPE from tables. `decode(encode(text).ids) == text` for every text that `encode` accepts."""

    def __init__(self, vocabulary: Vocabulary, dialog: Dialog | None = None) -> None:
        self.vocabulary = vocabulary
        kinds = list(zip(vocabulary.tokens, vocabulary.types, strict=True))
        table = [to_bytes(token) if kind == TEXT else token.encode("utf-8") for token, kind in kinds]
        controls = {token: i for i, (token, kind) in enumerate(kinds) if kind == CONTROL}
        super().__init__(table, controls, dialog or Dialog())
        # Control tokens stay out of the engine's vocabulary, so no typed text can produce them.
        ids = {token: i for i, (token, kind) in enumerate(kinds) if kind == TEXT}
        pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in vocabulary.merges)]
        self._engine = Engine(models.BPE(vocab=ids, merges=pairs, ignore_merges=vocabulary.pre in _WHOLE_WORDS))
        self._engine.pre_tokenizer = _PRE_TOKENIZERS[vocabulary.pre]()
        self._missing = bytes(b for b, c in enumerate(_BYTE_ALPHABET) if c not in ids)

    def _tokens(self, text: str, *, first: bool) -> Iterable[tuple[int, Span]]:
        self._check_covered(text)
        ids = self._engine.encode(text, add_special_tokens=False).ids
        return zip(ids, self._offsets(text, ids), strict=True)

    def _check_covered(self, text: str) -> None:
        data = text.encode("utf-8", errors="surrogatepass")
        if has_surrogates(text) or len(data.translate(None, self._missing)) != len(data):
            raise TextNotCovered([c for c in dict.fromkeys(text) if self._uncovered(c)])

    def _uncovered(self, char: str) -> bool:
        data = char.encode("utf-8", errors="surrogatepass")
        return has_surrogates(char) or any(b in self._missing for b in data)

    def _offsets(self, text: str, ids: Sequence[int]) -> Iterable[Span]:
        data = np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
        char_of = np.cumsum((data & 0xC0) != 0x80) - 1  # byte → index of the character it belongs to
        ends = np.cumsum([len(self._bytes[i]) for i in ids])
        starts = np.concatenate(([0], ends[:-1])) if len(ids) else ends
        return ((int(char_of[a]), int(char_of[b - 1]) + 1) for a, b in zip(starts, ends, strict=True))


def has_surrogates(text: str) -> bool:
    """Whether a text holds half of a surrogate pair, which is no character."""
    return not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)


def to_bytes(token: str) -> bytes:
    """The bytes that a token of a byte-level vocabulary stands for; KeyError if it is not in that alphabet."""
    return bytes(_BYTE_OF[char] for char in token)


def readable(data: bytes) -> str:
    """Bytes as a label: what is a visible character stays, everything else is spelt out."""
    text = data.decode("utf-8", errors="surrogateescape")
    return "".join(_readable_char(char, first=i == 0) for i, char in enumerate(text))


def _readable_char(char: str, *, first: bool) -> str:
    if char in _VISIBLE:
        return _VISIBLE[char]
    if "\udc80" <= char <= "\udcff":  # what surrogateescape makes of a byte outside whole characters
        return f"⟨{ord(char) - 0xDC00:02X}⟩"
    kind = unicodedata.category(char)
    if kind[0] in "CZ" or "\ufe00" <= char <= "\ufe0f":
        return f"⟨U+{ord(char):04X}⟩"
    return "◌" + char if first and kind[0] == "M" else char


def _byte_alphabet() -> str:
    """GPT-2's table: index byte, value the character that stands for it. Printable Latin-1 stays itself."""
    kept = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(0x100, 0x200))
    return "".join(chr(b if b in kept else next(spare)) for b in range(256))


_BYTE_ALPHABET = _byte_alphabet()
_BYTE_OF = {char: byte for byte, char in enumerate(_BYTE_ALPHABET)}


def _smollm() -> pre_tokenizers.PreTokenizer:
    """SmolLM: every digit alone, then GPT-2's rule (contractions, words with their space, signs, spaces)."""
    return pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    ])


def _gpt2() -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)


def _llama3() -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(_LLAMA3_WORDS), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])


_PRE_TOKENIZERS = {"smollm": _smollm, "gpt-2": _gpt2, "llama-bpe": _llama3}
_WHOLE_WORDS = {"llama-bpe"}  # a word that is a token is not put together from merges
