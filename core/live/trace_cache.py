"""Traces of recent texts, shared by all sessions, bounded in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from core.kept import COMPUTED_BYTES
from core.live.turns import aside
from core.trace import Trace


@dataclass
class _Gate:
    lock: threading.Lock = field(default_factory=threading.Lock)
    asking: int = 0


class TraceCache:
    """The most recently used traces whose sizes together stay within `max_bytes`.

    A trace counts with its captured stream plus all that it may still compute and keep, so the bound holds
    whatever its readers ask for. The newest trace stays even if it alone exceeds the bound.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        self._traces: OrderedDict[Hashable, Trace] = OrderedDict()
        self._gates: dict[Hashable, _Gate] = {}

    def __len__(self) -> int:
        return len(self._traces)

    @property
    def nbytes(self) -> int:
        """The bound on what the kept traces take."""
        with self._lock:
            return self._total()

    def fetch(self, key: Hashable, make: Callable[[], Trace]) -> Trace:
        """The trace kept under `key`, else what `make` returns; others who ask for that key meanwhile wait for it. If
        `make` raises, one of them makes it, and the others go on waiting."""
        trace = self.get(key)
        if trace is not None:
            return trace
        with aside(), self._gate(key):
            trace = self.get(key)
            if trace is None:
                trace = make()
                self.put(key, trace)
            return trace

    def asking(self, key: Hashable) -> int:
        """How many make the trace of that key now, or wait for it."""
        with self._lock:
            return self._gates[key].asking if key in self._gates else 0

    @contextmanager
    def _gate(self, key: Hashable) -> Iterator[None]:
        """One at a time for each key; the gate stands until the last who came to it has gone through."""
        with self._lock:
            gate = self._gates.setdefault(key, _Gate())
            gate.asking += 1
        try:
            with gate.lock:
                yield
        finally:
            with self._lock:
                gate.asking -= 1
                if not gate.asking:
                    del self._gates[key]

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
