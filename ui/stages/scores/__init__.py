"""What only the scores page draws: QKᵀ and S, the product without the transpose, the scale experiment."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from core import ops
from core.check import Check
from core.comparison import Comparison
from core.questions import Question
from core.stages import scores
from core.stages.scores import experiment
from ui.bench import Bench
from ui.bench.choices import DRAW
from ui.bench.parameters import Choice, Switch
from ui.equation import Difference, Frame, Matmul, Pin, Rule, Scale, default_strings, equation
from ui.equation.views import View
from ui.furniture import code, formulas, notices, prose, sections, share
from ui.furniture.equations import Made, drawn, switched, toggle
from ui.furniture.exercise import Exercise
from ui.furniture.page import Subject, on_bench
from ui.shell import i18n, theme
from ui.shell.i18n import _
from ui.shell.numbers import format_number
from ui.stages.scores.figure import scale_curves

TRANSPOSE = Switch("transpose", True, stage="scores", persists=False)
SCALE = Switch("scale", True, stage="scores", persists=False)
MISTAKE = Choice("mistake", "unscaled", codes=("unscaled", "model_width", "times_root"), stage="scores")


@dataclass
class Scores(Subject):
    """The scores of a head; `transpose` and `scale` say how they are made, `pin` which cell is spoken of."""

    transpose: bool = True
    scale: bool = True
    pin: Pin | None = None

    @property
    def last(self) -> str:
        """The short name of the matrix that the equation ends with."""
        return "scaled" if self.scale else "scores"


def subject() -> Scores:
    """The scores that the bench selects, with their questions."""
    shown = on_bench(Scores)
    bench = shown.bench
    shown.exercise = Exercise(
        "scores-question", (bench.source, bench.scope, bench.layer, bench.batch, bench.head),
        lambda number: scores.ask(shown.at, number),
        lambda question, answer: scores.judge(shown.at, question, answer, bench.decimals))
    return shown


def draw(shown: Scores) -> None:
    """Q × Kᵀ = QKᵀ, ÷ √Dh = S; or Q × K as they stand, and what torch says to that."""
    controls = [toggle(TRANSPOSE, _("Transpose K")), toggle(SCALE, _("Divide by √Dh"))]
    shown.transpose, shown.scale = (control.code == "true" for control in controls)
    if not shown.transpose:
        _refused(shown)
    made, pin = switched(controls, _maker(shown), key="scores", bench=shown.bench, resolved=shown.resolved,
                         view=shown.view)
    shown.pin = pin if pin is not None and pin.id in ("scores", "scaled") else made.telling
    prose.tried(not (shown.transpose and shown.scale))


def _maker(shown: Scores) -> Callable[[Mapping[str, str]], Made]:
    """From the codes of the switches to the equation; what equations share is one frame."""
    view, asked = shown.view, shown.asked
    raw, scaled = view.name("scores"), view.name("scaled")
    q, k = view.trace.steps[raw].reads
    words = _("query ↓"), _("key →")
    query = view.frame("q", q, editable=True, words=(_("query: asks ↓"), ""))
    products = [
        query,
        view.frame("k", k, transposed=True, editable=True, sign="×", words=("", _("key: answers →"))),
        view.frame("scores", raw, sign="=", words=words),
    ]
    divided = view.frame("scaled", scaled, sign=f"÷ {view.root()} =", words=words)

    def make(codes: Mapping[str, str]) -> Made:
        if codes[TRANSPOSE.key] == "false":
            return _without_transpose(shown, query, k)
        frames = [*products, *([divided] if codes[SCALE.key] == "true" else [])]
        ids = {frame.name: frame.id for frame in frames}
        rules = [view.rule(name, ids) for name in (raw, scaled) if name in ids]
        columns = [] if asked is None else [asked.column] if asked.kind == "value" else range(frames[-1].shape[1])
        return Made(frames, rules, view.pin(frames[-1], row=1, col=2), [
            (id, asked.row, column) for id in ("scores", "scaled") for column in columns] if asked else [])

    return make


def _without_transpose(shown: Scores, query: Frame, k: str) -> Made:
    """Q and K side by side, and their product where there is one: with nothing to divide."""
    frames, rules = [query, shown.view.frame("k_plain", k, editable=True, sign="×")], []
    result = scores.untransposed(shown.at)
    if result.error is None:
        product, rule = _product(shown.view, result)
        frames.append(product)
        rules.append(rule)
    return Made(frames, rules, shown.view.pin(frames[-1], row=0, col=1), without=[SCALE.key])


def _refused(shown: Scores) -> None:
    """What torch says to Q × K, or that it says nothing."""
    result = scores.untransposed(shown.at)
    tokens, width = shown.view.trace.sizes["T"], shown.view.trace.config.head_dim
    if result.error is not None:
        st.error(_("Q [T,Dh] is {tokens}×{width} and K [T,Dh] is {tokens}×{width}: the inner sizes {width} and "
                   "{tokens} differ, so there is no product. PyTorch says for one head: `{error}`").format(
                       tokens=tokens, width=width, error=result.error))
    else:
        st.warning(_("T and Dh are both {width} here, so Q × K can be computed, and nothing fails. But it multiplies "
                     "features with tokens: entry (i, j) is no longer query i against key j.").format(width=width))
    st.caption(_("Put the transpose back to go on."))


def formula(shown: Scores) -> None:
    """QKᵀ or S in symbols, and the pinned cell in digits while no question is open."""
    view, decimals = shown.view, shown.bench.decimals
    if not shown.transpose:
        formulas.formula(r"Q \times K", "")
        return
    symbols = r"S = \frac{QK^{\top}}{\sqrt{D_h}}" if shown.scale else r"QK^{\top}"
    if shown.asked or shown.pin is None:
        formulas.formula(symbols, "")
        return
    pin = shown.pin
    index = view.index(view.name(shown.last), pin.row, pin.col)
    total = formulas.sum_in_digits(view.trace, view.name("scores"), index, decimals)
    over = rf"\frac{{{total}}}{{\sqrt{{{view.trace.config.head_dim}}}}}" if shown.scale else total
    value = formulas.number(view.value(view.name(shown.last), index), decimals)
    name = "S" if shown.scale else r"(QK^{\top})"
    formulas.formula(symbols, rf"{name}_{{{pin.row + 1},{pin.col + 1}}} = {over} = {value}")


def look_for(shown: Scores) -> list[str]:
    """What is worth noticing in this head's scores; where a question is open, not which is the largest."""
    view, bench, asking = shown.view, shown.bench, shown.asked is not None
    facts = scores.facts(shown.at, of=shown.last)
    name = i18n.symbol(shown.last)
    sentences = [_("Each row is one query: token i asks. Each column is one key: token j answers.")]
    if not asking and facts.largest_places == 1 and facts.cells > 1:
        sentences.append(_("The best match here is {query} with {key}: {name} = {value}.").format(
            query=view.token_name(facts.largest_at[0]), key=view.token_name(facts.largest_at[1]), name=name,
            value=format_number(facts.largest, bench.decimals)))
    elif not asking and facts.cells > 1 and math.isfinite(facts.largest):
        sentences.append(_("The largest score, {value}, stands at {count} places, so there is no single "
                           "best match.").format(
            value=format_number(facts.largest, bench.decimals), count=facts.largest_places))
    sentences.append(
        _("{negative} of {cells} scores are negative. A score is no probability yet: it may be any number, and rows do "
          "not sum to one.").format(negative=facts.negative, cells=facts.cells) if facts.negative else
        _("No score is negative here, but one may be: a score is no probability yet, and rows do not sum to one."))
    if facts.cells > 1:
        sentences.append(
            _("This table happens to be symmetric: i asks j as strongly as j asks i.") if facts.symmetric else
            _("The table is not symmetric: i asking j is another question than j asking i, since a token's query is "
              "not its key."))
        sentences.append(_("The upper right half is computed too: there a token asks one that comes after it. The mask "
                           "takes that half away in the next stage."))
    if facts.group > 1:
        sentences.append(_("This query head reads KV head {kv}, which {group} query heads share.").format(
            kv=facts.kv_head + 1, group=facts.group))
    if shown.resolved.source == "toy":
        sentences.append(_("Rows and columns carry token ids: {label} is a random id, not a position.").format(
            label=f"`{view.trace.tokens[0]}`"))
    if shown.resolved.source == "live":
        sentences += _look_for_live(shown)
    return sentences


