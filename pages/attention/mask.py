"""The mask: S, + M, softmax, as three frames that never merge."""

from __future__ import annotations

import streamlit as st

from core import comparison, experiments, masks, ops, programs, worked
from core.questions import Question
from ui import bench as bench_module
from ui.bench import Bench, choices
from ui.equation import Pin
from ui.equation.views import View
from ui.furniture import checks, code, formulas, header, notices, prose, sections, share, strip
from ui.furniture.equations import drawn
from ui.furniture.exercise import Exercise
from ui.shell import frame, i18n
from ui.shell.i18n import _
from ui.shell.numbers import format_number
from ui.sources import Resolved
from ui.stages.mask import SHIFT, WHERE, broadcast, masked_after, opened, overflow_table, unmasked


@st.fragment
def lab() -> None:
    """Everything that changes with a mask, an edit, a pin or a switch of this page."""
    bench, resolved = frame.look()
    view = View(resolved.trace, layer=bench.layer, batch=bench.batch, head=bench.head,
                editable=resolved.scope is not None)
    exercise = Exercise(
        "mask-question", (bench.source, bench.scope, bench.layer, bench.batch, bench.head, *bench.mask),
        lambda number: masks.question(view.trace, view.layer, *view.place, number),
        lambda question, answer: masks.judge(question, answer))
    formula_at = st.container()
    where = _controls(view)
    asked = exercise.question if where == "before" else None
    pin = _equation(bench, resolved, view, where, asked)
    with formula_at:
        _formula(view, None if asked else pin, bench.decimals, where)
    if where == "before":
        sections.folded(_("Predict, then reveal"), "predict-mask", lambda: _predict(exercise))
    notices.edit_notices(resolved)
    _look_for(bench, view, where)
    for title, key, body in (
        (_("The softmax, opened"), "softmax", lambda: opened(view, key="opened", bench=bench)),
        (_("Why the maximum is subtracted"), "overflow", lambda: _overflow(view, pin)),
        (_("How the mask is broadcast"), "broadcast", lambda: _broadcast(bench, view)),
        (_("PyTorch"), "code", lambda: code.program(
            programs.mask(view.trace, view.layer), [ops.mask_scores, ops.softmax_steps, ops.causal_mask], key="mask")),
        (_("Share and save"), "share", lambda: share.share(bench, view.trace, key="mask")),
    ):
        sections.folded(title, key, body)
    checks.check_line(view.trace.check_step(view.name("weights")))
    if view.name("context") in view.trace:
        checks.check_line(view.trace.check(view.layer))
    bench_module.finish()


def _controls(view: View) -> str:
    """Which mask, its number where it takes one, and where it is put; returns the last."""
    kinds = {"none": _("none"), "causal": _("causal"), "padding": _("padding"), "both": _("causal and padding"),
             "window": _("sliding window"), "prefix": _("prefix")}
    counts = {"padding": _("padding tokens at the end"), "both": _("padding tokens at the end"),
              "window": _("keys in the window"), "prefix": _("keys in the prefix")}
    places = {"none": _("no mask"), "before": _("before the softmax"), "after": _("after it"),
              "renormalised": _("after it, renormalised")}
    tokens = view.trace["mask"].shape[-1]
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        kind = choices.MASK.select(_("Mask"), kinds, opening="causal")
        counted = choices.count_of(kind)
        if counted is not None:
            counted.draw(counts[kind], high=tokens)
        return WHERE.draw(st.segmented_control, _("Where the mask is put"), places, required=True)


def _equation(bench: Bench, resolved: Resolved, view: View, where: str, asked: Question | None) -> Pin | None:
    """The frames for the place that was chosen; returns the pinned cell."""
    words = (_("query ↓"), _("key →"))
    scaled, masked, weights = (view.name(short) for short in ("scaled", "masked", "weights"))
    if where == "before":
        frames = [
            view.frame("scaled", scaled, editable=True, words=words),
            view.frame("mask", "mask", sign="+", words=words),
            view.frame("masked", masked, sign="=", words=words),
            view.frame("weights", weights, sign=_("softmax"), words=words, row_sums=True, shade=(0.0, 1.0)),
        ]
        ids = {frame.name: frame.id for frame in frames}
        rules = [view.rule(masked, ids), view.rule(weights, ids)]
    elif where == "none":
        frames, rules = unmasked(view, words)
    else:
        frames, rules = masked_after(view, words, renormalised=where == "renormalised")
    columns = range(frames[-1].shape[1]) if asked else ()
    return drawn(frames, rules, key=f"mask-{where}", bench=bench, resolved=resolved, view=view,
                 telling=view.pin(frames[-1], row=1, col=0),
                 hidden=[(id, asked.row, column) for id in ("mask", "masked", "weights") for column in columns]
                 if asked else [])


