"""What the learner should know about the numbers on screen: a problem, a model on its way, edits."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from core.live.errors import ModelMissing
from core.live.registry import DEFAULT
from ui import bench as bench_module
from ui import sources
from ui.bench.choices import TYPED
from ui.furniture import installing, prose
from ui.shell import errors, frame, i18n
from ui.shell.i18n import _
from ui.sources import LIVE_NAME


def notices(resolved: sources.Resolved, dropped: Iterable[str] = (), *, words: bool = True) -> None:
    """Everything that the learner should know about what is on screen: a problem, a model on its way, dropped input,
    and on pages that show the example's `words`, typed ones that it has no rows for."""
    if isinstance(resolved.error, ModelMissing) and installing.possible():
        installing.offer(resolved.error)
    elif resolved.error is not None:
        st.error(errors.explain(resolved.error))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(_("What you see below are the last good numbers."))
            if isinstance(resolved.error, errors.TRY_AGAIN):
                st.button(_("Try again"), on_click=sources.loader().forget, key="try-again")
    if resolved.loading:
        _loading()
    if resolved.elsewhere:
        st.info(errors.why_elsewhere(resolved.elsewhere))
    if words and resolved.unread and frame.here().stage.slug != "tokens":
        with st.container(horizontal=True, vertical_alignment="center"):
            st.info(_unread(resolved.unread))
            st.button(_("Forget these words"), on_click=TYPED.put, args=("",), key="forget-typed")
    problem = sources.loader().cache_problem() if resolved.source == "live" else None
    if problem is not None:
        st.warning(_("The unpacked weights cannot be kept in `{folder}` ({why}), so every start unpacks them again. "
                     "{variable} names another folder.").format(
                         folder=problem.folder, why=problem.why, variable=problem.variable))
    for code in dict.fromkeys(dropped):
        st.warning({
            "unknown_choice": _("The address asked for something that does not exist here; it was left out."),
            "edits_dropped": _("Some edits in the address or file could not be read and were left out."),
            "pin_dropped": _("The pinned cell in the address could not be read and was left out."),
        }[code])
    if resolved.unfit:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.info(_("These edits do not fit the present sizes and wait until they do: {edits}").format(
                edits=i18n.listed(f"`{edit}`" for edit in resolved.unfit)))
            st.button(_("Discard all edits of this source"), on_click=bench_module.discard_edits,
                      args=(resolved.scope,))


def _unread(text: str) -> str:
    """Why the typed words are not what the page shows."""
    example = bench_module.examples()[bench_module.current().example]
    unknown, quoted = example.unknown(text), prose.literal(text)
    if not example.longest:
        return _("This example has its own words only, not {text}, typed on the page about tokens.").format(text=quoted)
    if unknown:
        return _("{text}, typed on the page about tokens, has words that this example has no row of E for: {words}. "
                 "You see its own text.").format(text=quoted, words=i18n.listed(map(prose.literal, unknown)))
    return _("{text}, typed on the page about tokens, is longer than the {count} tokens that this example takes. You "
             "see its own text.").format(text=quoted, count=example.longest)


@st.fragment(run_every="0.4s")
def _loading() -> None:
    """The progress of loading the model; runs the page again once there is something new to show."""
    progress = sources.loader().progress()
    if progress is None:
        st.rerun()
    stages = {
        "room": _("waiting until another model has made room"),
        "read": _("reading the file"), "wait": _("waiting for another process that prepares it"),
        "dequantise": _("unpacking the weights into float32"),
        "write": _("keeping the weights for next time"), "map": _("mapping the weights into memory"),
    }
    name = sources.loader().name
    text = _("{model} is on its way: {stage}, {seconds} s. The numbers below are still the last ones.").format(
        model=LIVE_NAME if name == DEFAULT else name, stage=stages.get(progress.stage, progress.stage),
        seconds=int(progress.seconds))
    st.progress(progress.fraction or 0.0, text=text)


def live_note() -> str:
    """What the numbers of the live model are, and are not."""
    if bench_module.model_name() == DEFAULT:
        return _("These are the true numbers of the model in this file, whose weights were dequantised from four bits; "
                 "the original's differ slightly.")
    return _("These are the true numbers of this checkpoint, computed in float32.")


def edit_notices(resolved: sources.Resolved) -> None:
    """Which computed tensors were edited by hand, so that they no longer follow from what comes before; with revert."""
    trace = resolved.trace
    if not trace.edits:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="edits"):
        cut = [name for name in trace.edits if not trace.is_given(name)]
        count = sum(len(cells) for cells in trace.edits.values())
        st.markdown(_("Edited numbers: {count}.").format(count=count))
        for name in cut:
            st.markdown(_("{symbol} was edited by hand and no longer follows from what comes before it there.").format(
                symbol=i18n.symbol(name)))
        st.button(_("Take all edits back"), on_click=bench_module.discard_edits, args=(resolved.scope,), key="revert")
