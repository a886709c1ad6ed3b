"""Embedding: an id is the number of a row, and the row is looked up."""

from __future__ import annotations

import streamlit as st

from core import embedding, questions
from core.errors import WorkbenchError
from core.stages.embedding import practice, rows
from core.stages.embedding import programs as embedding_programs
from ui import bench as bench_module
from ui.bench import Bench
from ui.equation import Pin
from ui.equation.views import View
from ui.furniture import checks, code, figures, formulas, header, notices, prose, sections, share, strip
from ui.furniture.equations import drawn
from ui.furniture.exercise import Exercise, held_back
from ui.shell import errors, frame, i18n, theme
from ui.shell.i18n import _
from ui.shell.numbers import format_difference, format_number
from ui.sources import Resolved
from ui.stages.embedding import POSITIONS, SLIP, contexts, lookup

_NAMES = ("tokens", "embed", "pos_embed", "blocks.0.in")


@st.fragment
def lab() -> None:
    """Everything that changes with an edit, a pin or a switch of this page."""
    bench, resolved = frame.look()
    view = View(resolved.trace, layer=0, batch=bench.batch, head=0, editable=resolved.scope is not None)
    trace = view.trace
    formula_at = st.container()
    kind = _controls(view)
    placed = rows.placed(trace, kind)
    window = bench_module.window("D", trace.config.width)
    exercise = Exercise(
        "embedding-question", (bench.source, bench.scope, bench.batch, bench.seed, bench.text, kind),
        lambda number: practice.question(trace, view.batch, number),
        lambda asked, answer: practice.judge(trace, view.batch, asked, answer, bench.decimals))
    asked = exercise.question
    pin = _equation(bench, resolved, view, placed, window, asked)
    with formula_at:
        _formula(view, placed, None if asked else pin, bench.decimals)
    sections.folded(_("Predict, then reveal"), "predict", lambda: _predict(bench, view, exercise))
    notices.edit_notices(resolved)
    _look_for(resolved, view, placed)
    for title, key, body in (
        (_("The same as one-hot × E, and why nobody multiplies"), "one-hot", lambda: _one_hot(bench, view)),
        (_("Equal tokens get equal rows"), "repeats", lambda: _repeats(bench, view)),
        (_("Where positions come in"), "positions", lambda: _positions(view, placed)),
        (_("How large the table is"), "sizes", lambda: _sizes(view)),
        (_("Common mistakes"), "wrong", lambda: _mistake(bench, view, window, asking=asked is not None)),
        (_("PyTorch"), "code", lambda: code.program(
            embedding_programs.embedding(trace), [embedding.lookup, embedding.one_hot_product, embedding.sinusoidal],
            key="embedding")),
        (_("Share and save"), "share", lambda: share.share(bench, trace, key="embedding", names=_NAMES)),
    ):
        sections.folded(title, key, body)
    checks.check_line(trace.check_step("embed"))
    bench_module.finish()


def _kinds() -> dict[str, str]:
    return {"none": _("no positions"), "learned": _("learned"), "sinusoidal": _("sinusoidal"), "rope": "RoPE",
            "relative": _("relative bias")}


def _controls(view: View) -> str:
    """Which positions are added; the source's own at first."""
    trace = view.trace
    possible = {"learned": "position_table" in trace, "sinusoidal": trace.config.width % 2 == 0}
    labels = {kind: label for kind, label in _kinds().items() if possible.get(kind, True)}
    with st.container(horizontal=True, vertical_alignment="center", key="controls"):
        return POSITIONS.draw(st.segmented_control, _("Positions"), labels, required=True,
                              default=trace.config.positions, label_visibility="collapsed")


def _equation(
    bench: Bench, resolved: Resolved, view: View, placed: rows.Placed, window: tuple[int, int] | None,
    asked: questions.Question | None,
) -> Pin | None:
    """Draw ids → E → E[ids] (+ P = X); returns the pinned cell."""
    frames, rules = lookup.looked_up(view, placed, own=placed.kind == view.trace.config.positions, window=window)
    hidden = [(id, asked.row, asked.column) for id in ("embed", "total")] if asked else []
    made = next(found for found in frames if found.id == "embed")
    return drawn(frames, rules, key="embedding", bench=bench, resolved=resolved, view=view,
                 telling=view.pin(made, row=1, col=0), hidden=hidden)


