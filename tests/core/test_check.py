"""The largest difference: no number of it is no number, whatever was typed."""

from __future__ import annotations

import math

import pytest
import torch

from core.check import largest_difference

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(("one", "other", "difference"), [
    ([1.0, -2.0], [1.5, -4.0], 2.0),
    ([], [], 0.0),
    ([INF, 1.0], [INF, 1.25], 0.25),
    ([NAN, -INF], [NAN, -INF], 0.0),
    ([INF], [-INF], INF),
    ([NAN], [0.0], INF),
    ([0.0], [INF], INF),
    ([NAN], [INF], INF),
    ([3e38], [-3e38], INF),  # as far apart as float32 cannot say
])
def test_the_largest_difference(one: list[float], other: list[float], difference: float) -> None:
    assert largest_difference(torch.tensor(one), torch.tensor(other)) == difference
    assert largest_difference(torch.tensor(other), torch.tensor(one)) == difference
