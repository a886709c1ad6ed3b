"""The check line: what the numbers were compared with."""

from __future__ import annotations

import streamlit as st

from core.check import Check
from ui.shell import i18n, numbers
from ui.shell.i18n import _
from ui.shell.numbers import format_number


def check_line(check: Check | None) -> None:
    """What the numbers were compared with, and the largest difference."""
    if check is None:
        st.caption(_("Check: nothing can be compared here, because a number was edited on the way."))
        return
    name = i18n.symbol(check.name)
    compared = {
        "float64": _("{symbol} against the same step in float64"),
        "stream": _("the block's output, written out step by step, against torch's fused forward pass"),
        "at_once": _("K and V that the steps so far left in the cache, against those of the whole text read at once "
                     "without one"),
        "sdpa": _("{symbol}, written out step by step, against torch's scaled_dot_product_attention"),
    }[check.kind].format(symbol=name)
    st.caption(_("Check: {compared}. Largest difference: {difference}, among values up to {size}.").format(
        compared=compared, difference=numbers.format_difference(check.difference),
        size=format_number(check.size, decimals=2)))
