"""Scores: Q Kᵀ and the scale. Rows ask, columns answer."""

import streamlit as st

from core import experiments, mistakes, observe, ops, quiz, snippets
from ui import bench as bench_module
from ui import blocks, figures, frame, theme
from ui.equations import compared, drawn
from ui.i18n import _
from ui.sources import Resolved
from ui.theme import format_number
from ui.views import View

TELLING = {"row": 1, "col": 2}  # the cell that the page opens with: token 2 asks, token 3 answers


@st.fragment
def lab() -> None:
    """Everything that changes with an edit, a pin or a switch of this page."""
    bench, resolved = frame.look()
    trace = resolved.trace
    view = View(trace, layer=bench.layer, batch=bench.batch, head=bench.head, editable=resolved.scope is not None)
    q, k = trace.steps[view.name("scores")].reads
    formula_at = st.container()
    with st.container(horizontal=True, key="controls"):
        transpose = st.toggle(_("Transpose K"), value=True, key="transpose", bind="query-params")
        scale = st.toggle(_("Divide by √Dh"), value=True, key="scale", bind="query-params")
    shown = View(trace if scale else trace.with_scale(1.0), layer=view.layer, batch=view.batch, head=view.head,
                 editable=view.editable)
    if transpose:
        frames = [
            shown.frame("q", q, editable=True, words=(_("query: asks ↓"), "")),
            shown.frame("k", k, transposed=True, editable=True, sign="×", words=("", _("key: answers →"))),
            shown.frame("scores", view.name("scores"), sign="=", words=(_("query ↓"), _("key →"))),
            shown.frame("scaled", view.name("scaled"), sign=_divisor_sign(shown), words=(_("query ↓"), _("key →"))),
        ]
        ids = {frame.name: frame.id for frame in frames}
        rules = [shown.rule(view.name("scores"), ids), shown.rule(view.name("scaled"), ids)]
        telling = shown.pin(frames[-1], **TELLING)
    else:
        frames = [shown.frame("q", q, editable=True), shown.frame("k", k, editable=True, sign="×")]
        rules, telling = [], shown.pin(frames[0], 0, 0)
    asked = _asked(bench, view)
    pin = drawn(frames, rules, key="scores", bench=bench, resolved=resolved, view=view, telling=telling,
                hidden=_hidden(asked, view) if transpose else [])
    if not transpose:
        _without_transpose(view)
    with formula_at:
        _formula(shown, pin, bench.decimals, asked is not None)
    blocks.edit_notices(resolved)
    _sections(bench, resolved, view, asked)
    bench_module.finish()


def _divisor_sign(view: View) -> str:
    return "=" if view.trace.scale is not None else f"÷ √{view.trace.config.head_dim} ="


def _formula(view: View, pin, decimals: int, hidden: bool) -> None:
    scaled = view.name("scaled")
    symbols = r"S = QK^{\top}" if view.trace.scale is not None else r"S = \frac{QK^{\top}}{\sqrt{D_h}}"
    if pin is None or hidden or pin.id not in ("scores", "scaled"):
        blocks.formula(symbols, "")
        return
    index = view.index(scaled, pin.row, pin.col)
    total = blocks.sum_in_digits(view.trace, view.name("scores"), index, decimals)
    value = blocks.number(view.value(scaled, index), decimals)
    over = total if view.trace.scale is not None else rf"\frac{{{total}}}{{\sqrt{{{view.trace.config.head_dim}}}}}"
    blocks.formula(symbols, rf"S_{{{pin.row + 1},{pin.col + 1}}} = {over} = {value}")


def _without_transpose(view: View) -> None:
    """What torch says to Q times K as it stands, or what it silently computes when the shapes happen to fit."""
    result = mistakes.scores(view.trace, view.layer, "untransposed")
    tokens, width = view.trace.sizes["T"], view.trace.config.head_dim
    if result.error is not None:
        st.error(_("Q [T,Dh] is {tokens}×{width} and K [T,Dh] is {tokens}×{width}: the inner sizes {width} and "
                   "{tokens} differ, so there is no product. PyTorch says: `{error}`").format(
                       tokens=tokens, width=width, error=result.error))
    else:
        st.warning(_("T and Dh are both {width} here, so Q × K can be computed, and nothing fails. But it multiplies "
                     "features with tokens: entry (i, j) is no longer query i against key j.").format(width=width))


