"""The equation: an operation drawn with its operands, every cell explained by the cells it was made from.

Python sends frames (what is drawn) and rules (how one frame follows from others); the browser draws, lights,
steps and writes the arithmetic without a round trip, and sends back edits and the pinned cell. Both are treated
as hostile: `read_edits` and `read_pin` keep only what fits the frames.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import streamlit as st

from ui.theme import AXES, ROLES, role_css

MAX_SIDE = 128  # values per side that one frame may carry; more is sent as a window with offset and total
_TOO_BIG = 2.0**128 - 2.0**103  # from here on a number rounds to a float32 of ∞
_SAFE_INTEGER = 2**53

EditMap = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Axis:
    """One direction of a frame.

    `axis` is its letter ("T", "Dh"…); `word` says it in words ("query: reads ↓"); `labels` are token labels, one
    per value sent, or empty; `offset` and `total` place the values sent in the whole axis (None: they are all).
    `letter` is how the axis is written in the notation in use ("": as its letter). `places` are the numbers of
    entries that do not count 1, 2, 3 …, one per value sent: ids and positions count from 0, and the rows of a large
    table that are looked up are brought together. `index` names a place on it in the dock ("t": Z[t1,c3] and not
    Z[1,3]); a thin line stands before every `band` entries.
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
             "offset": a.offset, "total": len(a.places) or total, "full": total, "places": list(a.places) or None,
             "index": a.index, "band": a.band}
            for a, total in zip((self.rows, self.cols), self.shape, strict=True)
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
            "values": _base64(values),
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


def _base64(values: npt.NDArray[np.float32]) -> str:
    return base64.b64encode(np.asarray(values, dtype="<f4").tobytes()).decode("ascii")


def _own_range(values: npt.NDArray[np.float32]) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    return (min(0.0, float(finite.min())), max(0.0, float(finite.max()))) if finite.size else (0.0, 0.0)


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
        before, after = (_base64(part) for part in self.rest) if self.rest else ("", "")
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


def default_strings(_: Callable[[str], str]) -> dict[str, str]:
    """Every text of the component in the language of `_`, a gettext function. `{…}` are filled in by the browser."""
    return {
        "dock": _("Arithmetic"),
        "idle": _("Point at a cell to see what it was made from. Click to keep it."),
        "asks": _("token {i} asks, token {j} answers"),
        "asks_named": _("“{a}” ({i}) asks, “{b}” ({j}) answers"),
        "row_named": _("row {i}: “{a}”"),
        "col_named": _("column {j}: “{b}”"),
        "cell": _("{symbol} row {i} column {j}: {value}"),
        "full": _("full value {value} (float32)"),
        "feeds": _("used in {cells}"),
        "row_of": _("{symbol}, row {i}"),
        "col_of": _("{symbol}, column {j}"),
        "edited": _("edited"),
        "revert": _("Take the edit back"),
        "edit_hint": _("double-click or type to change it"),
        "hidden": _("hidden"),
        "blank": _("not computed yet"),
        "unwritten": _("not written yet"),
        "fresh": _("new in this step"),
        "terms": _("{n} terms"),
        "subtotal": _("{sum} (terms {a}–{b})"),
        "rounded": _("The printed digits are rounded; the result uses the full values."),
        "row_rounded": _(
            "The printed row adds up to {hand} because its digits are rounded; the full values add up to {sum}."
        ),
        "outside": _("Part of this calculation lies outside the numbers on this page."),
        "cached": _("read from the cache"),
        "computed": _("computed in this step"),
        "empty_row": _("no key may be read, so the row is filled with zeros"),
        "looked_up": _("row {row} of {symbol}, since token {i} has id {id}"),
        "picked": _("row {row} of {symbol} comes to row {i}: there the one of row {i} of P stands"),
        "unread": _("no token here has this id"),
        "gathered": _("the {count} rows that are read here, of {n}"),
        "cut": _("Edited by hand: this cell does not follow what stands before it."),
        "cut_short": _("edited cells do not follow"),
        "fits": _("{d} of {n} decimals fit in the cells; the line below shows all of them."),
        "fits_none": _("No digits fit in the cells; the line below shows the number pointed at."),
        "pinned": _("pinned"),
        "pin_hint": _("point at any other cell; Esc lets go"),
        "unpin": _("Let go of the pinned cell"),
        "refused": _("“{text}” is not a finite number. {symbol}[{i},{j}] stays {value}."),
        "editing": _("Edit {symbol} row {i} column {j}"),
        "steps": _("Steps"),
        "play": _("Play"),
        "pause": _("Pause"),
        "back": _("Back"),
        "next": _("Next"),
        "skip": _("Show all"),
        "row_done": _("row {i} of {symbol} is done"),
        "all_done": _("{symbol} is done"),
        "digits": _("Digits"),
        "colours": _("Colours"),
        "export": _("Download"),
        "svg": _("Equation as SVG"),
        "csv": _("{symbol} as CSV, full values"),
        "rows_part": _("rows {a}–{b} of {n}"),
        "cols_part": _("columns {a}–{b} of {n}"),
        "earlier": _("Earlier part of {axis} in {symbol}"),
        "later": _("Later part of {axis} in {symbol}"),
        "row_sum": _("row sum"),
        "shade": _("Shading from {lo} to {hi}"),
        "dials": _("The pairs of {symbol}, row {i}, at position {position}"),
        "dials_named": _("The pairs of {symbol}, row {i}: “{a}”, at position {position}"),
        "dial_name": _("pair {p}"),
        "dial": _("Pair {p}: from ({before}) to ({after}), turned by {angle}"),
        "pair": _("pair {p} turns by {at} × {theta} = {angle}"),
        "unturned": _("not turned"),
        "wiring": _("Which KV head each query head reads"),
        "query_head": _("query head {n}"),
        "kv_head": _("KV head {n}"),
        "reads": _("Query head {n} reads KV head {kv}, as do these query heads: {readers}."),
        "reads_alone": _("Query head {n} reads KV head {kv}, and no other does."),
        "read_by": _("KV head {kv} is read by these query heads: {readers}."),
    }


