"""Tokens of a text, and how byte-level BPE arrived at them: one merge after the other, in the browser.

A component of its own beside the equation: what is drawn here are pieces of text that grow together, no matrices. It
follows the same rules: pointing lights sources and results without a round trip, what is pinned goes to Python, typed
text is put in as text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from core.live.merges import PreToken
from core.tokenizers import Cut
from ui.shell.bundle import bundle
from ui.shell.theme import role_css

LONGEST = 512  # parts that are drawn; of a longer text the first ones are


@dataclass(frozen=True)
class Part:
    """A run of text that is cut by itself: `text` as it stands, its bytes and merges if it is merged, its tokens.

    `symbols` are (label, bytes in hexadecimal); `merges` (rank, number of the byte at which the left one
    begins, label and bytes of what is made);
    `pieces` (id, label, bytes in hexadecimal, first character, end, whole), where `whole` is False for a token that
    holds only a part of a character, or for one that the vocabulary does not know.
    """

    text: str
    symbols: Sequence[tuple[str, str]]
    merges: Sequence[tuple[int, int, str, str]]
    pieces: Sequence[tuple[int, str, str, int, int, bool]]


def merged(pre_tokens: Sequence[PreToken]) -> list[Part]:
    """The parts of a text cut by byte-level BPE."""
    return [Part(
        part.text, [(symbol.label, _hex(symbol.data)) for symbol in part.symbols],
        [(merge.rank, merge.left.at[0] - part.at[0], merge.made.label, _hex(merge.made.data)) for merge in part.merges],
        [(piece.id, piece.label, _hex(piece.data), *piece.characters, piece.whole) for piece in part.pieces],
    ) for part in pre_tokens]


def plain(cut: Cut, label: Callable[[str], str]) -> list[Part]:
    """The parts of a text cut into characters or words: a token each, without merges."""
    unknown = set(cut.unknown)
    return [Part(piece, (), (), [(token, label(piece), _hex(piece.encode()), *span, place not in unknown)])
            for place, (token, piece, span) in enumerate(zip(cut.ids, cut.pieces, cut.offsets, strict=True))]


def _hex(data: bytes) -> str:
    return data.hex(" ").upper()


def default_strings(_: Callable[[str], str]) -> dict[str, str]:
    """Every text of the component in the language of `_`. `{…}` are filled in by the browser."""
    return {
        "dock": _("Arithmetic"),
        "tokens": _("Tokens"),
        "merges": _("Merges"),
        "idle": _("Point at a token to see what it was made from. Click to keep it."),
        "asked": _("“{text}”: how many tokens?"),
        "token": _("“{text}” has id {id}"),
        "covers": _("characters {a}–{b} of the text"),
        "bytes": _("bytes {hex}"),
        "split": _("a part of a character; its neighbours hold the rest"),
        "unknown": _("not in the vocabulary: it gets the id of the unknown"),
        "start": _("the text as bytes"),
        "step": _("merge {n}"),
        "rank": _("rank {rank}"),
        "merge": _("“{a}” + “{b}” → “{c}”, rank {rank}"),
        "why": _("of the pairs that stood side by side it came first in the list of merges"),
        "end": _("no pair that is left is in the list: these are the tokens"),
        "pinned": _("pinned"),
        "unpin": _("Let go of what is pinned"),
        "steps": _("Steps"),
        "play": _("Play"), "pause": _("Pause"), "back": _("Back"), "next": _("Next"), "skip": _("Show all"),
        "csv": _("Tokens as CSV"), "svg": _("Picture as SVG"),
        "more": _("Only the first {count} parts are drawn."),
    }


_HERE = Path(__file__).parent
_COMPONENT = st.components.v2.component(
    "merging", html='<div class="merging">\n</div>',
    css=role_css(":host, .merging") + (_HERE / "merging.css").read_text("utf-8"),
    js=bundle(_HERE / "merging.js"))


def merging(
    parts: Sequence[Part], *, key: str, strings: Mapping[str, str], place: tuple[int, int] | None, asked: int | None,
    unknowns: bool, on_change: Callable[[], None],
) -> None:
    """Draw the tokens of `parts` and the merges of the one at `place` (part, step). `asked` is the part whose tokens
    are hidden, since they are asked for; `unknowns` says that what is not whole is unknown rather than a part of a
    character. In `on_change` what was pinned is `st.session_state[key]["place"]`, [part, step] or None, unchecked.
    """
    shown = parts[:LONGEST]
    data: dict[str, Any] = {
        "parts": [_sent(part, hidden=number == asked) for number, part in enumerate(shown)],
        "place": list(place) if place else None, "strings": dict(strings), "unknowns": unknowns,
        "cut": len(parts) > len(shown),
    }
    _COMPONENT(key=key, data=data, on_place_change=on_change)


def _sent(part: Part, *, hidden: bool) -> dict[str, Any]:
    """A part as JSON; what is asked for does not leave Python."""
    if hidden:
        return {"text": part.text, "asked": True, "symbols": [], "merges": [], "pieces": []}
    return {"text": part.text, "asked": False, "symbols": [list(symbol) for symbol in part.symbols],
            "merges": [list(merge) for merge in part.merges], "pieces": [list(piece) for piece in part.pieces]}
