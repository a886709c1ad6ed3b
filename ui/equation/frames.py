"""What is drawn: matrices with their axes, whole or a window of them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ui.shell.theme import AXES, ROLES

MAX_SIDE = 128  # values per side that one frame may carry; more is sent as a window with offset and total


@dataclass(frozen=True)
class Axis:
    """One direction of a frame.

    `axis` is its letter ("T", "Dh"…); `word` says it in words ("query: reads ↓"); `labels` are token labels, one
    per value sent, or empty; `offset` and `total` place the values sent in the whole axis (None: they are all).
    `letter` is how the axis is written in the notation in use ("": as its letter). `places` are the numbers of
    entries that do not count 1, 2, 3 …, one per value sent: ids and positions count from 0, and the rows of a large
    table that are looked up are brought together. `index` names a place on it in the dock ("t": Z[t1,c3] and not
    Z[1,3]); a thin line stands before every `band` entries. With `own` the values sent are a matrix of their own, a
    head's part of a parameter, and the shape is theirs.
    """

    axis: str
    word: str = ""
    labels: Sequence[str] = ()
    offset: int = 0
    total: int | None = None
    letter: str = ""
    places: Sequence[int] = ()
    index: str = ""
    band: int = 0
    own: bool = False


@dataclass(frozen=True)
class Stack:
    """What makes a frame several matrices, one below another: `count` of them along `axis`, each with rows along
    `inner`. The rows of the frame count through all of them. `letters` and `indices` are those of the two axes."""

    axis: str
    count: int
    inner: str
    letters: tuple[str, str]
    indices: tuple[str, str]

    def payload(self) -> dict[str, Any]:
        """The stack as the browser reads it."""
        return vars(self) | {"letters": list(self.letters), "indices": list(self.indices)}


@dataclass(frozen=True)
class Frame:
    """One matrix of the equation; `values` (rows, columns) as displayed, NaN or listed in `hidden` shown as "?".

    `name` is the trace name, `label` the symbol. `sign` stands before the frame. `transposed` says that the tensor's
    slice is shown transposed, so that its edits are keyed the other way round. `shade` is the range of the
    shading; None takes the values' own, with 0 in it. `cut` strikes the sign: some of its cells were edited. Which
    ones do not follow their rule the edits say. `whole` says that the values are ids or counts, always printed in full;
    `vector` that it is one column whose shape and places are those of its rows.
    `most_cols` is how many columns are on screen at once at most, where several wide frames are to be seen together
    (0: as many as fit). With `stack` it is a tensor of three axes. `row_notes` stand behind the rows, one for each row
    sent. Of the rows (columns when `transposed`) those from `fresh` on, (first, role), are new in this step and in the
    colour of that role; those from `filled` on hold nothing yet and stay blank.
    """

    id: str
    name: str
    label: str
    role: str
    values: npt.NDArray[np.float32]
    rows: Axis
    cols: Axis
    sign: str = ""
    slice: str = ""
    transposed: bool = False
    editable: bool = False
    shade: tuple[float, float] | None = None
    hidden: Sequence[tuple[int, int]] = ()
    row_sums: bool = False
    cut: bool = False
    compact: bool = False
    whole: bool = False
    vector: bool = False
    most_cols: int = 0
    stack: Stack | None = None
    row_notes: Sequence[str] = ()
    fresh: tuple[int, str] | None = None
    filled: int | None = None

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or not all(1 <= n <= MAX_SIDE for n in self.values.shape):
            raise ValueError(
                f"frame {self.id!r}: values {self.values.shape} are not a matrix of 1 to {MAX_SIDE} per side"
            )
        if self.role not in ROLES:
            raise ValueError(f"frame {self.id!r}: no role {self.role!r}")
        for axis, size in zip((self.rows, self.cols), self.values.shape, strict=True):
            if axis.axis not in AXES:
                raise ValueError(f"frame {self.id!r}: no axis {axis.axis!r}")
            if len(axis.labels) not in (0, size):
                raise ValueError(f"frame {self.id!r}: {len(axis.labels)} labels for {size} values on {axis.axis}")
            brought = axis is self.cols and self._total(axis, size) != size  # edits are keyed by whole rows only
            if axis.places and (len(axis.places) != size or len(set(axis.places)) != size or brought):
                raise ValueError(f"frame {self.id!r}: its entries are not numbered one by one: {axis.places}")
            if axis.offset < 0 or axis.offset + size > self._total(axis, size):
                raise ValueError(
                    f"frame {self.id!r}: {size} values from {axis.offset} exceed {axis.total} on {axis.axis}"
                )

    @staticmethod
    def _total(axis: Axis, size: int) -> int:
        return size if axis.total is None else axis.total

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the whole displayed matrix, of which the values may be a window."""
        rows, cols = self.values.shape
        return self._total(self.rows, rows), self._total(self.cols, cols)

    def payload(self) -> dict[str, Any]:
        """The frame as JSON without NaN, ∞ or NumPy scalars; hidden values do not leave Python."""
        values = np.array(self.values, dtype="<f4")
        for row, col in self.hidden:
            values[row, col] = np.nan
        axes = [
            {"axis": a.axis, "letter": a.letter or a.axis, "word": a.word, "labels": list(a.labels),
             "offset": a.offset, "total": len(a.places) or total, "full": size if a.own else total,
             "places": list(a.places) or None, "index": a.index, "band": a.band}
            for a, total, size in zip((self.rows, self.cols), self.shape, values.shape, strict=True)
        ]
        return {
            "id": self.id,
            "name": self.name,
            "label": self.label,
            "slice": self.slice,
            "role": self.role,
            "sign": self.sign,
            "transposed": self.transposed,
            "rows": axes[0] | {"size": values.shape[0]},
            "cols": axes[1] | {"size": values.shape[1]},
            "values": base64_of(values),
            "editable": self.editable,
            "range": [float(v) for v in self.shade or _own_range(values)],
            "hidden": [[int(r), int(c)] for r, c in self.hidden],
            "row_sums": self.row_sums,
            "cut": self.cut,
            "compact": self.compact,
            "whole": self.whole,
            "vector": self.vector,
            "most_cols": self.most_cols,
            "stack": self.stack.payload() if self.stack else None,
            "row_notes": list(self.row_notes),
            "fresh": list(self.fresh) if self.fresh else None,
            "filled": self.filled,
        }


def base64_of(values: npt.NDArray[np.float32]) -> str:
    """The values row by row, little-endian, as the browser reads them."""
    return base64.b64encode(np.asarray(values, dtype="<f4").tobytes()).decode("ascii")


def _own_range(values: npt.NDArray[np.float32]) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    return (min(0.0, float(finite.min())), max(0.0, float(finite.max()))) if finite.size else (0.0, 0.0)
