"""A real model, loaded once and only read: text in, tokens and traces out."""

from __future__ import annotations

import json
import os
from pathlib import Path

import torch

from core import device
from core.config import ModelConfig
from core.live import registry, weights_cache
from core.live.errors import CacheUnavailable, CheckpointInvalid, TextEmpty, TextTooLong, TooManyTokens
from core.live.tokenizer import Encoding, Tokenizer, Vocabulary
from core.live.trace_cache import TraceCache
from core.live.turns import Turns
from core.live.weights_cache import Build, Progress, Weights
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

    def encode(self, text: str) -> Encoding:
        """The tokens of a typed text, none added. Raises TextTooLong before tokenizing, TextNotCovered."""
        if len(text) > MAX_CHARACTERS:
            raise TextTooLong(len(text), MAX_CHARACTERS)
        return self.tokenizer.encode(text)

    def pieces(self, text: str) -> list[str]:
        """The readable label of each token of a text. Raises as `encode`."""
        return list(self.encode(text).pieces)

    def trace(self, text: str) -> Trace:
        """A trace of the model reading `text`, a batch of one. The same text gives the same trace again.

        Raises TextEmpty, TextTooLong, TextNotCovered and, above `MAX_TRACE_TOKENS` or the model's own
        positions, TooManyTokens.
        """
        encoding = self._followed(text)
        return self._traces.fetch((self.fingerprint, text), lambda: self._forward(encoding))

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
        with self._turns.take(), torch.no_grad():
            self.decoder(torch.tensor([encoding.ids], device=place), trace=trace)
        return trace


def load(name_or_path: str | Path = registry.DEFAULT, progress: Progress | None = None) -> Live:
    """Load a model by its registered name or from a .gguf file, through the cache of dequantised weights.

    Every call makes its own `Live`, but all of them, also in other processes, map the same file.
    `progress(stage, fraction)` hears of "read", "wait", "dequantise", "write" and "map"; the fraction is None
    where there is none. Raises ModelMissing, ModelUnknown, CheckpointInvalid; a cache that cannot be used is
    noted in `cache_problem`.
    """
    report: Progress = progress or (lambda stage, fraction: None)
    path = registry.locate(name_or_path)
    report("read", None)
    try:
        key = weights_cache.fingerprint(path)
    except OSError as error:
        raise CheckpointInvalid(path, f"cannot be read ({error.strerror})") from error
    problem = None
    try:
        weights = weights_cache.fetch(key, lambda: _build(path), report)
    except CacheUnavailable as error:
        problem = error
        weights = _build(path).in_memory(report)
    config = ModelConfig(**json.loads(weights.texts["config"]))
    tokenizer = Tokenizer(Vocabulary.from_json(weights.texts["vocabulary"]))
    name = str(name_or_path) if str(name_or_path) in registry.MODELS else path.stem
    return Live(name, config, _decoder(config, weights), tokenizer, fingerprint=key, cache_problem=problem)


def _build(path: Path) -> Build:
    from core.live import gguf_file  # needed for the first start only, and slow to import

    checkpoint = gguf_file.read(path)
    texts = {"config": json.dumps(checkpoint.config.as_dict()), "vocabulary": checkpoint.vocabulary.to_json()}
    return Build(texts, checkpoint.shapes, checkpoint.parameters)


def _decoder(config: ModelConfig, weights: Weights) -> Decoder:
    """A decoder whose parameters are the given tensors themselves, not copies of them (on a CPU)."""
    with torch.device("meta"):
        decoder = Decoder(config)
    decoder.load_state_dict(dict(weights.tensors), assign=True)
    return decoder.eval().to(device.pick())
