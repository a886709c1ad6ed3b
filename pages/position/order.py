"""Order: attention cannot see it. Attn(P·X) beside P·Attn(X), and what breaks their being equal."""

from __future__ import annotations

import streamlit as st

from core import ops
from core.questions import Question
from core.stages.order import practice, reorder
from core.stages.order import programs as order_programs
from core.stages.order.reorder import Reordered
from ui import bench as bench_module
from ui.bench import Bench
from ui.components.permutation import permutation
from ui.equation.views import View
from ui.furniture import checks, code, equations, formulas, header, notices, prose, sections, share, strip
from ui.furniture.exercise import Exercise, held_back
from ui.shell import frame, i18n
from ui.shell.i18n import _
from ui.shell.numbers import format_difference, format_number
from ui.sources import Resolved
from ui.stages import order


@st.fragment
def lab() -> None:
    """Everything that changes with the order, a switch or a pin of this page."""
    bench, resolved = frame.look()
    view = View(resolved.trace, layer=bench.layer, batch=bench.batch, head=bench.head, editable=False)
    formula_at = st.container()
    chosen, mask, positions = _controls(view)
    found = reorder.reorder(view.trace, view.layer, chosen, mask=mask, positions=positions)
    window = bench_module.window("D", found.contents.shape[-1])
    exercise = Exercise(
        "order-question", (bench.source, bench.scope, bench.layer, bench.batch, chosen),
        lambda number: practice.question(chosen, number),
        lambda question, answer: practice.judge(chosen, question, answer))
    asked = exercise.question
    _equation(bench, resolved, view, found, window, asked)
    with formula_at:
        _formula(found, bench.decimals, asking=asked is not None)
    if mask == "causal" and not asked:
        _sights(view, found)
    sections.folded(_("Predict, then reveal"), "predict", lambda: _predict(view, exercise))
    notices.edit_notices(resolved)
    _look_for(bench, resolved, view, found, mask, positions, asking=asked is not None)
    for title, key, body in (
        (_("Common mistakes"), "wrong", lambda: _mistake(bench, view, found, window, asking=asked is not None)),
        (_("PyTorch"), "code", lambda: code.program(
            order_programs.order(found, mask), [reorder.reorder, reorder.matrix, ops.attend], key="order")),
        (_("Share and save"), "share", lambda: share.share(bench, view.trace, key="order")),
    ):
        sections.folded(title, key, body)
    checks.check_line(found.after.check_step("blocks.0.context"))
    checks.check_line(found.after.check(0))
    bench_module.finish()


def _controls(view: View) -> tuple[tuple[int, ...], str, str]:
    """The order of the tokens, the mask and the positions."""
    count = view.trace.sizes["T"]
    chosen = bench_module.order(reorder.opening(count))
    tokens = view.trace.tokens if len(view.trace.tokens) == count else [str(place + 1) for place in range(count)]
    permutation(tokens, chosen, key="token-order", on_change=bench_module.order_taker("token-order", count))
    masks = {"none": _("no mask"), "causal": _("causal mask")}
    kinds = {"none": _("no positions"), "learned": _("learned"), "sinusoidal": _("sinusoidal"), "rope": "RoPE"}
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        mask = bench_module.choice(st.segmented_control, _("Mask"), masks, key="sight", default="none", required=True,
                                   label_visibility="collapsed")
        positions = bench_module.choice(
            st.segmented_control, _("Positions"),
            {kind: kinds[kind] for kind in reorder.possible(view.trace, view.layer)}, key="places", default="none",
            required=True, label_visibility="collapsed")
    return chosen, mask, positions


def _equation(
    bench: Bench, resolved: Resolved, view: View, found: Reordered, window: order.Window, asked: Question | None,
) -> None:
    """P × X = PX, and the two sides."""
    frames, rules = order.beside(view, found, window)
    secret = [made for made in frames if made.id in ("reordered", "expected", "found", "difference")] if asked else []
    hidden = [(made.id, row, column) for made in secret for row in range(made.values.shape[0])
              for column in range(made.values.shape[1])]
    expected = next(made for made in frames if made.id == "expected")
    equations.drawn(frames, rules, key="order", bench=bench, resolved=resolved, view=view,
                    telling=view.pin(expected, row=0, col=0), hidden=hidden)


def _formula(found: Reordered, decimals: int, *, asking: bool) -> None:
    symbols = r"\operatorname{Attn}(PX) \overset{?}{=} P\,\operatorname{Attn}(X)"
    if asking:
        formulas.formula(symbols, "")
        return
    sign = "=" if found.equivariant else r"\neq"
    largest = format_difference(found.difference) if found.equivariant else format_number(found.difference, decimals)
    formulas.formula(symbols, rf"\operatorname{{Attn}}(PX) {sign} P\,\operatorname{{Attn}}(X),\quad "
                            rf"\max |\operatorname{{Attn}}(PX) - P\,\operatorname{{Attn}}(X)| = \text{{{largest}}}")


