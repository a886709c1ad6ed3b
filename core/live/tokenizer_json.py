"""Tokenizers of Hugging Face folders: `tokenizer.json`, run by the library that wrote it.

Two kinds of BPE occur in the families that are read. Byte-level ones (GPT-2, Llama 3, Qwen) write bytes as
characters; those made from SentencePiece (Llama 2, Mistral) write a space as ▁ and bytes outside their vocabulary
as <0xE6>. Text comes back as it was typed, apart from what the checkpoint's own normalisation changes: Qwen
composes accents (NFC), SentencePiece turns a typed ▁ into a space.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from tokenizers import Encoding as Result
from tokenizers import Tokenizer as Engine

from core.live import json_file
from core.live.chat import Dialog
from core.live.errors import CheckpointInvalid, TextNotCovered, TokenizerUnsupported, VocabularyTooLarge
from core.live.tokenizer import Span, Tokenizer, has_surrogates, to_bytes

FILE = "tokenizer.json"
_SPACE = "▁"
_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def read(folder: Path, vocab: int) -> JsonTokenizer:
    """The tokenizer of a folder whose model has `vocab` rows of embedding. Raises CheckpointInvalid."""
    path = folder / FILE
    raw = json_file.read_object(path)
    model = raw.get("model")
    kind = model.get("type", "BPE") if isinstance(model, dict) else None
    if not isinstance(model, dict) or kind != "BPE":
        raise TokenizerUnsupported(path, kind, ["BPE"])
    if marked := next((key for key in ("continuing_subword_prefix", "end_of_word_suffix") if model.get(key)), None):
        raise TokenizerUnsupported(path, f"BPE with {marked}", ["BPE"])
    model["dropout"] = None  # meant for training: the same text must give the same tokens
    raw |= {"truncation": None, "padding": None, "post_processor": None}  # nothing is added and nothing cut off
    engine = _engine(path, json.dumps(raw))
    tokens = engine.get_vocab(with_added_tokens=True)
    if (last := max(tokens.values(), default=-1)) >= vocab:
        raise VocabularyTooLarge(path, last, vocab)
    added = engine.get_added_tokens_decoder()
    stated = {entry["content"]: entry["id"] for entry in raw.get("added_tokens") or []}
    if wrong := next((name for name, i in stated.items() if tokens.get(name) != i), None):
        raise CheckpointInvalid(path, f"gives the token {wrong!r:.60} the id {stated[wrong]}, which is not its place")
    controls = {token.content: i for i, token in added.items() if token.special}
    rows = table(tokens, {token.content for token in added.values()}, vocab, byte_level=_is_byte_level(raw))
    return JsonTokenizer(engine, rows, controls, _dialog(folder, tokens, vocab))


class JsonTokenizer(Tokenizer):
    """BPE by the `tokenizers` library. Text that would not come back is refused, never dropped silently."""

    def __init__(self, engine: Engine, rows: list[bytes], controls: Mapping[str, int], dialog: Dialog) -> None:
        super().__init__(rows, controls, dialog)
        self._engine = engine
        probe = _run(engine, "a")
        self._leads = probe is not None and self._join(probe.ids) == b" a"

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`, less the space that SentencePiece puts before a text."""
        text = super().decode(ids)
        return text.removeprefix(" ") if self._leads else text

    def _tokens(self, text: str, *, first: bool) -> Iterable[tuple[int, Span]]:
        if has_surrogates(text):
            raise TextNotCovered([c for c in dict.fromkeys(text) if has_surrogates(c)])
        found = _run(self._engine if first else self._later, text)
        if found is None or not self._is_all(text, found):
            alone = [c for c in dict.fromkeys(text) if not self._is_all(c, _run(self._engine, c))]
            raise TextNotCovered(alone or list(dict.fromkeys(text)))
        return zip(found.ids, _without_gaps(found.offsets, len(text)), strict=True)

    @cached_property
    def _later(self) -> Engine:
        """The engine for text after a control token, where Metaspace may be told to put no space before it."""
        stated = self._engine.to_str()
        changed = stated.replace('"prepend_scheme":"first"', '"prepend_scheme":"never"')
        return self._engine if changed == stated else _engine(Path(FILE), changed)

    def _is_all(self, text: str, encoding: Result | None) -> bool:
        """Whether the tokens, none of them a control token, say all of the text."""
        if encoding is None or not set(encoding.ids).isdisjoint(self.controls.values()):
            return False
        normalizer = self._engine.normalizer
        wanted = (normalizer.normalize_str(text) if normalizer else text).replace(_SPACE, " ").encode("utf-8")
        found = self._join(encoding.ids).replace(_SPACE.encode(), b" ")
        if self._leads:  # the spaces that it puts before words are not in the text
            return found.replace(b" ", b"") == wanted.replace(b" ", b"")
        return found == wanted

    def _join(self, ids: Iterable[int]) -> bytes:
        return b"".join(self._bytes[i] for i in ids)