def _formula(view: View, placed: rows.Placed, pin: Pin | None, decimals: int) -> None:
    symbols = r"X = E[\mathrm{ids}]" + (r" + P[\mathrm{pos}]" if placed.added is not None else "")
    if pin is None or pin.id not in ("embed", "total"):
        formulas.formula(symbols, "")
        return
    token, at = int(view.trace["tokens"][view.batch, pin.row]), (view.batch, pin.row, pin.col)
    row, column = pin.row + 1, pin.col + 1
    looked = formulas.number(float(view.trace["embed"][at]), decimals)
    if pin.id == "embed" or placed.added is None:
        formulas.formula(symbols, rf"E[\mathrm{{ids}}_{{{row}}}]_{{{column}}} = E[{token}]_{{{column}}} = {looked}")
        return
    added, total = (formulas.number(float(value), decimals)
                    for value in (placed.added[pin.row, pin.col], placed.total[at]))
    formulas.formula(symbols, rf"X_{{{row},{column}}} = E[{token}]_{{{column}}} + P[{pin.row}]_{{{column}}} = "
                            rf"{looked} + ({added}) = {total}")


def _acts(placed: rows.Placed) -> str:
    return {
        "nothing": _("Nothing tells the rows apart by their place: the same token gives the same X wherever it "
                     "stands."),
        "rows": _("P[pos] depends on the place alone, E[ids] on the token alone; X is their sum, and its shape stays "
                  "what it was."),
        "queries and keys": _("RoPE adds nothing here: X is E[ids]. The place comes in later, when the rows of Q and K "
                              "are turned."),
        "scores": _("A relative bias adds nothing here: X is E[ids]. The place comes in later, as a number added to "
                    "each score."),
    }[placed.acts_on]


def _look_for(resolved: Resolved, view: View, placed: rows.Placed) -> None:
    trace = view.trace
    ids = trace["tokens"][view.batch].tolist()
    sizes = rows.work(1, len(ids), trace.config.vocab, trace.config.width)
    last = len(ids) - 1
    sentences = [
        _("The id of a token is the number of a row: {token} has id {id}, so it gets row {id} of E, number for number; "
          "nothing is multiplied and nothing is summed.").format(token=view.token_name(last), id=ids[last]),
        _("E has {vocab} rows of {width} numbers, {numbers} in all. Tokens here: {tokens}. Each reads one row, "
          "{read} numbers together; {rows} different rows are read.").format(
              vocab=f"{trace.config.vocab:,}", width=trace.config.width, numbers=f"{sizes.table:,}",
              tokens=len(ids), rows=len(set(ids)), read=f"{sizes.read:,}"),
    ]
    for entry in rows.repeats(trace["tokens"], trace["embed"]):
        places = [place + 1 for batch, place in entry.places if batch == view.batch]
        if len(places) > 1:
            sentences.append(_("Tokens {places} have the same id {id}, and so the same row.").format(
                places=i18n.listed(map(str, places)), id=entry.id))
    sentences.append(_acts(placed))
    if resolved.scope is not None:
        sentences.append(_("The rows of E are parameters. Change a number in a marked row: it moves in every place "
                           "that has this id, and nowhere else."))
    if resolved.source == "live":
        sentences.append(notices.live_note())
    prose.look_for(sentences)


def _predict(bench: Bench, view: View, exercise: Exercise) -> None:
    def ask(question: questions.Question) -> str:
        return _("What is {symbol}[{row},{column}]? Its cell shows ? until you answer.").format(
            symbol=i18n.symbol("embed"), row=question.row + 1, column=question.column + 1)

    def reveal(question: questions.Question) -> str:
        return _("{token} has id {id}, and {symbol}[{id},{column}] = {value}.").format(
            token=view.token_name(question.row), id=int(view.trace["tokens"][view.batch, question.row]),
            symbol=i18n.symbol("embedding"), column=question.column + 1,
            value=format_number(question.answer, bench.decimals))

    exercise.draw(ask, reveal, {
        "place": _("That is the row at the token's place. The id names the row, not the place."),
        "with_position": _("That is X, with the position added already. The looked-up row comes before it."),
    })


def _one_hot(bench: Bench, view: View) -> None:
    trace = view.trace
    batch, tokens = trace["tokens"].shape
    work = rows.work(batch, tokens, trace.config.vocab, trace.config.width)
    st.markdown(_("A one-hot row has a one in the column of its id and zeros elsewhere. Times E it gives that row of "
                  "E, since every other row is multiplied by zero. It takes {products} multiplications, {zero} of "
                  "them by zero and the rest by one; looking up takes none and reads {read} numbers.").format(
                      products=f"{work.multiplications:,}", zero=f"{work.by_zero:,}", read=f"{work.read:,}"))
    if trace.config.vocab > lookup.ONE_HOT:
        st.caption(_("With {vocab} ids the one-hot rows are too wide to write out. Choose the worked block or a small "
                     "toy to see them.").format(vocab=f"{trace.config.vocab:,}"))
        return
    found = rows.look_up(trace["embedding"], trace["tokens"])
    lookup.one_hot(view, found, key="one-hot", bench=bench)
    st.caption(_("Largest difference between the product and the rows looked up: {difference}.").format(
        difference=format_difference(found.difference)))


