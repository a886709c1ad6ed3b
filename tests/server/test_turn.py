"""Runs in turn: in order of arrival, so many at a time, given back however a run ends, and nobody waits for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.runtime.scriptrunner import script_runner
from streamlit.testing.v1 import AppTest

from core.live import turns
from core.live.trace_cache import TraceCache
from core.live.turns import Turns
from core.trace import Trace
from server import turn
from server.turn import CARRY_OUT, RUNS, Turn, install

PATIENCE = 30.0  # seconds after which another thread is taken to be lost; nothing here depends on how long it takes
NEVER = 1e6  # seconds of a turn


class Worker:
    """A thread that does `work`, was given up on after `PATIENCE`, and hands on what went wrong in it."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again in the test's thread
            self.error = error

    def done(self) -> None:
        """Wait for the end."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        if self.error is not None:
            raise self.error


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread brings about."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "the other threads did not get there"
        time.sleep(0.001)


def come(event: threading.Event) -> None:
    assert event.wait(PATIENCE)


@pytest.fixture
def runs() -> Iterator[Turn]:
    """A turn that nobody takes away, entered aside of by all that waits."""
    made, before = Turn(1, NEVER), turns._step_aside
    turns.step_aside_by(made.aside)
    yield made
    turns.step_aside_by(before)


def test_turns_come_in_order_of_arrival(runs: Turn) -> None:
    order: list[int] = []

    def work(number: int) -> None:
        with runs.take():
            order.append(number)

    workers = []
    with runs.take():
        for number in range(8):
            workers.append(Worker(lambda number=number: work(number)))
            until(lambda wanted=number + 1: runs.waiting == wanted)
    for worker in workers:
        worker.done()
    assert order == list(range(8))


@pytest.mark.parametrize("at_once", [1, 2])
def test_so_many_run_at_once_and_no_more(at_once: int) -> None:
    """All that may run meet in the middle of it; whoever comes then waits until one of them leaves."""
    runs, inside, leave = Turn(at_once, NEVER), threading.Barrier(at_once + 1), threading.Event()

    def work() -> None:
        with runs.take():
            inside.wait(PATIENCE)
            come(leave)

    workers = [Worker(work) for _ in range(at_once)]
    inside.wait(PATIENCE)
    entered = threading.Event()

    def late() -> None:
        with runs.take():
            entered.set()

    latecomer = Worker(late)
    until(lambda: runs.waiting == 1)
    assert not entered.is_set()
    leave.set()
    for worker in (*workers, latecomer):
        worker.done()
    assert entered.is_set()


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_what_ends_a_run_gives_its_turn_back(runs: Turn, error: type[BaseException]) -> None:
    with pytest.raises(error), runs.take():
        raise error
    assert not runs.is_mine
    Worker(lambda: runs.take().__enter__()).done()  # another thread gets one


def test_a_turn_in_a_turn_is_the_same_one(runs: Turn) -> None:
    with runs.take():
        with runs.take():
            assert runs.is_mine
        assert runs.is_mine
    assert not runs.is_mine


def test_nobody_waits_for_one_that_does_not_come_to_an_end() -> None:
    """The second goes on while the first still holds its turn; what the first gives back then is nobody's any more."""
    runs, first_in, second_in, end = Turn(1, 0.02), threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        with runs.take():
            first_in.set()
            come(end)

    def second() -> None:
        with runs.take():
            second_in.set()
            come(end)

    workers = [Worker(first)]
    come(first_in)
    workers.append(Worker(second))
    come(second_in)
    assert not end.is_set()  # the first is still inside
    end.set()
    for worker in workers:
        worker.done()
    assert runs._held == {}


