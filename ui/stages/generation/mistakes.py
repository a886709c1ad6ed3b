"""Mistakes about where the new rows of a step stand, carried out on the step on screen."""

from __future__ import annotations

import streamlit as st

from core.stages.generation import mistakes
from ui.bench.parameters import Choice
from ui.furniture import cache_frames, equations
from ui.furniture.generation_run import Run, Running
from ui.shell.i18n import _
from ui.shell.numbers import format_number

SLIP = Choice("slip", "aligned_start", codes=("aligned_start", "restarted"), stage="generation")


def mistake(shown: Running) -> None:
    """Choose a mistake and see what it does to the weights of the head on screen and to the next token."""
    bench, view, run, at = shown.bench, shown.view, shown.run, shown.at
    if not cache_frames.fresh(view):
        st.caption(_("These mistakes show once rows come from the cache. Look at a later step of a run that uses the "
                     "cache."))
        return
    labels = {"aligned_start": _("Causal mask aligned at the start"), "restarted": _("Positions begin at zero again")}
    kind = SLIP.draw(st.segmented_control, _("What goes wrong"), labels, required=True)
    result = mistakes.wrong_weights(at, kind=kind)
    explained = {
        "aligned_start": _("If a causal mask for Tq queries and Tk keys is aligned at the upper left corner, the new "
                           "row can read only the first key, as if it stood at the start. It stands at the end: with "
                           "the mask aligned there, query i may read all keys up to Tk − Tq + i."),
        "restarted": _("The new token stands behind the cached ones. If a step counts its positions from zero again, "
                       "its row gets the position of the first token, and all distances to the cached keys are wrong."),
    }
    if kind == "restarted" and view.trace.config.positions == "none":
        st.markdown(explained[kind] + " " + _("This model has no positions, so nothing changes here."))
        return
    equations.beside(view, result, view.name("weights"), key="generation-mistake", bench=bench, batch=view.batch,
                     head=view.head)
    st.markdown(explained[kind] + " " + _("Largest difference of A in this head: {value}.").format(
        value=format_number(result.largest(*view.place), bench.decimals)))
    st.markdown(_consequence(run, mistakes.consequence(at, kind), bench.decimals))


def _consequence(run: Run, found: mistakes.Consequence, decimals: int) -> str:
    """What a mistake does to the next token, or where that stays the same, to its logits."""
    right, wrong = (f"`{run.prompt.label(token)}`" for token in (found.right, found.wrong))
    if found.right != found.wrong:
        return _("Done right, the likeliest next token is {right}; with the mistake it is {wrong}.").format(
            right=right, wrong=wrong)
    if not found.difference:
        return _("The logits stay the same here, and with them the likeliest next token: {token}.").format(
            token=right)
    return _("The likeliest next token stays the same here: {token}. But the logits that it is chosen from differ by "
             "up to {difference}, among values up to {size}.").format(
                 token=right, difference=format_number(found.difference, decimals),
                 size=format_number(found.size, decimals))
