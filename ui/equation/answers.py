"""What the browser sends back, an address or a file holds: read as hostile, kept as far as it fits the frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ui.equation.frames import MAX_SIDE, Frame

_TOO_BIG = 2.0**128 - 2.0**103  # from here on a number rounds to a float32 of ∞
_SAFE_INTEGER = 2**53

_MOST_CHANGES = MAX_SIDE * MAX_SIDE  # cells of the largest matrix; a browser holds one change for each

Sizes = Mapping[str, tuple[int, int]]  # trace name -> rows and columns of the tensor's own slice


@dataclass(frozen=True)
class Pin:
    """A pinned cell: the frame's id and trace name, row and column as displayed, counted from 0 over the whole axis."""

    id: str
    name: str
    row: int
    col: int

    def payload(self) -> dict[str, Any]:
        """The pin as the browser reads it."""
        return {"id": self.id, "row": self.row, "col": self.col}


class Change(NamedTuple):
    """One thing typed: the number put into a cell of the tensor's own slice (row, column from 0), or None where an edit
    was taken back. `seq` counts what was typed, upwards; `rev` is the state of Python's that it was typed on."""

    seq: int
    rev: int
    name: str
    row: int
    col: int
    value: float | None


class EquationState(NamedTuple):
    """What the browser holds, checked; None where it has sent nothing usable. `window` is what it wants to be sent:
    axis letter → the first place, from 0."""

    edits: list[Change] | None
    pin: Pin | None
    window: dict[str, int] | None


def count(value: object) -> int | None:
    """A whole number from 0 that JavaScript can hold, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _SAFE_INTEGER:
        return None
    return int(value) if value == int(value) else None


def _cell(key: object) -> tuple[int, int] | None:
    """Row and column in a key "row,column", else None."""
    parts = key.split(",") if isinstance(key, str) and len(key) < 16 else []
    if len(parts) != 2 or not all(part.isascii() and part.isdecimal() for part in parts):
        return None
    return int(parts[0]), int(parts[1])


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _TOO_BIG:
        return None
    return float(value)


def read_edits(value: object, sizes: Sizes) -> list[Change] | None:
    """What a browser says was typed, in that order; None if it has not the form of changes at all.

    Kept are finite float32 numbers (or None, for an edit taken back) at cells of the tensors in `sizes`; the rest is
    dropped.
    """
    changes = value.get("changes") if isinstance(value, Mapping) else None
    if not isinstance(changes, Sequence) or isinstance(changes, str) or len(changes) > _MOST_CHANGES:
        return None
    kept = (_change(change, sizes) for change in changes)
    return sorted((change for change in kept if change is not None), key=lambda change: change.seq)


def _change(sent: object, sizes: Sizes) -> Change | None:
    """One change, if it is of a cell in `sizes`."""
    if not isinstance(sent, Mapping):
        return None
    seq, rev, name, cell = count(sent.get("seq")), count(sent.get("rev")), sent.get("name"), _cell(sent.get("cell"))
    if seq is None or rev is None or cell is None or not isinstance(name, str) or name not in sizes:
        return None
    value = _finite(sent.get("value"))
    if value is None and sent.get("value", "") is not None:
        return None
    rows, cols = sizes[name]
    return Change(seq, rev, name, *cell, value) if cell[0] < rows and cell[1] < cols else None


def editable(frames: Sequence[Frame]) -> Sizes:
    """The sizes of the tensors whose numbers can be typed over."""
    return {frame.name: (frame.shape[1], frame.shape[0]) if frame.transposed else frame.shape
            for frame in frames if frame.editable}


def read_pin(value: object, frames: Sequence[Frame]) -> Pin | None:
    """The pinned cell in what a browser or an address sent; None if there is none or it lies in none of the frames."""
    if not isinstance(value, Mapping):
        return None
    row, col = count(value.get("row")), count(value.get("col"))
    for frame in frames:
        if frame.id == value.get("id") and row is not None and col is not None:
            rows, cols = frame.shape
            if row < rows and col < cols:
                return Pin(frame.id, frame.name, row, col)
    return None


def read_window(value: object, frames: Sequence[Frame]) -> dict[str, int] | None:
    """The windows that a browser or an address asked for, by axis letter; None if it has not that form at all.

    Kept are whole numbers for axes that the frames show a part of, pulled back to where a part of that size ends.
    """
    if not isinstance(value, Mapping):
        return None
    kept: dict[str, int] = {}
    for frame in frames:
        for axis, size, total in zip((frame.rows, frame.cols), frame.values.shape, frame.shape, strict=True):
            first = count(value.get(axis.axis))
            if first is not None and size < total:
                kept[axis.axis] = min(first, total - size)
    return kept
