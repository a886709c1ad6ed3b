"""RoPE: each pair of dimensions is a clock hand, turned by position times its own speed."""

from __future__ import annotations

import streamlit as st

from core import rope, steps
from core.questions import Question
from core.stages.rope import meetings, practice, rotation, scaling
from core.stages.rope import programs as rope_programs
from core.stages.rope.rotation import Rope
from ui import bench as bench_module
from ui.bench import Bench
from ui.equation import Pin
from ui.equation.views import View
from ui.furniture import checks, code, equations, figures, formulas, header, notices, prose, sections, share, strip
from ui.furniture.exercise import Exercise
from ui.shell import frame, i18n, theme
from ui.shell.i18n import _
from ui.shell.numbers import format_difference, format_double, format_number, format_significant, full_value
from ui.sources import Resolved
from ui.stages import rope as rope_views

_LLAMA = "Llama 3"


@st.fragment
def lab() -> None:
    """Everything that changes with a control, an edit or a pin of this page."""
    bench, resolved = frame.look()
    formula_at = st.container()
    letter, moved, how = _controls(rotation.settings(resolved.trace.config), resolved)
    trace = rotation.under(resolved.trace, bench.layer, how, moved)
    own = trace is resolved.trace
    view = View(trace, layer=bench.layer if own else 0, batch=bench.batch, head=bench.head,
                editable=own and resolved.scope is not None)
    positions = trace["positions"][min(view.batch, trace["positions"].shape[0] - 1)].tolist()
    exercise = Exercise(
        "rope-question", (bench.source, bench.scope, bench.layer, bench.batch, bench.head, how, moved),
        lambda number: practice.question(how, positions, number),
        lambda question, answer: practice.judge(how, question, answer, bench.decimals))
    asked = exercise.question
    pin = _equation(bench, resolved, view, letter, asked, positions)
    with formula_at:
        _formula(view, letter, None if asked else pin, bench.decimals)
    sections.folded(_("Predict, then reveal"), "predict", lambda: _predict(bench, exercise))
    notices.edit_notices(resolved)
    _look_for(bench, resolved, view, positions, moved)
    for title, key, body in (
        (_("Every pair's speed: θ and wavelengths"), "speeds", lambda: _speeds(bench, view, how)),
        (_("Only the distance counts, and the content still does"), "distance", lambda: _distance(bench, view)),
        (_("Two ways to pair, and the permutation between them"), "pairings", lambda: _pairings(bench, view)),
        (_("With a cache the position goes on"), "cache", lambda: _cache(bench, view)),
        (_("Common mistakes"), "wrong", lambda: _mistake(bench, view)),
        (_("PyTorch"), "code", lambda: code.program(
            rope_programs.rope(view.trace, view.layer), [steps.rotate, rope.rotate, rope.turn, rope.frequencies],
            key="rope")),
        (_("Share and save"), "share", lambda: share.share(bench, view.trace, key="rope")),
    ):
        sections.folded(title, key, body)
    for turned in "qk":
        checks.check_line(view.trace.check_step(view.name(f"{turned}_rot")))
    checks.check_line(view.trace.check(view.layer))
    bench_module.finish()


