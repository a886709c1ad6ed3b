"""Scores: Q Kᵀ and the scale. Rows ask, columns answer."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import comparison, experiments, observe, ops, programs, questions
from ui import bench as bench_module
from ui.bench import Bench, choices
from ui.equation import Pin
from ui.equation.views import View
from ui.furniture import checks, code, figures, formulas, header, notices, prose, sections, share, strip
from ui.furniture.equations import compared, drawn, untransposed
from ui.furniture.exercise import Exercise, held_back
from ui.shell import frame, i18n, theme
from ui.shell.i18n import _
from ui.shell.numbers import format_number
from ui.sources import Resolved
from ui.stages import scores


@st.fragment
def lab() -> None:
    """Everything that changes with an edit, a pin or a switch of this page."""
    bench, resolved = frame.look()
    view = View(resolved.trace, layer=bench.layer, batch=bench.batch, head=bench.head,
                editable=resolved.scope is not None)
    formula_at = st.container()
    with st.container(horizontal=True, key="controls"):
        transpose = scores.TRANSPOSE.draw(_("Transpose K"))
        scale = scores.SCALE.draw(_("Divide by √Dh"))
    if transpose:
        _scores(bench, resolved, view, formula_at, last="scaled" if scale else "scores")
    else:
        with formula_at:
            formulas.formula(r"Q \times K", "")
        _without_transpose(bench, resolved, view)
    checks.check_line(view.trace.check_step(view.name("scores")))
    checks.check_line(view.trace.check(view.layer))
    bench_module.finish()


def _scores(bench: Bench, resolved: Resolved, view: View, formula_at: DeltaGenerator, *, last: str) -> None:
    """Q × Kᵀ = QKᵀ, ÷ √Dh = S, and what belongs to it; `last` is the short name of the frame it ends with."""
    exercise = Exercise(
        "scores-question", (bench.source, bench.scope, bench.layer, bench.batch, bench.head),
        lambda number: questions.score_question(view.trace, view.layer, *view.place, number),
        lambda question, answer: questions.judge_score(
            view.trace, view.layer, *view.place, question, answer, bench.decimals))
    asked = exercise.question
    pin, telling = _equation(bench, resolved, view, asked, last)
    with formula_at:
        on_result = pin is not None and pin.id in ("scores", "scaled")
        _formula(view, None if asked else pin if on_result else telling, bench.decimals, last)
    sections.folded(_("Predict, then reveal"), "predict", lambda: _predict(bench, view, exercise))
    notices.edit_notices(resolved)
    _look_for(bench, resolved, view, last, asking=asked is not None)
    for title, key, body in (
        (_("Where Q and K come from"), "from", lambda: _origin(bench, resolved, view)),
        (_("Common mistakes"), "wrong", lambda: _mistake(bench, view, asking=asked is not None)),
        (_("Why √Dh? Draw and measure"), "experiment", _experiment),
        (_("PyTorch"), "code", lambda: code.program(
            programs.scores(view.trace, view.layer), [ops.raw_scores, ops.scale_scores, ops.default_scale],
            key="scores")),
        (_("Share and save"), "share", lambda: share.share(bench, view.trace, key="scores")),
    ):
        sections.folded(title, key, body)


def _equation(
    bench: Bench, resolved: Resolved, view: View, asked: questions.Question | None, last: str,
) -> tuple[Pin | None, Pin]:
    """Draw the equation; returns the pinned cell and the telling one."""
    raw, scaled = view.name("scores"), view.name("scaled")
    q, k = view.trace.steps[raw].reads
    frames = [
        view.frame("q", q, editable=True, words=(_("query: asks ↓"), "")),
        view.frame("k", k, transposed=True, editable=True, sign="×", words=("", _("key: answers →"))),
        view.frame("scores", raw, sign="=", words=(_("query ↓"), _("key →"))),
    ]
    if last == "scaled":
        frames.append(view.frame("scaled", scaled, sign=f"÷ {view.root()} =", words=(_("query ↓"), _("key →"))))
    ids = {frame.name: frame.id for frame in frames}
    rules = [view.rule(name, ids) for name in (raw, scaled) if name in ids]
    columns = [] if asked is None else [asked.column] if asked.kind == "value" else range(frames[-1].shape[1])
    telling = view.pin(frames[-1], row=1, col=2)
    pin = drawn(
        frames, rules, key="scores", bench=bench, resolved=resolved, view=view, telling=telling,
        hidden=[(id, asked.row, column) for id in ("scores", "scaled") for column in columns] if asked else [])
    return pin, telling


def _without_transpose(bench: Bench, resolved: Resolved, view: View) -> None:
    """Q and K as they stand: what torch says to their product, or what it silently computes when the shapes fit."""
    result = comparison.scores(view.trace, view.layer, "untransposed")
    tokens, width = view.trace.sizes["T"], view.trace.config.head_dim
    q, k = view.trace.steps[view.name("scores")].reads
    frames, rules = [view.frame("q", q, editable=True), view.frame("k", k, editable=True, sign="×")], []
    if result.error is not None:
        st.error(_("Q [T,Dh] is {tokens}×{width} and K [T,Dh] is {tokens}×{width}: the inner sizes {width} and "
                   "{tokens} differ, so there is no product. PyTorch says for one head: `{error}`").format(
                       tokens=tokens, width=width, error=result.error))
    else:
        st.warning(_("T and Dh are both {width} here, so Q × K can be computed, and nothing fails. But it multiplies "
                     "features with tokens: entry (i, j) is no longer query i against key j.").format(width=width))
        product, rule = untransposed(view, result)
        frames.append(product)
        rules.append(rule)
    drawn(frames, rules, key="untransposed", bench=bench, resolved=resolved, view=view,
          telling=view.pin(frames[-1], row=0, col=1))
    st.caption(_("Put the transpose back to go on."))


def _formula(view: View, pin: Pin | None, decimals: int, last: str) -> None:
    raw = last == "scores"
    symbols = r"QK^{\top}" if raw else r"S = \frac{QK^{\top}}{\sqrt{D_h}}"
    if pin is None:
        formulas.formula(symbols, "")
        return
    index = view.index(view.name(last), pin.row, pin.col)
    total = formulas.sum_in_digits(view.trace, view.name("scores"), index, decimals)
    over = total if raw else rf"\frac{{{total}}}{{\sqrt{{{view.trace.config.head_dim}}}}}"
    value = formulas.number(view.value(view.name(last), index), decimals)
    name = r"(QK^{\top})" if raw else "S"
    formulas.formula(symbols, rf"{name}_{{{pin.row + 1},{pin.col + 1}}} = {over} = {value}")


def _look_for(bench: Bench, resolved: Resolved, view: View, last: str, *, asking: bool) -> None:
    facts = observe.scores(view.trace, view.name(last), view.batch, view.head)
    name = i18n.symbol(last)
    sentences = [_("Each row is one query: token i asks. Each column is one key: token j answers.")]
    if not asking and facts.largest_places == 1 and facts.cells > 1:
        sentences.append(_("The best match here is {query} with {key}: {name} = {value}.").format(
            query=view.token_name(facts.largest_at[0]), key=view.token_name(facts.largest_at[1]), name=name,
            value=format_number(facts.largest, bench.decimals)))
    elif not asking and facts.cells > 1:
        sentences.append(_("The largest score, {value}, stands at {count} places: no single best match.").format(
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
        sentences.append(_("The upper right half is computed too, though a token there asks a later one. The mask "
                           "takes it away, in the next stage."))
    if facts.group > 1:
        sentences.append(_("This query head reads KV head {kv}, which {group} query heads share.").format(
            kv=facts.kv_head + 1, group=facts.group))
    if resolved.source == "toy":
        sentences.append(_("Rows and columns carry token ids: {label} is a random id, not a position.").format(
            label=f"`{view.trace.tokens[0]}`"))
    if resolved.source == "live":
        sentences += _look_for_live(view)
    prose.look_for(sentences)


def _look_for_live(view: View) -> list[str]:
    first = observe.first_token(view.trace, view.layer, view.batch)
    sentences = [
        _("In {on_first} of the {heads} heads of this layer the last token gives its largest weight, after mask and "
          "softmax, to the first token, whatever it says. Trained models often park attention there.").format(
              on_first=first.on_first, heads=first.heads),
        notices.live_note(),
    ]
    if any("⟨" in token for token in view.trace.tokens):
        sentences.append(_("This model's tokenizer splits some characters into bytes; those are written ⟨E6⟩."))
    return sentences


def _origin(bench: Bench, resolved: Resolved, view: View) -> None:
    """X × WQ = Q and X × WK = K for this head, where X can be written out."""
    if not view.projects():
        st.caption(_("X is too wide here to be written out on this page. Choose an example or a toy to see where Q "
                     "and K come from."))
        return
    for letter in ("q", "k"):
        frames, rules = view.projection(letter)
        drawn(frames, rules, key=f"project-{letter}", bench=bench, resolved=resolved, view=view, telling=None,
              pinning=False)
    if view.trace.attention_input(view.layer).endswith("norm1"):
        st.caption(_("X₁ is X after the block's first norm."))
    if view.trace.config.positions == "rope":
        st.caption(_("RoPE then turns the rows of Q and K by their positions before they meet."))


def _predict(bench: Bench, view: View, exercise: Exercise) -> None:
    keys = view.trace[view.name("scores")].shape[-1]

    def ask(question: questions.Question) -> str:
        if question.kind == "value":
            return _("What is QKᵀ[{row},{column}]? Its cell shows ? until you answer.").format(
                row=question.row + 1, column=question.column + 1)
        return _("Which key has the largest score in row {row}? Answer with the key's number, {count} at most. The row "
                 "shows ? until you answer.").format(row=question.row + 1, count=keys)

    def reveal(question: questions.Question) -> str:
        if question.kind == "value":
            return _("QKᵀ[{row},{column}] = {value}.").format(
                row=question.row + 1, column=question.column + 1,
                value=format_number(question.score, bench.decimals))
        return _("In row {row} it is {key}, with {value}.").format(
            row=question.row + 1, key=view.token_name(question.column),
            value=format_number(question.score, bench.decimals))

    exercise.draw(ask, reveal, {
        "scaled": _("That is S: you already divided by √Dh. QKᵀ is the sum before the division."),
        "swapped": _("That is the score of the other direction: row and column are swapped. The row asks."),
    })


def _mistake(bench: Bench, view: View, *, asking: bool) -> None:
    if asking:
        held_back()
        return
    labels = {"unscaled": _("No division at all"), "model_width": _("÷ √D, the model width"),
              "times_root": _("× √Dh: dividing by Dh^−½")}
    kind = scores.MISTAKE.draw(st.segmented_control, _("What goes wrong"), labels, required=True)
    result = comparison.scores(view.trace, view.layer, kind)
    largest = result.largest(*view.place)
    if not largest:
        st.caption(_("Nothing changes here: D and Dh are both {width}, so one head hides this mistake. Choose the "
                     "block or a toy with several heads.").format(width=view.trace.config.width))
        return
    divisor = {"unscaled": "1", "model_width": f"√{view.trace.config.width}", "times_root": f"{view.root()}⁻¹"}[kind]
    compared(view, result, key="scores-mistake", bench=bench, wrong_sign=f"÷ {divisor} =",
             right_sign=_("but ÷ {root} =").format(root=view.root()))
    right, wrong = (experiments.saturation(tensor[view.place]) for tensor in (result.right, result.wrong))
    explained = {
        "unscaled": _("Undivided scores spread the more the wider a head is, and the softmax becomes one-sided."),
        "model_width": _("With several heads √D is too large a divisor: the softmax becomes too even, the model still "
                         "trains, and nobody notices."),
        "times_root": _("Two inversions cancel: dividing by 1/√Dh multiplies. The softmax becomes one-sided, the more "
                        "so the wider the head."),
    }
    st.markdown(explained[kind] + " " + _(
        "Largest difference in this head: {value}. On average over the rows, the largest softmax weight would be "
        "{wrong} instead of {right} (no mask).").format(
            value=format_number(largest, bench.decimals), wrong=format_number(wrong.largest, bench.decimals),
            right=format_number(right.largest, bench.decimals)))


def _experiment() -> None:
    seed = choices.DRAW.draw(_("Seed of the draw"))
    rows = sections.cached(experiments.scale_experiment, seed)
    words = {
        "measured": _("measured"), "predicted": i18n.in_letters("√Dh"), "unscaled": _("without the scale"),
        "scaled": _("with the scale"),
        "std": _("spread of q·k"), "entropy": _("entropy, nats"), "gradient": _("softmax gradient"),
        "width": i18n.axis("Dh"),
        "largest": _("largest of {keys} weights").format(keys=experiments.KEYS),
    }
    st.plotly_chart(
        figures.scale_curves(rows, words=words, colours=theme.curve_colours()), width="stretch",
        config={"displayModeBar": False}, key="scale-curves",
        alt=_("Curves over the head width: the spread of q·k follows √Dh; without the scale the largest weight "
              "approaches one and the gradient of the softmax vanishes."))
    widest = rows[-1]
    st.markdown(_(
        "q and k are drawn with mean zero and variance one. A sum of Dh such products has variance Dh, so its spread "
        "is √Dh: at Dh = {width} measured {measured}, predicted {predicted}. Without the scale one key of {keys} then "
        "takes {unscaled} of the weight on average, with it {scaled}; the entropy is {low} against {high} nats. The "
        "softmax gradient is the size of its derivative (the Frobenius norm of the Jacobian): where one key takes "
        "all, it vanishes and nothing is learned. The divisor is √Dh and not √D, because only the Dh numbers of one "
        "head are summed.").format(
            width=widest.head_width, measured=format_number(widest.measured_std, decimals=2), keys=experiments.KEYS,
            predicted=format_number(widest.predicted_std, decimals=2),
            unscaled=format_number(widest.unscaled.largest, decimals=2),
            scaled=format_number(widest.scaled.largest, decimals=2),
            low=format_number(widest.unscaled.entropy, decimals=2),
            high=format_number(widest.scaled.entropy, decimals=2)))


_bench, _resolved = frame.look()
header.page_header("scores", frame.here().built)
notices.notices(_resolved, frame.here().dropped)
strip.shape_strip("scores", _resolved.trace)
lab()
