"""The KV cache: what it holds after each step, and how it grows."""

from __future__ import annotations

import streamlit as st

from core import cost, decoding, programs, questions, quiz_cache, steps
from core.cache import KVCache
from core.live.model import MAX_TRACE_TOKENS
from core.stages.kv_cache import growth
from core.trace import Trace
from ui import bench as bench_module
from ui.equation import MAX_SIDE
from ui.equation.views import View
from ui.furniture import (
    cache_frames,
    checks,
    code,
    equations,
    formulas,
    generation_run,
    header,
    notices,
    prose,
    sections,
    share,
)
from ui.furniture.exercise import Exercise, held_back
from ui.furniture.generation_run import Run, Shown
from ui.shell import frame, i18n, numbers
from ui.shell.i18n import _
from ui.stages import kv_cache


def lab() -> None:
    """Everything that changes with a step, a pin or a choice of layer and head."""
    shown = generation_run.look()
    bench, run = shown.bench, shown.run
    strip_at, formula_at = st.container(), st.container()
    place = generation_run.controls(run)
    with strip_at:
        generation_run.step_strip("kv_cache", run, place)
    generation_run.text(run, place, bench.batch)
    trace = None if place is None else run.trace(place)
    if not run.settings.cache:
        st.info(_("This run was made without a cache, so there is nothing to see. Switch it on in the settings and "
                  "start over."))
    elif place is None:
        st.caption(_("The cache is empty: nothing has been read yet. Step reads the prompt, or its first piece."))
    if place is None or trace is None or not run.settings.cache:
        with formula_at:
            _formula(run, None, asking=False)
    else:
        rows = run.steps[place].length_after
        exercise = Exercise(
            "cache-question", (run.prompt.key, place),
            lambda number: quiz_cache.cache_question(trace.config, trace.sizes["B"], rows, _size(trace), number),
            lambda question, answer: quiz_cache.judge_cache(
                trace.config, trace.sizes["B"], rows, _size(trace), question, answer))
        with formula_at:
            _formula(run, rows, asking=exercise.question is not None)
        _store(shown, place, trace)
        _bytes(run, trace, rows, asking=exercise.question is not None)
        sections.folded(_("Predict, then reveal"), "predict", lambda: _predict(exercise, rows))
        _look_for(View(trace, layer=bench.layer, batch=bench.batch, head=bench.head, editable=False), run, place)
        for title, key, body in (
            (_("Where each row comes from"), "append", lambda: _appended(shown, trace)),
            (_("Common mistakes"), "wrong", lambda: _mistake(trace, rows, asking=exercise.question is not None)),
            (_("PyTorch"), "code", lambda: code.program(
                programs.cache(trace, bench.layer), [KVCache.append, steps.append], key="cache")),
            (_("Share and save"), "share", lambda: share.share(bench, trace, key="cache")),
        ):
            sections.folded(title, key, body)
        _check(run, place, trace, bench.layer)
    bench_module.finish()
    generation_run.tick(run)


def _check(run: Run, place: int, trace: Trace, layer: int) -> None:
    """What the steps left in the cache, against the whole text read at once; with the live model when asked for."""
    if not run.knows(place) and (run.steps[place].text.shape[1] > MAX_TRACE_TOKENS or not st.button(
            _("Read the whole text again without the cache"), key="at-once-go", disabled=run.running)):
        return
    whole = run.at_once(place)
    if whole is not None:
        checks.check_line(decoding.against_at_once(trace, whole, layer))


def _size(trace: Trace) -> int:
    return trace["blocks.0.k_all"].element_size()


def _formula(run: Run, rows: int | None, *, asking: bool) -> None:
    """The bytes in symbols, and with the sizes of this step."""
    symbols = r"\text{bytes} = 2\,L\,B\,T\,H_{kv}\,D_h\,s"
    if rows is None:
        formulas.formula(symbols, "")
        return
    config, batch = run.prompt.decoder.config, run.prompt.ids.shape[0]
    size = run.prompt.decoder.get_parameter("embedding").element_size()
    factors = r" \times ".join(map(str, (2, config.layers, batch, rows, config.kv_heads, config.head_dim, size)))
    total = "?" if asking else f"{cost.kv_cache_bytes(config, batch, rows, size):,}".replace(",", r"\,")
    formulas.formula(symbols, f"{factors} = {total}")


def _store(shown: Shown, place: int, trace: Trace) -> None:
    """The rows of K and V of one head, with those that are still empty."""
    bench, run = shown.bench, shown.run
    view = View(trace, layer=bench.layer, batch=bench.batch, head=bench.head, editable=False)
    capacity = run.prompt.ids.shape[1] + run.room - 1
    frames = [cache_frames.store(view, letter, capacity) for letter in "kv"]
    written = run.steps[place].length_after
    equations.drawn(frames, [], key="kv-cache", bench=bench, resolved=shown.resolved, view=view,
                    telling=view.pin(frames[0], row=written - 1, col=0))


def _appended(shown: Shown, trace: Trace) -> None:
    """Each row of the cache beside the row that it is a copy of."""
    view = View(trace, layer=shown.bench.layer, batch=shown.bench.batch, head=shown.bench.head, editable=False)
    rows = trace.sizes["Tk"]
    if not cache_frames.fresh(view) or rows > MAX_SIDE:
        st.caption(_("There is nothing to append to, or too much to be shown at once: look at another step."))
        return
    for letter in "kv":
        frames, rules = cache_frames.appended(view, letter)
        equations.drawn(frames, rules, key=f"append-{letter}", bench=shown.bench, resolved=shown.resolved, view=view,
                        telling=None, pinning=False)
    if view.trace.config.positions == "rope":
        st.caption(_("The new row of K is stored after RoPE has turned it."))


