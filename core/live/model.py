"""A real model, loaded once and only read: text in, tokens and traces out."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from core.config import ModelConfig
from core.live import hf_folder, registry, tokenizer_json, tokenizer_spm, weights_cache
from core.live.chat import Dialog
from core.live.checkpoint import check_size
from core.live.errors import CacheUnavailable, CheckpointInvalid, TextEmpty, TextTooLong, TooManyTokens
from core.live.tokenizer import Conversation, Encoding, TableTokenizer, Tokenizer, Vocabulary
from core.live.trace_cache import TraceCache
from core.live.turns import Turns
from core.live.weights_cache import Build, Progress, Weights
from core.machine import device
from core.model import Decoder
from core.trace import Trace

MAX_CHARACTERS = 20_000
MAX_TRACE_TOKENS = 128


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Of this process, whatever the model. A server may set other limits.
FORWARDS = Turns(_cores() // torch.get_num_threads())
TRACES = TraceCache(max_bytes=2**30)


class Live:
    """A loaded model. Safe to share between threads: weights are only read, forwards wait for their turn.

    `cache_problem` says why the weights could not be kept on disk, if so; the model then runs from memory.
    """

    def __init__(
        self, name: str, config: ModelConfig, decoder: Decoder, tokenizer: Tokenizer, *, fingerprint: str,
        cache_problem: CacheUnavailable | None = None, turns: Turns = FORWARDS, traces: TraceCache = TRACES,
    ) -> None:
        self.name, self.config, self.decoder, self.tokenizer = name, config, decoder, tokenizer
        self.fingerprint, self.cache_problem = fingerprint, cache_problem
        self._turns, self._traces = turns, traces
        self._users, self._counting = 0, threading.Lock()

    @property
    def busy(self) -> bool:
        """Whether a forward of this model is under way, or waits for its turn."""
        return self._users > 0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """A turn for one forward of this model, among those of all models."""
        with self._counting:
            self._users += 1
        try:
            with self._turns.take():
                yield
        finally:
            with self._counting:
                self._users -= 1

    def encode(self, text: str) -> Encoding:
        """The tokens of a typed text, none added. Raises TextTooLong before tokenizing, TextNotCovered."""
        if len(text) > MAX_CHARACTERS:
            raise TextTooLong(len(text), MAX_CHARACTERS)
        return self.tokenizer.encode(text)

    def pieces(self, text: str) -> list[str]:
        """The readable label of each token of a text. Raises as `encode`."""
        return list(self.encode(text).pieces)

    @property
    def stop_ids(self) -> tuple[int, ...]:
        """Tokens after which the model has finished; none if its files name none."""
        return self.tokenizer.stop_ids

    def chat(self, messages: Sequence[Mapping[str, str]], *, answer: bool = True) -> Conversation:
        """Messages ({"role", "content"}) through the model's own template, as `Tokenizer.chat`.

        Raises TextTooLong before anything is done, ChatUnavailable, ChatRefused, TextNotCovered.
        """
        length = sum(len(message["content"]) for message in messages)
        if length > MAX_CHARACTERS:
            raise TextTooLong(length, MAX_CHARACTERS)
        return self.tokenizer.chat(messages, answer=answer)

    def trace(self, text: str) -> Trace:
        """A trace of the model reading `text`, a batch of one. The same text gives the same trace again.

        Raises TextEmpty, TextTooLong, TextNotCovered and, above `MAX_TRACE_TOKENS` or the model's own
        positions, TooManyTokens.
        """
        encoding = self._followed(text)
        return self._traces.fetch((self.fingerprint, self.name, text), lambda: self._forward(encoding))

    def _followed(self, text: str) -> Encoding:
        if not text.strip():
            raise TextEmpty
        encoding = self.encode(text)
        limit = min(MAX_TRACE_TOKENS, self.config.max_positions)
        if len(encoding) > limit:
            raise TooManyTokens(len(encoding), limit)
        return encoding

    def _forward(self, encoding: Encoding) -> Trace:
        place = self.decoder.get_parameter("embedding").device
        trace = Trace(tokens=encoding.pieces, source=self.name)
        with self.turn(), torch.no_grad():
            self.decoder(torch.tensor([encoding.ids], device=place), trace=trace)
        return trace


def load(name_or_path: str | Path = registry.DEFAULT, progress: Progress | None = None) -> Live:
    """Load a model by its name (one of `available`), or from a .gguf file or a folder in Hugging Face format.

    The weights go through the cache of float32 weights: every call makes its own `Live`, but all of them, also in
    other processes, map the same file. `progress(stage, fraction)` hears of "read", "wait", "dequantise", "write"
    and "map"; the fraction is None where there is none. Raises ModelMissing, ModelUnknown, CheckpointInvalid; a
    cache that cannot be used is noted in `cache_problem`.
    """
    report: Progress = progress or (lambda stage, fraction: None)
    path = registry.locate(name_or_path)
    name = path.name if path.is_dir() else path.stem
    if str(name_or_path) in registry.available():
        name = str(name_or_path)
    report("read", None)
    try:
        key = weights_cache.fingerprint(*_files(path))
        weights, problem = _weights(path, key, report)
        config = ModelConfig(**json.loads(weights.texts["config"]))
        tokenizer = _tokenizer(path, config, weights)
    except OSError as error:
        raise CheckpointInvalid(path, f"cannot be read ({error.strerror})") from error
    return Live(name, config, _decoder(config, weights), tokenizer, fingerprint=key, cache_problem=problem)


def _files(path: Path) -> list[Path]:
    """All that decides what the model computes."""
    if path.is_dir():
        return hf_folder.files(path)
    check_size(path, path.stat().st_size)
    return [path]


def _weights(path: Path, key: str, report: Progress) -> tuple[Weights, CacheUnavailable | None]:
    """The weights from the cache or, if that cannot be used, in memory and with the reason."""
    try:
        return weights_cache.fetch(key, lambda: _build(path), report), None
    except CacheUnavailable as error:
        return _build(path).in_memory(report), error


def _build(path: Path) -> Build:
    if path.is_dir():
        folder = hf_folder.read(path)
        return Build({"config": json.dumps(folder.config.as_dict())}, folder.shapes, folder.parameters)
    from core.live import gguf_file  # needed for the first start only, and slow to import

    file = gguf_file.read(path)
    texts = {"config": json.dumps(file.config.as_dict()), "vocabulary": file.vocabulary.to_json(),
             "dialog": file.dialog.to_json()}
    return Build(texts, file.shapes, file.parameters)


def _tokenizer(path: Path, config: ModelConfig, weights: Weights) -> Tokenizer:
    if path.is_dir():
        return tokenizer_json.read(path, config.vocab)
    vocabulary = Vocabulary.from_json(weights.texts["vocabulary"])
    make = tokenizer_spm.build if vocabulary.pre in tokenizer_spm.KINDS else TableTokenizer
    return make(vocabulary, Dialog.from_json(weights.texts["dialog"]))


def _decoder(config: ModelConfig, weights: Weights) -> Decoder:
    """A decoder whose parameters are the given tensors themselves, not copies of them (on a CPU)."""
    with torch.device("meta"):
        decoder = Decoder(config)
    decoder.load_state_dict(dict(weights.tensors), assign=True)
    return decoder.eval().to(device.pick())
