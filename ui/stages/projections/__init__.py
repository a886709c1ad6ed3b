"""What only the projections page draws: one X, three roles; what an edit moves, the layouts, the mistakes."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core import norms, ops
from core.check import Check
from core.layouts import head_columns
from core.questions import Question
from core.stages import projections
from core.stages.projections import ProjectionFacts, fused
from ui import bench as bench_module
from ui.bench import choices
from ui.bench.parameters import Choice
from ui.equation import MAX_SIDE, Pin, views
from ui.equation.views import View
from ui.furniture import code, formulas, notices, prose, share
from ui.furniture.equations import beside, drawn
from ui.furniture.exercise import Exercise
from ui.furniture.page import Subject, on_bench
from ui.shell import i18n
from ui.shell.i18n import _
from ui.shell.numbers import format_difference, format_number
from ui.stages.projections import frames

LETTERS = "qkv"
ROLE = Choice("role", "", codes=("all", *LETTERS), stage="projections")
SLIP = Choice("slip", "transposed", codes=tuple(projections.MISTAKES), stage="projections")
SEEN = Choice("seen", "k", codes=tuple(LETTERS), stage="projections")


@dataclass
class Projections(Subject):
    """The projections of a head: which roles are shown, which part of D where X is wide, which cell is spoken of."""

    letters: str = LETTERS
    window: tuple[int, int] | None = None
    pin: Pin | None = None


def subject() -> Projections:
    """The projections that the bench selects, with their questions."""
    shown = on_bench(Projections)
    bench = shown.bench
    shown.exercise = Exercise(
        "projections-question", (bench.source, bench.scope, bench.layer, bench.batch, bench.head),
        lambda number: projections.ask(shown.at, number),
        lambda question, answer: projections.judge(shown.at, question, answer, bench.decimals))
    return shown


def controls(shown: Projections) -> None:
    """Which roles are shown."""
    width = shown.view.trace.config.width
    together = {"all": _("All three")} if width <= views.TOGETHER else {}
    labels = together | {letter: letter.upper() for letter in LETTERS}
    with st.container(horizontal=True, vertical_alignment="center", key="controls"):
        role = ROLE.draw(st.segmented_control, _("Role"), labels, default=next(iter(labels)), required=True,
                         label_visibility="collapsed")
        if shown.resolved.source == "toy":
            choices.BIAS.toggle(_("Add a bias"), on="on")
    shown.letters = LETTERS if role == "all" else role
    shown.window = bench_module.window("D", width)


def draw(shown: Projections) -> None:
    """X × W = Q, K, V; what is pinned is a cell of one of the three."""
    view, asked = shown.view, shown.asked
    made, rules = views.projected(view, shown.letters, shown.window)
    results = {found.id: found for found in made if found.id.endswith("_made")}
    telling = view.pin(results.get("k_made", made[-1]), row=2, col=0)
    hidden = [(f"{asked.of}_made", asked.row, asked.column)] if asked and asked.kind == "value" else []
    pin = drawn(made, rules, key="projections", bench=shown.bench, resolved=shown.resolved, view=view, telling=telling,
                hidden=hidden)
    shown.pin = pin if pin is not None and pin.id in results else telling


def formula(shown: Projections) -> None:
    """Q, K and V in symbols, and the pinned cell in digits while no question is open."""
    view, pin, decimals = shown.view, shown.pin, shown.bench.decimals
    x = "X_1" if view.trace.attention_input(view.layer).endswith("norm1") else "X"
    bias = {letter: f" + b_{letter.upper()}" if view.trace.config.qkv_bias else "" for letter in shown.letters}
    if x == "X_1":
        _norm_between(view, 0 if pin is None else pin.row, decimals)
    symbols = r",\quad ".join(f"{letter.upper()} = {x} W_{letter.upper()}{bias[letter]}" for letter in shown.letters)
    if pin is None or shown.asked:
        formulas.formula(symbols, "")
        return
    letter = pin.name[-1]
    index = view.index(pin.name, pin.row, pin.col)
    value = formulas.number(view.value(pin.name, index), decimals)
    made = view.name(f"{letter}_proj")
    start, _count = head_columns(view.trace, made, view.head)
    at = view.index(made, pin.row, start + pin.col)
    edited = index in view.trace.edits.get(pin.name, {}) or at in view.trace.edits.get(made, {})
    total = "" if edited else f"{formulas.sum_in_digits(view.trace, made, at, decimals)} = "
    formulas.formula(symbols, f"{letter.upper()}_{{{pin.row + 1},{pin.col + 1}}} = {total}{value}")


def _norm_between(view: View, row: int, decimals: int) -> None:
    """The norm that lies between the block's input and these products, one row of it in digits."""
    trace, config = view.trace, view.trace.config
    name = trace.attention_input(view.layer)
    before, after = (trace[one][view.batch, row] for one in (trace.steps[name].reads[0], name))
    found = norms.statistics(before, config.norm_eps, centred=config.norm == "layer")
    taken = rf" - {formulas.number(float(found.mean), decimals)}" if config.norm == "layer" else ""
    gamma, *beta = (formulas.row(trace[one].tolist(), decimals) for one in trace.steps[name].reads[1:])
    affine = rf" \odot {gamma}" + "".join(f" + {one}" for one in beta)
    formulas.formula(
        rf"X_1 = \text{{{'LayerNorm' if config.norm == 'layer' else 'RMSNorm'}}}(X)",
        rf"X_1[{row + 1},\cdot] = \frac{{{formulas.row(before.tolist(), decimals)}{taken}}}"
        rf"{{{formulas.number(float(found.root), decimals)}}}{affine} = {formulas.row(after.tolist(), decimals)}",
        key="formula-norm")