def _look_for_live(shown: Scores) -> list[str]:
    first = scores.first_token(shown.at)
    sentences = [
        _("In {on_first} of the {heads} heads of this layer the last token gives its largest weight, after mask and "
          "softmax, to the first token, whatever that token is. Trained models often put there the weight that they do "
          "not need elsewhere.").format(
              on_first=first.on_first, heads=first.heads),
        notices.live_note(),
    ]
    if any("⟨" in token for token in shown.view.trace.tokens):
        sentences.append(_("This model's tokenizer splits some characters into bytes; those are written ⟨E6⟩."))
    return sentences


def origin(shown: Scores) -> None:
    """X × WQ = Q and X × WK = K for this head, where X can be written out."""
    view = shown.view
    if not view.projects():
        st.caption(_("X is too wide here to be written out on this page. Choose an example or a toy to see where Q "
                     "and K come from."))
        return
    for letter in ("q", "k"):
        frames, rules = view.projection(letter)
        drawn(frames, rules, key=f"project-{letter}", bench=shown.bench, resolved=shown.resolved, view=view,
              telling=None, pinning=False)
    if view.trace.attention_input(view.layer).endswith("norm1"):
        st.caption(_("X₁ is X after the block's first norm."))
    if view.trace.config.positions == "rope":
        st.caption(_("RoPE then turns the rows of Q and K by their positions before they are multiplied."))


