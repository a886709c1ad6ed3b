"""The folded sections of the embedding page."""

from __future__ import annotations

import streamlit as st

from core import embedding
from core.stages.embedding import MISTAKES, rows
from ui.furniture import prose
from ui.shell import documents, i18n, theme
from ui.shell.i18n import _
from ui.shell.numbers import format_difference, format_number
from ui.stages.embedding import choices, contexts, figure, lookup
from ui.stages.embedding.subject import Embedded


def kind_names() -> dict[str, str]:
    """The kinds of positions, in words."""
    return {"none": _("no positions"), "learned": _("learned"), "sinusoidal": _("sinusoidal"), "rope": "RoPE",
            "relative": _("relative bias")}


def one_hot(shown: Embedded) -> None:
    """The product with one-hot rows, and what it costs."""
    trace = shown.view.trace
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
    lookup.one_hot(shown.view, found, key="one-hot", bench=shown.bench)
    st.caption(_("Largest difference between the product and the rows looked up: {difference}.").format(
        difference=format_difference(found.difference)))


def repeats(shown: Embedded) -> None:
    """The first token once more at the end: the same row, but for what positions add."""
    view = shown.view
    table = view.trace["embedding"]
    ids = rows.first_again(view.trace["tokens"], view.batch)
    found = rows.look_up(table, ids) if table.shape[0] <= lookup.ONE_HOT else None
    looked = embedding.lookup(table, ids) if found is None else found.rows
    if table.shape[1] <= lookup.ONE_HOT:
        lookup.repeated(view.trace, ids, looked, key="repeats", bench=shown.bench)
    entry = rows.repeats(ids, looked)[0]
    text = _("Here the first token stands once more at the end. Tokens {places} have id {id}: their rows are equal to "
             "the last digit, though one begins the text and the other ends it.")
    st.markdown(text.format(places=i18n.listed(str(place + 1) for _batch, place in entry.places), id=entry.id))
    if view.trace.config.width % 2 == 0:
        moved = rows.repeats(ids, rows.place(looked, "sinusoidal").total)[0]
        st.markdown(_("With sinusoidal positions added, these rows differ.") if not moved.equal else
                    _("With sinusoidal positions added, these rows are still equal."))


def positions(shown: Embedded) -> None:
    """Where each kind of positions acts, and the waves of the sinusoidal ones."""
    placed = shown.placed
    where = {"none": _("nowhere"), "learned": _("on the rows, here: a table with a row for each position"),
             "sinusoidal": _("on the rows, here: fixed waves, not learned"),
             "rope": _("on Q and K, in every layer: their rows are turned"),
             "relative": _("on the scores, in every layer: a number for each distance")}
    prose.table([_("positions"), _("where they act"), _("shown above")],
                 [[label, where[kind], "✓" if kind == placed.kind else ""] for kind, label in kind_names().items()])
    if placed.kind != "sinusoidal":
        st.caption(_("Choose the sinusoidal positions above to see their waves."))
        return
    found = rows.waves(shown.view.trace.config.width)
    words = {"column": _("column {column}"), "position": _("position, from zero"), "value": _("added")}
    st.plotly_chart(
        figure.waves(found, placed.total.shape[-2], words=words, colours=theme.wave_colours()), width="stretch",
        config={"displayModeBar": False}, key="waves",
        alt=_("Waves over the positions: the first columns swing fast, the last ones slowly."))
    st.markdown(_("Each pair of columns is the sine and the cosine of one angle, which grows with the position. In "
                  "column {first} a wave is {short} positions long, in column {last} {long}: together they tell places "
                  "apart, near ones by the fast columns and far ones by the slow.").format(
                      first=found.columns[0] + 1, short=format_number(found.lengths[0], decimals=2),
                      last=found.columns[-1] + 1, long=format_number(found.lengths[-1], decimals=2)))


def sizes(shown: Embedded) -> None:
    """The table on screen beside those of the documents."""
    trace = shown.view.trace
    config = trace.config
    batch, tokens = trace["tokens"].shape
    cases = {_("on screen"): rows.Sizes(batch, tokens, config.vocab, config.width),
             documents.named("D0"): rows.EXAMPLES["d0"], documents.named("D1"): rows.EXAMPLES["d1"]}
    prose.table(
        [_("case"), "ids", "E", "E[ids]", _("numbers in E"), _("bytes of E, float32"), _("numbers read"),
         _("multiplications, one-hot")],
        [[name, f"[{size.batch},{size.tokens}]", f"[{size.vocab},{size.width}]",
          f"[{size.batch},{size.tokens},{size.width}]",
          *(f"{number:,}" for number in rows.work(*size)[:-1])] for name, size in cases.items()])
    st.caption(_("The vocabulary V is an axis of E and of nothing that comes out of it: what goes on to the blocks is "
                 "[B,T,D]."))


def mistakes(shown: Embedded) -> None:
    """The place taken for the id, or an id that has no row."""
    labels = {"place": _("The place taken for the id"), "outside": _("An id outside the table")}
    kind = choices.SLIP.draw(st.segmented_control, _("What goes wrong"), labels, required=True)
    trace = shown.view.trace
    if kind == "outside":
        contexts.outside(trace["embedding"], shown.bench)
        return
    found = MISTAKES[kind](shown.at)
    if found.error is not None:
        st.error(_("PyTorch says: `{error}`").format(error=found.error))
        return
    ids = rows.first_again(trace["tokens"], shown.view.batch)
    lookup.compared(trace, ids, found, shown.window, key="embedding-mistake", bench=shown.bench)
    st.markdown(_("The first token stands once more at the end. Row t for token t is right only where a token's id "
                  "happens to be its place, so a short example can hide the mistake. Largest difference: "
                  "{value}.").format(value=format_number(found.largest(0, 0), shown.bench.decimals)))
