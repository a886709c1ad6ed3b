"""Frames of the RoPE page: a head turned pair by pair, a query meeting a key, and the two orders of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from core import comparison
from core.stages.rope import Decoded, rotation
from core.stages.rope.meetings import Meetings, Pairings
from ui.bench import Bench
from ui.equation import Axis, Cos, Difference, Frame, Matmul, Rotate, RowSum, Rule, Sin, default_strings, equation
from ui.equation.views import View
from ui.shell import i18n
from ui.shell.i18n import _

_MOST_COLUMNS = 8  # of a wide head, so that the rows before and after stand in one view
_STILL = "·"  # in place of a pair's number, over a dimension that is not turned


def rotated(view: View, letter: str) -> tuple[list[Frame], list[Rule]]:
    """Q or K of the head before the rotation, cos and sin of each token's angles, and the turned rows."""
    before, after = names(view, letter)
    pairs = rotation.pairs(rotation.settings(view.trace.config))
    angles = rotation.angles(view.trace, view.batch)
    labels = dimension_labels(view)
    source = view.frame("before", before, editable=True, words=(_("token ↓"), ""))
    out = view.frame("after", after, sign="=", words=(_("token ↓"), ""))
    frames = [_labelled(source, labels), _angles(view, "cos", angles.cos, source.rows, sign="⟳"),
              _angles(view, "sin", angles.sin, source.rows), _labelled(out, labels)]
    positions, theta = angles.positions.tolist(), angles.theta.tolist()
    rules: list[Rule] = [
        Cos("cos", positions, theta), Sin("sin", positions, theta),
        Rotate("after", "before", "cos", "sin", [pair.first for pair in pairs], [pair.second for pair in pairs])]
    return frames, rules


def names(view: View, letter: str) -> tuple[str, str]:
    """The trace names of Q or K before and after the rotation."""
    after = view.name(f"{letter}_rot")
    return view.trace.steps[after].reads[0], after


def dimension_labels(view: View) -> list[str]:
    """For each dimension of a head its pair, from 1, and which of the two it is: "1a 1b 2a 2b" or "1a 2a 1b 2b"."""
    labels = [_STILL] * view.trace.config.head_dim
    for pair in rotation.pairs(rotation.settings(view.trace.config)):
        labels[pair.first], labels[pair.second] = f"{pair.number + 1}a", f"{pair.number + 1}b"
    return labels


def _labelled(frame: Frame, labels: Sequence[str]) -> Frame:
    return replace(frame, cols=replace(frame.cols, labels=labels), most_cols=_MOST_COLUMNS)


def _angles(view: View, name: str, values: Tensor, rows: Axis, *, sign: str = "") -> Frame:
    """cos or sin (T, Dr/2), one column for each pair."""
    whole = view.trace.config.rotary_dim == view.trace.config.head_dim
    letter = f"{i18n.axis('Dh')}/2" if whole else "Dr/2"
    return Frame(name, name, name, "position", _numbers(values), rows, Axis("Dh", _("pair →"), letter=letter), sign,
                 shade=(-1.0, 1.0), compact=True, most_cols=_MOST_COLUMNS)


def _numbers(values: Tensor) -> np.ndarray:
    return np.ascontiguousarray(values.float().numpy())


def _table(rows: list[list[float]]) -> np.ndarray:
    """Numbers of float64 as they are shown; what is too large for float32 is ∞ there."""
    return _numbers(torch.tensor(rows, dtype=torch.float64))


def met(found: Meetings, *, key: str, bench: Bench) -> None:
    """Each meeting as a row: the product of every pair, and their sum."""
    rows = [meeting for meeting in (found.here, found.there, found.other) if meeting is not None]
    rest = any(meeting.score.rest for meeting in rows)
    values = _table([[*meeting.score.parts, *([meeting.score.rest] if rest else [])] for meeting in rows])
    places = Axis("T", _("query, key, positions ↓"), [meeting_name(meeting.query, meeting.key, meeting.score.positions)
                                                       for meeting in rows])
    pairs = [str(number + 1) for number in range(len(found.here.score.parts))] + [_STILL] * rest
    sums = _table([[meeting.score.total] for meeting in rows])
    symbol = i18n.symbol("scores")
    frames = [
        Frame("parts", "parts", _("by pairs"), "score", values, places, Axis("Dh", _("pair →"), pairs,
                                                                           letter=f"{i18n.axis('Dh')}/2")),
        Frame("sums", "sums", symbol, "score", sums, places, Axis("1"), "Σ ="),
    ]
    equation(frames, [RowSum("sums", "parts")], key=key, decimals=bench.decimals, strings=default_strings(_))


def meeting_name(query: int, key: int, positions: tuple[int, int]) -> str:
    """ "q1@3 · k2@8": tokens from 1, positions from 0."""
    return f"q{query + 1}@{positions[0]} · k{key + 1}@{positions[1]}"


def permuted(view: View, found: Pairings, *, key: str, bench: Bench) -> None:
    """Q × P: the same numbers in the order of the other pairing."""
    q, _after = names(view, "q")
    labels = dimension_labels(view)
    other = [labels[place] for place in found.order]
    source = replace(_labelled(view.frame("before", q), labels), editable=False)
    side = Axis("Dh", "", labels, letter=i18n.axis("Dh"))
    frames = [
        source,
        Frame("matrix", "permutation", "P", "parameter", _numbers(found.matrix), side, replace(side, labels=other),
              "×"),
        replace(source, id="permuted", name="permuted", label=f"{source.label}P", sign="=",
                values=_numbers(found.after), cols=replace(source.cols, labels=other)),
    ]
    equation(frames, [Matmul("permuted", "before", "matrix", "Dh")], key=key, decimals=bench.decimals,
             strings=default_strings(_))


def last_row(view: View, found: Decoded, *, key: str, bench: Bench) -> None:
    """The last row of the scores as a decode step makes it, that of a query stuck at position 0, and the difference."""
    batch, head = view.place
    compared = comparison.compare(found.row, found.stuck)
    assert compared.difference is not None
    right, stuck, gap = (row[batch, head] for row in (found.row, found.stuck, compared.difference))
    cols = Axis("T", _("key →"), view.labels("Tk", len(right)), letter=i18n.axis("Tk"))
    bound = float(max(right.abs().max(), stuck.abs().max()))
    shown = (("stuck", "", _("position starts over"), stuck), ("right", "", _("position goes on"), right),
             ("difference", _("wrong − right ="), _("difference"), gap))
    frames = [Frame(id, id, label, "score", _numbers(values[None]), Axis("1"), cols, sign, shade=(-bound, bound))
              for id, sign, label, values in shown]
    equation(frames, [Difference("difference", "stuck", "right")], key=key, decimals=bench.decimals,
             strings=default_strings(_))