def _engine(path: Path, text: str) -> Engine:
    try:
        engine = Engine.from_str(text)
    except BaseException as error:
        if not _is_the_engines(error):
            raise
        raise CheckpointInvalid(path, f"is no tokenizer that can be read ({error!s:.150})") from error
    engine.encode_special_tokens = True  # what is typed is text, also where it spells a control token
    return engine


def _run(engine: Engine, text: str) -> Result | None:
    """The tokens of a text; None where the engine fails, as on a character without a token and no token for such."""
    try:
        return engine.encode(text, add_special_tokens=False)
    except BaseException as error:
        if not _is_the_engines(error):
            raise
        return None


def _is_the_engines(error: BaseException) -> bool:
    """The library raises plain exceptions, and where its Rust code panics, one that is no `Exception` at all."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def _is_byte_level(raw: Mapping[str, Any]) -> bool:
    """Whether tokens are written in GPT-2's byte alphabet: the decoder says so, alone or in a sequence."""
    decoder = raw.get("decoder")
    parts = decoder.get("decoders") if isinstance(decoder, dict) and "decoders" in decoder else [decoder]
    return any(isinstance(part, dict) and part.get("type") == "ByteLevel" for part in parts or [])


def table(tokens: Mapping[str, int], added: set[str], vocab: int, *, byte_level: bool) -> list[bytes]:
    """What each id stands for; nothing for rows of the embedding that no token uses."""
    rows = [b""] * vocab
    for token, i in tokens.items():
        rows[i] = token.encode("utf-8", "replace") if token in added else _bytes(token, byte_level)
    return rows


def _bytes(token: str, byte_level: bool) -> bytes:
    if byte_level:
        try:
            return to_bytes(token)
        except KeyError:
            return token.encode("utf-8", "replace")
    if byte := _BYTE_TOKEN.fullmatch(token):
        return bytes.fromhex(byte[1])
    return token.replace(_SPACE, " ").encode("utf-8", "replace")


def _without_gaps(offsets: list[Span], length: int) -> Iterator[Span]:
    """Offsets in which an accent that was composed away belongs to the token before it."""
    following = [*(start for start, _ in offsets[1:]), length][:len(offsets)]
    return ((start, max(end, after)) for (start, end), after in zip(offsets, following, strict=True))


def _dialog(folder: Path, tokens: Mapping[str, int], vocab: int) -> Dialog:
    """Chat template, names of special tokens, and the tokens that any file of the folder says end a text."""
    settings = json_file.optional_object(folder / "tokenizer_config.json")
    names = {key: name for key, value in settings.items() if key.endswith("_token") and (name := _content(value))}
    ends: list[Any] = [tokens.get(names.get("eos_token", ""))]
    for file in ("generation_config.json", "config.json"):
        found = json_file.optional_object(folder / file).get("eos_token_id")
        ends += found if isinstance(found, list) else [found]
    stop_ids = dict.fromkeys(i for i in ends if type(i) is int and 0 <= i < vocab)
    return Dialog(_template(folder, settings), names, tuple(stop_ids))


def _content(value: Any) -> str | None:
    """A special token is given by its text, or by an object that has it as "content"."""
    found = value.get("content") if isinstance(value, dict) else value
    return found if isinstance(found, str) else None


def _template(folder: Path, settings: Mapping[str, Any]) -> str | None:
    """The file of its own comes first; in the settings there may be one template, or several by name."""
    path = folder / "chat_template.jinja"
    if path.is_file():
        return json_file.read_text(path)
    found = settings.get("chat_template")
    if isinstance(found, list):
        defaults = (entry for entry in found if isinstance(entry, dict) and entry.get("name") == "default")
        found = next(defaults, {}).get("template")
    return found if isinstance(found, str) else None

