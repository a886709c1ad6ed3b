"""Tokens whose order is chosen by dragging them, or by the keyboard. What comes back is treated as hostile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import streamlit as st

from ui.shell.i18n import _

LONGEST = 128  # tokens; as many as a page follows
_HERE = Path(__file__).parent
_COMPONENT = st.components.v2.component(
    "permutation",
    html='<div class="permutation">\n</div>',
    css=(_HERE / "permutation.css").read_text("utf-8"),
    js=(_HERE / "permutation.js").read_text("utf-8"),
)


def permutation(tokens: Sequence[str], order: Sequence[int], *, key: str, on_change: Callable[[], None]) -> None:
    """Draw the tokens in an order (old places, from 0, in their new order). In the callback the raw order is
    `st.session_state[key]["order"]`, for `read_order`."""
    _COMPONENT(key=key, data={"tokens": list(tokens), "order": list(order), "strings": _strings()},
               on_order_change=on_change)


def read_order(value: object, count: int) -> tuple[int, ...] | None:
    """The order in what a browser sent: each of 0 to count − 1 once; None for anything else."""
    if not isinstance(value, list | tuple) or len(value) != count or count > LONGEST:
        return None
    numbers = [int(n) for n in value if isinstance(n, int | float) and not isinstance(n, bool) and n in range(count)]
    return tuple(numbers) if sorted(numbers) == list(range(count)) else None


def pack_order(order: Sequence[int]) -> str:
    """An order as the address carries it: "2.0.1"."""
    return ".".join(map(str, order))


def unpack_order(text: str) -> tuple[int, ...] | None:
    """The order in what an address says, of as many tokens as it names; None for anything else."""
    parts = text.split(".", LONGEST)
    if not all(part.isascii() and part.isdecimal() and len(part) < len(str(LONGEST)) + 1 for part in parts):
        return None
    return read_order([int(part) for part in parts], len(parts))


def _strings() -> dict[str, str]:
    """The texts of the component; `{…}` are filled in by the browser."""
    return {
        "group": _("The tokens in their new order"),
        "chip": _("{token} ({n}), place {place} of {count}"),
        "earlier": _("Move {token} one place earlier"),
        "later": _("Move {token} one place later"),
        "reverse": _("Reverse"),
        "reset": _("As it was"),
        "hint": _("Drag a token, or choose one and press ← or →"),
        "moved": _("{token} is at place {place} of {count}"),
        "changed": _("{token} comes first now"),
    }