def _bytes(run: Run, trace: Trace, rows: int, *, asking: bool) -> None:
    """What is written and what is allocated, by formula and by the tensors."""
    config, batch, size = trace.config, trace.sizes["B"], _size(trace)
    capacity = run.prompt.ids.shape[1] + run.room - 1
    room = KVCache(config, batch, capacity, device="meta")  # the same tensors, without their memory
    if asking:
        return
    lines = [
        [_("written"), str(rows), f"{cost.kv_cache_bytes(config, batch, rows, size):,}",
         f"{decoding.held_bytes(trace):,}"],
        [_("allocated"), str(capacity), f"{cost.kv_cache_bytes(config, batch, capacity, size):,}", f"{room.nbytes:,}"],
    ]
    prose.table(["", _("rows of each head"), _("bytes by the formula"), _("bytes of the tensors")], lines)


def _look_for(view: View, run: Run, place: int) -> None:
    step, config = run.steps[place], view.trace.config
    sentences = [
        _("Rows that this step wrote, marked in colour: {new} of {rows}. All others were there before, unchanged."
          ).format(new=step.inputs.shape[1], rows=step.length_after),
        _("Every layer and every KV head has such a pair. Pairs of matrices in this model: {pairs}.").format(
            pairs=config.layers * config.kv_heads),
        _("Only K and V are here. No later step asks for an old row of Q, or for old scores and weights."),
    ]
    room = run.prompt.ids.shape[1] + run.room - 1
    sentences.append(_("Rows that memory is taken for: {capacity} = {rows}. Rows written: {axis} = {written}.").format(
        capacity=f"`{cache_frames.capacity()}`", rows=room, axis=f"`{i18n.axis('T')}`", written=step.length_after))
    if config.group > 1:
        sentences.append(_("Query heads share KV heads here, {group} at a time, so the cache is smaller by that factor."
                           ).format(group=config.group))
    if config.positions == "rope":
        sentences.append(_("Rows of K are stored as RoPE has turned them; V is never turned."))
    prose.look_for(sentences)


def _predict(exercise: Exercise, rows: int) -> None:
    def ask(question: questions.Question) -> str:
        if question.kind == "count":
            return _("By how many bytes does each further token of all texts make the cache grow, over all layers?")
        return _("Rows written: {rows}. How many bytes do they take, over all layers, heads and texts?").format(
            rows=rows)

    def reveal(question: questions.Question) -> str:
        return _("It is {count}.").format(count=f"{int(question.answer):,}")

    exercise.draw(ask, reveal, {
        "k_only": _("That is K or V alone; both are kept."),
        "query_heads": _("That counts a row for each query head; only KV heads have rows of K and V."),
        "one_layer": _("That is one layer; each has its own cache."),
        "one_text": _("That is one text of the batch; each has its own rows."),
        "elements": _("That is how many numbers there are; each takes several bytes."),
    })


def _mistake(trace: Trace, rows: int, *, asking: bool) -> None:
    if asking:
        held_back()
        return
    config, batch, size = trace.config, trace.sizes["B"], _size(trace)
    labels = {"k_only": _("K without V"), "query_heads": _("Query heads for KV heads"),
              "one_layer": _("One layer only"), "one_text": _("One text only"), "elements": _("Numbers for bytes")}
    slip = kv_cache.MISCOUNT.draw(st.segmented_control, _("What goes wrong"), labels, required=True)
    right, wrong = cost.kv_cache_bytes(config, batch, rows, size), growth.miscounted(config, batch, rows, size, slip)
    difference = f"{wrong - right:,}".replace("-", numbers.MINUS)
    prose.table([_("wrong"), _("right"), _("difference")], [[f"{wrong:,}", f"{right:,}", difference]])
    explained = {
        "query_heads": _("Rows of K and V exist for each KV head. With the number of query heads in their place the "
                         "cache looks larger by the size of a group."),
        "k_only": _("The factor two stands for K and V. It has nothing to do with the two bytes of a half-precision "
                    "number."),
        "one_layer": _("Every layer computes K and V from its own input, so every layer has a cache of its own."),
        "one_text": _("Texts of a batch share the weights but not their rows: each has its own cache."),
        "elements": _("Each number takes {size} bytes here, those of its type.").format(size=size),
    }
    st.markdown(explained[slip] + ("" if wrong != right else " " + _("Here it makes no difference.")))


def _left_out() -> None:
    st.markdown(_(
        "The formula counts the numbers of K and V and nothing else. A server needs more: it hands out memory in pages "
        "or blocks, whose last one is partly empty; rows are padded so that they start at round addresses; tables say "
        "where whose pages lie; and the activations of the step itself, the logits among them, need room as well. How "
        "many requests really fit is therefore less."))


_shown = generation_run.look()
header.page_header("kv_cache", frame.here().built)
notices.notices(_shown.resolved, frame.here().dropped)
generation_run.fragment(lab)
sections.folded(_("How it grows, and what a GPU holds"), "growth", kv_cache.curves)
sections.folded(_("What one step costs, measured"), "times", kv_cache.times)
sections.folded(_("What the formula leaves out"), "left-out", _left_out)
