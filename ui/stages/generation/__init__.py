"""What only the generation page draws: the new rows against all cached ones, what is computed and what is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import streamlit as st

from core import decoding, generation, sampling, steps
from core.check import Check
from core.questions import Question
from core.stages import generation as stage
from ui.equation import Pin
from ui.furniture import cache_frames, code, equations, formulas, generation_run, prose, share
from ui.furniture.exercise import Exercise
from ui.furniture.generation_run import Running, letters
from ui.shell import i18n
from ui.shell.i18n import _
from ui.shell.numbers import format_number

_AXES = {"q": "B H Tq Dh", "k": "B Hkv Tk Dh", "v": "B Hkv Tk Dh", "scores": "B H Tq Tk"}


@dataclass
class Step(Running):
    """The step of a run that is looked at; `pin` is the cell that is spoken of."""

    pin: Pin | None = None


def subject() -> Step:
    """The run that the bench selects."""
    return generation_run.running(Step)


def controls(shown: Step) -> None:
    """The buttons of the run, and with the step that they choose its questions."""
    generation_run.choose(shown)
    if shown.has_tensors:
        at, bench = shown.at, shown.bench
        shown.exercise = Exercise(
            "generation-question", (shown.run.prompt.key, shown.place, bench.layer, bench.batch, bench.head),
            lambda number: stage.QUESTIONS["step"].ask(at, number),
            lambda question, answer: stage.QUESTIONS["step"].judge(at, question, answer, bench.decimals))


def draw(shown: Step) -> None:
    """The text so far and the matrices of the step looked at."""
    generation_run.text(shown.run, shown.place, shown.bench.batch)
    if shown.place is None:
        st.caption(_("Nothing has been read yet. Step reads the prompt, or its first piece."))
    elif not shown.has_tensors:
        st.caption(_("This step read {count} tokens at once, too many for its tensors to be shown here.").format(
            count=shown.step.inputs.shape[1]))
    else:
        _equations(shown)
        _counts(shown)


def _equations(shown: Step) -> None:
    """The new rows of Q against all rows of K, and the weights times all rows of V."""
    view, bench, resolved, asked = shown.view, shown.bench, shown.resolved, shown.asked
    frames, rules = cache_frames.scores(view)
    scores = next(found for found in frames if found.id == "scores")
    telling = view.pin(scores, row=scores.shape[0] - 1, col=max(0, scores.shape[1] - 2))
    hidden = [(id, asked.row, asked.column) for id in ("scores", "scaled", "masked")] if (
        asked and asked.kind == "value") else []
    pin = equations.drawn(frames, rules, key="generation", bench=bench, resolved=resolved, view=view, telling=telling,
                          hidden=hidden)
    shown.pin = pin if pin is not None and pin.id in ("scores", "scaled") else telling
    frames, rules = cache_frames.mixing(view, bench.decimals)
    equations.drawn(frames, rules, key="generation-mixing", bench=bench, resolved=resolved, view=view, telling=None,
                    pinning=False)


def formula(shown: Step) -> None:
    """S of the new rows in symbols, and the pinned cell in digits while no question is open."""
    symbols = r"S = \frac{Q_{\text{new}}\,K_{\text{cache}}^{\top}}{\sqrt{D_h}}"
    if shown.pin is None or shown.asked:
        formulas.formula(symbols, "")
        return
    view, pin, decimals = shown.view, shown.pin, shown.bench.decimals
    index = view.index(view.name("scaled"), pin.row, pin.col)
    total = formulas.sum_in_digits(view.trace, view.name("scores"), index, decimals)
    value = formulas.number(view.value(view.name("scaled"), index), decimals)
    root = rf"\sqrt{{{view.trace.config.head_dim}}}"
    formulas.formula(symbols, rf"S_{{{pin.row + 1},{pin.col + 1}}} = \frac{{{total}}}{{{root}}} = {value}")


def _counts(shown: Step) -> None:
    """The shapes of this step, and which rows were computed and which read."""
    step, asking = shown.step, shown.asked is not None
    rows = {row.letter: row for row in decoding.rows(shown.view.trace.config, step)}
    lines = []
    for name, axes in _AXES.items():
        letter = "q" if name == "scores" else name  # QKᵀ has a row for each row of Q, and none is kept either
        now, reused = step.computed_rows[letter], step.reused_rows[letter]
        total = f"{rows[letter].computed:,} + {rows[letter].reused:,}"
        lines.append([i18n.symbol(name), letters(step.shapes[name], axes, rows=generation_run.few(step)), str(now),
                      *(["?", "?"] if asking else [str(reused), total])])
    prose.table([_("tensor"), _("shape in this step"), _("rows computed now"), _("rows read from the cache"),
                  _("all layers, heads and texts: computed + read")], lines)


def look_for(shown: Step) -> list[str]:
    """What this step computed and what it read, and which token comes of it."""
    view, run, step, label = shown.view, shown.run, shown.step, shown.run.prompt.label
    if not shown.has_tensors:
        return []
    config, found = view.trace.config, stage.facts(shown.at)
    new, held = found.new, found.held
    if step.kind == "prefill":
        sentences = [_("Prefill: the tokens of the prompt are known, so they are read in one pass, all rows at once. "
                       "Tokens in this step: {count}.").format(count=new)]
        if held:
            sentences.append(_("This is a further piece of the prompt: its {count} queries also read the {held} rows "
                               "that the pieces before left in the cache.").format(count=new, held=held))
    elif run.settings.cache:
        sentences = [_("Decode: only {token} is new, so there is one row of Q, K and V. All other rows of K and "
                       "V, {held} of each, come from the cache and are not computed again.").format(
                           token=f"`{label(int(step.inputs[view.batch, -1]))}`", held=held)]
    else:
        sentences = [_("Without the cache all {count} tokens are read again for the sake of one new row.").format(
            count=new)]
    if run.settings.cache:
        sentences.append(_("QKᵀ is {rows}×{columns} here; reading the whole text again it would be "
                           "{columns}×{columns}.").format(rows=new, columns=step.shapes["scores"][-1]))
    sentences.append(_chosen(shown))
    if config.group > 1:
        sentences.append(_("With {group} query heads to each KV head, the cache holds {kv} of the {heads} rows for "
                           "each token that a KV head for every query head would need.").format(
                               group=config.group, kv=config.kv_heads, heads=config.heads))
    if found.turned:
        sentences.append(_("The rows of K in the cache are turned by RoPE already, each by its own position; only the "
                           "new row is turned now."))
    return sentences


def _chosen(shown: Step) -> str:
    """What comes of the last row of a step: the token, and whether a step follows that reads it."""
    run, token = shown.run, shown.step.token
    if token is None or shown.place is None:
        return _("No token is chosen yet, because the prompt is not read to its end.")
    said = (_("Only the last row leads to the next token: {token}. The run ends with it, so no step reads it any more.")
            if run.ends_with(shown.place) else
            _("Only the last row leads to the next token: {token}. It is read in the next step."))
    return said.format(token=f"`{run.prompt.label(int(token[shown.view.batch]))}`")


def predict(shown: Step) -> None:
    """A raw score, the rows read from the cache, or how many numbers of K are computed."""
    if shown.exercise is None:
        return

    def ask(question: Question) -> str:
        if question.kind == "value":
            return _("What is QKᵀ[{row},{column}]? Its cell shows ? until you answer.").format(
                row=question.row + 1, column=question.column + 1)
        if question.kind == "count":
            return _("How many rows of K does one head of one layer read from the cache in this step?")
        return _("How many numbers of K does this step compute, over all layers, heads and texts?")

    def reveal(question: Question) -> str:
        if question.kind == "value":
            return _("QKᵀ[{row},{column}] = {value}.").format(
                row=question.row + 1, column=question.column + 1,
                value=format_number(question.score, shown.bench.decimals))
        return _("The answer is {count}.").format(count=f"{int(question.answer):,}")

    shown.exercise.draw(ask, reveal, {
        "scaled": _("That is S: you already divided by √Dh. QKᵀ is the sum before the division."),
        "all": _("That counts the new rows too: they are computed now, not read from the cache."),
        "new": _("That is how many are computed now."),
        "one_layer": _("That is one layer; all of them compute their own K."),
        "query_heads": _("K has one row for each KV head, and there are fewer of those than query heads."),
        "every_row": _("That would be K of the whole text: the old rows are in the cache already."),
    })


def program(shown: Step) -> None:
    """The PyTorch program of the step, and the functions that made it."""
    made: list[Callable[..., object]] = [generation.generate, sampling.draw]
    if shown.view.name("k_all") in shown.view.trace:
        made = [steps.append, *made]
    code.program(stage.program(shown.at), made, key="generation")


def shared(shown: Step) -> None:
    """The link, the state file and the numbers."""
    share.share(shown.bench, shown.view.trace, key="generation")


def checks(shown: Step) -> Iterable[Check | None]:
    """The products against float64, and the whole against the fused kernel."""
    if not shown.has_tensors:
        return []
    trace = shown.view.trace
    return [trace.check_step(shown.view.name("scores")), trace.check(shown.view.layer)]
