"""Frames of the page on order: P·Attn(X) beside Attn(P·X), and who can read whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from torch import Tensor

from core.comparison import Comparison
from core.stages.order.reorder import Reordered, Sight
from core.stages.sharing.shared import output
from ui.bench import Bench
from ui.bench.parameters import Choice
from ui.equation import Axis, Difference, Frame, Lookup, Matmul, Rule, default_strings, equation
from ui.equation.views import View
from ui.shell import i18n
from ui.shell.i18n import _

SIGHT = Choice("sight", "none", codes=("none", "causal"), stage="order")
PLACES = Choice("places", "none", codes=("none", "learned", "sinusoidal", "rope"), stage="order")
MISORDER = Choice("misorder", "invariant", codes=("invariant", "inverse"), stage="order")
MOST_SIGHTS = 12  # tokens whose sight is listed
_MOST_NAMES = 6
# A wider X is not written out, P is a list, and of the results a part is shown: both sides stand beside one another.
WIDE = 4
_NARROW = 2

Window = tuple[int, int] | None


def beside(view: View, found: Reordered, window: Window) -> tuple[list[Frame], list[Rule]]:
    """P × X = PX, and P × Attn(X) = P·Attn(X) beside Attn(P·X), with their difference. Of a wide X the second alone,
    and P as the list of the columns in which its rows have their ones."""
    old, new = _rows(view, found, False), _rows(view, found, True)
    before = found.before[f"blocks.0.{output(found.before)}"]
    bound = float(before.abs().max()) or 1.0
    attention, *sides = (
        _wide(view, "attention", i18n.in_letters("Attn(X)"), before, old, window, "×"),
        _wide(view, "expected", i18n.in_letters("P·Attn(X)"), found.expected, new, window, "="),
        _wide(view, "found", i18n.in_letters("Attn(P·X)"), found.found, new, window, "?="),
        replace(_wide(view, "difference", _("difference"), found.gap, new, window, "Δ ="), shade=(-bound, bound)))
    gap = Difference("difference", "found", "expected")
    if before.shape[-1] > WIDE:
        ones = np.array([[place + 1] for place in found.order], dtype=np.float32)
        numbered = replace(attention, rows=replace(old, places=range(1, len(ones) + 1)))
        return ([Frame("p", "permutation", "P", "parameter", ones, new, Axis("1"), whole=True, vector=True), numbered,
                 sides[0], *(replace(side, compact=True) for side in sides[1:])],
                [Lookup("expected", "p", "attention", "picked"), gap])
    frames = [
        Frame("p", "permutation", "P", "parameter", _numbers(found.matrix), new, old),
        _wide(view, "contents", i18n.symbol("in"), found.contents, old, window, "×"),
        _wide(view, "reordered", i18n.in_letters("P·X"), found.reordered, new, window, "="),
        replace(attention, sign="P ×"), *sides]
    return frames, [Matmul("reordered", "p", "contents", "T"), Matmul("expected", "p", "attention", "T"), gap]


def mistaken(view: View, found: Reordered, result: Comparison, window: Window, *, key: str, bench: Bench) -> None:
    """What was expected by mistake, what Attn(P·X) is, and the difference."""
    assert result.wrong is not None
    assert result.difference is not None
    new = _rows(view, found, True)
    frames = [
        _wide(view, "wrong", _("expected by mistake"), result.wrong, new, window, ""),
        _wide(view, "right", i18n.in_letters("Attn(P·X)"), result.right, new, window, ""),
        _wide(view, "difference", _("difference"), result.difference, new, window, _("wrong − right =")),
    ]
    equation(frames, [Difference("difference", "wrong", "right")], key=key, decimals=bench.decimals,
             strings=default_strings(_))


def _rows(view: View, found: Reordered, moved: bool) -> Axis:
    labels = view.trace.tokens if len(view.trace.tokens) == len(found.order) else [
        str(place + 1) for place in range(len(found.order))]
    return Axis("T", "", [labels[place] for place in found.order] if moved else labels, letter=i18n.axis("T"))


def _wide(view: View, id: str, label: str, tensor: Tensor, rows: Axis, window: Window, sign: str) -> Frame:
    """A (B, T, D) tensor, of which a window of columns is sent where D is too long."""
    values = _numbers(tensor[min(view.batch, tensor.shape[0] - 1)])
    offset, count = window or (0, values.shape[1])
    cols = Axis("D", "", (), offset, values.shape[1], i18n.axis("D"))
    return Frame(id, id, label, "residual", np.ascontiguousarray(values[:, offset:offset + count]), rows, cols, sign,
                 most_cols=_NARROW if values.shape[1] > WIDE else 0)


def _numbers(values: Tensor) -> np.ndarray:
    return values.detach().float().cpu().numpy()


def sight_rows(view: View, seen: Sequence[Sight]) -> list[list[str]]:
    """Rows of a table: each token that lost or gained sight of others."""
    def names(places: Sequence[int]) -> str:
        shown = i18n.listed(view.token_name(place) for place in places[:_MOST_NAMES])
        return (f"{shown}, …" if len(places) > _MOST_NAMES else shown) or "–"

    changed = [sight for sight in seen if sight.lost or sight.gained][:MOST_SIGHTS]
    return [[view.token_name(s.token), *map(names, (s.lost, s.gained))] for s in changed]
