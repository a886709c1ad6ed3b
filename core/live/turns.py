"""A fair limit on work that runs at the same time: first come, first served; and stepping aside while one waits."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

_step_aside: Callable[[], AbstractContextManager[object]] = nullcontext


def step_aside_by(way: Callable[[], AbstractContextManager[object]]) -> None:
    """What is entered by `aside` from now on, for the whole process."""
    global _step_aside
    _step_aside = way


def aside() -> AbstractContextManager[object]:
    """Entered by a thread around what makes it wait for others, or leaves the interpreter to them for long. A server
    that lets threads run in turn has the thread pass its own turn on meanwhile; elsewhere it does nothing.

    Whoever waits for something that another one holds must do so from here: that one may be waiting for the turn.
    """
    return _step_aside()


class Turns:
    """At most `limit` holders at once; the others wait in order of arrival. All of them stand aside.

    A plain semaphore lets a newcomer overtake those who wait, so one busy page could starve a classroom. Hold a
    turn for one forward, never for a whole generation.
    """

    def __init__(self, limit: int) -> None:
        self._lock = threading.Lock()
        self._queue: deque[threading.Event] = deque()
        self._running = 0
        self._limit = max(1, limit)

    @property
    def limit(self) -> int:
        """How many may run at once (at least 1); may be changed while others run or wait."""
        return self._limit

    @limit.setter
    def limit(self, value: int) -> None:
        with self._lock:
            self._limit = max(1, value)
            self._admit()

    @property
    def waiting(self) -> int:
        """How many wait for a turn now."""
        return len(self._queue)

    @contextmanager
    def take(self) -> Iterator[None]:
        """Wait for a turn, hold it for the body of the `with`, pass it on whatever happens inside."""
        with aside():
            mine = threading.Event()
            try:
                with self._lock:
                    self._queue.append(mine)
                    self._admit()
                mine.wait()
                yield
            finally:
                with self._lock:
                    self._leave(mine)

    def _admit(self) -> None:
        while self._queue and self._running < self._limit:
            self._running += 1
            self._queue.popleft().set()

    def _leave(self, mine: threading.Event) -> None:
        if mine.is_set():
            self._running -= 1
        elif mine in self._queue:  # interrupted while it waited
            self._queue.remove(mine)
        self._admit()