def predict(shown: Projections) -> None:
    """An entry of Q, K or V, or how many numbers a head's matrix holds."""
    def ask(question: Question) -> str:
        if question.kind == "numbers":
            return _("How many numbers does this head's part of {matrix} hold?").format(
                matrix=f"W{question.of.upper()}")
        return _("What is {role}[{row},{column}]? Its cell shows ? until you answer.").format(
            role=question.of.upper(), row=question.row + 1, column=question.column + 1)

    def reveal(question: Question) -> str:
        answer = format_number(question.answer, shown.bench.decimals)
        if question.kind == "numbers":
            return _("This head's part holds D × Dh numbers: {answer}.").format(answer=int(question.answer))
        return _("{role}[{row},{column}] = {value}.").format(
            role=question.of.upper(), row=question.row + 1, column=question.column + 1, value=answer)

    if shown.exercise is None:
        return
    shown.exercise.draw(ask, reveal, {
        "other_role": _("That is the number of another role at this place: each role has its own matrix."),
        "transposed": _("That comes from the transposed matrix: take the row of X and the column of W."),
        "no_bias": _("Almost: the bias is still to be added."),
        "all_heads": _("That is the whole matrix with all its heads; one head has its own columns of it."),
    })


def look_for(shown: Projections) -> list[str]:
    """What is worth noticing in this head's Q, K and V."""
    view, facts = shown.view, projections.facts(shown.at)
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
    return sentences + _sizes(shown, x, facts)


def _sizes(shown: Projections, x: str, facts: ProjectionFacts) -> list[str]:
    """How wide X and a head are, who shares K and V, and what comes before and after."""
    config = shown.view.trace.config
    sentences = [_("Each matrix turns {width} numbers of a token into {head} for this head.").format(
        width=config.width, head=config.head_dim)]
    if facts.group > 1:
        sentences.append(_("K and V are those of KV head {kv}, which {group} query heads share.").format(
            kv=facts.kv_head + 1, group=facts.group))
    if config.positions == "rope":
        sentences.append(_("Q and K are shown before RoPE turns their rows; V is never turned."))
    if x != "X":
        sentences.append(_("X₁ is X after the block's first norm."))
    if config.width > MAX_SIDE:
        sentences.append(_("{x} has {width} columns, too many to write out. Each sum runs over all of them; the part "
                           "that is shown can be moved.").format(x=x, width=config.width))
    if shown.resolved.source == "live":
        sentences.append(notices.live_note())
    return sentences


def moved(shown: Projections) -> None:
    """Parameters against activations, and what the edits have moved."""
    view = shown.view
    kinds = {True: _("parameter: learned, then fixed"), False: _("activation: made anew for each input")}
    prose.table(
        [_("tensor"), _("kind"), _("shape in this head"), _("changed by your edits")],
        [[i18n.symbol(part.name), kinds[part.parameter], "×".join(map(str, part.shape)),
          _("{changed} of {count}").format(changed=part.changed, count=part.size)]
         for part in projections.parts(shown.at)])
    if shown.resolved.scope is None:
        st.caption(_("The model is looked at, not edited. Type another sentence: Q, K and V follow it, the matrices "
                     "stay."))
    elif not view.trace.edits:
        st.caption(_("Nothing is edited yet. Double-click a number of {x} above, change it, and look here again: its "
                     "row moves in Q, K and V, and no matrix does.").format(
                         x=i18n.symbol(view.trace.attention_input(view.layer).rsplit(".", 1)[-1])))


