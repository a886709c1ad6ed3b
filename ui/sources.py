"""From the bench to a trace: worked, toy or live, with what the learner should be told about it.

Worked and toy traces are computed at once. The live model is loaded in the background, once for all sessions; until
it is ready, and whenever a source cannot give a trace, the page shows the last good one and says why.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cache, lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from core import live, masks, toy
from core.errors import WorkbenchError
from core.live import errors as live_errors
from core.live import registry
from core.model import Decoder, decoder_of
from core.toy import ToySizes
from core.trace import Index, Trace
from core.worked import EXAMPLES
from ui import bench as bench_module
from ui.bench import Bench, MaskChoice
from ui.bench.session import Shown, session

LONGEST_CONTEXT = 2048  # tokens that a generation reads and writes, where the model could do more
LIVE_NAME = "SmolLM2-135M"  # how the registered model is called on screen
MOST_MODELS = 2  # loaded, or being loaded, at once on a server
RETRY_SECONDS = 10.0  # how long a failure to load is told before another try


class Resolved(NamedTuple):
    """The trace to show, the kind of source it really comes from, and what stands in the way of the chosen one.

    `unfit` lists edits that do not exist in it; `error` is why the chosen source gave nothing; `loading` is true while
    the live model is on its way; `elsewhere` is the kind of source that was chosen but does not reach this stage, so
    that another example stands in for it ("" where it does). `unread` is a typed text that the example has no rows for.
    """

    trace: Trace
    source: str
    scope: str | None
    unfit: list[str]
    error: WorkbenchError | None = None
    loading: bool = False
    elsewhere: str = ""
    unread: str = ""


def resolve(bench: Bench) -> Resolved:
    """The trace for the bench, with its edits; on a problem the last good trace of this session, else the example.

    For one state of the bench it is computed once: the same traces come back, with all that they have computed, until
    something changes that numbers depend on."""
    error: WorkbenchError | None = None
    setting = session().bench
    try:
        shown = _shown(bench)
        if shown is not None:
            trace, unfit = _edited(shown, bench.edits)
            setting.good = shown
            unread = bench.typed if bench.source == "worked" and bench.typed and bench.ids is None else ""
            return Resolved(trace, shown.source, shown.scope, unfit, unread=unread)
    except WorkbenchError as problem:
        error = problem
    shown = setting.good or _worked_of(replace(bench, source="worked"))
    trace, _unfit = _edited(shown, setting.edits.get(shown.scope or "", {}))
    return Resolved(trace, shown.source, shown.scope, [], error, loading=error is None)


def _shown(bench: Bench) -> Shown | None:
    """The chosen source's trace with the chosen mask and without edits, or None while the live model loads. Raises
    WorkbenchError."""
    if bench.source == "toy":
        made = bench.sizes, bench.seed, bench.bias
        return _masked(bench, _toy(*made), ("toy", *made))
    if bench.source == "live":
        model = loader().model()
        if model is None:
            return None
        return _masked(bench, model.trace(bench.text), ("live", model.fingerprint, bench.text))
    return _worked_of(bench)


def _worked_of(bench: Bench) -> Shown:
    """The worked example, with the typed ids where there are any."""
    return _masked(bench, example(bench.example, bench.ids), ("worked", bench.example, bench.ids))


def _masked(bench: Bench, trace: Trace, made_from: tuple[object, ...]) -> Shown:
    """The trace with the mask that the learner chose: everywhere, or on the live model from the layer on screen."""
    if not bench.mask.kind:
        return Shown(bench.source, bench.scope, trace, made_from)
    layer = min(bench.layer, trace.config.layers - 1) if bench.source == "live" else 0
    made_from = (*made_from, bench.mask, layer)
    kept = session().traces
    return Shown(bench.source, bench.scope, kept.get(made_from) or kept.put(
        made_from, with_mask(trace, bench.mask, layer)), made_from)


def with_mask(trace: Trace, chosen: MaskChoice, layer: int = 0) -> Trace:
    """The trace with a mask of that kind from `layer` on; itself, where that is its own mask."""
    tokens = trace["mask"].shape[-1]
    mask = masks.build(chosen.kind, tokens, min(chosen.number, tokens)).to(trace["mask"].device)
    same = torch.equal(mask.expand_as(trace["mask"]), trace["mask"])
    return trace if same else trace.with_mask(mask, layer)


def _edited(shown: Shown, edits: Mapping[str, Mapping[Index, float]]) -> tuple[Trace, list[str]]:
    """The trace with the edits that fit it, and labels of the others."""
    fit, unfit = bench_module.fitting(shown.trace, edits)
    if not fit:
        return shown.trace, unfit
    made_from = (*shown.made_from, *((name, *sorted(cells.items())) for name, cells in sorted(fit.items())))
    kept = session().traces
    return kept.get(made_from) or kept.put(made_from, shown.trace.edited(fit)), unfit


def example(name: str, ids: tuple[int, ...] | None = None) -> Trace:
    """A worked example, or one that the learner brought, with its own ids or others."""
    own = session().examples.get(name)
    if own is None:
        return _worked(name, ids)
    kept, made_from = session().traces, ("own", name, id(own))
    return kept.get(made_from) or kept.put(made_from, own())


@lru_cache(maxsize=64)
def _worked(name: str, ids: tuple[int, ...] | None) -> Trace:
    return EXAMPLES[name]() if ids is None else EXAMPLES[name](ids=ids)


@lru_cache(maxsize=64)
def _toy(sizes: ToySizes, seed: int, bias: bool) -> Trace:
    return toy.toy(sizes, seed, bias=bias)


class Prompt(NamedTuple):
    """What a generation starts from: a decoder and ids (B, T), how a token is called, how many tokens there may be in
    all, and what is entered around each forward. Two prompts with the same `key` are the same."""

    key: tuple[object, ...]
    source: str
    decoder: Decoder
    ids: Tensor
    label: Callable[[int], str]
    limit: int
    stop_ids: tuple[int, ...] = ()
    turn: Callable[[], AbstractContextManager[object]] = nullcontext


def prompt(bench: Bench) -> Prompt | None:
    """The prompt of the chosen source: the ids of the example or the toy, whose edited parameters count, or the typed
    text; None while the live model loads. Raises WorkbenchError."""
    if bench.source == "live":
        model = loader().model()
        return None if model is None else _typed(model, bench.text, bench.chat)
    shown = _shown(replace(bench, mask=MaskChoice()))
    assert shown is not None, "only the live model has to be waited for"
    trace, _unfit = _edited(shown, bench.edits)
    words = bench_module.examples()[bench.example].words if bench.source == "worked" else ()
    key = bench.scope, bench.ids, bench.sizes, bench.seed, bench.bias, repr(bench.edits)
    return Prompt(
        key, bench.source, decoder_of(trace),
        trace["tokens"], words.__getitem__ if words else "#{}".format, trace.config.max_positions)


def _typed(model: live.Live, text: str, chat: bool) -> Prompt:
    """A typed text as a prompt of the live model, or as what a user says to it (`chat`). Raises as `Live.encode` and
    `Live.chat`, TextEmpty and TooManyTokens."""
    if not text.strip():
        raise live_errors.TextEmpty
    encoding = model.chat([{"role": "user", "content": text}]).encoding if chat else model.encode(text)
    limit = min(LONGEST_CONTEXT, model.config.max_positions)
    if len(encoding) > limit:
        raise live_errors.TooManyTokens(len(encoding), limit)
    ids = torch.tensor([encoding.ids], device=model.decoder.get_parameter("embedding").device)
    return Prompt((model.fingerprint, text, chat), "live", model.decoder, ids, model.tokenizer.label, limit,
                  model.stop_ids, model.turn)


class Progress(NamedTuple):
    """Where loading stands: the stage's code, its fraction if it has one, seconds since it began."""

    stage: str
    fraction: float | None
    seconds: float


