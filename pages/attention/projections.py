"""Projections: one X, three roles. Parameters stay, activations follow the input."""

from __future__ import annotations

import streamlit as st

from core import comparison, layouts, observe, ops, programs, questions
from ui import bench as bench_module
from ui.bench import Bench, choices
from ui.equation import MAX_SIDE, Pin, views
from ui.equation.views import View
from ui.furniture import checks, code, equations, formulas, header, notices, prose, sections, share, strip
from ui.furniture.exercise import Exercise, held_back
from ui.shell import frame, i18n
from ui.shell.i18n import _
from ui.shell.numbers import format_difference, format_number
from ui.sources import Resolved
from ui.stages.projections import LETTERS, ROLE, SEEN, SLIP


@st.fragment
def lab() -> None:
    """Everything that changes with an edit, a pin or a switch of this page."""
    bench, resolved = frame.look()
    view = View(resolved.trace, layer=bench.layer, batch=bench.batch, head=bench.head,
                editable=resolved.scope is not None)
    formula_at = st.container()
    letters = _controls(resolved, view)
    window = bench_module.window("D", view.trace.config.width)
    exercise = Exercise(
        "projections-question", (bench.source, bench.scope, bench.layer, bench.batch, bench.head),
        lambda number: questions.projection_question(view.trace, view.layer, *view.place, number),
        lambda question, answer: questions.judge_projection(
            view.trace, view.layer, *view.place, question, answer, bench.decimals))
    asked = exercise.question
    pin = _equation(bench, resolved, view, letters, window, asked)
    with formula_at:
        _formula(view, letters, None if asked else pin, bench.decimals)
    sections.folded(_("Predict, then reveal"), "predict", lambda: _predict(bench, exercise))
    notices.edit_notices(resolved)
    _look_for(resolved, view)
    for title, key, body in (
        (_("Parameters stay, activations follow: change X"), "moved", lambda: _moved(resolved, view)),
        (_("Separate, merged, fused: the same Q, K and V"), "layouts", lambda: _layouts(bench, view)),
        (_("Common mistakes"), "wrong", lambda: _mistake(bench, view, asking=asked is not None)),
        (_("PyTorch"), "code", lambda: code.program(
            programs.projections(view.trace, view.layer), [ops.project, ops.split_heads], key="projections")),
        (_("Share and save"), "share", lambda: share.share(bench, view.trace, key="projections")),
    ):
        sections.folded(title, key, body)
    for letter in letters:
        checks.check_line(view.trace.check_step(view.name(f"{letter}_proj")))
    checks.check_line(view.trace.check(view.layer))
    bench_module.finish()


def _controls(resolved: Resolved, view: View) -> str:
    """Which roles are shown."""
    together = {"all": _("All three")} if view.trace.config.width <= views.TOGETHER else {}
    labels = together | {letter: letter.upper() for letter in LETTERS}
    with st.container(horizontal=True, vertical_alignment="center", key="controls"):
        role = ROLE.draw(st.segmented_control, _("Role"), labels, default=next(iter(labels)), required=True,
                         label_visibility="collapsed")
        if resolved.source == "toy":
            choices.BIAS.toggle(_("Add a bias"), on="on")
    return LETTERS if role == "all" else role


def _equation(
    bench: Bench, resolved: Resolved, view: View, letters: str, window: tuple[int, int] | None,
    asked: questions.Question | None,
) -> Pin | None:
    """Draw X × W = Q, K, V; returns the pinned cell if it lies in one of the three."""
    frames, rules = views.projected(view, letters, window)
    results = {found.id: found for found in frames if found.id.endswith("_made")}
    telling = view.pin(results.get("k_made", frames[-1]), row=2, col=0)
    hidden = [(f"{asked.of}_made", asked.row, asked.column)] if asked and asked.kind == "value" else []
    pin = equations.drawn(frames, rules, key="projections", bench=bench, resolved=resolved, view=view,
                          telling=telling, hidden=hidden)
    return pin if pin is not None and pin.id in results else telling