# One module is all that a component may have, so the files are joined; their functions share one scope. A component's
# code travels again with every change of its data: so the program is a component of its own, which has none.
_MODULES = ("numbers", "dom", "rotation", "frames", "lookup", "reshape", "fit", "draw", "map", "point", "wiring",
            "dock", "change", "steps", "svg", "save", "events", "equation")
_HERE = Path(__file__).parent
FILES = _HERE / "svg.js"  # of use to other components too


def joined(*files: Path) -> str:
    """Files of a component without comment lines, indentation and imports of one another."""
    text = "\n".join(file.read_text("utf-8") for file in files)
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("//", "import ")))


_COMPONENT = st.components.v2.component(
    "equation",
    html='<div class="equation">\n</div>',
    css=role_css(":host, .equation") + joined(_HERE / "equation.css", _HERE / "heads.css"),
    js=joined(_HERE / "mount.js"),
)
_PROGRAM = st.components.v2.component("equation_program", js=joined(*(_HERE / f"{name}.js" for name in _MODULES)))


def send_program() -> None:
    """Send what draws the equations of a page, which wait for it; called once in a run, after the page."""
    _PROGRAM(key="equation-program", data={})


def build_payload(
    frames: Sequence[Frame],
    rules: Sequence[Rule],
    *,
    decimals: int,
    strings: Mapping[str, str],
    pin: Pin | None,
    edits: Mapping[str, Mapping[str, float]],
    rev: int,
    seq: int,
    hidden_note: str,
    wiring: Wiring | None = None,
) -> dict[str, Any]:
    """The JSON sent to the browser. Raises ValueError if two frames share an id or a rule names none of them."""
    ids = [frame.id for frame in frames]
    if len(set(ids)) != len(ids):
        raise ValueError(f"frame ids are not unique: {ids}")
    shapes = {frame.id: frame.values.shape for frame in frames}
    for rule in rules:
        if isinstance(rule, Matmul) and rule.rest and {part.shape for part in rule.rest} != {shapes.get(rule.out)}:
            raise ValueError(f"the rest of {rule.out!r} has not its shape: {[part.shape for part in rule.rest]}")
        if isinstance(rule, Lookup) and rule.out in shapes and shapes.get(rule.ids) != (shapes[rule.out][0], 1):
            raise ValueError(f"ids {shapes.get(rule.ids)} for {shapes[rule.out][0]} rows of {rule.out!r}")
    sent = [rule.payload() for rule in rules]
    for rule in sent:
        parts = ("out", "left", "right", "in", "bias", "cos", "sin")
        named = [rule[part] for part in parts if rule.get(part) is not None]
        if unknown := set(named) - set(ids):
            raise ValueError(f"rule {rule['op']!r} names frames that are not there: {sorted(unknown)}")
    return {
        "v": 1,
        "rev": rev,
        "seq": seq,
        "frames": [frame.payload() for frame in frames],
        "rules": sent,
        "decimals": decimals,
        "pin": {"id": pin.id, "row": pin.row, "col": pin.col} if pin else None,
        "edits": {name: {cell: float(v) for cell, v in cells.items()} for name, cells in edits.items()},
        "hidden_note": hidden_note,
        "wiring": wiring.payload() if wiring else None,
        "strings": dict(strings),
    }


def equation(
    frames: Sequence[Frame],
    rules: Sequence[Rule],
    *,
    key: str,
    decimals: int = 3,
    strings: Mapping[str, str] | None = None,
    pin: Pin | None = None,
    edits: Mapping[str, Mapping[str, float]] | None = None,
    rev: int = 0,
    seq: int = 0,
    hidden_note: str = "",
    wiring: Wiring | None = None,
    on_edits_change: Callable[[], None] | None = None,
    on_pin_change: Callable[[], None] | None = None,
    on_window_change: Callable[[], None] | None = None,
) -> EquationState:
    """Draw an equation and return what the learner did to it.

    The values of the frames already contain `edits`, which only mark the cells. `rev` must change whenever Python
    replaces the edits or the pin itself; `seq` is that of the edits last read. In a callback the raw state is
    `st.session_state[key]["edits"]`, `["pin"]` and `["window"]`, for `read_edits`, `read_pin` and `read_window`. A
    window that is asked for should come with the next run; what is on screen stays until then.
    """
    result = _COMPONENT(
        key=key,
        data=build_payload(
            frames,
            rules,
            decimals=decimals,
            strings=strings if strings is not None else default_strings(str),
            pin=pin,
            edits=edits or {},
            rev=rev,
            seq=seq,
            hidden_note=hidden_note,
            wiring=wiring,
        ),
        on_edits_change=on_edits_change or _nothing,
        on_pin_change=on_pin_change or _nothing,
        on_window_change=on_window_change or _nothing,
    )
    return EquationState(read_edits(result.get("edits"), frames), read_pin(result.get("pin"), frames),
                         read_window(result.get("window"), frames))


def _nothing() -> None:
    """A state without a callback would not be reported."""


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
