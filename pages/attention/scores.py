"""Scores: Q Kᵀ and the scale. Rows ask, columns answer."""

from __future__ import annotations

import streamlit as st

from core import experiments, mistakes, observe, ops, quiz, snippets
from ui import bench as bench_module
from ui import blocks, figures, frame, theme
from ui.bench import Bench
from ui.equation import Pin
from ui.equations import compared, drawn
from ui.exercise import Exercise
from ui.i18n import _
from ui.sources import Resolved
from ui.theme import format_number
from ui.views import View


@st.fragment
def lab() -> None:
    """Everything that changes with an edit, a pin or a switch of this page."""
    bench, resolved = frame.look()
    view = View(resolved.trace, layer=bench.layer, batch=bench.batch, head=bench.head,
                editable=resolved.scope is not None)
    exercise = Exercise(
        "scores-question", (bench.source, bench.scope, bench.layer, bench.batch, bench.head),
        lambda number: quiz.score_question(view.trace, view.layer, *view.place, number),
        lambda question, answer: quiz.judge_score(
            view.trace, view.layer, *view.place, question, answer, bench.decimals))
    formula_at = st.container()
    with st.container(horizontal=True, key="controls"):
        transpose = st.toggle(_("Transpose K"), value=True, key="transpose", bind="query-params")
        scale = st.toggle(_("Divide by √Dh"), value=True, key="scale", bind="query-params")
    shown = view if scale else view.unscaled()
    if transpose:
        pin = _equation(bench, resolved, shown, exercise.question)
    else:
        pin = _without_transpose(bench, resolved, view)
    with formula_at:
        _formula(shown, None if exercise.question else pin, bench.decimals)
    blocks.edit_notices(resolved)
    _look_for(bench, resolved, view)
    for title, key, body in (
        (_("Where Q and K come from"), "from", lambda: _origin(bench, resolved, view)),
        (_("Predict, then reveal"), "predict", lambda: _predict(bench, view, exercise)),
        (_("Common mistakes"), "wrong", lambda: _mistake(bench, view)),
        (_("Why √Dh? Draw and measure"), "experiment", _experiment),
        (_("PyTorch"), "code", lambda: blocks.program(
            snippets.scores(view.trace, view.layer), [ops.raw_scores, ops.scale_scores, ops.default_scale],
            key="scores")),
        (_("Share and save"), "share", lambda: blocks.share(bench, view.trace, key="scores")),
    ):
        blocks.folded(title, key, body)
    blocks.check_line(view.trace.check(view.layer))
    bench_module.finish()


def _equation(bench: Bench, resolved: Resolved, view: View, asked: quiz.Question | None) -> Pin | None:
    """Q × Kᵀ = QKᵀ, ÷ √Dh = S."""
    raw, scaled = view.name("scores"), view.name("scaled")
    q, k = view.trace.steps[raw].reads
    frames = [
        view.frame("q", q, editable=True, words=(_("query: asks ↓"), "")),
        view.frame("k", k, transposed=True, editable=True, sign="×", words=("", _("key: answers →"))),
        view.frame("scores", raw, sign="=", words=(_("query ↓"), _("key →"))),
        view.frame("scaled", scaled, sign=view.scale_sign(), words=(_("query ↓"), _("key →"))),
    ]
    ids = {frame.name: frame.id for frame in frames}
    columns = [] if asked is None else [asked.column] if asked.kind == "value" else range(frames[-1].shape[1])
    return drawn(
        frames, [view.rule(raw, ids), view.rule(scaled, ids)], key="scores", bench=bench, resolved=resolved, view=view,
        telling=view.pin(frames[-1], row=1, col=2),
        hidden=[(id, asked.row, column) for id in ("scores", "scaled") for column in columns] if asked else [])


def _without_transpose(bench: Bench, resolved: Resolved, view: View) -> Pin | None:
    """Q and K as they stand, and what torch says to their product, or what it silently computes when shapes fit."""
    q, k = view.trace.steps[view.name("scores")].reads
    frames = [view.frame("q", q, editable=True), view.frame("k", k, editable=True, sign="×")]
    pin = drawn(frames, [], key="untransposed", bench=bench, resolved=resolved, view=view,
                telling=view.pin(frames[0], row=0, col=0))
    result = mistakes.scores(view.trace, view.layer, "untransposed")
    tokens, width = view.trace.sizes["T"], view.trace.config.head_dim
    if result.error is not None:
        st.error(_("Q [T,Dh] is {tokens}×{width} and K [T,Dh] is {tokens}×{width}: the inner sizes {width} and "
                   "{tokens} differ, so there is no product. PyTorch says: `{error}`").format(
                       tokens=tokens, width=width, error=result.error))
    else:
        st.warning(_("T and Dh are both {width} here, so Q × K can be computed, and nothing fails. But it multiplies "
                     "features with tokens: entry (i, j) is no longer query i against key j.").format(width=width))
    return pin


def _formula(view: View, pin: Pin | None, decimals: int) -> None:
    plain = view.layer in view.trace.scales
    symbols = r"S = QK^{\top}" if plain else r"S = \frac{QK^{\top}}{\sqrt{D_h}}"
    if pin is None or pin.id not in ("scores", "scaled"):
        blocks.formula(symbols, "")
        return
    index = view.index(view.name("scaled"), pin.row, pin.col)
    total = blocks.sum_in_digits(view.trace, view.name("scores"), index, decimals)
    over = total if plain else rf"\frac{{{total}}}{{\sqrt{{{view.trace.config.head_dim}}}}}"
    value = blocks.number(view.value(view.name("scaled"), index), decimals)
    blocks.formula(symbols, rf"S_{{{pin.row + 1},{pin.col + 1}}} = {over} = {value}")