def _controls(own: Rope, resolved: Resolved) -> tuple[str, int, Rope]:
    """Which of Q and K is shown, by how much all positions are moved on, and how it is turned."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        letter = bench_module.choice(st.segmented_control, _("Turned"), {name: i18n.symbol(name) for name in "qk"},
                                     key="letter", default="q", required=True)
        moved = bench_module.slider(_("All positions move on by"), "moved", width=260)
        bases = {full_value(base): full_value(base) for base in sorted({*rotation.BASES, own.base})}
        base = bench_module.own_choice(st.select_slider, _("Base"), bases, key="base", own=full_value(own.base),
                                       width=200)
        with st.popover(_("More")):
            how = _more(own._replace(base=float(base)), resolved.trace.config.head_dim)
    return letter, moved, how


def _more(own: Rope, head_dim: int) -> Rope:
    """Pairing, how many dimensions are turned, and scaling for longer contexts."""
    pairing = bench_module.own_choice(
        st.segmented_control, _("Pairs are"), {"adjacent": _("neighbours"), "half": _("half a head apart")},
        key="pairing", own=own.pairing, required=True)
    widths = {str(width): str(width) for width in range(2, head_dim + 1, 2)}
    turned = bench_module.own_choice(st.selectbox, _("Dimensions turned, of {count}").format(count=head_dim), widths,
                                     key="turned", own=str(own.rotary_dim))
    kinds = {"default": _("none"), "linear": _("linear"), "ntk": _("NTK-aware"), "llama3": _LLAMA}
    if own.scaling:
        kinds = {"model": _("the model's own"), **kinds}
    kind = bench_module.own_choice(st.selectbox, _("Scaling for longer contexts"), kinds, key="scaling",
                                   own="model" if own.scaling else "default")
    scaling = own.scaling
    if kind != "model":
        factors = {full_value(factor): full_value(factor) for factor in scaling.FACTORS}
        factor = bench_module.choice(st.select_slider, _("Factor"), factors, key="factor", disabled=kind == "default",
                                     default=full_value(scaling.LLAMA_31["factor"]))
        scaling = scaling.scaling(kind, float(factor))
    return own._replace(pairing=pairing, rotary_dim=int(turned), scaling=scaling)


def _equation(
    bench: Bench, resolved: Resolved, view: View, letter: str, asked: Question | None, positions: list[int],
) -> Pin:
    """Draw the rotation; returns the pinned cell if it is a turned one, else the telling one."""
    frames, rules = rope_views.turned(view, letter)
    first = next((row for row, position in enumerate(positions) if position), 0)
    telling = view.pin(frames[-1], row=first, col=2)
    hidden: list[tuple[str, int, int]] = []
    if asked:
        row, pair = positions.index(asked.row), rotation.pairs(rotation.settings(view.trace.config))[asked.column]
        hidden = [("cos", row, asked.column), ("sin", row, asked.column),
                  ("after", row, pair.first), ("after", row, pair.second)]
    pin = equations.drawn(frames, rules, key=f"rope-{letter}", bench=bench, resolved=resolved, view=view,
                          telling=telling, hidden=hidden)
    return pin if pin is not None and pin.id == "after" else telling


def _formula(view: View, letter: str, pin: Pin | None, decimals: int) -> None:
    symbols = (r"a' = a\cos m\theta_i - b\sin m\theta_i,\quad b' = b\cos m\theta_i + a\sin m\theta_i,\quad "
               r"\theta_i = \text{base}^{-2i/d}")
    if pin is None:
        formulas.formula(symbols, "")
        return
    name = rope_views.names(view, letter)[1]
    index = view.index(name, pin.row, pin.col)
    value = formulas.number(view.value(name, index), decimals)
    edited = index in view.trace.edits.get(name, {})
    total = "" if edited else f"{formulas.sum_in_digits(view.trace, name, index, decimals)} = "
    formulas.formula(symbols, f"{letter.upper()}'_{{{pin.row + 1},{pin.col + 1}}} = {total}{value}")


def _look_for(bench: Bench, resolved: Resolved, view: View, positions: list[int], moved: int) -> None:
    facts = practice.facts(view.trace, view.layer, view.batch)
    sentences = [
        _("In the formula (a, b) is a pair, m the position, i the pair counted from zero, d how many dimensions are "
          "turned."),
        (_("Each pair of numbers is a clock hand: dashed before, thick after. {pairs} hands turn at {pairs} speeds: "
           "the fastest comes round every {fastest} positions, the slowest every {slowest}.") if facts.pairs > 1 else
         _("The pair of numbers is a clock hand: dashed before, thick after. It comes round every {fastest} "
           "positions.")).format(
              pairs=facts.pairs, fastest=format_double(facts.fastest, bench.decimals),
              slowest=format_double(facts.slowest, bench.decimals)),
        _("Positions count from zero, tokens from one: {token} stands at position {position}.").format(
            token=view.token_name(0), position=positions[0]),
    ]
    if facts.origin:
        sentences.append(_("At position zero the angle is zero: that row stays as it is."))
    if facts.pairs > 1 and facts.span:
        sentences.append(_("Of {pairs} hands {count} make less than one full turn on the way from the first token here "
                           "to the last, over positions: {span}.").format(
                               count=facts.under_one_turn, pairs=facts.pairs, span=facts.span))
    sentences.append(_("A turn keeps the length: no row of Q or K grew or shrank by more than {difference}.").format(
        difference=format_difference(facts.stretch)))
    sentences.append(_("Only Q and K are turned. V is not: it says what is taken, not from where."))
    if facts.still:
        sentences.append(_("The last {count} dimensions of the head are not turned; they meet without a "
                           "position.").format(count=facts.still))
    drift = meetings.drift(resolved.trace, bench.layer, moved or rotation.ELSEWHERE)
    sentences.append(_("Moving all positions on by {moved} turns every hand and changes no score of this layer by more "
                       "than {difference}: only distances reach the scores.").format(
                           moved=moved or rotation.ELSEWHERE, difference=format_difference(drift)))
    if resolved.source == "worked" and bench.example == "rope_pairs":
        sentences.append(_("Positions and θ are the document's; the numbers in Q, K and V are ours. The first two "
                           "tokens come twice, with the same vectors."))
    if resolved.source == "live":
        sentences.append(_("These are the model's real queries and keys, before and after its own rotation."))
        sentences.append(notices.live_note())
    prose.look_for(sentences)


def _speeds(bench: Bench, view: View, how: Rope) -> None:
    """θ and wavelength of every pair, and what scaling made of it."""
    labels = rope_views.dimension_labels(view)
    prose.table([_("pair"), _("dimensions"), "θ", _("positions per full turn")], [
        [str(pair.number + 1), f"{pair.first + 1}, {pair.second + 1}", format_significant(pair.theta),
         format_significant(pair.wavelength)] for pair in rotation.pairs(how)])
    st.caption(_("θ falls by the same factor from pair to pair. A larger base slows the slow hands further, so that "
                 "they tell far positions apart. The columns are marked {labels}: a number for each pair.").format(
                     labels=" ".join(labels[:rotation.SAMPLE])))
    if how.scaling:
        kinds = {"kept": _("kept"), "between": _("between"), "divided": _("divided by the factor")}
        prose.table([_("pair"), _("θ without scaling"), _("what scaling did")], [
            [str(found.number + 1), format_significant(found.plain), kinds[found.kind]]
            for found in scaling.stretched(how.rotary_dim, how.base, how.scaling)])
        st.caption(_("Linear scaling slows every hand, as if positions were closer together. NTK-aware scaling raises "
                     "the base: the fastest hand keeps its speed, the slowest is divided. {llama} keeps fast hands, "
                     "divides slow ones and blends between.").format(llama=_LLAMA))


def _distance(bench: Bench, view: View) -> None:
    """One query and one key at two places, then over all distances."""
    count = len(view.trace["positions"][0])
    with st.container(horizontal=True, key="meeting"):
        query = bench_module.whole_number(_("Query of token"), "asking", 1, count, 1, width=150) - 1
        key = bench_module.whole_number(_("Key of token"), "answering", 1, count, min(2, count), width=150) - 1
        together = bench_module.whole_number(_("Both moved on by"), "together", 0, rotation.FARTHEST,
                                             rotation.ELSEWHERE, width=150)
    found = meetings.meetings(view.trace, view.layer, *view.place, query, key, together)
    rope_views.met(found, key="met", bench=bench)
    st.markdown(_("q at {m} with k at {n}, and q at {m_moved} with k at {n_moved}: the same distance. Pair by pair and "
                  "in sum they differ by {difference} at most, though every single hand stands elsewhere.").format(
                      m=found.here.score.positions[0], n=found.here.score.positions[1],
                      m_moved=found.there.score.positions[0], n_moved=found.there.score.positions[1],
                      difference=format_difference(found.apart)))
    if found.other is not None:
        st.markdown(_("At the same distance the key of {token} gives {value} instead of {own}: the content still "
                      "matters, the rotation only says from how far it comes.").format(
                          token=view.token_name(found.other.key),
                          value=format_number(found.other.score.total, bench.decimals),
                          own=format_number(found.here.score.total, bench.decimals)))
    curves = meetings.curves(view.trace, view.layer, *view.place, found)
    distance = found.here.score.positions[1] - found.here.score.positions[0]
    marks = [(distance, met.score.total) for met in (found.here, found.other) if met is not None]
    st.plotly_chart(
        figures.distance_curves(
            curves, marks,
            names=[_("key of {token}").format(token=view.token_name(curve.key).replace("`", "")) for curve in curves],
            words={"x": _("distance: position of the key − position of the query"), "y": i18n.symbol("scores")},
            colours=[theme.curve_colours()[name] for name in ("scaled", "unscaled")]),
        width="stretch", config={"displayModeBar": False}, key="distance-curves",
        alt=_("The score of one query with two keys over their distance: each a sum of waves, one for each pair."))
    st.caption(_("Each pair adds a wave of its own length. The curve need not fall with the distance; where a model "
                 "prefers near keys, its queries and keys have learned to."))


def _pairings(bench: Bench, view: View) -> None:
    """The permutation between adjacent and half pairing, and what happens without it."""
    found = meetings.pairings(view.trace, view.layer, *view.place)
    rope_views.permuted(view, found, key="permuted", bench=bench)
    st.markdown(_("The paper and GGUF files pair neighbours, Hugging Face checkpoints pair a dimension with the one "
                  "half a head away; in each pair one is marked a, the other b. With the columns of WQ and WK put in "
                  "order by P, head by head, the other pairing gives the same scores: largest difference {converted}. "
                  "Without it the largest difference is {mixed}, and no error is raised.").format(
                      converted=format_difference(found.converted),
                      mixed=format_number(found.mixed, bench.decimals)))


def _cache(bench: Bench, view: View) -> None:
    """The last token alone, as a decode step sees it."""
    found = practice.decoded(view.trace, view.layer)
    rope_views.last_row(view, found, key="last-row", bench=bench)
    st.markdown(_("Decoding, only the new token goes through; the keys in the cache are turned already. Its position "
                  "is {position}, where the cache ends, and its row of scores is that of the whole pass: largest "
                  "difference {difference}. A query that starts again at zero scores as if it stood before all "
                  "others.").format(position=int(found.position[min(view.batch, len(found.position) - 1)]),
                                    difference=format_difference(found.difference)))


def _mistake(bench: Bench, view: View) -> None:
    labels = {"value": _("V is turned too"), "restart": _("The last token starts at zero"),
              "mixed": _("The other pairing")}
    kind = bench_module.choice(st.segmented_control, _("What goes wrong"), labels, key="misturn", default="value",
                               required=True)
    result = practice.mistake(view.trace, view.layer, kind)
    name = view.name("context" if kind == "value" else "scores")
    equations.beside(view, result, name, key="rope-mistake", bench=bench, batch=view.batch, head=view.head)
    explained = {
        "value": _("The blend then mixes values that were turned by different angles; where a token stands would "
                   "change what it says."),
        "restart": _("A decoder that forgets the cache's length gives each new token position zero. Row and column of "
                     "that token are wrong, all others stay."),
        "mixed": _("Numbers that belong to one hand are torn apart and turned with others. Shapes fit, nothing fails, "
                   "and the scores are wrong wherever the angle is not zero."),
    }
    st.markdown(explained[kind] + " " + _("Largest difference in this head: {value}.").format(
        value=format_number(result.largest(*view.place), bench.decimals)))


def _predict(bench: Bench, exercise: Exercise) -> None:
    def ask(question: Question) -> str:
        return _("By what angle, in radians, does pair {pair} turn at position {position}? Its cells show ? until you "
                 "answer.").format(pair=question.column + 1, position=question.row)

    def reveal(question: Question) -> str:
        return _("Pair {pair} turns by {value} at position {position}.").format(
            pair=question.column + 1, position=question.row, value=format_number(question.answer, bench.decimals))

    exercise.draw(ask, reveal, {
        "degrees": _("That is in degrees: the formula is in radians."),
        "from_one": _("That counts positions from one; they count from zero."),
        "half_exponent": _("That has half the exponent: it is {exponent}, since there are only {pairs} pairs.").format(
            exponent="−2i/d", pairs="d/2"),
    })


_bench, _resolved = frame.look()
header.page_header("rope", frame.here().built)
notices.notices(_resolved, frame.here().dropped)
strip.shape_strip("rope", _resolved.trace)
lab()
