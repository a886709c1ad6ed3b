"""What only the order page draws: P·Attn(X) beside Attn(P·X), who can read whom, and the order read wrongly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import streamlit as st
from torch import Tensor

from core import ops
from core.check import Check
from core.comparison import Comparison
from core.questions import Question
from core.stages import order
from core.stages.order import reorder
from core.stages.order.reorder import Reordered, Sight
from ui import bench as bench_module
from ui.bench import Bench
from ui.bench.parameters import Choice
from ui.components.permutation import permutation
from ui.equation import Axis, Difference, Frame, Lookup, Matmul, Rule, default_strings, equation
from ui.equation.views import View
from ui.furniture import code, formulas, prose, share
from ui.furniture.equations import Control, Made, choice, switched
from ui.furniture.exercise import Exercise
from ui.furniture.page import Subject, on_bench
from ui.shell import documents, i18n
from ui.shell.i18n import _
from ui.shell.numbers import format_difference, format_number

SIGHT = Choice("sight", "none", codes=reorder.MASKS, stage="order")
PLACES = Choice("places", "none", codes=reorder.POSITIONS, stage="order")
MISTAKE = Choice("misorder", "invariant", codes=tuple(order.MISTAKES), stage="order")

MOST_SIGHTS = 12  # tokens whose sight is listed
_MOST_NAMES = 6
# A wider X is not written out, P is a list, and of the results a part is shown: both sides stand beside one another.
WIDE = 4
_NARROW = 2

Window = tuple[int, int] | None


@dataclass
class Order(Subject):
    """The tokens of a layer in the order that was `chosen`, under a mask and positions, what became of the outputs, and
    the part of the columns that is sent."""

    chosen: tuple[int, ...] = field(init=False)
    mask: str = field(init=False)
    positions: str = field(init=False)
    found: Reordered = field(init=False)
    window: Window = field(init=False)
    switches: tuple[Control, Control] = field(init=False)

    @property
    def setting(self) -> dict[str, Any]:
        """What was chosen, as the stage of the core takes it."""
        return {"order": self.chosen, "mask": self.mask, "positions": self.positions}


def subject() -> Order:
    """The layer that the bench selects."""
    return on_bench(Order)


def controls(shown: Order) -> None:
    """The order of the tokens, the mask and the positions; then what they make of the outputs."""
    view = shown.view
    count = view.trace.sizes["T"]
    shown.chosen = bench_module.order(reorder.opening(count))
    tokens = view.trace.tokens if len(view.trace.tokens) == count else [str(place + 1) for place in range(count)]
    permutation(tokens, shown.chosen, key="token-order", on_change=bench_module.order_taker("token-order", count))
    shown.switches = _controls(shown)
    shown.mask, shown.positions = (control.code for control in shown.switches)
    shown.found = order.facts(shown.at, **shown.setting)
    shown.window = bench_module.window("D", shown.found.contents.shape[-1])
    bench = shown.bench
    shown.exercise = Exercise(
        "order-question", (bench.source, bench.scope, bench.layer, bench.batch, shown.chosen),
        lambda number: order.ask(shown.at, number, order=shown.chosen),
        lambda question, answer: order.judge(shown.at, question, answer, bench.decimals, order=shown.chosen))


def _controls(shown: Order) -> tuple[Control, Control]:
    """The mask and the positions."""
    kinds = {"none": _("no positions"), "learned": _("learned"), "sinusoidal": _("sinusoidal"), "rope": "RoPE"}
    return (
        choice(SIGHT, _("Mask"), {"none": _("no mask"), "causal": _("causal mask")}),
        choice(PLACES, _("Positions"),
               {kind: kinds[kind] for kind in reorder.possible(shown.view.trace, shown.view.layer)}))


def draw(shown: Order) -> None:
    """P × X = PX, and the two sides; under a causal mask, who lost or gained sight of whom."""
    switched(shown.switches, lambda codes: _made(shown, codes), key="order", bench=shown.bench,
             resolved=shown.resolved, view=shown.view)
    prose.tried((shown.mask, shown.positions) != ("none", "none"))
    if shown.mask == "causal" and not shown.asked:
        _sights(shown)


def _made(shown: Order, codes: Mapping[str, str]) -> Made:
    """Both sides under the mask and with the positions that the switches say."""
    setting = {"mask": codes[SIGHT.key], "positions": codes[PLACES.key]}
    found = shown.found if setting.items() <= shown.setting.items() else order.facts(
        shown.at, order=shown.chosen, **setting)
    frames, rules = _frames(shown.view, found, shown.window)
    secret = [made for made in frames if made.id in ("reordered", "expected", "found", "difference")] \
        if shown.asked else []
    hidden = [(made.id, row, column) for made in secret for row in range(made.values.shape[0])
              for column in range(made.values.shape[1])]
    expected = next(made for made in frames if made.id == "expected")
    return Made(frames, rules, shown.view.pin(expected, row=0, col=0), hidden)


def _sights(shown: Order) -> None:
    rows = sight_rows(shown.view, reorder.sights(shown.found.order, "causal"))
    if not rows:
        return
    prose.table([_("token"), _("can no longer read"), _("can now read")], rows)
    if len(rows) == MOST_SIGHTS:
        st.caption(_("The table shows the first {count} of the tokens that read other tokens "
                     "than before.").format(count=len(rows)))


def formula(shown: Order) -> None:
    """Whether Attn(PX) = P·Attn(X), and the largest difference; while a question is open, the question alone."""
    symbols = r"\operatorname{Attn}(PX) \overset{?}{=} P\,\operatorname{Attn}(X)"
    if shown.asked:
        formulas.formula(symbols, "")
        return
    found = shown.found
    sign = "=" if found.equivariant else r"\neq"
    largest = format_difference(found.difference) if found.equivariant else \
        format_number(found.difference, shown.bench.decimals)
    formulas.formula(symbols, rf"\operatorname{{Attn}}(PX) {sign} P\,\operatorname{{Attn}}(X),\quad "
                              rf"\max |\operatorname{{Attn}}(PX) - P\,\operatorname{{Attn}}(X)| = \text{{{largest}}}")


def look_for(shown: Order) -> list[str]:
    """What is worth noticing; where a question is open, not what became of the outputs."""
    view, found, decimals = shown.view, shown.found, shown.bench.decimals
    sentences = [_("Row i of P picks the token that now stands in place i: P·X holds the same rows in another order.")]
    if found.contents.shape[-1] > WIDE:
        sentences.append(_("P is written as a list here: for each row of P, the column in which it has its one. All "
                           "other numbers of P are zero."))
    if shown.asked:
        return sentences
    difference = format_difference(found.difference)
    if found.equivariant and (shown.mask, shown.positions) == ("none", "none"):
        sentences += [
            _("Both sides agree, largest difference {difference}. A token's query meets the same keys as before, only "
              "in another order, and the order does not change a sum.").format(difference=difference),
            _("That is equivariance: outputs move with their tokens. It is not invariance: row by row Attn(P·X) and "
              "Attn(X) differ by up to {unmoved}.").format(unmoved=format_number(found.unmoved, decimals)),
            _("So without mask and positions attention cannot tell who stands before whom. Switch one of them on."),
        ]
    elif found.equivariant:
        sentences.append(_("In this order both sides still agree, largest difference {difference}. Try "
                           "another one.").format(difference=difference))
    else:
        rows = i18n.listed(view.token_name(found.order[row]) for row in found.broken)
        sentences.append(_("The two sides differ by up to {difference}. Outputs that changed: {rows}.").format(
            difference=format_number(found.difference, decimals), rows=rows))
    if shown.mask == "causal":
        sentences.append(_("The causal mask depends on places, not on tokens: a token that moves forward can no longer "
                           "read the tokens it passes, and they can now read it. With a mask alone a model can learn "
                           "order, but its only clue is what is hidden."))
    if shown.positions in ("learned", "sinusoidal"):
        sentences.append(_("Each place adds its own row to whichever token stands there. In another order other rows "
                           "are added to the tokens, so the result is more than the same rows in another order."))
    if shown.positions == "rope":
        sentences.append(_("RoPE turns queries and keys by their places: other distances, other scores, though X is "
                           "untouched."))
    if view.trace.attention_input(view.layer).endswith("norm1"):
        sentences.append(_("Attn is the layer's attention with the norm before it; X holds the vectors of the tokens "
                           "before any position is added."))
    if shown.resolved.source == "live":
        sentences.append(_("This is a real layer of the model. It was trained with a causal mask and RoPE; taking both "
                           "away shows what attention by itself can see."))
    if shown.resolved.source == "worked" and shown.bench.example == "word_order":
        sentences.append(_("The three words come from {section}; the numbers are this app's own.").format(
            section=documents.named("D1 §7")))
    return sentences


def predict(shown: Order) -> None:
    """The row in which a token's output stands."""
    view = shown.view

    def ask(question: Question) -> str:
        return _("In which row of Attn(P·X) does the output of {token} stand? Answer with the row's number. The "
                 "results show ? until you answer.").format(token=view.token_name(question.row))

    def reveal(question: Question) -> str:
        return _("The output of {token} stands in row {row}.").format(
            token=view.token_name(question.row), row=int(question.answer))

    if shown.exercise is None:
        return
    shown.exercise.draw(ask, reveal, {
        "inverse": _("That reads the order the other way round: it says which token came to the place where this one "
                     "was."),
        "from_zero": _("That counts the rows from zero; they count from one."),
    })