def _formula(view: View, letters: str, pin: Pin | None, decimals: int) -> None:
    x = "X_1" if view.trace.attention_input(view.layer).endswith("norm1") else "X"
    bias = {letter: f" + b_{letter.upper()}" if view.trace.config.qkv_bias else "" for letter in letters}
    symbols = r",\quad ".join(f"{letter.upper()} = {x} W_{letter.upper()}{bias[letter]}" for letter in letters)
    if pin is None:
        formulas.formula(symbols, "")
        return
    letter = pin.name[-1]
    index = view.index(pin.name, pin.row, pin.col)
    value = formulas.number(view.value(pin.name, index), decimals)
    made = view.name(f"{letter}_proj")
    start, _count = observe.head_columns(view.trace, made, view.head)
    at = view.index(made, pin.row, start + pin.col)
    edited = index in view.trace.edits.get(pin.name, {}) or at in view.trace.edits.get(made, {})
    total = "" if edited else f"{formulas.sum_in_digits(view.trace, made, at, decimals)} = "
    formulas.formula(symbols, f"{letter.upper()}_{{{pin.row + 1},{pin.col + 1}}} = {total}{value}")


def _look_for(resolved: Resolved, view: View) -> None:
    facts = observe.projections(view.trace, view.layer, *view.place)
    x = i18n.symbol(view.trace.attention_input(view.layer))
    sentences = [_("One {x}, three matrices: row i of {x} makes row i of Q (what token i looks for), of K (by what it "
                   "is found) and of V (what it gives). No other token has a part in it.").format(x=x)]
    for letter in facts.identity:
        sentences.append(_("{role} equals {x} here, because {matrix} is the identity. The numbers are the same, the "
                           "role is another.").format(role=letter.upper(), x=x, matrix=f"W{letter.upper()}"))
    sentences += [_("{one} and {other} are equal here, number for number; with their own matrices they would not "
                    "be.").format(one=one.upper(), other=other.upper()) for one, other in facts.same]
    if not facts.same:
        sentences.append(_("Q, K and V all differ, though they come from the same {x}: only the matrices make the "
                           "difference.").format(x=x))
    config = view.trace.config
    sentences.append(_("Each matrix turns {width} numbers of a token into {head} for this head.").format(
        width=config.width, head=config.head_dim))
    if facts.group > 1:
        sentences.append(_("K and V are those of KV head {kv}, which {group} query heads share.").format(
            kv=facts.kv_head + 1, group=facts.group))
    if config.positions == "rope":
        sentences.append(_("Q and K stand here before RoPE turns their rows; V is never turned."))
    if x != "X":
        sentences.append(_("X₁ is X after the block's first norm."))
    if config.width > MAX_SIDE:
        sentences.append(_("{x} has {width} columns, too many to write out. Each sum runs over all of them; the part "
                           "that is shown can be moved.").format(x=x, width=config.width))
    if resolved.source == "live":
        sentences.append(notices.live_note())
    prose.look_for(sentences)


def _moved(resolved: Resolved, view: View) -> None:
    """Parameters against activations, and what the edits have moved."""
    rows = observe.projection_parts(view.trace, view.layer, *view.place)
    kinds = {True: _("parameter: learned, then fixed"), False: _("activation: made anew for each input")}
    prose.table(
        [_("tensor"), _("kind"), _("shape in this head"), _("changed by your edits")],
        [[i18n.symbol(part.name), kinds[part.parameter], "×".join(map(str, part.shape)),
          _("{changed} of {count}").format(changed=part.changed, count=part.size)] for part in rows])
    if resolved.scope is None:
        st.caption(_("The model is looked at, not edited. Type another sentence: Q, K and V follow it, the matrices "
                     "stay."))
    elif not view.trace.edits:
        st.caption(_("Nothing is edited yet. Double-click a number of {x} above, change it, and look here again: its "
                     "row moves in Q, K and V, and no matrix does.").format(
                         x=i18n.symbol(view.trace.attention_input(view.layer).rsplit(".", 1)[-1])))