@pytest.mark.parametrize("limit", [1, 3])
def test_a_turn_is_not_held_during_a_forward_or_while_waiting_for_one(runs: Turn, limit: int) -> None:
    forwards, inside, end = Turns(limit), threading.Barrier(limit + 1), threading.Event()

    def run() -> None:
        with runs.take():
            with forwards.take():
                assert not runs.is_mine
                inside.wait(PATIENCE)
                come(end)
            assert runs.is_mine

    workers = [Worker(run) for _ in range(limit)]
    inside.wait(PATIENCE)  # so many runs are in a forward at once, though one at a time may run
    inside = threading.Barrier(2)
    workers.append(Worker(run))
    until(lambda: forwards.waiting == 1)
    with runs.take():  # neither they nor the one that waits for a forward hold it
        pass
    end.set()
    inside.wait(PATIENCE)
    for worker in workers:
        worker.done()


def test_whoever_waits_for_another_s_trace_does_not_keep_it_from_being_made(runs: Turn) -> None:
    """The first makes a forward, which gives its turn away; the second waits for that trace. The first needs a turn
    again before it is done."""
    cache, forwards, begun, go_on = TraceCache(2**30), Turns(1), threading.Event(), threading.Event()
    found: list[Trace] = []

    def make() -> Trace:
        with forwards.take():
            begun.set()
            come(go_on)
        return Trace()

    def run() -> None:
        with runs.take():
            found.append(cache.fetch("text", make))

    workers = [Worker(run)]
    come(begun)
    workers.append(Worker(run))
    until(lambda: cache.asking("text") == 2)
    go_on.set()
    for worker in workers:
        worker.done()
    assert found[0] is found[1]


def test_a_thread_without_a_turn_steps_aside_for_nothing(runs: Turn) -> None:
    with runs.aside():
        assert not runs.is_mine
    assert not runs.is_mine
    with runs.take(), runs.aside(), runs.aside():
        assert not runs.is_mine


# Streamlit's runner.


def test_it_is_installed_once_and_passes_everything_on(runs: Turn) -> None:
    def carry_out(*arguments: Any, **named: Any) -> Any:
        return arguments, named, runs.is_mine

    runner = SimpleNamespace(**{CARRY_OUT: carry_out})
    install(runner, runs)
    once = getattr(runner, CARRY_OUT)
    install(runner, runs)
    assert getattr(runner, CARRY_OUT) is once
    assert once(1, two=2) == ((1,), {"two": 2}, True)


def test_a_streamlit_without_that_place_is_left_as_it_is(runs: Turn) -> None:
    runner = SimpleNamespace()
    install(runner, runs)
    assert vars(runner) == {}


SCRIPT = """
import streamlit as st
from core.live.turns import Turns
from server.turn import RUNS
from tests.server.test_turn import SEEN

def look(where):
    SEEN.append((where, RUNS.is_mine))

@st.fragment
def part():
    look("fragment")
    st.button("again", key="again")

look("page")
part()
with Turns(1).take():
    look("forward")
look("after")
if st.button("stop", key="stop"):
    st.stop()
if st.button("rerun", key="rerun"):
    st.rerun()
if st.button("fail", key="fail"):
    raise RuntimeError("as asked")
"""
SEEN: list[tuple[str, bool]] = []
WHOLE = [("page", True), ("fragment", True), ("forward", False), ("after", True)]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The turn in Streamlit's own runner, as app.py puts it there."""
    monkeypatch.setattr(script_runner, CARRY_OUT, getattr(script_runner, CARRY_OUT))  # put back at the end
    before = turns._step_aside
    turn.install()
    SEEN.clear()
    yield
    turns.step_aside_by(before)


@pytest.mark.parametrize(("button", "looked"), [("", 0), ("again", 1), ("stop", 1), ("rerun", 2), ("fail", 1)])
def test_a_run_of_a_page_and_of_a_fragment_holds_the_turn_and_gives_it_back(
    installed: None, button: str, looked: int,
) -> None:
    at = AppTest.from_string(SCRIPT).run()
    if button:
        at.button(key=button).click().run()
    assert WHOLE * (1 + looked) == SEEN
    assert bool(at.exception) is (button == "fail")
    assert RUNS._held == {}
    assert RUNS.waiting == 0
