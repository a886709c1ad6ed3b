"""What only the mixing page draws: A × V, weights chosen by hand, the whole chain, the mistakes."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core import ops
from core.check import Check
from core.questions import Question
from core.stages import mixing
from core.stages.mixing import blend
from ui.bench import Bench
from ui.bench.parameters import MANY, Choice, Whole
from ui.bench.session import session
from ui.equation import Pin
from ui.equation.views import View
from ui.furniture import code, formulas, notices, share
from ui.furniture.equations import beside, drawn
from ui.furniture.exercise import Exercise
from ui.furniture.page import Subject, on_bench
from ui.shell import i18n, theme
from ui.shell.i18n import _
from ui.shell.numbers import format_number
from ui.stages.mixing import frames
from ui.stages.mixing.figure import blend_plane

ROW = Whole("row", 2, low=1, high=MANY, stage="mixing")  # its weights can be chosen; from 1
MIXUP = Choice("mixup", "columns", codes=tuple(mixing.MISTAKES), stage="mixing")


@dataclass
class Blending:
    """How many times the chosen weights were given back."""

    resets: int = 0


@dataclass
class Mixing(Subject):
    """The blends of a head; `pin` says which cell of AV is spoken of."""

    pin: Pin | None = None


def subject() -> Mixing:
    """The blends that the bench selects, with their questions."""
    shown = on_bench(Mixing)
    bench = shown.bench
    shown.exercise = Exercise(
        "mixing-question", (bench.source, bench.scope, bench.layer, bench.batch, bench.head),
        lambda number: mixing.ask(shown.at, number),
        lambda question, answer: mixing.judge(shown.at, question, answer, bench.decimals))
    return shown


def draw(shown: Mixing) -> None:
    """A × V = AV; what is pinned is a cell of AV."""
    view, asked = shown.view, shown.asked
    weights, v, context = (view.name(short) for short in ("weights", "v", "context"))
    made = [
        view.frame("weights", weights, editable=True, words=(_("query: reads ↓"), _("key: is read →")), row_sums=True),
        view.frame("v", v, editable=True, sign="×", words=(_("value ↓"), "")),
        view.frame("context", context, sign="=", words=(_("query ↓"), "")),
    ]
    ids = {found.name: found.id for found in made}
    telling = view.pin(made[-1], row=mixing.facts(shown.at).telling, col=0)
    hidden = [("context", asked.row, asked.column)] if asked and asked.kind == "value" else []
    pin = drawn(made, [view.rule(context, ids)], key="mixing", bench=shown.bench, resolved=shown.resolved, view=view,
                telling=telling, hidden=hidden)
    shown.pin = pin if pin is not None and pin.id == "context" else telling


def formula(shown: Mixing) -> None:
    """AV in symbols, and the pinned cell in digits while no question is open."""
    view, pin, decimals = shown.view, shown.pin, shown.bench.decimals
    symbols = r"(AV)_{i} = \sum_{j} A_{ij}\,V_{j}"
    if pin is None or shown.asked:
        formulas.formula(symbols, "")
        return
    name = view.name("context")
    index = view.index(name, pin.row, pin.col)
    value = formulas.number(view.value(name, index), decimals)
    edited = index in view.trace.edits.get(name, {})
    total = "" if edited else f"{formulas.sum_in_digits(view.trace, name, index, decimals)} = "
    formulas.formula(symbols, f"(AV)_{{{pin.row + 1},{pin.col + 1}}} = {total}{value}")


def predict(shown: Mixing) -> None:
    """An entry of AV, or the key that a row takes most from."""
    def ask(question: Question) -> str:
        if question.kind == "value":
            return _("What is AV[{row},{column}]? Its cell shows ? until you answer.").format(
                row=question.row + 1, column=question.column + 1)
        return _("From which key does row {row} take most? Answer with the key's number.").format(row=question.row + 1)

    def reveal(question: Question) -> str:
        value = format_number(question.score, shown.bench.decimals)
        if question.kind == "value":
            return _("AV[{row},{column}] = {value}.").format(
                row=question.row + 1, column=question.column + 1, value=value)
        return _("In row {row} it is {key}, with {value}.").format(
            row=question.row + 1, key=shown.view.token_name(question.column), value=value)

    if shown.exercise is None:
        return
    shown.exercise.draw(ask, reveal, {
        "mean": _("That is the plain average of the column of V: each value counts by its weight."),
        "heaviest": _("That is the value of the heaviest key alone: the others count too, by their weights."),
        "transposed": _("That takes a column of A in place of its row: row i of A belongs to row i of AV."),
    })


def look_for(shown: Mixing) -> list[str]:
    """What is worth noticing in this head's weights and what they make of V."""
    view, bench, facts = shown.view, shown.bench, mixing.facts(shown.at)
    sentences = [
        _("Row i of AV is a weighted sum of the rows of V, and row i of A gives the weights: the scores decided how "
          "much is taken, the values are what is taken."),
    ]
    if facts.heaviest_places == 1:
        sentences.append(_("In the last row {query} takes most from {key}: {weight}.").format(
            query=view.token_name(facts.last), key=view.token_name(facts.heaviest),
            weight=format_number(facts.weight, bench.decimals)))
    else:
        sentences.append(_("In the last row {count} tokens share the largest weight, {weight}.").format(
            count=facts.heaviest_places, weight=format_number(facts.weight, bench.decimals)))
    if facts.zeros:
        sentences.append(_("{zeros} of {cells} weights are exactly zero: what may not be read adds nothing, however "
                           "large its value is.").format(zeros=facts.zeros, cells=facts.cells))
    else:
        sentences.append(_("No weight is zero: no mask hides anything here, so every token adds something to every "
                           "row, a little at least. A mask is chosen in the stage before."))
    if facts.broken:
        sentences.append(_("These rows of A no longer sum to one, so what they give is no average any more: "
                           "{rows}.").format(rows=i18n.listed(str(row + 1) for row in facts.broken)))
    sentences.append(
        _("Every number of AV lies between the smallest and the largest of its column of V: a weighted average never "
          "leaves that range.")
        if facts.between else
        _("Some numbers of AV lie outside the range of their column of V, which no average can: a number was edited."))
    if facts.group > 1:
        sentences.append(_("V is that of KV head {kv}, which {group} query heads share; each makes its own weighted "
                           "sum of it.").format(kv=facts.kv_head + 1, group=facts.group))
    if shown.resolved.source == "live":
        sentences += [
            _("The value of the first token has length {first}, those of the others {other} on average. Some heads put "
              "their weight on the first token (an “attention sink”); the shorter its value is, the less is added, and "
              "such a head then does almost nothing.").format(
                  first=format_number(facts.first_length, bench.decimals),
                  other=format_number(facts.other_length, bench.decimals)),
            notices.live_note(),
        ]
    return sentences


