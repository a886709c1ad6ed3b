"""Frames of a step that goes on from a cache: the new rows against all cached ones, and the cache itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core import derive
from ui import bench as bench_module
from ui.equation import MAX_SIDE, Append, Axis, Frame, Matmul, Rule
from ui.equation.views import View
from ui.shell import i18n
from ui.shell.i18n import _
from ui.shell.numbers import format_number

LABELLED = 6  # up to so many keys each frame has room for their names; above, K and QKᵀ alone


def fresh(view: View) -> int | None:
    """The first row of K and V that is new in this step; None in a pass without a cache."""
    past = view.name("k_past")
    return int(view.trace[past].shape[2]) if past in view.trace else None


def _new(view: View, letter: str) -> tuple[int, str] | None:
    """The mark of new rows in a frame of K or V."""
    first = fresh(view)
    return None if first is None else (first, {"k": "key", "v": "value"}[letter])


def _window(rows: int, written: int | None = None) -> tuple[int, int] | None:
    """The part of so many tokens that is sent: it opens on the last ones, those of this step among them."""
    return bench_module.window("T", rows, max(0, (rows if written is None else written) - MAX_SIDE))


def _few(frame: Frame, rows: int) -> Frame:
    """A frame whose rows are those of the new tokens only: their number stands in place of T."""
    return replace(frame, rows=replace(frame.rows, letter=str(rows)))


def scores(view: View) -> tuple[list[Frame], list[Rule]]:
    """Q of the new rows × Kᵀ of all rows, scaled and, where a new row may not read all of them, masked; of very long
    texts a window."""
    trace, name = view.trace, view.name
    q, k = trace.steps[name("scores")].reads
    keys = _window(trace[k].shape[2])
    frames = [view.frame("q", q, words=(_("query: asks ↓"), "")),
              view.frame("k", k, transposed=True, sign="×", words=(_("key: answers →"), ""), part=keys,
                         fresh=_new(view, "k")),
              view.frame("scores", name("scores"), sign="=", columns=keys),
              view.frame("scaled", name("scaled"), sign=f"÷ {view.root()} =", columns=keys)]
    made = ["scores", "scaled"]
    if bool((trace["mask"] != 0).any()):  # a single new row may read every key, and S + M would be S
        frames += [view.frame("mask", "mask", sign="+", columns=keys),
                   view.frame("masked", name("masked"), sign="=", columns=keys)]
        made.append("masked")
    if trace[k].shape[2] > LABELLED:
        frames = [replace(frame, compact=frame.id not in ("q", "k", "scores")) for frame in frames]
    return _finished(view, frames, made)


def mixing(view: View, decimals: int) -> tuple[list[Frame], list[Rule]]:
    """The weights of the new rows × V of all rows; of very long texts a window, with what the other keys add."""
    name = view.name
    v = view.trace.steps[name("context")].reads[1]
    keys = _window(view.trace[v].shape[2])
    frames = [view.frame("weights", name("weights"), sign=_("softmax →"), row_sums=True, columns=keys,
                         words=("", _("key: is read →"))),
              view.frame("v", v, sign="×", words=(_("value ↓"), ""), part=keys, fresh=_new(view, "v")),
              view.frame("context", name("context"), sign="=")]
    frames, rules = _finished(view, frames, ["context"])
    if keys is None:
        return frames, rules
    first, count = keys
    sums = derive.slice_of(view.trace, name("weights"), *view.place).sum(-1)
    frames[0] = replace(frames[0], row_notes=[_("sum of all: {sum}").format(sum=format_number(float(total), decimals))
                                              for total in sums])
    return frames, [_with_rest(view, rule, first, first + count) for rule in rules]


def _with_rest(view: View, rule: Rule, start: int, stop: int) -> Rule:
    """A × V with what the keys that are not sent add to each result."""
    assert isinstance(rule, Matmul)
    before, after = (part.float().numpy() for part in derive.rest_of(
        view.trace, view.name("context"), *view.place, start, stop))
    return replace(rule, rest=(before, after))


def _finished(view: View, frames: list[Frame], made: list[str]) -> tuple[list[Frame], list[Rule]]:
    """The frames with the number of new rows in place of T, and the rules of those that are made here."""
    ids = {frame.name: frame.id for frame in frames}
    if fresh(view):
        count = view.trace[view.name("q")].shape[2]
        frames = [frame if frame.id in ("k", "v") else _few(frame, count) for frame in frames]
    return frames, [view.rule(view.name(short), ids) for short in made]


def store(view: View, letter: str, rows: int, *, sign: str = "") -> Frame:
    """The cache of K or V ("k", "v") of the head that is read, as far as it is allocated: `rows` rows, of which those
    not written yet are blank. Of a long one the last rows that hold something. Its rows have a letter of their own,
    since T is how many are written."""
    name = view.name(f"{letter}_all")
    frame = view.frame(f"{letter}_all", name, sign=sign, words=(_("token ↓"), ""), fresh=_new(view, letter))
    filled, width = frame.values.shape
    empty = max(0, rows - filled)
    values = np.concatenate([frame.values, np.zeros((empty, width), np.float32)])
    labels = [*frame.rows.labels, *[""] * empty] if frame.rows.labels else []
    window = _window(len(values), filled)
    first, count = window or (0, len(values))
    axis = Axis("T", frame.rows.word, labels[first:first + count], first, len(values), capacity())
    return replace(frame, values=values[first:first + count], rows=axis, filled=filled)


def capacity() -> str:
    """The letter of the rows that a cache has room for, in the notation in use: "T_max"."""
    return f"{i18n.axis('Tk')}_max"


def appended(view: View, letter: str) -> tuple[list[Frame], list[Rule]]:
    """The rows of K or V before the step, below them the new ones, and what the cache holds then; each row is linked to
    the one that it is a copy of. Of a long text all frames show the same window."""
    past, new = view.trace.steps[view.name(f"{letter}_all")].reads
    made = _few(view.frame("new", new, sign=_("append"), words=(_("token ↓"), "")), view.trace[new].shape[2])
    frames = [view.frame("past", past, words=(_("token ↓"), "")), made,
              view.frame("all", view.name(f"{letter}_all"), sign="=", fresh=_new(view, letter))]
    return frames, [Append("all", "past", "new")]