def layouts(shown: Projections) -> None:
    """Separate, merged and fused, as a table, and the fused product where it can be written out."""
    view, found = shown.view, fused.compare(shown.at)
    names = {"separate": _("separate: a matrix for each head"), "merged": _("merged: the heads side by side"),
             "fused": _("fused: the three roles side by side")}
    width = view.trace.config.width
    prose.table(
        [_("layout"), _("matrix products"), _("matrix"), _("numbers in all"),
         _("largest difference from Q, K, V above")],
        [[names[row.kind], str(row.products), f"{width}×{'–'.join(map(str, dict.fromkeys(row.columns)))}",
          str(row.numbers), format_difference(row.difference)] for row in found.rows])
    st.caption(_("Which layout is used is a matter of engineering: fewer, larger products keep the hardware busy. "
                 "There are three roles in each of them. With one head, separate and merged are the same. A difference "
                 "other than zero is float32 rounding: the sums may be taken in another order."))
    if max(width, found.product.shape[-1]) <= MAX_SIDE:
        frames.fused(view, found, key="fused", bench=shown.bench)


def mistakes(shown: Projections) -> None:
    """A projection done wrong, beside what is right."""
    view, bench = shown.view, shown.bench
    labels = {"transposed": _("x @ W.T in place of x @ W"), "stale": _("Keeping Q, K, V as if they were parameters"),
              "fused_order": _("Cutting a fused matrix in the wrong order")}
    kind = SLIP.draw(st.segmented_control, _("What goes wrong"), labels, required=True)
    letter = SEEN.draw(st.segmented_control, _("Show"), {one: one.upper() for one in "kqv"}, required=True)
    result = projections.MISTAKES[kind](shown.at, letter=letter)
    head = view.head if letter == "q" else view.head // view.trace.config.group
    if result.error is not None:
        st.error(_("{matrix} is not square, so the mistake shows at once. PyTorch says: `{error}`").format(
            matrix=f"W{letter.upper()}", error=result.error))
        return
    beside(view, result, view.name(letter), key="projections-mistake", bench=bench, batch=view.batch, head=head)
    st.markdown(_explained(kind) + " " + _consequence(shown, kind, result.largest(view.batch, head)))


def _explained(kind: str) -> str:
    return {
        "transposed": _("A linear layer of PyTorch stores its matrix as (out, in) and multiplies by the transpose; "
                        "here and in the files of GPT-2 it is (in, out). When the matrix is square, a mix-up raises no "
                        "error, and only the numbers differ."),
        "stale": _("Here the tokens of the input were put in reverse order. The matrices stay as they are, and what "
                   "they make must follow: keeping the old result is wrong. WQ is a parameter, Q is not."),
        "fused_order": _("Some files store the fused matrix head by head (Q, K, V of the first head, then of the "
                         "next), others all Q first. Cut the wrong way every shape still fits."),
    }[kind]


def _consequence(shown: Projections, kind: str, largest: float) -> str:
    if shown.view.trace.config.kv_heads == 1 and kind == "fused_order":
        return _("With one KV head both orders are the same, so nothing changes here. Choose an example or a toy "
                 "with several.")
    if not largest:
        return _("Nothing changes in this role and this head: look at another.")
    return _("Largest difference in this head: {value}.").format(
        value=format_number(largest, shown.bench.decimals))


def program(shown: Projections) -> None:
    """The PyTorch program from X to Q, K and V."""
    code.program(projections.program(shown.at), [ops.project, ops.split_heads], key="projections")


def shared(shown: Projections) -> None:
    """The link, the state file and the numbers."""
    share.share(shown.bench, shown.view.trace, key="projections")


def checks(shown: Projections) -> list[Check | None]:
    """The products against float64, and the whole against the fused kernel."""
    view = shown.view
    return [*(view.trace.check_step(view.name(f"{letter}_proj")) for letter in shown.letters),
            view.trace.check(view.layer)]
