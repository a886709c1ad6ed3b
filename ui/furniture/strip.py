"""The main line from ids to logits in shapes, with this stage lit."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

import streamlit as st

from core.notation import AXES
from core.trace import Trace
from ui.shell import i18n
from ui.shell.i18n import _

# The main line from ids to logits: trace names, axis letters, the slugs of the stages that work on it.
_MAIN_LINE = (
    ("tokens", ("B", "T"), ("tokens",)), ("in", ("B", "T", "D"), ("embedding",)),
    ("q k v", ("B", "H", "T", "Dh"), ("projections", "rope")),
    ("scaled", ("B", "H", "Tq", "Tk"), ("scores", "mask", "generation")),
    ("context", ("B", "H", "T", "Dh"), ("mixing",)), ("attn_out", ("B", "T", "D"), ("heads", "order")),
    ("hidden", ("B", "T", "F"), ("ffn",)), ("out", ("B", "T", "D"), ("block", "norms")),
    ("logits", ("B", "T", "V"), ("logits",)),
)
# On pages about the KV heads these stand in the place of the first one's box: Q has more heads than they.
_KV_HEADS = {"q k v": ("k v", ("B", "Hkv", "T", "Dh"), ("sharing", "kv_cache"))}
_SAME_COLOUR = {"Tq": "T", "Tk": "T"}  # queries and keys are both tokens
_SHORT = 3  # characters of an axis letter that is no word


def shape_strip(slug: str, shown: Trace | Mapping[str, int], *, rows: str = "") -> None:
    """The main line with axis letters in their colours, this stage lit, and the sizes that the trace has (or those
    given). In a pass that reads only some of the T tokens `rows` is how many, and stands in place of T."""
    sizes = shown.sizes if isinstance(shown, Trace) else shown
    boxes = []
    for names, axes, slugs in _near(slug):
        symbol = " ".join(map(i18n.symbol, names.split()))
        letters = ",".join(rows if rows and axis in ("T", "Tq") else axis_html(axis) for axis in axes)
        lit = ' aria-current="step" class="lit"' if slug in slugs else ""
        boxes.append(f"<li{lit}><span>{html.escape(symbol)}</span> [{letters}]</li>")
    present = [axis for axis in ("B", "T", "D", "H", "Hkv", "Dh", "F", "V", "L") if axis in sizes]
    numbers = " ".join(f"<span>{axis_html(axis)}={sizes[axis]}</span>" for axis in present)
    title = html.escape(_("Shapes along the main line"))
    st.html(f'<div class="strip"><ol tabindex="0" aria-label="{title}">{"".join(boxes)}</ol>'
            f'<p class="sizes">{numbers}</p></div>')


def _near(slug: str) -> Sequence[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """The main line, or where letters are words, the stage's part of it and what stands before and after."""
    own = {names: box for names, box in _KV_HEADS.items() if slug in box[2]}
    line = [own.get(box[0], box) for box in _MAIN_LINE]
    place = next((k for k, (_names, _axes, slugs) in enumerate(line) if slug in slugs), None)
    if place is None or max(len(i18n.axis(letter)) for letter in line[0][1]) <= _SHORT:
        return line
    return line[max(place - 1, 0):place + 2]


def axis_html(axis: str) -> str:
    """An axis letter in the notation in use and in its colour; a literal size stays as it is."""
    if axis not in AXES:
        return html.escape(axis)
    return f'<b class="axis-{_SAME_COLOUR.get(axis, axis)}">{html.escape(i18n.axis(axis))}</b>'
