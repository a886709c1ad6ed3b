"""Generation, one forward at a time: the prompt is read (prefill), then each new token alone (decode).

`generate` is an iterator. Each of its steps says what was read, what was computed and what was taken from the cache,
and holds the logits that the next token was drawn from. Whoever stops asking stops it; the steps already given stay
valid, since nothing later is written into what they hold.

Traces of all steps keep what is computed from them in one place (`core.kept.COMPUTED_BYTES`), and compute again what
it has no room for. So a generation of n tokens holds, besides the cache, at most that, and for each token the L+1 rows
of the stream that its step captured and the logits of its step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from core import embedding, sampling
from core.cache import KVCache
from core.check import largest_difference
from core.errors import ShapeError, SizeOutOfRange
from core.kept import Kept
from core.machine.device import synchronise
from core.sampling import SamplingSteps, Settings
from core.trace import Trace

if TYPE_CHECKING:
    from core.model import Decoder


@dataclass(frozen=True)
class GenerationStep:
    """One forward pass of a generation.

    `text` (B, n) are all ids so far, the `inputs` (B, Tq) its last ones, at `positions` (B, Tq); `allowed` (B, n) is
    False at padding, or None. `cached` rows of K and V were reused in each layer and KV head, Tq computed. `logits`
    (B, V) of the last real token, the numbers `u` (B,) and the `token` (B,) chosen by them are None in a chunk of the
    prompt that is not its last. `done` (B,) is True for texts that have come to a stop id. `seconds` is the time of the
    forward, with the head where there are logits, without waiting for a turn.
    """

    index: int
    kind: Literal["prefill", "decode"]
    text: Tensor
    inputs: Tensor
    positions: Tensor
    allowed: Tensor | None
    cached: int
    length_before: int
    length_after: int
    shapes: dict[str, tuple[int, ...]]
    settings: Settings
    logits: Tensor | None
    u: Tensor | None
    token: Tensor | None
    done: Tensor
    seconds: float
    trace: Trace | None

    @property
    def computed_rows(self) -> dict[str, int]:
        """Rows of q, k and v computed in this step, for each text, layer and head."""
        return dict.fromkeys("qkv", self.inputs.shape[1])

    @property
    def reused_rows(self) -> dict[str, int]:
        """Rows read from the cache; of q none ever is."""
        return {"q": 0, "k": self.cached, "v": self.cached}

    @property
    def sampling(self) -> SamplingSteps | None:
        """From the logits to the probabilities that the token was drawn from; computed again when asked for, so that
        a kept step holds one vocabulary of numbers and not six."""
        return None if self.logits is None else sampling.distribution(self.logits, **self.settings._asdict())


class Comparison(NamedTuple):
    """Logits with the cache against those of the whole text read at once: the largest difference, the largest absolute
    logit to hold it against, and the seconds of both forwards."""

    difference: float
    size: float
    cached_seconds: float
    uncached_seconds: float


def generate(
    decoder: Decoder, ids: Tensor, *, max_tokens: int, allowed: Tensor | None = None, use_cache: bool = True,
    chunk: int | None = None, temperature: float = 0.0, top_k: int | None = None, top_p: float | None = None,
    min_p: float | None = None, seed: int = 0, stop_ids: Collection[int] = (), trace: bool = False,
    cache_dtype: torch.dtype = torch.float32, turn: Callable[[], AbstractContextManager[object]] = nullcontext,
    label: Callable[[int], str] = "#{}".format, source: str = "generation",
) -> Iterator[GenerationStep]:
    """Read ids (B, T) and go on for up to `max_tokens` tokens, yielding one step for each forward.

    The prompt is read in pieces of `chunk` tokens (None: at once), `allowed` (B, T) False at its padding, left or
    right. `temperature` 0 is greedy; the same `seed` gives the same tokens. A text that comes to one of `stop_ids`
    repeats it, and all of them having done so ends the generation. Without `use_cache` every step reads the whole
    text again and gives the same tokens, later. `turn` is entered around each forward; `label` names a token in traces.

    Raises, before anything is computed, SizeOutOfRange when the tokens do not fit the model's positions, ShapeError,
    SettingOutOfRange; while running, TokenOutOfRange and LogitsInvalid.
    """
    settings = sampling.check_settings(Settings(temperature, top_k, top_p, min_p))
    _check(decoder, ids, max_tokens, chunk, allowed)
    run = _Run(decoder, ids, max_tokens, allowed, settings, seed, stop_ids, turn)
    if use_cache:
        run.cache = KVCache(decoder.config, ids.shape[0], run.text.shape[1] - 1, cache_dtype, ids.device)
    if trace:
        kept = Kept()
        run.new_trace = lambda past, new: Trace(
            tokens=[label(token) for token in new], past_tokens=[label(token) for token in past], source=source,
            kept=kept)
    return run.steps(chunk or ids.shape[1])


def compare(
    decoder: Decoder, step: GenerationStep, turn: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Comparison:
    """The logits of a step against those of the whole text so far, read at once without a cache. Raises ShapeError for
    a chunk of the prompt that chose no token."""
    if step.logits is None:
        raise ShapeError("only a step that chose a token has logits to compare", inputs=step.inputs.shape)
    with turn():
        began = time.perf_counter()
        x = decoder.stream(step.text, allowed=step.allowed)  # (B, n, D)
        logits = decoder.head(_last_real(x, step.allowed, None))  # (B, V)
        synchronise(x.device)
        seconds = time.perf_counter() - began
    return Comparison(largest_difference(logits, step.logits), float(logits.abs().max()), step.seconds, seconds)


class _Run:
    """The state of one generation. `text` (B, T + max_tokens) is allocated once; steps hold views of what is written
    already, so that keeping all of them costs little."""

    cache: KVCache | None = None
    new_trace: Callable[[list[int], list[int]], Trace] | None = None
    ends: Tensor | None = None  # (B, D): the stream at the last real token of each text so far

    def __init__(
        self, decoder: Decoder, ids: Tensor, max_tokens: int, allowed: Tensor | None, settings: Settings, seed: int,
        stop_ids: Collection[int], turn: Callable[[], AbstractContextManager[object]],
    ) -> None:
        self.decoder, self.settings, self.turn = decoder, settings, turn
        self.prompt, self.index = ids.shape[1], 0
        self.text = pad(ids, (0, max_tokens))
        self.allowed = None if allowed is None or allowed.all() else pad(allowed, (0, max_tokens), value=True)
        self.generator = torch.Generator().manual_seed(seed)
        self.stop = torch.tensor(sorted(stop_ids), dtype=ids.dtype, device=ids.device)
        self.done = torch.zeros(ids.shape[0], dtype=torch.bool, device=ids.device)

    def steps(self, chunk: int) -> Iterator[GenerationStep]:
        """The prompt in chunks (at once without a cache), then token by token."""
        for start in range(0, self.prompt, self.prompt if self.cache is None else chunk):
            yield self._step("prefill", start, self.prompt if self.cache is None else min(start + chunk, self.prompt))
        for end in range(self.prompt + 1, self.text.shape[1]):
            if self.done.all():
                return
            yield self._step("decode", 0 if self.cache is None else end - 1, end)

    def _step(self, kind: Literal["prefill", "decode"], start: int, end: int) -> GenerationStep:
        text, inputs = self.text[:, :end], self.text[:, start:end]
        allowed = None if self.allowed is None else self.allowed[:, :end]
        before, held = (0, 0) if self.cache is None else (self.cache.length, self.cache.held)
        trace = self.new_trace and self.new_trace(text[0, start - held:start].tolist(), inputs[0].tolist())
        with self.turn():
            began = time.perf_counter()
            x = self.decoder.stream(inputs, cache=self.cache, trace=trace, allowed=allowed)  # (B, Tq, D)
            self.ends = _last_real(x, None if allowed is None else allowed[:, start:], self.ends)
            logits = self.decoder.head(self.ends) if end >= self.prompt else None  # (B, V)
            synchronise(x.device)
            seconds = time.perf_counter() - began
        u = None if logits is None else sampling.uniform(self.generator, len(inputs))
        token = None if logits is None or u is None else self._choose(logits, u, end)
        self.index += 1
        return GenerationStep(
            self.index - 1, kind, text, inputs, embedding.positions(inputs, end, allowed), allowed, held, before,
            0 if self.cache is None else self.cache.length, self._shapes(inputs, held), self.settings, logits,
            u, token, self.done, seconds, trace)

    def _choose(self, logits: Tensor, u: Tensor, end: int) -> Tensor:
        """Draw the next token of each text and write it behind the text; one that is done repeats its stop id."""
        token = sampling.draw(sampling.distribution(logits, **self.settings._asdict()), u)
        token = torch.where(self.done, self.text[:, end - 1], token)
        self.text[:, end] = token
        self.done = self.done | torch.isin(token, self.stop)
        return token

    def _shapes(self, inputs: Tensor, held: int) -> dict[str, tuple[int, ...]]:
        """What attention works on in each layer: k and v with the rows from the cache."""
        config, (batch, new) = self.decoder.config, inputs.shape
        rows = (batch, config.kv_heads, held + new, config.head_dim)
        return {"q": (batch, config.heads, new, config.head_dim), "k": rows, "v": rows,
                "scores": (batch, config.heads, new, held + new)}


def _check(decoder: Decoder, ids: Tensor, max_tokens: int, chunk: int | None, allowed: Tensor | None) -> None:
    limit = decoder.config.max_positions
    if ids.ndim != 2 or not ids.numel() or ids.shape[1] > limit:
        raise ShapeError(f"the prompt is (B, T), from 1 to {limit} tokens", ids=ids.shape)
    _check_count("max_tokens", max_tokens, limit - ids.shape[1] + 1)  # the last token is chosen and not read any more
    if chunk is not None:
        _check_count("chunk", chunk, limit)
    if allowed is not None and (allowed.shape != ids.shape or allowed.dtype != torch.bool or not allowed.any(1).all()):
        raise ShapeError("allowed is a boolean of the shape of ids, with a real token in each row",
                         allowed=allowed.shape, ids=ids.shape)


def _check_count(name: str, value: object, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= high:
        raise SizeOutOfRange(name, value, 1, high)


def _last_real(x: Tensor, allowed: Tensor | None, before: Tensor | None) -> Tensor:
    """The rows (B, D) of x (B, T, D) at the last real token of each text; `before` where x has only its padding."""
    if allowed is None:
        return x[:, -1]
    last = (torch.arange(x.shape[1], device=x.device) * allowed).argmax(dim=1)  # (B,)
    rows = x[torch.arange(len(x), device=x.device), last]
    return rows if before is None else torch.where(allowed.any(dim=1)[:, None], rows, before)