def _formula(view: View, pin: Pin | None, decimals: int, where: str) -> None:
    symbols = {
        "before": r"A = \operatorname{softmax}(S + M)", "none": r"A = \operatorname{softmax}(S)",
        "after": r"\operatorname{softmax}(S) \odot [M = 0]",
        "renormalised": r"\frac{\operatorname{softmax}(S) \odot [M = 0]}{\text{row sum}}",
    }[where]
    if pin is None or where != "before" or pin.id not in ("masked", "weights"):
        formulas.formula(symbols, "")
        return
    index = view.index(view.name("weights"), pin.row, pin.col)
    formulas.formula(symbols, formulas.softmax_in_digits(view.trace, view.name("weights"), index, decimals))


def _predict(exercise: Exercise) -> None:
    def ask(question: Question) -> str:
        return _("How many keys may token {row} read under this mask? Its row shows ? until you answer.").format(
            row=question.row + 1)

    def reveal(question: Question) -> str:
        return _("Token {row} may read {count}.").format(row=question.row + 1, count=int(question.answer))

    exercise.draw(ask, reveal)


def _look_for(bench: Bench, view: View, where: str) -> None:
    facts = masks.facts(view.trace, view.layer, *view.place)
    result = comparison.masking(view.trace, view.layer, where)
    low, high = (format_number(value, bench.decimals) for value in result.extent(*view.place))
    sums = (_("Every row sums to one, up to rounding.") if result.is_one(*view.place) else
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
        sentences.append(_("Nothing is left to read in row {rows}. The plain softmax of a row of −∞ divides zero by "
                           "zero and gives NaN; here such a row gets zero weights, and it is said.").format(rows=rows))
    if bench.source == "worked" and bench.example == "d3_lab":
        sentences.append(_("The row of {token} is the document's; the other two rows are ours.").format(
            token=worked.D3_TOKENS[1]))
    prose.look_for([*_meaning(bench), *sentences])


def _meaning(bench: Bench) -> list[str]:
    """What the kind of mask that is chosen stands for."""
    words = {
        "causal": _("Causal: token i reads itself and what came before it, as when a text is written."),
        "padding": _("Padding: tokens at the end that are no text, {count} here. Nobody may read them; their own rows "
                     "are computed all the same, and not used."),
        "both": _("Causal and padding: later tokens are hidden, and so are the tokens at the end that are no text, "
                  "{count} here."),
        "window": _("Sliding window: token i reads itself and those just before it, {count} keys at the most. What "
                    "lies further back reaches it only through the layers below."),
        "prefix": _("Prefix: the first {count} keys are open to every token, a question that may be read as a whole; "
                    "after them the mask is causal. With a prefix of one nothing is left of the difference."),
    }
    return [words[bench.mask.kind].format(count=bench.mask.number)] if bench.mask.kind in words else []


def _broadcast(bench: Bench, view: View) -> None:
    broadcast(view, bench, key="broadcast")
    sizes = view.trace.sizes
    st.markdown(_("A padding mask `[B,1,1,T]` says for each key whether it is a real token; a causal mask "
                  "`[1,1,T,T]` says who comes after whom. Added, they are repeated along every axis of size one: to "
                  "[B,H,T,T], here {batch}×{heads}×{rows}×{columns}. Drawn for these two kinds, whatever is chosen "
                  "above. Boolean masks mean opposite things in two PyTorch functions.").format(
                      batch=sizes.get("B", 1), heads=view.trace.config.heads,
                      rows=view.trace["mask"].shape[-2], columns=view.trace["mask"].shape[-1]))


def _overflow(view: View, pin: Pin | None) -> None:
    row = pin.row if pin else 0
    shift = SHIFT.draw(_("Added to every score of the row"))
    st.markdown(overflow_table(experiments.overflows(view.trace, view.layer, *view.place, row, float(shift))))
    st.caption(_("Adding the same number to a whole row changes no weight. But exp of a large number is ∞ in a short "
                 "type, and ∞/∞ is NaN; subtracting the row's maximum first makes the largest exponent zero."))


_bench, _resolved = frame.look()
header.page_header("mask", frame.here().built)
notices.notices(_resolved, frame.here().dropped)
strip.shape_strip("mask", _resolved.trace)
lab()
