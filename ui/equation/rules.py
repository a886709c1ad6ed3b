"""How one frame follows from others: what the browser lights, steps through and writes in digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ui.equation.frames import base64_of


@dataclass(frozen=True)
class Matmul:
    """out[i,j] = Σ left[i,d]·right[d,j] (+ bias[0,j]); `contracted` is the letter of d.

    Where `right` or `bias` has another total of columns than `out`, it is a block (a head's part of a parameter): its
    first column makes the first of `out`. Where only a part of d was sent, `rest` is what the terms before it and
    those after it add up to, each with the shape of the values of `out`.
    """

    out: str
    left: str
    right: str
    contracted: str
    bias: str | None = None
    rest: tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]] | None = None

    def payload(self) -> dict[str, Any]:
        """The rule as the browser reads it."""
        before, after = (base64_of(part) for part in self.rest) if self.rest else ("", "")
        return {"op": "matmul"} | vars(self) | {"rest": None, "before": before, "after": after}


@dataclass(frozen=True)
class Scale:
    """out[i,j] = source[i,j] ÷ divisor; `text` is how the divisor is written ("√2")."""

    out: str
    source: str
    divisor: float
    text: str = ""

    def payload(self) -> dict[str, Any]:
        """The rule as the browser reads it."""
        return {"op": "scale", "out": self.out, "in": self.source, "divisor": float(self.divisor), "text": self.text}


@dataclass(frozen=True)
class Add:
    """out = left + right, a one-row `right` being added to every row."""

    out: str
    left: str
    right: str

    def payload(self) -> dict[str, Any]:
        """The rule as the browser reads it."""
        return {"op": "add"} | vars(self)


@dataclass(frozen=True)
class Softmax:
    """out = softmax of source along each row, the row maximum subtracted; a row of −∞ gives zeros."""

    out: str
    source: str

    def payload(self) -> dict[str, Any]:
        """The rule as the browser reads it."""
        return {"op": "softmax", "out": self.out, "in": self.source}


@dataclass(frozen=True)
class Transpose:
    """out[i,j] = source[j,i]."""

    out: str
    source: str

    def payload(self) -> dict[str, Any]:
        """The rule as the browser reads it."""
        return {"op": "transpose", "out": self.out, "in": self.source}


@dataclass(frozen=True)
class Append:
    """out = the rows of `cached` and below them those of `computed`, each copied."""

    out: str
    cached: str
    computed: str

    def payload(self) -> dict[str, Any]:
        """The rule as the browser reads it."""
        return {"op": "append", "out": self.out, "left": self.cached, "right": self.computed}


@dataclass(frozen=True)
class Lookup:
    """out[i,j] = table[ids[i],j]; `ids` is a frame of one column, with a row for each of `out`, and counts from 0, or
    as the table's rows do where these have `places`. `note` is the string that says so in the dock."""

    out: str
    ids: str
    table: str
    note: str = "looked_up"

    def payload(self) -> dict[str, Any]:
        """The rule as the browser reads it."""
        return {"op": "lookup", "out": self.out, "left": self.ids, "right": self.table, "note": self.note}


@dataclass(frozen=True)
class Unary:
    """out = op of source: "exp" of each cell, or one column: "rowmax" the largest of each row, "rowsum" its sum."""

    op: Literal["exp", "rowmax", "rowsum"]
    out: str
    source: str

    def payload(self) -> dict[str, Any]:
        """The rule as the browser reads it."""
        return {"op": self.op, "out": self.out, "in": self.source}


@dataclass(frozen=True)
class Binary:
    """out = left (op) right cell by cell, "difference", "multiply" or "divide"; a one-column `right` serves every
    column."""

    op: Literal["difference", "multiply", "divide"]
    out: str
    left: str
    right: str

    def payload(self) -> dict[str, Any]:
        """The rule as the browser reads it."""
        return dict(vars(self))


@dataclass(frozen=True)
class Angle:
    """out[i,p] = cos or sin of positions[i] · theta[p], in radians."""

    op: Literal["cos", "sin"]
    out: str
    positions: Sequence[float]
    theta: Sequence[float]

    def payload(self) -> dict[str, Any]:
        """The rule as the browser reads it."""
        return dict(vars(self))


@dataclass(frozen=True)
class Rotate:
    """out = source with the columns first[p] and second[p] of each row turned together; `cos` and `sin` are frames
    with a column for each pair, made by `Angle`. Columns of no pair are copied. Clock hands are drawn beside it."""

    out: str
    source: str
    cos: str
    sin: str
    first: Sequence[int]
    second: Sequence[int]

    def payload(self) -> dict[str, Any]:
        """The rule as the browser reads it."""
        return {"op": "rotate", "out": self.out, "in": self.source, "cos": self.cos, "sin": self.sin,
                "first": list(self.first), "second": list(self.second)}


@dataclass(frozen=True)
class Move:
    """out holds the numbers of source in another shape. Without `swapped` they keep their order in memory: a reshape,
    or a view. `swapped` (n, m, w) are the sizes of source as three axes, of which out has the first two exchanged."""

    out: str
    source: str
    swapped: tuple[int, int, int] | None = None

    def payload(self) -> dict[str, Any]:
        """The rule as the browser reads it."""
        return {"op": "move", "out": self.out, "in": self.source,
                "swapped": list(self.swapped) if self.swapped else None}


@dataclass(frozen=True)
class Grouped:
    """A product for each head, all of them stacked: out[(h,i),j] = Σ left[(h,i),d]·right[(h ÷ group,d),j]. `rows` is
    how many rows each head has in left and out; `group` heads in turn read the same matrix of right."""

    out: str
    left: str
    right: str
    rows: int
    group: int

    def payload(self) -> dict[str, Any]:
        """The rule as the browser reads it."""
        return {"op": "grouped"} | vars(self)


@dataclass(frozen=True)
class Wiring:
    """Which KV head each query head reads, from 0: drawn above the frames and linked to the rows of their stacks.
    `notes` stand beside the picture."""

    reads: Sequence[int]
    notes: Sequence[str] = ()

    def payload(self) -> dict[str, Any]:
        """The wiring as the browser reads it."""
        return {"reads": [int(kv) for kv in self.reads], "notes": list(self.notes)}


Rule = (Matmul | Scale | Add | Softmax | Transpose | Append | Lookup | Unary | Binary | Angle | Rotate | Move
        | Grouped)
