"""The rule for two shapes, drawn axis by axis: what fits, what does not, what comes out."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from core.stages.matmul.product import Product
from ui.shell.i18n import _

_CSS = (Path(__file__).parent / "rule.css").read_text("utf-8")
_NO_AXIS = "·"


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
