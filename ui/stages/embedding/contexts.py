"""The embedding page's experiments: one word in two sentences, and an id that has no row."""

from __future__ import annotations

import streamlit as st
from torch import Tensor

from core.errors import WorkbenchError
from core.stages.embedding import mistakes, rows
from core.trace import Trace
from ui import sources
from ui.bench import Bench
from ui.furniture import prose
from ui.shell import errors, i18n, theme
from ui.shell.i18n import _
from ui.shell.numbers import format_number
from ui.sources import Resolved
from ui.stages.embedding import figure
from ui.stages.embedding.choices import OUTSIDE, SECOND, WORD
from ui.stages.embedding.subject import Embedded

_SHOWN = 8  # numbers of a row that are written out


def two_sentences(shown: Embedded) -> None:
    """What stays and what changes, and on the live model the likeness of one token in two texts, layer by layer."""
    try:
        _two_sentences(shown.bench, shown.resolved)
    except WorkbenchError as problem:
        st.error(errors.explain(problem))


def _two_sentences(bench: Bench, resolved: Resolved) -> None:
    prose.table(
        [_("part"), _("what it says"), _("changes with")],
        [[_("id"), _("which entry of the vocabulary this is"), _("nothing")],
         [_("row of E"), _("what the model starts from for this entry"), _("nothing, once trained")],
         [_("position"), _("where the token stands"), _("the place")],
         [_("hidden state"), _("what the token stands for here, so far"), _("what stands before it, at every layer")]])
    if resolved.source != "live":
        st.caption(_("Choose live, above, to see it on a real model: the same word in two sentences."))
        return
    other = _other()
    if other is None:
        return
    pairs = rows.shared(resolved.trace, other)
    if not pairs:
        st.info(_("The two sentences share no token. The space before a word belongs to its token: try a word from the "
                  "middle of the first."))
        return
    labels = {str(token): f"{resolved.trace.tokens[place]} · {token}" for token, (place, _at) in pairs.items()}
    chosen = WORD.draw(st.selectbox, _("Token in both"), labels, default=next(iter(labels)))
    _likeness(bench, resolved.trace, other, pairs[int(chosen)])


def _other() -> Trace | None:
    """The trace of the second sentence; None, with a message, where there is none."""
    text = SECOND.draw(_("Second sentence"))
    try:
        model = sources.loader().model()
        return None if model is None else model.trace(text)
    except WorkbenchError as problem:
        st.error(errors.explain(problem))
        return None


def _likeness(bench: Bench, one: Trace, other: Trace, places: tuple[int, int]) -> None:
    found = rows.alike(one, places[0], other, places[1])
    words = {"layer": _("blocks passed"), "cosine": _("cosine")}
    st.plotly_chart(figure.likeness(found, words=words, colour=theme.wave_colours()[0]), width="stretch",
                    config={"displayModeBar": False}, key="likeness",
                    alt=_("The cosine of the two hidden states after each block: one at the start, then below it."))
    sentence = (_("Token {one} of the first sentence and token {other} of the second have the same id and the same row "
                  "of E: cosine {start}. The very same tokens stand before both, so after {layers} blocks the cosine "
                  "is {end}: at a token, a causal model has read nothing that comes after it.")
                if found.same_before else
                _("Token {one} of the first sentence and token {other} of the second have the same id and the same row "
                  "of E: cosine {start}. After {layers} blocks, in which each token has read what stands before it and "
                  "nothing after it, the cosine is {end}. The id and the row did not change; the hidden state did."))
    st.markdown(sentence.format(
        one=places[0] + 1, other=places[1] + 1, layers=one.config.layers,
        start=format_number(found.cosines[0], bench.decimals), end=format_number(found.cosines[-1], bench.decimals)))


def outside(table: Tensor, bench: Bench) -> None:
    """An id of the learner's choosing, tried here, in torch and in NumPy."""
    vocab = table.shape[0]
    token = OUTSIDE.draw(_("Id to look up"), low=-vocab, high=vocab)
    found = mistakes.outside(table, token)
    refused, silent = _("refused"), _("accepted")
    row = ", ".join(format_number(value, bench.decimals) for value in (found.numpy_row or ())[:_SHOWN])
    prose.table(
        [_("who"), _("what happens"), _("its error, or the row it gives")],
        [[_("this app"), silent if found.error is None else refused, f"`{found.error}`" if found.error else ""],
         ["torch", silent if found.torch_error is None else refused,
          f"`{found.torch_error}`" if found.torch_error else ""],
         ["NumPy", refused if found.numpy_row is None else silent, row]])
    if found.error is None:
        st.caption(_("This id has a row, so all three agree."))
    elif found.numpy_row is not None:
        st.markdown(_("NumPy counts a negative number from the end and gives the row of id {wrapped} without a "
                      "warning. Such an id comes from a padding value or a wrong offset, and the error would surface "
                      "far from its cause.").format(wrapped=vocab + token))
    else:
        st.markdown(_("Ids run from zero: the last row of {symbol} has id {last}.").format(
            symbol=i18n.symbol("embedding"), last=vocab - 1))