def _repeats(bench: Bench, view: View) -> None:
    table = view.trace["embedding"]
    ids = rows.first_again(view.trace["tokens"], view.batch)
    found = rows.look_up(table, ids) if table.shape[0] <= lookup.ONE_HOT else None
    looked = embedding.lookup(table, ids) if found is None else found.rows
    if table.shape[1] <= lookup.ONE_HOT:
        lookup.repeated(view.trace, ids, looked, key="repeats", bench=bench)
    entry = rows.repeats(ids, looked)[0]
    text = _("Here the first token stands once more at the end. Tokens {places} have id {id}: their rows are equal to "
             "the last digit, though one begins the text and the other ends it.")
    st.markdown(text.format(places=i18n.listed(str(place + 1) for _batch, place in entry.places), id=entry.id))
    if view.trace.config.width % 2 == 0:
        moved = rows.repeats(ids, rows.place(looked, "sinusoidal").total)[0]
        st.markdown(_("With sinusoidal positions added they differ.") if not moved.equal else
                    _("Sinusoidal positions leave them equal."))


def _positions(view: View, placed: rows.Placed) -> None:
    where = {"none": _("nowhere"), "learned": _("on the rows, here: a table with a row for each position"),
             "sinusoidal": _("on the rows, here: fixed waves, not learned"),
             "rope": _("on Q and K, in every layer: their rows are turned"),
             "relative": _("on the scores, in every layer: a number for each distance")}
    prose.table([_("positions"), _("where they act"), _("shown above")],
                 [[label, where[kind], "✓" if kind == placed.kind else ""] for kind, label in _kinds().items()])
    if placed.kind != "sinusoidal":
        st.caption(_("Choose the sinusoidal positions above to see their waves."))
        return
    found = rows.waves(view.trace.config.width)
    words = {"column": _("column {column}"), "position": _("position, from zero"), "value": _("added")}
    st.plotly_chart(
        figures.waves(found, placed.total.shape[-2], words=words, colours=theme.wave_colours()), width="stretch",
        config={"displayModeBar": False}, key="waves",
        alt=_("Waves over the positions: the first columns swing fast, the last ones slowly."))
    st.markdown(_("Each pair of columns is the sine and the cosine of one angle, which grows with the position. In "
                  "column {first} a wave is {short} positions long, in column {last} {long}: together they tell places "
                  "apart, near ones by the fast columns and far ones by the slow.").format(
                      first=found.columns[0] + 1, short=format_number(found.lengths[0], decimals=2),
                      last=found.columns[-1] + 1, long=format_number(found.lengths[-1], decimals=2)))


def _sizes(view: View) -> None:
    config = view.trace.config
    batch, tokens = view.trace["tokens"].shape
    cases = {_("on screen"): rows.Sizes(batch, tokens, config.vocab, config.width),
             "D0": rows.EXAMPLES["d0"], "D1": rows.EXAMPLES["d1"]}
    prose.table(
        [_("case"), "ids", "E", "E[ids]", _("numbers in E"), _("bytes of E, float32"), _("numbers read"),
         _("multiplications, one-hot")],
        [[name, f"[{size.batch},{size.tokens}]", f"[{size.vocab},{size.width}]",
          f"[{size.batch},{size.tokens},{size.width}]",
          *(f"{number:,}" for number in rows.work(*size)[:-1])] for name, size in cases.items()])
    st.caption(_("The vocabulary V is an axis of E and of nothing that comes out of it: what goes on to the blocks is "
                 "[B,T,D]."))


def _mistake(bench: Bench, view: View, window: tuple[int, int] | None, *, asking: bool) -> None:
    if asking:
        held_back()
        return
    labels = {"place": _("The place taken for the id"), "outside": _("An id outside the table")}
    kind = SLIP.draw(st.segmented_control, _("What goes wrong"), labels, required=True)
    trace = view.trace
    if kind == "outside":
        contexts.outside(trace["embedding"], bench)
        return
    ids = rows.first_again(trace["tokens"], view.batch)
    found = practice.by_place(trace["embedding"], ids)
    if found.error is not None:
        st.error(_("PyTorch says: `{error}`").format(error=found.error))
        return
    lookup.compared(trace, ids, found, window, key="embedding-mistake", bench=bench)
    st.markdown(_("The first token stands once more at the end. Row t for token t is right only where a token's id "
                  "happens to be its place, so a short example can hide the mistake. Largest difference: "
                  "{value}.").format(value=format_number(found.largest(0, 0), bench.decimals)))


@st.fragment
def context() -> None:
    """What changes with the context: a word of the live model in two sentences."""
    bench, resolved = frame.look()
    try:
        sections.folded(_("What changes with the context"), "context", lambda: contexts.two_sentences(bench, resolved))
    except WorkbenchError as problem:
        st.error(errors.explain(problem))
    bench_module.finish()


_bench, _resolved = frame.look()
header.page_header("embedding", frame.here().built)
notices.notices(_resolved, frame.here().dropped)
strip.shape_strip("embedding", _resolved.trace)
lab()
context()
