"""What only the mask page draws: S, + M, softmax, as three frames that never merge; the mask put elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from core import masks, ops, worked
from core.check import Check
from core.questions import Question
from core.stages import mask
from core.stages.mask import Overflow
from ui import sources
from ui.bench import Bench, choices
from ui.bench.parameters import Choice, Whole
from ui.equation import Pin
from ui.furniture import code, formulas, prose, share
from ui.furniture.equations import Control, Made, choice, standing, switched
from ui.furniture.exercise import Exercise
from ui.furniture.page import Subject, on_bench
from ui.shell import documents, example_words, i18n
from ui.shell.i18n import _
from ui.shell.numbers import format_number
from ui.stages.mask import frames

WHERE = Choice("where", "before", codes=mask.PLACES, stage="mask")
SHIFT = Whole("shift", mask.SHIFTS[2], low=mask.SHIFTS[0], high=mask.SHIFTS[1], stage="mask")


@dataclass
class Mask(Subject):
    """The mask of a head; `kind` says which, `control` where it is put, `pin` which cell is spoken of."""

    kind: Control = field(init=False)
    control: Control = field(init=False)
    pin: Pin | None = None

    @property
    def where(self) -> str:
        """The place of the mask."""
        return self.control.code


def subject() -> Mask:
    """The mask that the bench selects, with its questions."""
    shown = on_bench(Mask)
    bench = shown.bench
    shown.exercise = Exercise(
        "mask-question", (bench.source, bench.scope, bench.layer, bench.batch, bench.head, *bench.mask),
        lambda number: mask.ask(shown.at, number),
        lambda question, answer: mask.judge(shown.at, question, answer, bench.decimals))
    return shown


def controls(shown: Mask) -> None:
    """The number of the mask where it takes one, which mask, and where it is put: elsewhere than before the softmax
    nothing is asked."""
    kinds = {kind: example_words.mask(kind) for kind in masks.KINDS}
    counts = {"padding": _("padding tokens at the end"), "both": _("padding tokens at the end"),
              "window": _("keys in the window"), "prefix": _("keys in the prefix")}
    tokens = shown.view.trace["mask"].shape[-1]
    kind = shown.bench.mask_kind
    counted = choices.count_of(kind)
    if counted is not None:
        counted.draw(counts[kind], high=tokens, width=260)
    shown.kind = standing(choices.MASK, _("Mask"), kinds, kind)
    shown.control = choice(WHERE, _("Where the mask is put"), {
        "none": _("nowhere"), "before": _("before the softmax"), "after": _("after it"),
        "renormalised": _("after it, renormalised")})
    if shown.where != "before":
        shown.exercise = None


def draw(shown: Mask) -> None:
    """S + M and its softmax, or what comes of the mask in another place."""
    _shown, shown.pin = switched(
        [shown.kind, shown.control], lambda codes: _made(shown, codes[choices.MASK.key], codes[WHERE.key]),
        key="mask-places", bench=shown.bench, resolved=shown.resolved, view=shown.view)
    prose.tried(shown.where != "before")


def _made(shown: Mask, kind: str, where: str) -> Made:
    bench, view, asked = shown.bench, shown.view, shown.asked
    if kind != bench.mask_kind:
        view = view.on(sources.with_mask(view.trace, choices.mask_of(kind)))
    made, rules = frames.masked(view, shown.at._replace(trace=view.trace), where)
    columns = range(made[-1].shape[1])
    return Made(made, rules, view.pin(made[-1], row=1, col=0), [
        (id, asked.row, column) for id in ("mask", "masked", "weights") for column in columns] if asked else [])


def formula(shown: Mask) -> None:
    """The weights in symbols, and the pinned one in digits while no question is open."""
    view, pin = shown.view, shown.pin
    symbols = {
        "before": r"A = \operatorname{softmax}(S + M)", "none": r"A = \operatorname{softmax}(S)",
        "after": r"\operatorname{softmax}(S) \odot [M = 0]",
        "renormalised": r"\frac{\operatorname{softmax}(S) \odot [M = 0]}{\text{row sum}}",
    }[shown.where]
    if shown.asked or pin is None or shown.where != "before" or pin.id not in ("masked", "weights"):
        formulas.formula(symbols, "")
        return
    name = view.name("weights")
    index = view.index(name, pin.row, pin.col)
    formulas.formula(symbols, formulas.softmax_in_digits(view.trace, name, index, shown.bench.decimals))


def predict(shown: Mask) -> None:
    """How many keys a token may read."""
    def ask(question: Question) -> str:
        return _("How many keys may token {row} read under this mask? Its row shows ? until you answer.").format(
            row=question.row + 1)

    def reveal(question: Question) -> str:
        return _("Token {row} may read {count}.").format(row=question.row + 1, count=int(question.answer))

    if shown.exercise is not None:
        shown.exercise.draw(ask, reveal)


def look_for(shown: Mask) -> list[str]:
    """What the mask stands for, what it leaves to read, and what becomes of the row sums where it is put."""
    bench, where = shown.bench, shown.where
    facts, result = mask.facts(shown.at), mask.masking(shown.at, where)
    low, high = (format_number(value, bench.decimals) for value in result.extent(*shown.at.slice))
    sums = (_("Every row sums to one, up to rounding.") if result.is_one(*shown.at.slice) else
            _("Row sums run from {low} to {high}.").format(low=low, high=high))
    sentences = {
        "before": [_("{readable} of {pairs} pairs may be read; the others get −∞ before the softmax and weight zero "
                     "after it.").format(readable=facts.readable, pairs=facts.pairs)
                   if facts.readable < facts.pairs else
                   _("This mask hides nothing: every token reads every other, later ones too."), sums],
        "none": [_("Without a mask every token reads every other, later ones too."), sums],
        "after": [_("The softmax has already shared its weight out over hidden keys; taking them away leaves rows that "
                    "are too light, and what was hidden still counts in the denominator."), sums],
        "renormalised": [_("Dividing each row by what is left gives the same weights as masking before: the common "
                           "denominator cancels."), sums],
    }[where]
    if facts.leaked_at is not None and where in ("none", "after"):
        text = _("Token {row} would give {value} of its weight to token {column}, which the chosen mask hides from it.")
        sentences.append(text.format(
            row=facts.leaked_at[0] + 1, column=facts.leaked_at[1] + 1,
            value=format_number(facts.leaked, bench.decimals)))
    if facts.empty_rows:
        rows = i18n.listed(str(row + 1) for row in facts.empty_rows)
        sentences.append(_("No key is left to read in row {rows}. The plain softmax of a row of −∞ divides zero by "
                           "zero and gives NaN; this app sets all weights of such a row to "
                           "zero instead.").format(rows=rows))
    if bench.source == "worked" and bench.example == "d3_lab":
        sentences.append(_("The row of {token} comes from {section}; the other two rows are this app's own.").format(
            token=worked.D3_TOKENS[1], section=documents.named("D3 §3")))
    return [*_meaning(bench), *sentences]


def _meaning(bench: Bench) -> list[str]:
    """What the kind of mask that is chosen stands for."""
    words = {
        "causal": _("Causal: token i reads itself and what came before it, as when a text is written."),
        "padding": _("Padding tokens at the end, which are no text: {count}. No token may read them; their own rows "
                     "are computed all the same, but not used."),
        "both": _("Causal and padding: later tokens are hidden, and so are the padding tokens at the end, which are no "
                  "text ({count} here)."),
        "window": _("Sliding window: token i reads itself and those just before it, {count} keys at the most. What "
                    "lies further back reaches it only through the layers below."),
        "prefix": _("Prefix: the first {count} keys are open to every token, a question that may be read as a whole; "
                    "after them the mask is causal. With a prefix of one nothing is left of the difference."),
    }
    return [words[bench.mask_kind].format(count=bench.mask.number)] if bench.mask_kind in words else []


def softmax(shown: Mask) -> None:
    """The softmax in its five steps."""
    frames.opened(shown.view, shown.where, key="opened", bench=shown.bench)


def overflow(shown: Mask) -> None:
    """One row through softmax in two types, with and without its maximum subtracted."""
    row = shown.pin.row if shown.pin else 0
    shift = SHIFT.draw(_("Added to every score of the row"))
    st.markdown(_overflow_table(mask.overflows(shown.at, row, float(shift))))
    st.caption(_("Adding the same number to a whole row changes no weight. But in a type with a small range, such as "
                 "float16, exp of a large number is ∞, and ∞/∞ is NaN; subtracting the row's maximum first makes the "
                 "largest exponent zero."))


def _overflow_table(results: Sequence[tuple[str, Overflow]]) -> str:
    """Rows of a Markdown table: for each type the exponentials, the plain quotient and the stable one."""
    def cells(tensor: Any) -> str:
        return " ".join(format_number(float(value), decimals=2) for value in tensor)

    lines = ["| | " + " | ".join(("exp(s)", _("plain softmax"), _("stable softmax"))) + " |", "|---|---|---|---|"]
    lines += [f"| {name} | {cells(found.exponentials)} | {cells(found.naive)} | {cells(found.stable)} |"
              for name, found in results]
    return "\n".join(lines)


def broadcast(shown: Mask) -> None:
    """A causal and a padding mask, added up."""
    frames.broadcast(shown.view, shown.bench, key="broadcast")
    trace = shown.view.trace
    rows, columns = trace["mask"].shape[-2:]
    st.markdown(_("A padding mask `[B,1,1,T]` says for each key whether it is a real token; a causal mask `[1,1,T,T]` "
                  "says who comes after whom. Added, they are repeated along every axis of size one: to [B,H,T,T], "
                  "here {batch}×{heads}×{rows}×{columns}. The picture always shows these two kinds, whatever is chosen "
                  "above. Boolean masks mean opposite things in two PyTorch functions.").format(
                      batch=trace.sizes.get("B", 1), heads=trace.config.heads, rows=rows, columns=columns))


def program(shown: Mask) -> None:
    """The PyTorch program from S and the mask to the weights."""
    code.program(mask.program(shown.at), [ops.mask_scores, ops.softmax_steps, ops.causal_mask], key="mask")


def shared(shown: Mask) -> None:
    """The link, the state file and the numbers."""
    share.share(shown.bench, shown.view.trace, key="mask")


def checks(shown: Mask) -> list[Check | None]:
    """The softmax against float64, and the whole against the fused kernel where the trace goes on to AV."""
    view = shown.view
    whole = [view.trace.check(view.layer)] if view.name("context") in view.trace else []
    return [view.trace.check_step(view.name("weights")), *whole]
