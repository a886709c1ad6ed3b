"""Where a page stands: the stages by name, as links, and in a disclosure the sizes and shapes on the way."""

from __future__ import annotations

import html
from collections.abc import Container, Mapping, Sequence

import streamlit as st

from core.config import ModelConfig
from core.notation import AXES
from core.trace import Trace
from ui.shell import i18n, syllabus
from ui.shell.i18n import _
from ui.shell.syllabus import Stage

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


_IN_BLOCK = ("attention", "position", "block")  # sections whose stages every block of a model repeats


def stages(slug: str, built: Container[str], model: ModelConfig) -> None:
    """The way through that model by name, each stage a link, this one lit. What is in a block stands in brackets, with
    the number of blocks; pointing at a stage tells the shape of what comes out of it. A plain click changes the page
    without a reload (navigation.js)."""
    line = syllabus.line(slug, built, model)
    within = [entry.section in _IN_BLOCK for entry in line]
    items = []
    for place, entry in enumerate(line):
        if within[place] and not any(within[:place]):
            items.append('<li class="edge" aria-hidden="true">[</li>')
        here = ' aria-current="page"' if entry.slug == slug else ""
        told = html.escape(_told(entry), quote=True)
        items.append(f'<li><a href="{entry.slug}" title="{told}"{here}>{html.escape(_(entry.title))}</a></li>')
        if within[place] and not any(within[place + 1:]):
            items.append(f'<li class="edge" aria-hidden="true">] ×{model.layers}</li>')
    label = html.escape(_("The stages, in the order of this model"), quote=True)
    st.html(f'<nav class="stages" aria-label="{label}"><ol>{"".join(items)}</ol></nav>')


def _told(entry: Stage) -> str:
    letters = entry.symbol.strip("[]").split(",")
    if len(letters) == 1:
        return _(entry.question)
    return f"{_(entry.question)} [{','.join(i18n.axis(one) if one in AXES else one for one in letters)}]"


def shapes(slug: str, shown: Trace | Mapping[str, int], *, rows: str = "") -> None:
    """The sizes that the trace has (or those given), and the main line with axis letters in their colours, this stage
    lit. In a pass that reads only some of the T tokens `rows` is how many, and stands in place of T."""
    sizes = shown.sizes if isinstance(shown, Trace) else shown
    boxes = []
    for names, axes, slugs in _near(slug):
        symbol = " ".join(map(i18n.symbol, names.split()))
        letters = ",".join(rows if rows and axis in ("T", "Tq") else axis_html(axis) for axis in axes)
        lit = ' aria-current="step" class="lit"' if slug in slugs else ""
        boxes.append(f"<li{lit}><span>{html.escape(symbol)}</span> [{letters}]</li>")
    present = [axis for axis in ("B", "T", "D", "H", "Hkv", "Dh", "F", "V", "L") if axis in sizes]
    numbers = " ".join(f"<span>{axis_html(axis)}={sizes[axis]}</span>" for axis in present)
    title, summary = html.escape(_("Shapes along the main line"), quote=True), html.escape(_("Sizes and shapes"))
    st.html(f'<details class="shapes"><summary>{summary}</summary>'
            f'<p class="sizes">{numbers}</p><ol tabindex="0" aria-label="{title}">{"".join(boxes)}</ol></details>')


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