def _layouts(bench: Bench, view: View) -> None:
    found = layouts.compare(view.trace, view.layer)
    names = {"separate": _("separate: a matrix for each head"), "merged": _("merged: the heads side by side"),
             "fused": _("fused: the three roles side by side")}
    width = view.trace.config.width
    prose.table(
        [_("layout"), _("products"), _("matrix"), _("numbers in all"), _("largest difference from Q, K, V above")],
        [[names[row.kind], str(row.products), f"{width}×{'–'.join(map(str, dict.fromkeys(row.columns)))}",
          str(row.numbers), format_difference(row.difference)] for row in found.rows])
    st.caption(_("It is a matter of engineering: fewer, larger products keep the hardware busy. The roles stay "
                 "three. With one head, separate and merged are the same. A difference other than zero is float32 "
                 "rounding: the sums may be taken in another order."))
    if max(width, found.product.shape[-1]) <= MAX_SIDE:
        equations.fused(view, found, key="fused", bench=bench)


def _predict(bench: Bench, exercise: Exercise) -> None:
    def ask(question: questions.Question) -> str:
        if question.kind == "numbers":
            return _("How many numbers does this head's part of {matrix} hold?").format(
                matrix=f"W{question.of.upper()}")
        return _("What is {role}[{row},{column}]? Its cell shows ? until you answer.").format(
            role=question.of.upper(), row=question.row + 1, column=question.column + 1)

    def reveal(question: questions.Question) -> str:
        answer = format_number(question.answer, bench.decimals)
        if question.kind == "numbers":
            return _("It holds D × Dh = {answer}.").format(answer=int(question.answer))
        return _("{role}[{row},{column}] = {value}.").format(
            role=question.of.upper(), row=question.row + 1, column=question.column + 1, value=answer)

    exercise.draw(ask, reveal, {
        "other_role": _("That is the number of another role at this place: each role has its own matrix."),
        "transposed": _("That comes from the transposed matrix: take the row of X and the column of W."),
        "no_bias": _("Almost: the bias is still to be added."),
        "all_heads": _("That is the whole matrix with all its heads; one head has its own columns of it."),
    })


def _mistake(bench: Bench, view: View, *, asking: bool) -> None:
    if asking:
        held_back()
        return
    labels = {"transposed": _("x @ W.T in place of x @ W"), "stale": _("Keeping Q, K, V as if they were parameters"),
              "fused_order": _("Cutting a fused matrix in the wrong order")}
    kind = SLIP.draw(st.segmented_control, _("What goes wrong"), labels, required=True)
    letter = SEEN.draw(st.segmented_control, _("Seen in"), {one: one.upper() for one in "kqv"}, required=True)
    result = comparison.projections(view.trace, view.layer, letter, kind)
    head = view.head if letter == "q" else view.head // view.trace.config.group
    if result.error is not None:
        st.error(_("{matrix} is not square, so the mistake shows at once. PyTorch says: `{error}`").format(
            matrix=f"W{letter.upper()}", error=result.error))
        return
    largest = result.largest(view.batch, head)
    equations.beside(view, result, view.name(letter), key="projections-mistake", bench=bench, batch=view.batch,
                     head=head)
    explained = {
        "transposed": _("A linear layer of PyTorch stores its matrix as (out, in) and multiplies by the transpose; "
                        "here and in the files of GPT-2 it is (in, out). A square matrix hides a mix-up: no error, "
                        "other numbers."),
        "stale": _("Here the tokens of the input were put in reverse order. The matrices stay as they are, and what "
                   "they make must follow: keeping the old result is wrong. WQ is a parameter, Q is not."),
        "fused_order": _("Some files store the fused matrix head by head (Q, K, V of the first head, then of the "
                         "next), others all Q first. Cut the wrong way every shape still fits."),
    }
    if view.trace.config.kv_heads == 1 and kind == "fused_order":
        consequence = _("With one KV head both orders are the same, so nothing changes here. Choose the block or a toy "
                        "with several.")
    elif not largest:
        consequence = _("Nothing changes in this one: look at another role or head.")
    else:
        consequence = _("Largest difference in this head: {value}.").format(
            value=format_number(largest, bench.decimals))
    st.markdown(explained[kind] + " " + consequence)


_bench, _resolved = frame.look()
header.page_header("projections", frame.here().built)
notices.notices(_resolved, frame.here().dropped)
strip.shape_strip("projections", _resolved.trace)
lab()