def _look_for(bench: Bench, resolved: Resolved, view: View) -> None:
    facts = observe.scores(view.trace, view.layer, view.batch, view.head)
    sentences = [
        _("Each row is one query: token i asks. Each column is one key: token j answers. The best match here is "
          "{query} with {key}, S = {value}.").format(
              query=view.token_name(facts.largest_at[0]), key=view.token_name(facts.largest_at[1]),
              value=format_number(facts.largest, bench.decimals)),
        _("{negative} of {cells} scores are negative. A score is no probability yet: it may be any number, and rows do "
          "not sum to one.").format(negative=facts.negative, cells=facts.cells),
        _("This table happens to be symmetric: i asks j as strongly as j asks i.") if facts.symmetric else
        _("The table is not symmetric: Q and K come from different matrices, so i asking j is another question than j "
          "asking i."),
    ]
    if facts.group > 1:
        sentences.append(_("This query head reads KV head {kv}, which {group} query heads share.").format(
            kv=facts.kv_head + 1, group=facts.group))
    if view.trace.config.positions == "rope":
        sentences.append(_("Q and K are shown after RoPE turned them by their positions: the scores are made from "
                           "these."))
    if resolved.source == "live":
        first = observe.first_token(view.trace, view.layer, view.batch)
        sentences += [
            _("In {on_first} of the {heads} heads of this layer the last token gives its largest weight to the first "
              "token, whatever it says. Trained models often park attention there.").format(
                  on_first=first.on_first, heads=first.heads),
            _("These are the true numbers of the model in this file, whose weights were dequantised from four bits; "
              "the original's differ slightly."),
        ]
    blocks.look_for(sentences)


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
    if view.trace.config.positions == "rope":
        st.caption(_("RoPE then turns the rows of Q and K by their positions before they meet."))


def _predict(bench: Bench, view: View, exercise: Exercise) -> None:
    keys = view.trace[view.name("scores")].shape[-1]

    def ask(question: quiz.Question) -> str:
        if question.kind == "value":
            return _("What is QKᵀ[{row},{column}]? Its cell shows ? until you answer.").format(
                row=question.row + 1, column=question.column + 1)
        return _("Which key has the largest score in row {row}? Answer with the key's number, {count} at most. The row "
                 "shows ? until you answer.").format(row=question.row + 1, count=keys)

    def reveal(question: quiz.Question) -> str:
        if question.kind == "value":
            return _("QKᵀ[{row},{column}] = {value}.").format(
                row=question.row + 1, column=question.column + 1, value=theme.full_value(question.score))
        return _("In row {row} it is {key}, with {value}.").format(
            row=question.row + 1, key=view.token_name(question.column),
            value=format_number(question.score, bench.decimals))

    exercise.draw(ask, reveal, {
        "right": _("Right."),
        "scaled": _("That is S: you already divided by √Dh. QKᵀ is the sum before the division."),
        "swapped": _("That is the score of the other direction: row and column are swapped. The row asks."),
        "sign": _("The size is right, the sign is not."),
        "wrong": _("Not quite."),
    })


def _mistake(bench: Bench, view: View) -> None:
    labels = {"unscaled": _("No division at all"), "model_width": _("÷ √D, the model width"),
              "times_root": _("× √Dh: dividing by Dh^−½")}
    explained = {
        "unscaled": _("Without the division the scores grow with Dh, and the softmax puts almost everything on one "
                      "key."),
        "model_width": _("With several heads √D is too large a divisor: the weights become too flat, the model still "
                         "trains, and nobody notices."),
        "times_root": _("Two inversions cancel: dividing by 1/√Dh multiplies. The softmax saturates, the more so the "
                        "wider the head."),
    }
    kind = bench_module.choice(st.segmented_control, _("What goes wrong"), labels, key="mistake", default="unscaled",
                               required=True)
    result = mistakes.scores(view.trace, view.layer, kind)
    compared(view, result, key="scores-mistake", bench=bench)
    if result.largest:
        st.markdown(explained[kind] + " " + _("Largest difference: {value}.").format(
            value=format_number(result.largest, bench.decimals)))
    else:
        st.caption(_("Nothing changes here: D and Dh are both {width}, so one head hides this mistake. Choose the "
                     "block or a toy with several heads.").format(width=view.trace.config.width))


def _experiment() -> None:
    seed = bench_module.whole_number(_("Seed of the draw"), "draw", *bench_module.seed_range())
    rows = blocks.cached(experiments.scale_experiment, "scale_experiment", seed)
    words = {
        "measured": _("measured"), "predicted": "√Dh", "unscaled": _("without the scale"),
        "scaled": _("with the scale"),
        "std": _("spread of q·k"), "largest": _("largest of {keys} weights").format(keys=experiments.KEYS),
        "gradient": _("softmax gradient"), "width": "Dh",
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
        "divisor is √Dh and not √D, because only the Dh numbers of one head are summed.").format(
            width=widest.head_width, measured=format_number(widest.measured_std, decimals=2), keys=experiments.KEYS,
            predicted=format_number(widest.predicted_std, decimals=2),
            unscaled=format_number(widest.unscaled.largest, decimals=2),
            scaled=format_number(widest.scaled.largest, decimals=2),
            low=format_number(widest.unscaled.entropy, decimals=2),
            high=format_number(widest.scaled.entropy, decimals=2)))


_bench, _resolved = frame.look()
blocks.page_header("scores", frame.here().built)
blocks.notices(_resolved, frame.here().dropped)
blocks.shape_strip("scores", _resolved.trace)
lab()