class Loader:
    """Loads a live model in a thread of its own, once for the whole server; a failure can be tried again. One of
    several `loaders` waits until there is room among them."""

    def __init__(self, name: str, loaders: Loaders | None = None) -> None:
        self.name = name
        self._loaders = loaders or Loaders()
        self._lock = self._loaders.lock
        self._thread: threading.Thread | None = None
        self._model: live.Live | None = None
        self._error: WorkbenchError | None = None
        self._stage: tuple[str, float | None] = ("read", None)
        self._waits = False
        self._began = self._failed = 0.0

    def model(self) -> live.Live | None:
        """The model if it is there; otherwise loading starts, or waits for room, and None is returned. Raises what
        loading failed with, to every caller for `RETRY_SECONDS`; a call after that tries again."""
        with self._lock:
            if self._model is not None:
                return self._model
            if self._error is not None and time.monotonic() < self._failed + RETRY_SECONDS:
                raise self._error.with_traceback(None)
            if self._thread is None:
                self._start()
            return None

    def _start(self) -> None:
        if not self._waits:
            self._began = time.monotonic()
        self._waits = not self._loaders.make_room(self)
        if not self._waits:
            self._stage = ("read", None)
            self._thread = threading.Thread(target=self._load, name="live-model", daemon=True)
            self._thread.start()

    @property
    def holds(self) -> bool:
        """Whether the model is there or on its way."""
        with self._lock:
            return self._model is not None or self._thread is not None

    @property
    def idle(self) -> bool:
        """Whether the model is there and nobody computes with it just now."""
        with self._lock:
            return self._model is not None and not self._model.busy

    def unload(self) -> None:
        """Let the model go; a call of `model` loads it again."""
        with self._lock:
            self._model = None

    def forget(self) -> None:
        """Forget a failure, so that the next call tries again at once."""
        with self._lock:
            self._error = None

    def cache_problem(self) -> live_errors.CacheUnavailable | None:
        """Why the unpacked weights could not be kept, if they could not."""
        with self._lock:
            return None if self._model is None else self._model.cache_problem

    def progress(self) -> Progress | None:
        """How far loading is, "room" while it waits for room; None when nothing is being loaded, or could be now."""
        with self._lock:
            seconds = time.monotonic() - self._began
            if self._thread is not None:
                return Progress(*self._stage, seconds)
            return Progress("room", None, seconds) if self._waits and not self._loaders.has_room(self) else None

    def _load(self) -> None:
        model: live.Live | None = None
        problem: WorkbenchError | None = WorkbenchError("loading stopped unexpectedly")
        try:
            if self.name not in (registry.DEFAULT, *registry.own()):  # `load` would take another name for a path
                raise live_errors.ModelUnknown(self.name, live.available())
            model = live.load(self.name, progress=self._report)
            problem = None
        except WorkbenchError as error:
            problem = error
        finally:
            with self._lock:
                self._model, self._error, self._thread = model, problem, None
                self._failed = time.monotonic()

    def _report(self, stage: str, fraction: float | None) -> None:
        with self._lock:
            self._stage = (stage, fraction)


