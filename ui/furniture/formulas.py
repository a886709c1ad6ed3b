"""A formula in symbols and with the numbers of a cell put in, in LaTeX."""

from __future__ import annotations

import math
from collections.abc import Sequence

import streamlit as st

from core import derive
from core.trace import Index, Trace
from ui.shell import i18n, numbers
from ui.shell.numbers import format_number

_LONG_SUM = 4  # terms written out in a formula before the middle is left out
_TERMS_AT_START = 2


def formula(symbols: str, *numbers: str, key: str = "formula") -> None:
    """A formula in symbols, and again with the current numbers put in ("" for none); all in LaTeX. A second one on a
    page has a `key` of its own."""
    with st.container(horizontal=True, key=key):
        for text in filter(None, (symbols, *numbers)):
            st.markdown(f"$\\displaystyle {i18n.in_latex(text)}$")


def sum_in_digits(trace: Trace, name: str, index: Index, decimals: int) -> str:
    """The products behind one cell in LaTeX, "0 \\times 2 + 1 \\times 1"; the middle of a long sum is left out."""
    terms = derive.cell(trace, name, index).terms
    return sum_of_products([[factor.value for factor in term] for term in terms], decimals)


def sum_of_products(products: Sequence[Sequence[float]], decimals: int) -> str:
    """The same for any products, each as its factors."""
    terms = [r" \times ".join(_digits(value, decimals, guard=True) for value in factors) for factors in products]
    if len(terms) > _LONG_SUM:
        terms = [*terms[:_TERMS_AT_START], r"\cdots", terms[-1]]
    return " + ".join(terms)


def _digits(value: float, decimals: int, guard: bool) -> str:
    text = format_number(value, decimals).replace(numbers.MINUS, "-")
    return f"({text})" if guard and value < 0 else text


def softmax_in_digits(trace: Trace, name: str, index: Index, decimals: int) -> str:
    """One weight in LaTeX: its exponential over the sum of the row's; hidden keys are left out, they add nothing."""
    cell = derive.cell(trace, name, index)
    row = [factor.value for (factor,) in cell.terms]
    powers = [rf"e^{{{_digits(value, decimals, guard=False)}}}" for value in row if math.isfinite(value)]
    if len(powers) > _LONG_SUM:
        powers = [*powers[:_TERMS_AT_START], r"\cdots", powers[-1]]
    place = rf"A_{{{index[-2] + 1},{index[-1] + 1}}}"
    value = _digits(cell.value, decimals, guard=False)
    if not math.isfinite(row[index[-1]]):
        return rf"{place} = e^{{-\infty}} / \cdots = {value}"
    own = _digits(row[index[-1]], decimals, guard=False)
    return rf"{place} = \frac{{e^{{{own}}}}}{{{' + '.join(powers)}}} = {value}"


def row(values: Sequence[float], decimals: int) -> str:
    """A row of numbers in LaTeX, "(2,\\,0,\\,1)"; the middle of a long one is left out."""
    texts = [_digits(value, decimals, guard=False) for value in values]
    if len(texts) > _LONG_SUM:
        texts = [*texts[:_TERMS_AT_START], r"\ldots", texts[-1]]
    joined = r",\,".join(texts)
    return f"({joined})"


def number(value: float, decimals: int) -> str:
    """A number as LaTeX."""
    return _digits(value, decimals, guard=False)
