"""A turn for runs of the script: first come, first served, two at a time.

Each session runs in a thread of its own. Every small torch operation, and every message to the browser, gives the
interpreter's lock away and has to win it back from all the other threads; with a class at work that takes longer than
the work itself. So runs wait here, where waiting costs nothing. A run gives its turn back however it ends, and while it
waits for something else or makes a forward of a large model (`core.live.turns.aside`), which needs no interpreter.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from streamlit.runtime.scriptrunner import script_runner

from core.live import turns

AT_ONCE = 2  # with one the median wait is the same, and the longest are longer: one long run holds up all the others
LONGEST = 2.0  # seconds after which a run that still computes no longer keeps the others waiting
CARRY_OUT = "exec_func_with_error_handling"  # how Streamlit's runner carries out a page, or the fragments of one


class Turn:
    """At most `at_once` holders; the others wait in order of arrival, none of them longer for any holder than
    `longest` seconds: the next goes on beside one that does not come to an end."""

    def __init__(self, at_once: int = AT_ONCE, longest: float = LONGEST) -> None:
        self._at_once, self._longest = at_once, longest
        self._lock = threading.Lock()
        self._queue: deque[threading.Event] = deque()
        self._held: dict[threading.Event, float] = {}  # who holds a turn, and since when
        self._here = threading.local()

    @property
    def waiting(self) -> int:
        """How many wait for a turn now."""
        return len(self._queue)

    @property
    def is_mine(self) -> bool:
        """Whether this thread has a turn, be it that the next one no longer waits for it."""
        return getattr(self._here, "turn", None) is not None

    @contextmanager
    def take(self) -> Iterator[None]:
        """Wait for a turn, hold it for the body of the `with`, pass it on whatever happens inside. A thread that has
        one already goes on with it."""
        if self.is_mine:
            yield
            return
        self._here.turn = self._enter()
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Give this thread's turn away for the body of the `with`, and wait for another one at the end; nothing for a
        thread that has none."""
        if not self.is_mine:
            yield
            return
        self._leave()
        try:
            yield
        finally:
            self._here.turn = self._enter()

    def _enter(self) -> threading.Event:
        mine = threading.Event()
        with self._lock:
            self._queue.append(mine)
            self._admit()
        while not mine.wait(self._patience()):
            with self._lock:
                self._admit()
        return mine

    def _leave(self) -> None:
        with self._lock:
            self._held.pop(self._here.turn, None)  # gone already where it was held for too long
            self._here.turn = None
            self._admit()

    def _patience(self) -> float:
        """Seconds until one of the holders has had its turn for too long."""
        with self._lock:
            return max(0.0, min(self._held.values(), default=0.0) + self._longest - time.monotonic())

    def _admit(self) -> None:
        now = time.monotonic()
        for turn, since in [*self._held.items()]:
            if now >= since + self._longest:
                del self._held[turn]
        while self._queue and len(self._held) < self._at_once:
            following = self._queue.popleft()
            self._held[following] = now
            following.set()


RUNS = Turn()  # of this process


class _InTurn:
    """A function that is carried out with a turn."""

    def __init__(self, function: Callable[..., Any], turn: Turn) -> None:
        self.function, self.turn = function, turn

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        with self.turn.take():
            return self.function(*arguments, **named)


def install(runner: Any = script_runner, turn: Turn = RUNS) -> None:
    """Have all runs take turns, those of whole pages and of fragments; once, however often it is called.

    Streamlit offers no place for this. What is replaced in its `runner` is not a documented name: a version without it
    runs as it would by itself, each session when it likes.
    """
    function = getattr(runner, CARRY_OUT, None)
    if function is None or isinstance(function, _InTurn):
        return
    setattr(runner, CARRY_OUT, _InTurn(function, turn))
    turns.step_aside_by(turn.aside)
