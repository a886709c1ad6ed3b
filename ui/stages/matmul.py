"""A matrix product on a page: the rule for two shapes drawn axis by axis, and one of the products as an equation."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import streamlit as st
from torch import Tensor

from core.comparison import Comparison
from core.stages.matmul.product import MOST_NUMBERS, Product, Slice
from core.worked import SHAPES
from ui import bench as bench_module
from ui.bench import Bench
from ui.bench.parameters import Choice, Text, Whole
from ui.equation import Axis, Difference, Frame, Matmul, Pin, default_strings, equation
from ui.shell.i18n import _

_CSS = (Path(__file__).parent / "matmul.css").read_text("utf-8")
_NO_AXIS = "·"
LONGEST_SHAPE = 40  # characters of a typed shape


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as it is typed, "[3, 2]"."""
    return f"[{', '.join(map(str, shape))}]"


OPENING = SHAPES["fits"]  # the shapes of A and B that the page opens with
LEFT = Text("left", shape_text(OPENING[0]), longest=LONGEST_SHAPE, stage="matmul")
RIGHT = Text("right", shape_text(OPENING[1]), longest=LONGEST_SHAPE, stage="matmul")
PRODUCT = Whole("product", 1, low=1, high=MOST_NUMBERS, stage="matmul")  # which of the independent ones, from 1
SLIP = Choice("slip", "reshaped", codes=("reshaped", "swapped", "star"), stage="matmul")


@dataclass
class Typed:
    """The last shapes that could be read."""

    shapes: tuple[tuple[int, ...], tuple[int, ...]] = OPENING


class Column(NamedTuple):
    """A column of the rule: its head, the sizes in A, B and A @ B, a mark, and its state: "fits", "breaks" or ""."""

    head: str
    left: str
    right: str
    made: str
    mark: str = ""
    state: str = ""


def rule(found: Product) -> None:
    """Both shapes over one another: batch axes, rows m, the axis n that is summed over, columns p; each column says
    whether it fits. What does not is marked in words, by a sign and by colour."""
    columns = [Column(_("batch"), _size(axis.left), _size(axis.right), _size(axis.result), _fit(axis.fit),
                      "breaks" if axis.result is None else "fits") for axis in found.batch] + _matrix_columns(found)
    head = "".join(f'<th scope="col">{html.escape(column.head)}</th>' for column in columns)
    marks = "".join(f'<td class="{column.state} mark">{html.escape(column.mark)}</td>' for column in columns)
    rows = [_row(name, [(column.state, size) for column, size in zip(columns, sizes, strict=True)])
            for name, sizes in (("A", [column.left for column in columns]), ("B", [column.right for column in columns]),
                                ("A @ B", [column.made for column in columns]))]
    title = html.escape(_("The rule"))
    st.html(f'<style>{_CSS}</style><div class="shape-rule" tabindex="0" role="group" aria-label="{title}">'
            f"<table><tr><td></td>{head}</tr>{''.join(rows)}<tr><td></td>{marks}</tr></table></div>")


def _row(name: str, cells: Sequence[tuple[str, str]]) -> str:
    return f'<tr><th scope="row">{name}</th>' + "".join(
        f'<td class="{state}">{html.escape(size)}</td>' for state, size in cells) + "</tr>"


def _matrix_columns(found: Product) -> list[Column]:
    """m, n and p; a vector has no m on the left, no p on the right."""
    if found.inner is None:
        return [Column("", str(list(found.left)), str(list(found.right)), "", "✗ " + _("a single number"), "breaks")]
    left, right = found.inner
    rows = str(found.left[-2]) if len(found.left) > 1 else _NO_AXIS
    columns = str(found.right[-1]) if len(found.right) > 1 else _NO_AXIS
    made = found.shape is not None
    inner = Column("n", str(left), str(right), _("summed"), "=", "fits") if left == right else \
        Column("n", str(left), str(right), "?", "✗ ≠", "breaks")
    return [Column("m", rows, _NO_AXIS, rows if made else "?"), inner,
            Column("p", _NO_AXIS, columns, columns if made else "?")]


def _size(size: int | None) -> str:
    return _NO_AXIS if size is None else str(size)


def _fit(fit: str) -> str:
    return {"equal": "=", "left is stretched": _("A is repeated"), "right is stretched": _("B is repeated"),
            "only left": _("B is repeated"), "only right": _("A is repeated"), "differ": "✗ ≠"}[fit]


def frames(part: Slice) -> list[Frame]:
    """A × B = C for one of the products, each matrix named with its batch indices, from 1."""
    m, n, p = (Axis("1", letter=letter) for letter in "mnp")
    made = (("a", "A", "query", part.left, m, n, "", part.left_at),
            ("b", "B", "key", part.right, n, p, "×", part.right_at),
            ("c", "C", "score", part.product, m, p, "=", part.at))
    return [Frame(id, id, label, role, _matrix(tensor), rows, columns, sign,
                  f"[{', '.join(str(index + 1) for index in at)}]" if at else "")
            for id, label, role, tensor, rows, columns, sign, at in made]


def _matrix(tensor: Tensor) -> np.ndarray:
    return np.ascontiguousarray(tensor.float().numpy())


def product(part: Slice, *, key: str, bench: Bench, hidden: Sequence[tuple[int, int]]) -> Pin | None:
    """Draw one product; returns the pinned cell. `hidden` cells of the result show "?"."""
    drawn = frames(part)
    drawn[-1] = replace(drawn[-1], hidden=list(hidden))
    rows, _columns = drawn[-1].shape
    pin = bench_module.pin_for(drawn, Pin("c", "c", rows - 1, 0))
    revised = bench_module.revision(key, part.at, part.left.shape, part.right.shape, bench.seed)
    equation(drawn, [Matmul("c", "a", "b", "1")], key=key, decimals=bench.decimals, strings=default_strings(_), pin=pin,
             rev=revised.rev, since=revised.since, seq=revised.seq, hidden_note=_("Answer or skip the question first."),
             on_pin_change=bench_module.pin_taker(key, drawn))
    return pin


def compared(found: Comparison, *, key: str, bench: Bench) -> None:
    """The wrong product, the right one, and their difference, on one scale."""
    if found.wrong is None or found.difference is None:
        return
    parts = [_matrix(tensor) for tensor in (found.wrong, found.right, found.difference)]
    bound = float(np.abs(np.stack(parts[:2])).max())
    texts = (("wrong", "", _("wrong {symbol}")), ("right", "", _("right {symbol}")),
             ("difference", _("wrong − right ="), _("difference")))
    rows, columns = (Axis("1", letter=letter) for letter in "mp")
    equation([Frame(id, id, label.format(symbol="C"), "score", values, rows, columns, sign, shade=(-bound, bound))
              for (id, sign, label), values in zip(texts, parts, strict=True)],
             [Difference("difference", "wrong", "right")], key=key, decimals=bench.decimals,
             strings=default_strings(_))
