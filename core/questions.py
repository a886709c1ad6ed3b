"""Questions about the numbers on screen, their answers, and the mistake behind a wrong one."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

BY_HAND = 8  # a dot product of up to that many terms can be asked for; above, only which score is the largest

CLOSE = 0.01  # relative: the sum is right, the digits are not

Verdict = str  # "right", "sign", "close", "wrong", or the code of a slip that the stage names; `ui` words it


class Question(NamedTuple):
    """`kind` "value" asks for the raw score at (row, column); "largest" for the number, from 1, of the key with the
    largest raw score in `row`. `score` is the raw score at (row, column), `answer` what is to be answered.

    Of projections, "value" asks for the entry of `of` ("q", "k", "v") and "numbers" how many a head's part of its
    matrix holds. "which" asks for the number, from 1, of what `of` names (a head, a KV head, a row)."""

    kind: Literal["value", "largest", "numbers", "count", "which", "growth"]
    row: int
    column: int
    score: float
    answer: float
    of: str = ""


def equal(a: float, b: float, decimals: int) -> bool:
    """Equal once both are rounded to the shown decimals, give or take one unit of the last of them."""
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1.001 * 10.0**-decimals)