def _look_for(
    bench: Bench, resolved: Resolved, view: View, found: Reordered, mask: str, positions: str, *, asking: bool,
) -> None:
    sentences = [_("Row i of P picks the token that now stands in place i: P·X holds the same rows in another order.")]
    if found.contents.shape[-1] > order.WIDE:
        sentences.append(_("P is written as a list here: for each row the column of its only one. All else in P is "
                           "zero."))
    if asking:
        prose.look_for(sentences)
        return
    difference = format_difference(found.difference)
    if found.equivariant and (mask, positions) == ("none", "none"):
        sentences += [
            _("Both sides agree, largest difference {difference}: a token's query meets the same keys as before, only "
              "written in another order, and a sum has none.").format(difference=difference),
            _("That is equivariance: outputs move with their tokens. It is not invariance: row by row Attn(P·X) and "
              "Attn(X) differ by up to {unmoved}.").format(unmoved=format_number(found.unmoved, bench.decimals)),
            _("So without mask and positions attention cannot tell who stands before whom. Switch one of them on."),
        ]
    elif found.equivariant:
        sentences.append(_("In this order both sides still agree, largest difference {difference}. Try "
                           "another one.").format(difference=difference))
    else:
        rows = i18n.listed(view.token_name(found.order[row]) for row in found.broken)
        sentences.append(_("The two sides differ by up to {difference}. Outputs that changed: {rows}.").format(
            difference=format_number(found.difference, bench.decimals), rows=rows))
    if mask == "causal":
        sentences.append(_("A causal mask belongs to places, not to tokens: who moves forward loses sight of those it "
                           "passes, and they gain sight of it. Under a mask alone a model can learn order, but only "
                           "by what is hidden."))
    if positions in ("learned", "sinusoidal"):
        sentences.append(_("Each place adds its own row to whichever token stands there, so another order gives other "
                           "rows, not the same rows in another order."))
    if positions == "rope":
        sentences.append(_("RoPE turns queries and keys by their places: other distances, other scores, though X is "
                           "untouched."))
    if view.trace.attention_input(view.layer).endswith("norm1"):
        sentences.append(_("Attn is the layer's attention with the norm before it; X is what the tokens are before "
                           "anything says where they stand."))
    if resolved.source == "live":
        sentences.append(_("This is a real layer of the model. It was trained with a causal mask and RoPE; taking both "
                           "away shows what attention by itself can see."))
    if resolved.source == "worked" and bench.example == "word_order":
        sentences.append(_("The three words are the document's; the numbers are ours."))
    prose.look_for(sentences)


def _sights(view: View, found: Reordered) -> None:
    """Who lost or gained sight of whom under the causal mask."""
    seen = reorder.sights(found.order, "causal")
    rows = order.sight_rows(view, seen)
    if not rows:
        return
    prose.table([_("token"), _("lost sight of"), _("gained sight of")], rows)
    if len(rows) == order.MOST_SIGHTS:
        st.caption(_("The first {count} tokens whose sight changed.").format(count=len(rows)))


def _predict(view: View, exercise: Exercise) -> None:
    def ask(question: Question) -> str:
        return _("In which row of Attn(P·X) does the output of {token} stand? Answer with the row's number. The "
                 "results show ? until you answer.").format(token=view.token_name(question.row))

    def reveal(question: Question) -> str:
        return _("The output of {token} stands in row {row}.").format(
            token=view.token_name(question.row), row=int(question.answer))

    exercise.draw(ask, reveal, {
        "inverse": _("That reads the order the other way round: it says which token came to the place where this one "
                     "was."),
        "from_zero": _("That counts rows from zero."),
    })


def _mistake(bench: Bench, view: View, found: Reordered, window: order.Window, *, asking: bool) -> None:
    if asking:
        held_back()
        return
    labels = {"invariant": _("Nothing moves"), "inverse": _("Pᵀ in place of P")}
    kind = bench_module.choice(st.segmented_control, _("What goes wrong"), labels, key="misorder", default="invariant",
                               required=True)
    result = practice.mistake(found, kind)
    order.mistaken(view, found, result, window, key="order-mistake", bench=bench)
    explained = {
        "invariant": _("That attention cannot see the order does not mean that its output stays as it was: the rows "
                       "move with their tokens."),
        "inverse": _("P and its transpose undo each other. Read the wrong way round, the order gives each output to "
                     "another token; where two tokens merely change places, nobody notices."),
    }
    st.markdown(explained[kind] + " " + _("Largest difference: {value}.").format(
        value=format_number(result.largest(view.batch, 0), bench.decimals)))


_bench, _resolved = frame.look()
header.page_header("order", frame.here().built)
notices.notices(_resolved, frame.here().dropped)
strip.shape_strip("order", _resolved.trace)
lab()