def predict(shown: Scores) -> None:
    """A raw score, or the key with the largest one."""
    view, bench = shown.view, shown.bench
    keys = view.trace[view.name("scores")].shape[-1]

    def ask(question: Question) -> str:
        if question.kind == "value":
            return _("What is QKᵀ[{row},{column}]? Its cell shows ? until you answer.").format(
                row=question.row + 1, column=question.column + 1)
        return _("Which key has the largest score in row {row}? Answer with the key's number, {count} at most. The row "
                 "shows ? until you answer.").format(row=question.row + 1, count=keys)

    def reveal(question: Question) -> str:
        if question.kind == "value":
            return _("QKᵀ[{row},{column}] = {value}.").format(
                row=question.row + 1, column=question.column + 1,
                value=format_number(question.score, bench.decimals))
        return _("In row {row} it is {key}, with {value}.").format(
            row=question.row + 1, key=view.token_name(question.column),
            value=format_number(question.score, bench.decimals))

    if shown.exercise is None:
        return
    shown.exercise.draw(ask, reveal, {
        "scaled": _("That is S: you already divided by √Dh. QKᵀ is the sum before the division."),
        "swapped": _("That is the score of the other direction: row and column are swapped. The row is the query, the "
                     "column the key."),
    })


def mistakes(shown: Scores) -> None:
    """The scale done wrong, beside what is right."""
    view, bench = shown.view, shown.bench
    labels = {"unscaled": _("No division at all"), "model_width": _("÷ √D, the model width"),
              "times_root": _("× √Dh: dividing by Dh^−½")}
    kind = MISTAKE.draw(st.segmented_control, _("What goes wrong"), labels, required=True)
    result = scores.MISTAKES[kind](shown.at)
    largest = result.largest(*view.place)
    if result.wrong is None or not largest:
        st.caption(_("Nothing changes here: D and Dh are both {width}, so one head hides this mistake. Choose the "
                     "block or a toy with several heads.").format(width=view.trace.config.width))
        return
    divisor = {"unscaled": "1", "model_width": f"√{view.trace.config.width}", "times_root": f"{view.root()}⁻¹"}[kind]
    _compared(view, result, key="scores-mistake", bench=bench, wrong_sign=f"÷ {divisor} =",
             right_sign=_("but ÷ {root} =").format(root=view.root()))
    right, wrong = (experiment.saturation(tensor[view.place]) for tensor in (result.right, result.wrong))
    explained = {
        "unscaled": _("If the scores are not divided, they spread the more the wider a head is, and the softmax "
                      "becomes one-sided."),
        "model_width": _("With several heads √D is too large a divisor: the softmax becomes too even, the model still "
                         "trains, and nobody notices."),
        "times_root": _("Two inversions cancel: dividing by 1/√Dh multiplies by √Dh. The softmax becomes one-sided, "
                        "the more so the wider the head."),
    }
    told = [explained[kind], _("Largest difference in this head: {value}.").format(
        value=format_number(largest, bench.decimals))]
    if math.isfinite(wrong.largest) and math.isfinite(right.largest):
        told.append(_("On average over the rows, the largest softmax weight would be {wrong} instead of {right} (no "
                      "mask).").format(wrong=format_number(wrong.largest, bench.decimals),
                                       right=format_number(right.largest, bench.decimals)))
    st.markdown(" ".join(told))