def chosen_weights(shown: Mixing) -> None:
    """Sliders for the weights of one row, the blend they make, and the picture."""
    view = shown.view
    count = view.trace[view.name("weights")].shape[-2]
    left, right = st.columns(2)
    with left:
        row = ROW.draw(_("Row of A (of {count})").format(count=count), high=count) - 1
        own = blend.row_of(shown.at, row)
        chosen = _sliders(shown.bench, view, row, own)
    made = blend.blend(own, chosen)
    plane = blend.plane(shown.at)
    with right:
        if plane is None:
            st.caption(_("With a head width of one there is no plane to draw."))
        else:
            _picture(view, plane, made, row)
    frames.blended(view, made, key="blended", bench=shown.bench)
    if not made.given:
        st.caption(_("All weights are zero, so no value is added. A softmax by itself never gives that."))
    else:
        st.caption(_("Your weights add up to {given} and are divided by that, so that the row sums to one.").format(
            given=format_number(made.given, shown.bench.decimals)))


def _sliders(bench: Bench, view: View, row: int, own: blend.Row) -> dict[int, float]:
    """The chosen weights by key; they start at the row's own."""
    blending = session().part(Blending)
    chosen = {}
    for key, weight in own.offered.items():
        place = (bench.source, bench.scope, bench.layer, bench.batch, bench.head, row, key, weight, blending.resets)
        chosen[key] = st.slider(view.token_name(key), min_value=min(0.0, weight), max_value=max(1.0, weight),
                                value=weight, step=0.001, format="%.3f", key=f"blend-{place}")
    if len(own.offered) < len(own.weights):
        st.caption(_("The {count} heaviest keys of this row; the others keep their weights.").format(
            count=len(own.offered)))
    if st.button(_("Back to the row's own weights"), key="blend-reset"):
        blending.resets += 1
        st.rerun(scope="fragment")
    return chosen