def mistakes(shown: Order) -> None:
    """What Attn(PX) is taken for, beside what it is."""
    labels = {"invariant": _("Expecting no change"), "inverse": _("Pᵀ in place of P")}
    kind = MISTAKE.draw(st.segmented_control, _("What goes wrong"), labels, required=True)
    result = order.MISTAKES[kind](shown.at, **shown.setting)
    _compared(shown.view, shown.found, result, shown.window, key="order-mistake", bench=shown.bench)
    explained = {
        "invariant": _("That attention cannot see the order does not mean that its output stays as it was: the rows "
                       "move with their tokens."),
        "inverse": _("P and Pᵀ undo each other. If the order is read the wrong way round, each output goes to another "
                     "token; where two tokens merely change places, both ways are the same, and nobody notices."),
    }
    st.markdown(explained[kind] + " " + _("Largest difference: {value}.").format(
        value=format_number(result.largest(shown.view.batch, 0), shown.bench.decimals)))


def program(shown: Order) -> None:
    """The PyTorch program for both sides."""
    code.program(order.program(shown.at, **shown.setting), [reorder.reorder, reorder.matrix, ops.attend], key="order")


def shared(shown: Order) -> None:
    """The link, the state file and the numbers."""
    share.share(shown.bench, shown.view.trace, key="order")


def checks(shown: Order) -> list[Check | None]:
    """The mixing of the reordered tokens against float64, and the whole against the fused kernel."""
    return [shown.found.after.check_step("blocks.0.context"), shown.found.after.check(0)]


def _frames(view: View, found: Reordered, window: Window) -> tuple[list[Frame], list[Rule]]:
    """P × X = PX, and P × Attn(X) = P·Attn(X) beside Attn(P·X), with their difference. Of a wide X the second alone,
    and P as the list of the columns in which its rows have their ones."""
    old, new = _rows(view, found, False), _rows(view, found, True)
    before = found.original
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


def _compared(view: View, found: Reordered, result: Comparison, window: Window, *, key: str, bench: Bench) -> None:
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