def _sections(bench, resolved: Resolved, view: View, asked) -> None:
    _look_for(bench, resolved, view)
    sections = [
        (_("Where Q and K come from"), "from", lambda: _origin(bench, resolved, view)),
        (_("Predict, then reveal"), "predict", lambda: _predict(bench, view, asked)),
        (_("Common mistakes"), "wrong", lambda: _mistake(bench, resolved, view)),
        (_("Why √Dh? Draw and measure"), "experiment", _experiment),
        ("PyTorch", "code", lambda: blocks.program(
            snippets.scores(view.trace, view.layer), [ops.raw_scores, ops.scale_scores, ops.default_scale],
            key="scores")),
        (_("Share and save"), "share", lambda: blocks.share(bench, view.trace, key="scores")),
    ]
    for title, key, body in sections:
        blocks.folded(title, key, body)
    blocks.check_line(view.trace.check(view.layer))


def _look_for(bench, resolved: Resolved, view: View) -> None:
    facts = observe.scores(view.trace, view.layer, view.batch, view.head)
    who = view.token_name
    sentences = [
        _("Each row is one query: token i asks. Each column is one key: token j answers. "
          "The best match here is {query} with {key}, S = {value}.").format(
              query=who(facts.largest_at[0]), key=who(facts.largest_at[1]),
              value=format_number(facts.largest, bench.decimals)),
        _("{negative} of {cells} scores are negative. A score is no probability yet: it may be any number, and rows do "
          "not sum to 1.").format(negative=facts.negative, cells=facts.cells),
    ]
    if facts.symmetric:
        sentences.append(_("This table happens to be symmetric: i asks j as strongly as j asks i."))
    else:
        sentences.append(_("The table is not symmetric: Q and K come from different matrices, so i asking j is another "
                           "question than j asking i."))
    if facts.group > 1:
        sentences.append(_("This query head reads KV head {kv}, which {group} query heads share.").format(
            kv=facts.kv_head + 1, group=facts.group))
    if view.trace.config.positions == "rope":
        sentences.append(_("Q and K are shown after RoPE turned them by their positions; that is what the scores are "
                           "made from."))
    if resolved.source == "live":
        first = observe.first_token(view.trace, view.layer, view.batch)
        sentences.append(_("In {on_first} of the {heads} heads of this layer the last token gives its largest weight to "
                           "the first token, whatever it says. Trained models often park attention there.").format(
                               on_first=first.on_first, heads=first.heads))
        sentences.append(_("These are the true numbers of the model in this file, whose weights were dequantised from "
                           "4 bits; the original's differ slightly."))
    blocks.look_for(sentences)


def _origin(bench, resolved: Resolved, view: View) -> None:
    """X × WQ = Q and X × WK = K for this head; skipped where X is too wide to be written out."""
    if not view.projects():
        st.caption(_("This source starts at Q and K, or its X is too wide to be written out on this page."))
        return
    for letter in ("q", "k"):
        frames, rules = view.projection(letter)
        drawn(frames, rules, key=f"project-{letter}", bench=bench, resolved=resolved, view=view, telling=None,
              pinning=False)
    if view.trace.config.positions == "rope":
        st.caption(_("RoPE then turns the rows of Q and K by their positions before they meet."))


def _asked(bench, view: View) -> quiz.Question | None:
    """The open question, if the learner started one on these very numbers."""
    if bench_module.recall("asking") != (bench.source, bench.scope, *view.place, view.layer):
        return None
    return quiz.score_question(view.trace, view.layer, *view.place, bench_module.recall("question", 0))


def _hidden(asked: quiz.Question | None, view: View) -> list[tuple[str, int, int]]:
    if asked is None:
        return []
    columns = [asked.column] if asked.kind == "value" else range(view.trace[view.name("scores")].shape[-1])
    return [(short, asked.row, column) for short in ("scores", "scaled") for column in columns]


def _predict(bench, view: View, asked: quiz.Question | None) -> None:
    place = (bench.source, bench.scope, *view.place, view.layer)
    if asked is None:
        verdict = bench_module.recall("verdict")
        if verdict:
            st.markdown(verdict)
        blocks.button(_("Ask me one"), lambda: bench_module.remember("asking", place), key="ask")
        return
    if asked.kind == "value":
        question = _("What is QKᵀ[{row},{column}]? Its cell shows ? until you answer.")
    else:
        question = _("Which key has the largest score in row {row}? Answer with its number, 1 to {count}. The row shows "
                     "? until you answer.")
    st.markdown(question.format(row=asked.row + 1, column=asked.column + 1,
                                count=view.trace[view.name("scores")].shape[-1]))
    blocks.answer(lambda value: _judge(bench, view, asked, value), lambda: _reveal(bench, view, asked, _("Skipped.")),
                  key="scores-answer")


