"""From a trace to the frames and rules of an equation: which slice is shown, under which symbol, with which labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from core import derive
from core.layouts import head_columns
from core.trace import Index, Trace, registered
from ui.equation import MAX_SIDE, Axis, Frame, Matmul, Pin, Rule, ops
from ui.equation.rule import Naming
from ui.shell import i18n
from ui.shell.i18n import _

TOGETHER = 4  # up to this width Q, K and V fit beside one X in the first view

_OF_HEADS = ("HDh", "HkvDh")  # axes on which the heads stand side by side
_TURNED = {"q", "k", "q_norm", "k_norm", "q_rot", "k_rot", "k_past", "k_all"}


class View:
    """One (batch, head) slice of a trace, at one layer: makes the frames and rules that a page arranges."""

    def __init__(self, trace: Trace, *, layer: int, batch: int, head: int, editable: bool) -> None:
        self.trace, self.layer, self.batch, self.head = trace, layer, batch, head
        self.editable = editable

    def on(self, trace: Trace) -> View:
        """The same place of another trace."""
        return View(trace, layer=self.layer, batch=self.batch, head=self.head, editable=self.editable)

    @property
    def place(self) -> tuple[int, int]:
        """(batch, head), from 0."""
        return self.batch, self.head

    def name(self, short: str) -> str:
        """The full trace name of a block's tensor."""
        return f"blocks.{self.layer}.{short}"

    def frame(
        self, id: str, name: str, *, transposed: bool = False, editable: bool = False, sign: str = "",
        words: tuple[str, str] = ("", ""), columns: tuple[int, int] | None = None,
        part: tuple[int, int] | None = None, **more: Any,
    ) -> Frame:
        """The slice of tensor `name` as a frame; `words` say its rows and columns, `columns` (offset, count) takes a
        part of them: a head's own block of a large parameter. `part` (offset, count) does so with the rows."""
        values = derive.slice_of(self.trace, name, self.batch, self.head).numpy()
        axes = self.trace.axes(name)
        letters = axes[-2:] if len(axes) > 1 else ("", axes[-1])
        offset, total = 0, values.shape[1]
        if columns is not None:
            offset, count = columns
            values = values[:, offset:offset + count]
        top, height = part or (0, values.shape[0])
        of_head = part is not None and letters[0] in _OF_HEADS, columns is not None and letters[1] in _OF_HEADS
        rows = Axis(_letter(letters[0]), words[0], self.labels(letters[0], values.shape[0])[top:top + height], top,
                    values.shape[0], i18n.axis("Dh" if of_head[0] else letters[0] or "B"), own=of_head[0])
        values = values[top:top + height]
        labels = self.labels(letters[1], total)[offset:offset + values.shape[1]]
        cols = Axis(_letter(letters[1]), words[1], labels, offset, total,
                    i18n.axis("Dh" if of_head[1] else letters[1]), own=of_head[1])
        if transposed:
            values, rows, cols = np.ascontiguousarray(values.T), cols, rows
        return Frame(
            id=id, name=name, label=i18n.symbol(name, transposed=transposed), role=registered(name).role,
            values=values, rows=rows, cols=cols, sign=sign, slice=self._slice(name), transposed=transposed,
            editable=editable and self.editable, cut=self._is_cut(name), **more)

    def extent(self, name: str, columns: tuple[int, int] | None = None) -> tuple[float, float]:
        """Smallest and largest number of a slice, or of some columns (first, count) of it, and zero: a shading that a
        window on it keeps as it moves."""
        values = derive.slice_of(self.trace, name, self.batch, self.head)
        first, count = columns or (0, values.shape[1])
        part = values[:, first:first + count]
        return min(0.0, float(part.min())), max(0.0, float(part.max()))

    def rule(self, out: str, ids: dict[str, str]) -> Rule:
        """The rule that makes tensor `out`, for frames whose ids are given by trace name. Raises UnknownOperation where
        no rule of the equation draws it."""
        return ops.drawn(derive.rule(self.trace, out), Naming(ids, _letter, self.root()))

    def root(self) -> str:
        """The divisor of the scores: "√2"."""
        return f"√{self.trace.config.head_dim}"

    def pin(self, frame: Frame, row: int, col: int) -> Pin:
        """A pin on a cell of a frame, kept inside it."""
        rows, cols = frame.shape
        return Pin(frame.id, frame.name, min(row, rows - 1), min(col, cols - 1))

    def index(self, name: str, row: int, col: int) -> Index:
        """The full index of a cell of the slice on screen."""
        return derive.full_index(self.trace, name, self.batch, self.head, row, col)

    def value(self, name: str, index: Index) -> float:
        """The number at a full index."""
        return float(self.trace[name][index])

    def matrix(self, values: Tensor) -> np.ndarray:
        """The slice on screen of a (B or 1, H or 1, rows, columns) tensor that is not in the trace, float32."""
        batch, head = (min(at, size - 1) for at, size in zip(self.place, values.shape, strict=False))
        return np.ascontiguousarray(values[batch, head].detach().float().cpu().numpy())

    def token_name(self, place: int) -> str:
        """A token in a sentence: its number, and its text where the tokens have any."""
        number = str(place + 1)
        label = self.trace.tokens[place] if place < len(self.trace.tokens) else number
        if label == number:
            return _("token {n}").format(n=number)
        return _("token {n} (`{text}`)").format(n=number, text=label.replace("`", "ˋ"))

    def projects(self) -> bool:
        """Whether Q and K come from an X that can be written out in full here."""
        name = self.trace.attention_input(self.layer)
        return name in self.trace and max(self.trace[name].shape[1:]) <= MAX_SIDE

    def projection(self, letter: str) -> tuple[list[Frame], list[Rule]]:
        """X × W (+ b) = this head's q, k or v, before any rotation."""
        x, made = self.trace.attention_input(self.layer), self.name(f"{letter}_proj")
        width = self.trace.config.head_dim
        block = (self.head if letter == "q" else self.head // self.trace.config.group) * width
        parameter, *bias = self.trace.steps[made].reads[1:]
        frames = [self.frame("x", x, editable=True, words=(_("token ↓"), "")),
                  self.frame("w", parameter, editable=True, sign="×", columns=(block, width))]
        ids = {x: "x", parameter: "w", made: letter}
        for name in bias:
            frames.append(self.frame("bias", name, editable=True, sign="+", columns=(block, width)))
            ids[name] = "bias"
        frames.append(self.frame(letter, self.name(letter), sign="=", words=(_("token ↓"), "")))
        return frames, [self.rule(made, ids)]

    def labels(self, letter: str, count: int) -> Sequence[str]:
        """The token labels of an axis, or none where its entries are not tokens or only have numbers."""
        trace = self.trace
        named = {"T": trace.tokens, "Tq": trace.tokens, "Tk": trace.key_tokens, "Tp": trace.past_tokens}
        tokens = named.get(letter, [])
        counted = all(token == str(place) for place, token in enumerate(tokens, start=1))
        return tokens if len(tokens) == count and not counted else ()

    def _slice(self, name: str) -> str:
        """ "b=1, h=2" for a tensor that has those axes and more than one entry on them."""
        axes = self.trace.axes(name)
        parts = []
        if "B" in axes and self.trace.sizes.get("B", 1) > 1:
            parts.append(f"b={self.batch + 1}")
        if "H" in axes and self.trace.config.heads > 1:
            parts.append(f"h={self.head + 1}")
        if "Hkv" in axes and self.trace.config.kv_heads > 1:
            parts.append(_("KV head {n}").format(n=self.head // self.trace.config.group + 1))
        if self.trace.config.positions == "rope" and name.rsplit(".", 1)[-1] in _TURNED:
            parts.append(_("after RoPE") if name.endswith(("_rot", "_past", "_all")) else _("before RoPE"))
        return ", ".join(parts)

    def _is_cut(self, name: str) -> bool:
        """Whether an edit replaced a computed number in the slice on screen."""
        return not self.trace.is_given(name) and any(
            derive.full_index(self.trace, name, self.batch, self.head, index[-2], index[-1]) == index
            for index in self.trace.edits.get(name, {}))


def _letter(axis: str) -> str:
    """The letter shown for an axis: queries and keys are both tokens, and heads stand side by side in a projection."""
    return {"Tq": "T", "Tk": "T", "Tp": "T", "HDh": "H·Dh", "HkvDh": "Hkv·Dh", "P": "T", "": "B"}.get(axis, axis)


def projected(view: View, letters: str, window: tuple[int, int] | None) -> tuple[list[Frame], list[Rule]]:
    """One X and, for each of `letters`, its matrix (and bias) and what this head makes of X, before any rotation.

    `window` (offset, count) takes the part of the axis that the product sums over which is sent; what the other terms
    add up to goes with it.
    """
    x = view.trace.attention_input(view.layer)
    symbol = i18n.symbol(x)
    frames = [view.frame("x", x, editable=True, words=(_("token ↓"), ""), columns=window,
                         shade=view.extent(x) if window else None)]
    rules = []
    for letter in letters:
        made = view.name(f"{letter}_proj")
        parameter, *bias = view.trace.steps[made].reads[1:]
        block = head_columns(view.trace, parameter, view.head)
        ids = {x: "x", parameter: f"w{letter}", made: f"{letter}_made"}
        frames.append(view.frame(ids[parameter], parameter, editable=True, columns=block, part=window,
                                 sign="×" if len(frames) == 1 else f"{symbol} ×",
                                 shade=view.extent(parameter, block) if window else None))
        for name in bias:
            ids[name] = f"b{letter}"
            frames.append(view.frame(ids[name], name, editable=True, sign="+", columns=block))
        frames.append(view.frame(ids[made], view.name(letter), sign="=", words=(_("token ↓"), "")))
        rule = view.rule(made, ids)
        if window is not None and isinstance(rule, Matmul):
            start, count = window
            before, after = (part.float().numpy() for part in derive.rest_of(
                view.trace, made, *view.place, start, start + count))
            rule = replace(rule, rest=(before, after))
        rules.append(rule)
    return frames, rules
