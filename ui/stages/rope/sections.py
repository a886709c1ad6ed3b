"""Folded sections of the RoPE page."""

from __future__ import annotations

import streamlit as st

from core.stages import rope
from core.stages.rope import meetings, rotation, scaling
from ui.bench.parameters import MANY, Choice, Whole
from ui.furniture import prose
from ui.furniture.equations import beside
from ui.shell import i18n, theme
from ui.shell.i18n import _
from ui.shell.numbers import format_difference, format_number, format_significant
from ui.stages.rope import LLAMA, Rotated, figure, frames

ASKING = Whole("asking", 1, low=1, high=MANY, stage="rope")
ANSWERING = Whole("answering", 2, low=1, high=MANY, stage="rope")
TOGETHER = Whole("together", rotation.ELSEWHERE, low=0, high=rotation.FARTHEST, stage="rope")
MISTAKE = Choice("misturn", "value", codes=tuple(rope.MISTAKES), stage="rope")


def speeds(shown: Rotated) -> None:
    """θ and wavelength of every pair, and what scaling made of it."""
    view, how = shown.view, shown.how
    labels = frames.dimension_labels(view)
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
                     "the base: the fastest hand keeps its speed, and the speed of the slowest is divided by the "
                     "factor. {llama} keeps the speed of fast hands, divides that of slow ones, and changes smoothly "
                     "between.").format(llama=LLAMA))


def distance(shown: Rotated) -> None:
    """One query and one key at two places, then over all distances."""
    view, bench = shown.view, shown.bench
    count = len(view.trace["positions"][0])
    with st.container(horizontal=True, key="meeting"):
        query = ASKING.draw(_("Query of token"), high=count, width=150) - 1
        key = ANSWERING.draw(_("Key of token"), high=count, width=150) - 1
        together = TOGETHER.draw(_("Both positions move on by"), width=150)
    found = meetings.meetings(view.trace, view.layer, *view.place, query, key, together)
    frames.met(found, key="met", bench=bench)
    st.markdown(_("q at {m} with k at {n}, and q at {m_moved} with k at {n_moved}: the same distance. Pair by pair and "
                  "in sum they differ by {difference} at most, though every single hand points elsewhere.").format(
                      m=found.here.score.positions[0], n=found.here.score.positions[1],
                      m_moved=found.there.score.positions[0], n_moved=found.there.score.positions[1],
                      difference=format_difference(found.apart)))
    if found.other is not None:
        st.markdown(_("At the same distance the key of {token} gives {value} instead of {own}: the content still "
                      "matters, and the rotation only says how far away it is.").format(
                          token=view.token_name(found.other.key),
                          value=format_number(found.other.score.total, bench.decimals),
                          own=format_number(found.here.score.total, bench.decimals)))
    curves = meetings.curves(view.trace, view.layer, *view.place, found)
    distance = found.here.score.positions[1] - found.here.score.positions[0]
    marks = [(distance, met.score.total) for met in (found.here, found.other) if met is not None]
    st.plotly_chart(
        figure.distance_curves(
            curves, marks,
            names=[_("key of {token}").format(token=view.token_name(curve.key).replace("`", "")) for curve in curves],
            words={"x": _("distance: position of the key − position of the query"), "y": i18n.symbol("scores")},
            colours=[theme.curve_colours()[name] for name in ("scaled", "unscaled")]),
        width="stretch", config={"displayModeBar": False}, key="distance-curves",
        alt=_("The score of one query with two keys over their distance: each a sum of waves, one for each pair."))
    st.caption(_("Each pair adds a wave of its own length. The curve need not fall with the distance; where a model "
                 "prefers near keys, its queries and keys have learned to."))


def pairings(shown: Rotated) -> None:
    """The permutation between adjacent and half pairing, and what happens without it."""
    view, bench = shown.view, shown.bench
    found = meetings.pairings(view.trace, view.layer, *view.place)
    frames.permuted(view, found, key="permuted", bench=bench)
    st.markdown(_("The paper and GGUF files pair neighbours, Hugging Face checkpoints pair a dimension with the one "
                  "half a head away; in each pair one is marked a, the other b. With the columns of WQ and WK put in "
                  "order by P, head by head, the other pairing gives the same scores: largest difference {converted}. "
                  "Without it the largest difference is {mixed}, and no error is raised.").format(
                      converted=format_difference(found.converted),
                      mixed=format_number(found.mixed, bench.decimals)))


def cache(shown: Rotated) -> None:
    """The last token alone, as a decode step sees it."""
    view, bench = shown.view, shown.bench
    found = rope.decoded(shown.at)
    frames.last_row(view, found, key="last-row", bench=bench)
    st.markdown(_("In decoding only the new token is computed; the keys in the cache are turned already. The position "
                  "of the new token is {position}, where the cache ends, and its row of scores is that of the whole "
                  "pass: largest difference {difference}. A query that starts again at zero gets scores as if it stood "
                  "before all "
                  "other tokens.").format(position=int(found.position[min(view.batch, len(found.position) - 1)]),
                                    difference=format_difference(found.difference)))


def mistakes(shown: Rotated) -> None:
    """The rotation done wrong, beside what is right."""
    view, bench = shown.view, shown.bench
    labels = {"value": _("V is turned too"), "restart": _("The last token starts at zero"),
              "mixed": _("The other pairing")}
    kind = MISTAKE.draw(st.segmented_control, _("What goes wrong"), labels, required=True)
    result = rope.MISTAKES[kind](shown.at)
    name = view.name("context" if kind == "value" else "scores")
    beside(view, result, name, key="rope-mistake", bench=bench, batch=view.batch, head=view.head)
    explained = {
        "value": _("The weighted sum then adds values that were turned by different angles: at another place the same "
                   "token would give another content."),
        "restart": _("A decoder that forgets the cache's length gives every new token position zero. The row and the "
                     "column of that token are then wrong; all others stay as they are."),
        "mixed": _("Numbers that belong to one hand are torn apart and turned with others. Shapes fit, nothing fails, "
                   "and the scores are wrong wherever the angle is not zero."),
    }
    st.markdown(explained[kind] + " " + _("Largest difference in this head: {value}.").format(
        value=format_number(result.largest(*view.place), bench.decimals)))
