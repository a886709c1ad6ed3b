"""What the browser sends back, an address or a file holds: read as hostile, kept as far as it fits the frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ui.equation.frames import Frame

_TOO_BIG = 2.0**128 - 2.0**103  # from here on a number rounds to a float32 of ∞
_SAFE_INTEGER = 2**53

EditMap = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Pin:
    """A pinned cell: the frame's id and trace name, row and column as displayed, counted from 0 over the whole axis."""

    id: str
    name: str
    row: int
    col: int


@dataclass(frozen=True)
class Edits:
    """What the learner typed: trace name → "row,column" of the tensor's own slice → value. `seq` counts the
    browser's edits, `rev` is the state of Python's that they were made on."""

    seq: int = 0
    rev: int = 0
    map: EditMap = field(default_factory=dict)


class EquationState(NamedTuple):
    """What the browser holds, checked; None where it has sent nothing usable. `window` is what it wants to be sent:
    axis letter → the first place, from 0."""

    edits: Edits | None
    pin: Pin | None
    window: dict[str, int] | None


def _count(value: object) -> int | None:
    """A whole number from 0 that JavaScript can hold, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _SAFE_INTEGER:
        return None
    return int(value) if value == int(value) else None


def _cell(key: object, rows: int, cols: int) -> str | None:
    """`key` in its one spelling "row,column" if it lies in the matrix, else None."""
    parts = key.split(",") if isinstance(key, str) and len(key) < 16 else []
    if len(parts) != 2 or not all(part.isascii() and part.isdecimal() for part in parts):
        return None
    row, col = int(parts[0]), int(parts[1])
    return f"{row},{col}" if row < rows and col < cols else None


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _TOO_BIG:
        return None
    return float(value)


def read_edits(value: object, frames: Sequence[Frame]) -> Edits | None:
    """The edits in what a browser, a file or an address sent; None if it has not the form of edits at all.

    Kept are finite float32 numbers at cells of the tensors that the editable frames show; the rest is dropped.
    """
    if not isinstance(value, Mapping) or not isinstance(value.get("map"), Mapping):
        return None
    seq, rev = _count(value.get("seq")), _count(value.get("rev"))
    if seq is None or rev is None:
        return None
    kept: EditMap = {}
    for frame in frames:
        cells = value["map"].get(frame.name)
        if not frame.editable or not isinstance(cells, Mapping):
            continue
        rows, cols = reversed(frame.shape) if frame.transposed else frame.shape
        for key, number in cells.items():
            cell, finite = _cell(key, rows, cols), _finite(number)
            if cell is not None and finite is not None:
                kept.setdefault(frame.name, {})[cell] = finite
    return Edits(seq, rev, kept)


def read_pin(value: object, frames: Sequence[Frame]) -> Pin | None:
    """The pinned cell in what a browser or an address sent; None if there is none or it lies in none of the frames."""
    if not isinstance(value, Mapping):
        return None
    row, col = _count(value.get("row")), _count(value.get("col"))
    for frame in frames:
        if frame.id == value.get("id") and row is not None and col is not None:
            rows, cols = frame.shape
            return Pin(frame.id, frame.name, row, col) if row < rows and col < cols else None
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
            first = _count(value.get(axis.axis))
            if first is not None and size < total:
                kept[axis.axis] = min(first, total - size)
    return kept
