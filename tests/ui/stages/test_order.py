"""The order stage through AppTest: both sides of the equation, the verdict, and addresses that hold no order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core import worked
from core.stages.order import reorder
from core.stages.order.reorder import Reordered
from tests.ui.on_page import opened, shown
from ui.shell.numbers import format_number

ORDER = "pages/position/order.py"


def assert_sides(at: AppTest, found: Reordered) -> None:
    """Every matrix of the equation holds what the core says."""
    for name, values in (("permutation", found.matrix), ("contents", found.contents), ("reordered", found.reordered),
                         ("expected", found.expected), ("found", found.found)):
        np.testing.assert_array_equal(shown(at, name), values.squeeze(0) if values.ndim == 3 else values, name)


@pytest.mark.parametrize("chosen", [(2, 0, 1), (1, 0, 2), (0, 1, 2), (2, 1, 0)])
@pytest.mark.parametrize(("mask", "positions"), [("none", "none"), ("causal", "none"), ("none", "sinusoidal"),
                                                 ("none", "rope"), ("causal", "rope")])
def test_both_sides_and_the_verdict(chosen: Sequence[int], mask: str, positions: str) -> None:
    at = opened(ORDER, lang="en", order=".".join(map(str, chosen)), sight=mask, places=positions)
    assert not at.exception
    found = reorder.reorder(worked.word_order(), 0, chosen, mask=mask, positions=positions)
    assert_sides(at, found)
    verdict = [element.value for element in at.markdown if "displaystyle" in element.value][-1]
    if found.equivariant:
        assert "(PX) = P" in verdict
    else:
        assert r"\neq" in verdict
        assert format_number(found.difference, 3) in verdict
    rows = [line for element in at.markdown for line in element.value.splitlines() if line.startswith("|")]
    seen = [sight for sight in reorder.sights(chosen, mask) if sight.lost or sight.gained]
    assert len(rows) == (len(seen) + 2 if seen else 0)  # below its head and the line under it


@pytest.mark.parametrize("text", ["0.0.1", "5.6.7", "0.1", "x", "-1.0.1", "9" * 3000, "0.1.2.3.4"])
def test_an_order_that_is_none_is_dropped(text: str) -> None:
    at = opened(ORDER, lang="en", order=text, sight="zzz", places="zzz")
    assert not at.exception
    assert_sides(at, reorder.reorder(worked.word_order(), 0, [2, 0, 1]))
