"""The order of the tokens as it comes from the browser or an address: hostile until proven to be one."""

from __future__ import annotations

import itertools

import pytest

from ui.components.permutation import LONGEST, pack_order, read_order, unpack_order


def test_every_order_of_a_few_tokens_goes_there_and_back() -> None:
    for count in range(1, 6):
        for order in itertools.permutations(range(count)):
            assert read_order(list(order), count) == order
            assert unpack_order(pack_order(order)) == order
    longest = tuple(reversed(range(LONGEST)))
    assert unpack_order(pack_order(longest)) == longest


@pytest.mark.parametrize("value", [
    None, "201", {"0": 2}, [], [0, 1], [0, 1, 1], [0, 1, 3], [-1, 0, 1], [0, 1, 2, 3], [0.5, 1, 2], ["0", "1", "2"],
    [True, 0, 2], [None, 1, 2], [[0], 1, 2], [float("nan"), 1, 2], [float("inf"), 1, 2], [10**400, 1, 2]])
def test_what_is_no_order_is_dropped(value: object) -> None:
    assert read_order(value, 3) is None


def test_whole_floats_are_what_a_browser_may_send() -> None:
    assert read_order([2.0, 0.0, 1.0], 3) == (2, 0, 1)


@pytest.mark.parametrize("text", [
    "", ".", "0..1", "1", "0.2", "0.0", "-1.0", "0.1.x", "²", "0.1e0", "9" * 5000, "0." * 400, "٠.١",
    ".".join(map(str, range(LONGEST + 1)))])
def test_an_address_that_holds_no_order_is_dropped(text: str) -> None:
    assert unpack_order(text) is None
