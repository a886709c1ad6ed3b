"""What only the KV cache page draws: its rows as they are written, their bytes, mistakes in counting them."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core import cost, decoding, steps
from core.cache import KVCache
from core.live.model import MAX_TRACE_TOKENS
from core.questions import Question
from core.stages import kv_cache as stage
from ui.bench.parameters import Choice
from ui.equation import MAX_SIDE
from ui.furniture import cache_frames, checks, code, equations, formulas, generation_run, prose, share
from ui.furniture.exercise import Exercise
from ui.furniture.generation_run import Running
from ui.shell import i18n, numbers
from ui.shell.i18n import _

MISCOUNT = Choice("miscount", "k_only", codes=("k_only", "query_heads", "one_layer", "one_text", "elements"),
                  stage="kv_cache")


@dataclass
class Cached(Running):
    """The cache after the step looked at."""

    @property
    def has_rows(self) -> bool:
        """Whether the run has a cache, and its rows are known."""
        return self.has_tensors and self.run.settings.cache

    @property
    def capacity(self) -> int:
        """Rows of each head that memory is taken for."""
        return self.run.prompt.ids.shape[1] + self.run.room - 1

    @property
    def size(self) -> int:
        """Bytes of a number of the cache."""
        return self.view.trace["blocks.0.k_all"].element_size()


def subject() -> Cached:
    """The run that the bench selects."""
    return generation_run.running(Cached)


def controls(shown: Cached) -> None:
    """The buttons of the run, and with the step that they choose its questions."""
    generation_run.choose(shown)
    if shown.has_rows:
        at = shown.at
        shown.exercise = Exercise(
            "cache-question", (shown.run.prompt.key, shown.place),
            lambda number: stage.QUESTIONS["bytes"].ask(at, number),
            lambda question, answer: stage.QUESTIONS["bytes"].judge(at, question, answer, shown.bench.decimals))


def draw(shown: Cached) -> None:
    """The text so far, the rows of K and V of one head, and their bytes."""
    generation_run.text(shown.run, shown.place, shown.bench.batch)
    if not shown.run.settings.cache:
        st.info(_("This run was made without a cache, so there is nothing to see. Switch the cache on in the settings "
                  "and start over."))
    elif shown.place is None:
        st.caption(_("The cache is empty: nothing has been read yet. Step reads the prompt, or its first piece."))
    if shown.has_rows:
        _store(shown)
        _bytes(shown)


def formula(shown: Cached) -> None:
    """The bytes in symbols, and with the sizes of this step."""
    symbols = r"\text{bytes} = 2\,L\,B\,T\,H_{kv}\,D_h\,s"
    if not shown.has_rows:
        formulas.formula(symbols, "")
        return
    config, batch, rows = shown.run.prompt.decoder.config, shown.run.prompt.ids.shape[0], shown.step.length_after
    size = shown.run.prompt.decoder.get_parameter("embedding").element_size()
    factors = r" \times ".join(map(str, (2, config.layers, batch, rows, config.kv_heads, config.head_dim, size)))
    total = "?" if shown.asked else f"{cost.kv_cache_bytes(config, batch, rows, size):,}".replace(",", r"\,")
    formulas.formula(symbols, f"{factors} = {total}")


def _store(shown: Cached) -> None:
    """The rows of K and V of one head, with those that are still empty."""
    view = shown.view
    frames = [cache_frames.store(view, letter, shown.capacity) for letter in "kv"]
    equations.drawn(frames, [], key="kv-cache", bench=shown.bench, resolved=shown.resolved, view=view,
                    telling=view.pin(frames[0], row=shown.step.length_after - 1, col=0))


def _bytes(shown: Cached) -> None:
    """What is written and what is allocated, by formula and by the tensors."""
    if shown.asked:
        return
    trace, rows, size = shown.view.trace, shown.step.length_after, shown.size
    config, batch = trace.config, trace.sizes["B"]
    room = KVCache(config, batch, shown.capacity, device="meta")  # the same tensors, without their memory
    lines = [
        [_("written"), str(rows), f"{cost.kv_cache_bytes(config, batch, rows, size):,}",
         f"{decoding.held_bytes(trace):,}"],
        [_("allocated"), str(shown.capacity), f"{cost.kv_cache_bytes(config, batch, shown.capacity, size):,}",
         f"{room.nbytes:,}"],
    ]
    prose.table(["", _("rows of each head"), _("bytes by the formula"), _("bytes of the tensors")], lines)


def appended(shown: Cached) -> None:
    """Each row of the cache beside the row that it is a copy of."""
    view = shown.view
    rows = view.trace.sizes["Tk"]
    if not cache_frames.fresh(view) or rows > MAX_SIDE:
        st.caption(_("This step has no cache to append to, or too many rows to be shown at once. Look at "
                     "another step."))
        return
    for letter in "kv":
        frames, rules = cache_frames.appended(view, letter)
        equations.drawn(frames, rules, key=f"append-{letter}", bench=shown.bench, resolved=shown.resolved, view=view,
                        telling=None, pinning=False)
    if view.trace.config.positions == "rope":
        st.caption(_("The new row of K is stored after RoPE has turned it."))


def look_for(shown: Cached) -> list[str]:
    """What this step wrote, what else the cache holds, and how much room it has."""
    found, config = stage.facts(shown.at), shown.view.trace.config
    sentences = [
        _("Rows that this step wrote, marked in colour: {new} of {rows}. All others were there before, unchanged."
          ).format(new=found.new, rows=found.written),
        _("Every layer and every KV head has such a pair. Pairs of matrices in this model: {pairs}.").format(
            pairs=found.pairs),
        _("Only K and V are here. No later step asks for an old row of Q, or for old scores and weights."),
        _("The number of rows that room is reserved for is {capacity} = {rows}; the number written so far is {axis} = "
          "{written}.").format(
            capacity=f"`{cache_frames.capacity()}`", rows=shown.capacity, axis=f"`{i18n.axis('T')}`",
            written=found.written),
    ]
    if found.group > 1:
        sentences.append(_("Every {group} query heads share one KV head here, so the cache is smaller by the factor "
                           "{group}.").format(group=found.group))
    if config.positions == "rope":
        sentences.append(_("Rows of K are stored as RoPE has turned them; V is never turned."))
    return sentences


def predict(shown: Cached) -> None:
    """The bytes of what is written, or of a further token."""
    if shown.exercise is None:
        return
    rows = shown.step.length_after

    def ask(question: Question) -> str:
        if question.kind == "count":
            return _("All texts grow by one token. By how many bytes does the cache grow, over all layers?")
        return _("Rows written: {rows}. How many bytes do they take, over all layers, heads and texts?").format(
            rows=rows)

    def reveal(question: Question) -> str:
        return _("The answer is {count}.").format(count=f"{int(question.answer):,}")

    shown.exercise.draw(ask, reveal, {
        "k_only": _("That is K or V alone; both are kept."),
        "query_heads": _("That counts a row for each query head; only KV heads have rows of K and V."),
        "one_layer": _("That is one layer; each has its own cache."),
        "one_text": _("That is one text of the batch; each has its own rows."),
        "elements": _("That is how many numbers there are; each takes several bytes."),
    })


def mistakes(shown: Cached) -> None:
    """Bytes with a factor forgotten or mistaken."""
    labels = {"k_only": _("K without V"), "query_heads": _("Query heads for KV heads"),
              "one_layer": _("One layer only"), "one_text": _("One text only"), "elements": _("Taking numbers "
                                                                                              "for bytes")}
    slip = MISCOUNT.draw(st.segmented_control, _("What goes wrong"), labels, required=True)
    found = stage.MISTAKES[slip](shown.at)
    assert found.wrong is not None
    right, wrong = int(found.right), int(found.wrong)
    difference = f"{wrong - right:,}".replace("-", numbers.MINUS)
    prose.table([_("wrong"), _("right"), _("difference")], [[f"{wrong:,}", f"{right:,}", difference]])
    explained = {
        "query_heads": _("K and V have rows for each KV head. If the query heads are counted instead, the cache looks "
                         "larger than it is, by the number of query heads in a group."),
        "k_only": _("The factor two stands for K and V. It has nothing to do with the two bytes of a half-precision "
                    "number."),
        "one_layer": _("Every layer computes K and V from its own input, so every layer has a cache of its own."),
        "one_text": _("Texts of a batch share the weights but not their rows: each has its own cache."),
        "elements": _("Each number takes {size} bytes here, as its type says.").format(size=shown.size),
    }
    st.markdown(explained[slip] + ("" if wrong != right else " " + _("Here it makes no difference.")))


def program(shown: Cached) -> None:
    """The program that fills the cache, and the functions that did so here."""
    code.program(stage.program(shown.at), [KVCache.append, steps.append], key="cache")


def shared(shown: Cached) -> None:
    """The link, the state file and the numbers."""
    share.share(shown.bench, shown.view.trace, key="cache")


def check(shown: Cached) -> None:
    """What the steps left in the cache, against the whole text read at once; with the live model when asked for. Then
    the run goes on."""
    run = shown.run
    if shown.has_rows:
        asked_for = run.knows(shown.looked_at) or (shown.step.text.shape[1] <= MAX_TRACE_TOKENS and st.button(
            _("Read the whole text again without the cache"), key="at-once-go", disabled=run.running))
        whole = run.at_once(shown.looked_at) if asked_for else None
        if whole is not None:
            checks.check_line(decoding.against_at_once(shown.view.trace, whole, shown.view.layer))
    generation_run.tick(shown)


def left_out(shown: Cached) -> None:
    """What a server needs beside the numbers of K and V."""
    st.markdown(_(
        "The formula counts the numbers of K and V and nothing else. A server needs more: it hands out memory in pages "
        "or blocks, whose last one is partly empty; rows are padded so that they start at round addresses; tables "
        "record which pages belong to which request; and the activations of the step itself, the logits among them, "
        "need room as well. How many requests really fit is therefore less."))
