"""A tensor of three axes as one frame: its matrices one below another."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from ui import bench as bench_module
from ui.equation import MAX_SIDE, Axis, Frame, Stack
from ui.equation.views import View
from ui.shell import i18n

_INDEX = {"T": "t", "H": "h", "Hkv": "kv", "Dh": "d"}


def stack(
    view: View, id: str, tensor: Tensor, axes: tuple[str, str, str], *, label: str, role: str, sign: str = "",
    first: int = 0, most: int = MAX_SIDE, notes: tuple[str, ...] = (),
) -> Frame:
    """tensor (outer, inner, columns) with these axes as one frame; of more than `most` rows a window is sent, from
    `first` on until it is moved. `notes` stand behind all its rows."""
    outer, inner, columns = axes
    count, height, width = tensor.shape
    values = np.ascontiguousarray(tensor.detach().float().cpu().reshape(count * height, width).numpy())
    top, rows = bench_module.window(f"{outer}·{inner}", len(values), first, most) or (0, len(values))
    shown = slice(top, top + rows)
    labels = [f"{one} {other}" for one in names(view, outer, count) for other in names(view, inner, height)]
    letters = (i18n.axis(outer), i18n.axis(inner))
    return Frame(
        id, id, label, role, values[shown],
        Axis(f"{outer}·{inner}", "", labels[shown], top, len(values), "·".join(letters), band=height),
        Axis(columns, "", view.labels(columns, width), letter=i18n.axis(columns), index=_INDEX[columns]), sign,
        slice=_sentence(view), stack=Stack(outer, count, inner, letters, (_INDEX[outer], _INDEX[inner])),
        shade=(min(0.0, float(values.min())), max(0.0, float(values.max()))) if rows < len(values) else None,
        row_notes=notes[shown])


def names(view: View, axis: str, count: int) -> list[str]:
    """Short names of the places on an axis: the tokens, or a letter and a number."""
    tokens = list(view.labels(axis, count))
    if not tokens:
        return [f"{_INDEX[axis]}{place + 1}" for place in range(count)]
    return [f"{token}({place + 1})" if tokens.count(token) > 1 else token for place, token in enumerate(tokens)]


def _sentence(view: View) -> str:
    return f"b={view.batch + 1}" if view.trace.sizes.get("B", 1) > 1 else ""