def _picture(view: View, plane: blend.Plane, made: blend.Blend, row: int) -> None:
    few = len(plane.values) <= blend.MOST_CHOSEN
    labels = [f"V{place + 1}" for place in range(len(plane.values))] if few else []
    words = {"values": _("rows of V"), "outputs": _("rows of AV"), "chosen": _("your weighted sum"),
             "row": _("row {row} of AV").format(row=row + 1), "x": _("first feature of the head"),
             "y": _("second feature of the head")}
    st.plotly_chart(
        blend_plane(plane, made.place, row=row, labels=labels, words=words,
                            colours=theme.blend_colours()),
        width="stretch", config={"displayModeBar": False}, key="blend-plane",
        alt=_("The rows of V as points in a plane with their hull; the weighted sum is a point inside it."))
    st.caption(_("The shaded area is what the rows of V span. Weights that are not negative and sum to one never leave "
                 "it.") + ("" if view.trace.config.head_dim == blend.PLANE else " " + _(
                     "Only the first two features of a head are drawn; it has {count}.").format(
                         count=view.trace.config.head_dim)))


def chain(shown: Mixing) -> None:
    """Every step of one head in one picture; pointing at a cell lights all that it was made from."""
    view = shown.view
    made, rules = frames.chain(view)
    drawn(made, rules, key="chain", bench=shown.bench, resolved=shown.resolved, view=view, telling=None, pinning=False)
    if "attn_out" not in {found.id for found in made}:
        st.caption(_("The chain ends with AV: with a single head and no WO this is the output O already.")
                   if view.name("attn_out") not in view.trace else
                   _("X and WO are too wide here to be written out: the chain runs from Q, K and V to AV."))
    elif view.trace.config.heads > 1:
        st.caption(_("Z holds the AV of all heads side by side; the other heads were computed in the same way."))


def mistakes(shown: Mixing) -> None:
    """The blend done wrong, beside what is right."""
    view, bench = shown.view, shown.bench
    labels = {"columns": _("Softmax over the columns"), "transposed": _("Aᵀ × V"),
              "kv_order": _("The wrong KV head")}
    kind = MIXUP.draw(st.segmented_control, _("What goes wrong"), labels, required=True)
    result = mixing.MISTAKES[kind](shown.at)
    largest = result.largest(*view.place)
    explained = {
        "columns": _("Each row of A says how one query divides its attention, so the softmax runs over the keys. Over "
                     "the queries the columns sum to one and the rows do not: what comes out is no average."),
        "transposed": _("A is square when queries and keys are the same tokens, so its transpose fits. But then each "
                        "row collects the values of the tokens that read it, not of those that it reads."),
        "kv_order": _("With fewer KV heads than query heads, neighbouring query heads share one. Repeating the KV "
                      "heads as a whole, in place of each one in turn, gives a head the values of another."),
    }
    if kind == "kv_order" and 1 in (view.trace.config.group, view.trace.config.kv_heads):
        st.markdown(explained[kind] + " " + _(
            "Here nothing changes: every query head has its own KV head, or there is only one. Choose a toy with fewer "
            "KV heads than query heads, but more than one."))
        return
    beside(view, result, view.name("context"), key="mixing-mistake", bench=bench, batch=view.batch, head=view.head)
    st.markdown(explained[kind] + " " + (
        _("Largest difference in this head: {value}.").format(value=format_number(largest, bench.decimals))
        if largest else _("In this head nothing changes; look at another.")))


def program(shown: Mixing) -> None:
    """The PyTorch program from Q, K and V to AV."""
    code.program(mixing.program(shown.at), [ops.attend, ops.mix], key="mixing")


def shared(shown: Mixing) -> None:
    """The link, the state file and the numbers."""
    share.share(shown.bench, shown.view.trace, key="mixing")


def checks(shown: Mixing) -> list[Check | None]:
    """AV against float64, and the whole against the fused kernel."""
    view = shown.view
    return [view.trace.check_step(view.name("context")), view.trace.check(view.layer)]
