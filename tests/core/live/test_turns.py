"""The limit on concurrent forwards: never exceeded, first come first served, passed on whatever happens."""

from __future__ import annotations

import threading

import pytest

from core.live.turns import Turns
from tests.waiting import LONGEST, join, until


def test_turns_come_in_order_of_arrival() -> None:
    turns, order, threads = Turns(1), [], []

    def work(number: int) -> None:
        with turns.take():
            order.append(number)

    with turns.take():
        for number in range(8):
            threads.append(threading.Thread(target=work, args=(number,)))
            threads[-1].start()
            until(lambda wanted=number + 1: turns.waiting == wanted)
    join(*threads)
    assert order == list(range(8))


@pytest.mark.parametrize("limit", [1, 3])
def test_no_more_than_the_limit_run_at_once(limit: int) -> None:
    turns, lock, now, most = Turns(limit), threading.Lock(), [0], [0]
    together = threading.Barrier(limit)  # nobody leaves before so many are inside

    def work() -> None:
        with turns.take():
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            together.wait(LONGEST)
            with lock:
                now[0] -= 1

    # Each takes one turn: one that came for another could be left alone at the end, with nobody to wait for.
    threads = [threading.Thread(target=work) for _ in range(5 * limit)]
    for thread in threads:
        thread.start()
    join(*threads)
    assert most[0] == limit
    assert turns.waiting == 0


def test_a_failure_passes_the_turn_on() -> None:
    turns = Turns(1)
    with pytest.raises(RuntimeError), turns.take():
        raise RuntimeError
    with turns.take():
        assert turns.waiting == 0


def test_a_raised_limit_admits_those_who_wait() -> None:
    turns, entered = Turns(1), threading.Event()

    def work() -> None:
        with turns.take():
            entered.set()

    with turns.take():
        thread = threading.Thread(target=work)
        thread.start()
        until(lambda: turns.waiting == 1)
        turns.limit = 2
        assert entered.wait(LONGEST)
        join(thread)


def test_the_limit_is_at_least_one() -> None:
    assert Turns(0).limit == 1