def scale_experiment(shown: Scores) -> None:
    """Random queries and keys of many widths: what is measured beside √Dh."""
    seed = DRAW.draw(_("Seed of the draw"))
    rows = sections.cached(experiment.scale_experiment, seed)
    words = {
        "measured": _("measured"), "predicted": i18n.in_letters("√Dh"), "unscaled": _("without the scale"),
        "scaled": _("with the scale"),
        "std": _("spread of q·k"), "entropy": _("entropy, nats"), "gradient": _("softmax gradient"),
        "width": i18n.axis("Dh"),
        "largest": _("largest of {keys} weights").format(keys=experiment.KEYS),
    }
    st.plotly_chart(
        scale_curves(rows, words=words, colours=theme.curve_colours()), width="stretch",
        config={"displayModeBar": False}, key="scale-curves",
        alt=_("Curves over the head width: the spread of q·k follows √Dh; without the scale the largest weight "
              "approaches one and the gradient of the softmax vanishes."))
    widest = rows[-1]
    st.markdown(_(
        "q and k are drawn with mean zero and variance one. A sum of Dh such products has variance Dh, so its spread "
        "is √Dh: at Dh = {width} measured {measured}, predicted {predicted}. Without the scale one key of {keys} then "
        "takes {unscaled} of the weight on average, with it {scaled}; the entropy is {low} against {high} nats. The "
        "softmax gradient is the size of its derivative (the Frobenius norm of the Jacobian): where one key takes all "
        "the weight, the gradient vanishes and the model no longer learns. The divisor is √Dh and not √D, because only "
        "the Dh numbers of one head are summed.").format(
            width=widest.head_width, measured=format_number(widest.measured_std, decimals=2), keys=experiment.KEYS,
            predicted=format_number(widest.predicted_std, decimals=2),
            unscaled=format_number(widest.unscaled.largest, decimals=2),
            scaled=format_number(widest.scaled.largest, decimals=2),
            low=format_number(widest.unscaled.entropy, decimals=2),
            high=format_number(widest.scaled.entropy, decimals=2)))


def _compared(view: View, result: Comparison, *, key: str, bench: Bench, wrong_sign: str, right_sign: str) -> None:
    """QKᵀ, what the wrong way makes of it, what the right way makes of it, and the difference, on one scale."""
    if result.wrong is None or result.difference is None or result.divisor is None:
        return
    right, wrong, difference = (tensor[view.place].detach().float().cpu().numpy()
                                for tensor in (result.right, result.wrong, result.difference))
    raw, scaled = view.name("scores"), view.name("scaled")
    bound = float(np.abs(np.concatenate([right, wrong])).max())
    frames = [
        view.frame("scores", raw, words=(_("query ↓"), _("key →"))),
        replace(view.frame("wrong", scaled, sign=wrong_sign), label=_("wrong S"), values=wrong, shade=(-bound, bound)),
        replace(view.frame("right", scaled, sign=right_sign), label=_("right S"), values=right, shade=(-bound, bound)),
        replace(view.frame("difference", scaled, sign=_("wrong − right =")), label=_("difference"), values=difference,
                shade=(-bound, bound)),
    ]
    right_divisor = view.rule(scaled, {raw: "scores", scaled: "right"})
    rules: list[Rule] = [Scale("wrong", "scores", result.divisor), right_divisor,
                         Difference("difference", "wrong", "right")]
    names = (raw, "wrong", scaled, "difference")  # the made-up ones are no tensors of the trace
    equation([replace(frame, name=name) for frame, name in zip(frames, names, strict=True)], rules, key=key,
             decimals=bench.decimals, strings=default_strings(_))


def _product(view: View, result: Comparison) -> tuple[Frame, Rule]:
    """Q × K without the transpose, where the shapes happen to fit: the product as a frame, and its rule."""
    if result.wrong is None:
        raise ValueError("there is no product to show")
    values = result.wrong[view.place].detach().float().cpu().numpy()
    frame = view.frame("product", view.name("q"), sign="=")
    return (replace(frame, name="product", label=" ".join(map(i18n.symbol, "qk")), role="score", values=values,
                    slice="", cut=False),
            Matmul("product", "q", "k_plain", "Dh"))


def program(shown: Scores) -> None:
    """The PyTorch program from X, or from Q and K, to S."""
    code.program(scores.program(shown.at), [ops.raw_scores, ops.scale_scores, ops.default_scale], key="scores")


def shared(shown: Scores) -> None:
    """The link, the state file and the numbers."""
    share.share(shown.bench, shown.view.trace, key="scores")


def checks(shown: Scores) -> list[Check | None]:
    """The products against float64, and the whole against the fused kernel; nothing where there are no scores."""
    view = shown.view
    if not shown.transpose:
        return []
    return [view.trace.check_step(view.name("scores")), view.trace.check(view.layer)]
