"""Traces shared between sessions: made once for all who ask at the same time, also when making one has failed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from core.live.trace_cache import TraceCache
from core.trace import Trace

PATIENCE = 30.0  # seconds after which another thread is taken to be lost


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread brings about."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "the other threads did not get there"
        time.sleep(0.001)


class Session:
    """A thread that asks for the trace of "text". Where it has to make it, it waits to be told how that ends."""

    def __init__(self, cache: TraceCache) -> None:
        self.makes, self._told = threading.Event(), threading.Event()
        self.made: Trace | None = None
        self.got: Trace | None = None
        self.failed = False
        self._cache = cache
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        try:
            self.got = self._cache.fetch("text", self._make)
        except RuntimeError:
            self.failed = True

    def _make(self) -> Trace:
        self.makes.set()
        assert self._told.wait(PATIENCE)
        if self.made is None:
            raise RuntimeError
        return self.made

    def end(self, made: Trace | None) -> None:
        """Have making it give this trace, or fail; wait until the session has its answer."""
        self.made = made
        self._told.set()
        self.wait()

    def wait(self) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


def test_whoever_comes_after_a_failure_waits_with_those_who_wait_already() -> None:
    """The first fails. Of the others one makes the trace, and a newcomer does not make it beside that one."""
    cache = TraceCache(2**30)
    first = Session(cache)
    assert first.makes.wait(PATIENCE)
    second = Session(cache)
    until(lambda: cache.asking("text") == 2)
    first.end(None)
    assert first.failed
    assert second.makes.wait(PATIENCE)
    third = Session(cache)
    until(lambda: third.makes.is_set() or cache.asking("text") == 2)
    assert not third.makes.is_set()
    trace = Trace()
    second.end(trace)
    third.wait()
    assert second.got is trace
    assert third.got is trace
    assert not third.makes.is_set()
    assert cache.asking("text") == 0


@pytest.mark.parametrize("count", [1, 8])
def test_a_trace_is_made_once_however_many_ask(count: int) -> None:
    cache = TraceCache(2**30)
    first = Session(cache)
    assert first.makes.wait(PATIENCE)
    others = [Session(cache) for _ in range(count)]
    until(lambda: cache.asking("text") == 1 + count)
    trace = Trace()
    first.end(trace)
    for other in others:
        other.wait()
        assert other.got is trace
        assert not other.makes.is_set()
    assert cache.fetch("text", Trace) is trace
    assert len(cache) == 1
