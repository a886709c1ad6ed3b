"""The fused product of the page on projections."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from core.stages.projections.fused import Layouts
from ui.bench import Bench
from ui.equation import Axis, Frame, Matmul, default_strings, equation
from ui.equation.views import View
from ui.shell import i18n
from ui.shell.i18n import _


def fused(view: View, found: Layouts, *, key: str, bench: Bench) -> None:
    """X × [WQ WK WV] = [Q K V] for all heads, each column named; only where the fused matrix can be written out."""
    x = view.trace.attention_input(view.layer)
    labels = [f"{i18n.symbol(letter)}{column + 1}" for letter, (first, count) in zip("qkv", found.parts, strict=True)
              for column in range(count)]

    def made(id: str, label: str, role: str, matrix: Tensor, rows: Axis, sign: str) -> Frame:
        values = np.ascontiguousarray(matrix.detach().float().cpu().numpy())
        return Frame(id, id, label, role, values, rows, Axis("QKV", "", labels), sign)

    source = view.frame("x", x, words=(_("token ↓"), ""))
    frames = [source, made("fused", "WQKV", "parameter", found.fused, Axis("D", letter=i18n.axis("D")), "×")]
    if found.bias is not None:
        frames.append(made("fused_bias", "bQKV", "parameter", found.bias[None], Axis("B"), "+"))
    frames.append(made("product", "QKV", "hidden", found.product[view.batch], source.rows, "="))
    rule = Matmul("product", "x", "fused", "D", None if found.bias is None else "fused_bias")
    equation(frames, [rule], key=key, decimals=bench.decimals, strings=default_strings(_))
