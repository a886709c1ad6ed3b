"""One of the products as an equation, and a mistake beside what is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from torch import Tensor

from core.comparison import Comparison
from core.stages.matmul.product import Slice
from ui import bench as bench_module
from ui.bench import Bench
from ui.equation import Axis, Difference, Frame, Matmul, Pin, default_strings, equation
from ui.shell.i18n import _


def frames(part: Slice) -> list[Frame]:
    """A × B = C for one of the products, each matrix named with its batch indices, from 1."""
    m, n, p = (Axis("1", letter=letter) for letter in "mnp")
    made = (("a", "A", "query", part.left, m, n, "", part.left_at),
            ("b", "B", "key", part.right, n, p, "×", part.right_at),
            ("c", "C", "score", part.product, m, p, "=", part.at))
    return [Frame(id, id, label, role, _matrix(tensor), rows, columns, sign,
                  f"[{', '.join(str(index + 1) for index in at)}]" if at else "")
            for id, label, role, tensor, rows, columns, sign, at in made]


def _matrix(tensor: Tensor) -> np.ndarray:
    return np.ascontiguousarray(tensor.float().numpy())


def product(part: Slice, *, key: str, bench: Bench, hidden: Sequence[tuple[int, int]]) -> Pin | None:
    """Draw one product; returns the pinned cell. `hidden` cells of the result show "?"."""
    drawn = frames(part)
    drawn[-1] = replace(drawn[-1], hidden=list(hidden))
    rows, _columns = drawn[-1].shape
    pin = bench_module.pin_for(drawn, Pin("c", "c", rows - 1, 0))
    revised = bench_module.revision(key, part.at, part.left.shape, part.right.shape, bench.seed)
    equation(drawn, [Matmul("c", "a", "b", "1")], key=key, decimals=bench.decimals, strings=default_strings(_), pin=pin,
             rev=revised.rev, since=revised.since, seq=revised.seq, hidden_note=_("Answer or skip the question first."),
             on_pin_change=bench_module.pin_taker(key, drawn))
    return pin


def compared(found: Comparison, *, key: str, bench: Bench) -> None:
    """The wrong product, the right one, and their difference, on one scale."""
    if found.wrong is None or found.difference is None:
        return
    parts = [_matrix(tensor) for tensor in (found.wrong, found.right, found.difference)]
    bound = float(np.abs(np.stack(parts[:2])).max())
    texts = (("wrong", "", _("wrong {symbol}")), ("right", "", _("right {symbol}")),
             ("difference", _("wrong − right ="), _("difference")))
    rows, columns = (Axis("1", letter=letter) for letter in "mp")
    equation([Frame(id, id, label.format(symbol="C"), "score", values, rows, columns, sign, shade=(-bound, bound))
              for (id, sign, label), values in zip(texts, parts, strict=True)],
             [Difference("difference", "wrong", "right")], key=key, decimals=bench.decimals,
             strings=default_strings(_))