def _judge(bench, view: View, asked: quiz.Question, answer: float) -> None:
    given = answer - 1 if asked.kind == "largest" else answer
    expected = asked._replace(answer=asked.column) if asked.kind == "largest" else asked
    verdict = quiz.judge_score(view.trace, view.layer, *view.place, expected, given, bench.decimals)
    words = {
        "right": _("Right."),
        "scaled": _("That is S: you already divided by √Dh. QKᵀ is the sum before the division."),
        "swapped": _("That is the score of the other direction: row and column are swapped. The row asks."),
        "sign": _("The size is right, the sign is not."),
        "wrong": _("Not quite."),
    }
    _reveal(bench, view, asked, words[verdict])


def _reveal(bench, view: View, asked: quiz.Question, words: str) -> None:
    if asked.kind == "value":
        answer = _("QKᵀ[{row},{column}] = {value}.").format(
            row=asked.row + 1, column=asked.column + 1, value=theme.full_value(asked.answer))
    else:
        answer = _("In row {row} it is {key}, with {value}.").format(
            row=asked.row + 1, key=view.token_name(asked.column), value=format_number(asked.answer, bench.decimals))
    bench_module.remember("asking", None)
    bench_module.remember("question", bench_module.recall("question", 0) + 1)
    bench_module.remember("verdict", f"{words} {answer}")


def _mistake(bench, resolved: Resolved, view: View) -> None:
    labels = {"unscaled": _("No division at all"), "model_width": _("÷ √D, the model width"),
              "times_root": _("× √Dh: dividing by Dh^−½")}
    kind = bench_module.choice(st.segmented_control, _("What goes wrong"), labels, key="mistake", default="unscaled",
                               required=True)
    result = mistakes.scores(view.trace, view.layer, kind)
    compared(view, result, key="scores-mistake", bench=bench)
    if not result.largest:
        st.caption(_("Nothing changes here: D and Dh are both {width}, so one head hides this mistake. Choose the block "
                     "or a toy with several heads.").format(width=view.trace.config.width))
        return
    explain = {
        "unscaled": _("Without the division the scores grow with Dh, and the softmax puts almost everything on one key."),
        "model_width": _("√D is too large a divisor when there are several heads: the weights become too flat, the model "
                         "still trains, and nobody notices."),
        "times_root": _("Two inversions cancel: dividing by 1/√Dh multiplies. The softmax saturates, the more so the "
                        "wider the head."),
    }
    st.markdown(explain[kind] + " " + _("Largest difference: {value}.").format(
        value=format_number(result.largest, bench.decimals)))


def _experiment() -> None:
    seed = bench_module.whole_number(_("Seed of the draw"), "draw", *bench_module.seed_range())
    rows = blocks.cached(experiments.scale_experiment, "scale_experiment", seed)
    words = {
        "measured": _("measured"), "predicted": "√Dh", "unscaled": _("without the scale"), "scaled": _("with the scale"),
        "std": _("spread of q·k"), "largest": _("largest weight of 16"), "gradient": _("softmax gradient"), "width": "Dh",
    }
    st.plotly_chart(figures.scale_curves(rows, words=words, colours=theme.curve_colours()), width="stretch",
                    config={"displayModeBar": False}, key="scale-curves", alt=_(
                        "Three curves over the head width: the spread of q·k follows √Dh; without the scale the largest "
                        "weight approaches 1 and the gradient of the softmax vanishes."))
    widest = rows[-1]
    st.markdown(_(
        "q and k are drawn with mean 0 and variance 1. A sum of Dh such products has variance Dh, so its spread is √Dh: "
        "at Dh = {width} measured {measured}, predicted {predicted}. Without the scale one key of 16 then takes "
        "{unscaled} of the weight on average, with it {scaled}; the entropy is {low} against {high} nats. The divisor is "
        "√Dh and not √D, because only the Dh numbers of one head are summed.").format(
            width=widest.head_width, measured=format_number(widest.measured_std, 2),
            predicted=format_number(widest.predicted_std, 2), unscaled=format_number(widest.unscaled.largest, 2),
            scaled=format_number(widest.scaled.largest, 2), low=format_number(widest.unscaled.entropy, 2),
            high=format_number(widest.scaled.entropy, 2)))


_bench, _resolved = frame.look()
blocks.header("scores", frame.here().built)
blocks.notices(_resolved, frame.here().dropped)
blocks.shape_strip("scores", _resolved.trace)
lab()
