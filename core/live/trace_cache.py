"""Traces of recent texts, shared by all sessions, bounded in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

from core.trace import COMPUTED_BYTES, Trace


class TraceCache:
    """The most recently used traces whose sizes together stay within `max_bytes`.

    A trace counts with its captured stream plus all that it may still compute and keep, so the bound holds
    whatever its readers ask for. The newest trace stays even if it alone exceeds the bound.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        self._traces: OrderedDict[Hashable, Trace] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}

    def __len__(self) -> int:
        return len(self._traces)

    @property
    def nbytes(self) -> int:
        """The bound on what the kept traces take."""
        with self._lock:
            return self._total()

    def fetch(self, key: Hashable, make: Callable[[], Trace]) -> Trace:
        """The trace kept under `key`, else what `make` returns; others who ask for that key wait for it."""
        with self._lock:
            gate = self._making.setdefault(key, threading.Lock())
        with gate:
            try:
                trace = self.get(key)
                if trace is None:
                    trace = make()
                    self.put(key, trace)
                return trace
            finally:
                with self._lock:
                    self._making.pop(key, None)

    def get(self, key: Hashable) -> Trace | None:
        """The trace kept under `key`, which now counts as just used, or None."""
        with self._lock:
            if key in self._traces:
                self._traces.move_to_end(key)
            return self._traces.get(key)

    def put(self, key: Hashable, trace: Trace) -> None:
        """Keep a trace; drop those unused for longest while there are too many bytes."""
        with self._lock:
            self._traces[key] = trace
            self._traces.move_to_end(key)
            while self._total() > self.max_bytes and len(self._traces) > 1:
                self._traces.popitem(last=False)

    def _total(self) -> int:
        return sum(size(trace) for trace in self._traces.values())


def size(trace: Trace) -> int:
    """Bytes that a trace may take: the captured stream, and the computed tensors up to their own bound."""
    return sum(tensor.nbytes for tensor in trace.stream) + COMPUTED_BYTES