class Loaders:
    """The loaders of a server, by the names of their models. At most `most` models are there or on their way; one that
    nobody computes with makes room for another, the one asked for longest ago first. While all of them load or compute,
    another one waits."""

    def __init__(self, most: int = MOST_MODELS) -> None:
        self.lock = threading.RLock()  # of all its loaders: one looks at the others before it loads
        self._most = most
        self._by_name: dict[str, Loader] = {}  # the one asked for longest ago first

    def of(self, name: str) -> Loader:
        """The loader of a model."""
        with self.lock:
            loader = self._by_name.pop(name, None) or Loader(name, self)
            empty = [other for other, one in self._by_name.items() if not one.holds]
            for other in empty[:max(0, len(empty) - self._most)]:
                del self._by_name[other]
            self._by_name[name] = loader
            return loader

    def has_room(self, loader: Loader) -> bool:
        """Whether that loader could load now."""
        held = self._others(loader)
        return len(held) < self._most or any(other.idle for other in held)

    def make_room(self, loader: Loader) -> bool:
        """Let a model go, if one must go so that this loader can load; whether it can."""
        with self.lock:
            if not self.has_room(loader):
                return False
            held = self._others(loader)
            if len(held) >= self._most:
                next(other for other in held if other.idle).unload()
            return True

    def _others(self, loader: Loader) -> list[Loader]:
        with self.lock:
            return [other for other in self._by_name.values() if other is not loader and other.holds]


@cache
def _loaders() -> Loaders:
    return Loaders()


def loader_of(name: str) -> Loader:
    """The loader of a model, one for each on this server."""
    return _loaders().of(name)


def loader() -> Loader:
    """The loader of the model that this session has chosen."""
    return loader_of(bench_module.model_name())


class Extent(NamedTuple):
    """How many layers, query heads and batch entries there are to choose from."""

    layers: int
    heads: int
    batch: int


def extent(trace: Trace) -> Extent:
    """The extent of a trace."""
    return Extent(trace.config.layers, trace.config.heads, trace.sizes.get("B", 1))


def reach(bench: Bench, *, prompted: bool) -> Extent:
    """The extent of what the bench selects; on pages that start from a prompt (`prompted`) the live model's own, since
    no trace could follow a text of that length. While it loads there is nothing to choose from, so that what the
    address says of layer and head stays."""
    if prompted and bench.source == "live":
        try:
            model = loader().model()
        except WorkbenchError:
            model = None
        if model is not None:
            return Extent(model.config.layers, model.config.heads, 1)
    resolved = resolve(bench)
    return Extent(1, 1, 1) if resolved.loading else extent(resolved.trace)


def within(bench: Bench, have: Extent) -> Bench:
    """The bench with layer, head and batch entry inside what there is."""
    return replace(bench, layer=min(bench.layer, have.layers - 1), head=min(bench.head, have.heads - 1),
                   batch=min(bench.batch, have.batch - 1))
