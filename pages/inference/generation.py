"""Generation: prefill and decode, step by step, and what the cache spares."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import cost, decoding, generation, programs, questions, quiz_cache, sampling, steps
from core.generation import GenerationStep
from core.stages.generation import candidates
from core.trace import Trace
from ui import bench as bench_module
from ui.bench import Bench
from ui.equation import Pin
from ui.equation.views import View
from ui.furniture import (
    cache_frames,
    checks,
    code,
    equations,
    figures,
    formulas,
    generation_run,
    header,
    notices,
    prose,
    sections,
    share,
)
from ui.furniture.exercise import Exercise
from ui.furniture.generation_run import Run, Shown, letters
from ui.shell import frame, i18n, numbers, theme
from ui.shell.i18n import _
from ui.shell.numbers import format_number
from ui.stages import generation as generation_views

_AXES = {"q": "B H Tq Dh", "k": "B Hkv Tk Dh", "v": "B Hkv Tk Dh", "scores": "B H Tq Tk"}


def lab() -> None:
    """Everything that changes with a step, a pin or a choice of layer and head."""
    shown = generation_run.look()
    bench, run = shown.bench, shown.run
    strip_at, formula_at = st.container(), st.container()
    place = generation_run.controls(run)
    with strip_at:
        generation_run.step_strip("generation", run, place)
    generation_run.text(run, place, bench.batch)
    if place is None:
        with formula_at:
            _formula(None, None, bench.decimals)
        st.caption(_("Nothing has been read yet. Step reads the prompt, or its first piece."))
        bench_module.finish()
        generation_run.tick(run)
        return
    trace = run.trace(place)
    if trace is None:
        with formula_at:
            _formula(None, None, bench.decimals)
        st.caption(_("This step read {count} tokens at once, too many for its tensors to be shown here.").format(
            count=run.steps[place].inputs.shape[1]))
        _sections(_steps_sections(bench, run, place))
    else:
        _step(shown, place, trace, formula_at)
    bench_module.finish()
    generation_run.tick(run)


def _sections(them: Sequence[tuple[str, str, Callable[[], None]]]) -> None:
    for title, key, body in them:
        sections.folded(title, key, body)


def _steps_sections(bench: Bench, run: Run, place: int) -> list[tuple[str, str, Callable[[], None]]]:
    """What can be said of a step without its tensors."""
    return [
        (_("Why this token"), "why", lambda: _why(bench, run, run.steps[place])),
        (_("All steps in numbers"), "table", lambda: _table(run)),
        (_("With the cache and without"), "compare", lambda: _compare(run, place)),
        (_("Training, prefill, decode"), "phases", _phases),
    ]


def _step(shown: Shown, place: int, trace: Trace, formula_at: DeltaGenerator) -> None:
    """The equation of the step looked at, and what belongs to its numbers."""
    bench, run, resolved = shown.bench, shown.run, shown.resolved
    step = run.steps[place]
    view = View(trace, layer=bench.layer, batch=bench.batch, head=bench.head, editable=False)
    exercise = Exercise(
        "generation-question", (run.prompt.key, place, bench.layer, bench.batch, bench.head),
        lambda number: quiz_cache.step_question(trace, view.layer, *view.place, number),
        lambda question, answer: quiz_cache.judge_step(
            trace, view.layer, *view.place, question, answer, bench.decimals))
    asked = exercise.question
    frames, rules = cache_frames.scores(view)
    scores = next(found for found in frames if found.id == "scores")
    telling = view.pin(scores, row=scores.shape[0] - 1, col=max(0, scores.shape[1] - 2))
    hidden = [(id, asked.row, asked.column) for id in ("scores", "scaled", "masked")] if (
        asked and asked.kind == "value") else []
    pin = equations.drawn(frames, rules, key="generation", bench=bench, resolved=resolved, view=view, telling=telling,
                          hidden=hidden)
    frames, rules = cache_frames.mixing(view, bench.decimals)
    equations.drawn(frames, rules, key="generation-mixing", bench=bench, resolved=resolved, view=view, telling=None,
                    pinning=False)
    with formula_at:
        on_result = pin is not None and pin.id in ("scores", "scaled")
        _formula(view, None if asked else pin if on_result else telling, bench.decimals)
    _counts(view, step, asking=asked is not None)
    sections.folded(_("Predict, then reveal"), "predict", lambda: _predict(bench, exercise))
    _look_for(view, run, place)
    of_steps = _steps_sections(bench, run, place)
    _sections([
        *of_steps[:1],
        (_("Why K and V are kept, and Q is not"), "carried", lambda: _carried(view, run, place)),
        *of_steps[1:],
        (_("Common mistakes"), "wrong", lambda: generation_views.mistake(bench, view, run, asking=asked is not None)),
        (_("PyTorch"), "code", lambda: _program(view)),
        (_("Share and save"), "share", lambda: share.share(bench, trace, key="generation")),
    ])
    checks.check_line(trace.check_step(view.name("scores")))
    checks.check_line(trace.check(view.layer))


def _formula(view: View | None, pin: Pin | None, decimals: int) -> None:
    symbols = r"S = \frac{Q_{\text{new}}\,K_{\text{cache}}^{\top}}{\sqrt{D_h}}"
    if view is None or pin is None:
        formulas.formula(symbols, "")
        return
    index = view.index(view.name("scaled"), pin.row, pin.col)
    total = formulas.sum_in_digits(view.trace, view.name("scores"), index, decimals)
    value = formulas.number(view.value(view.name("scaled"), index), decimals)
    root = rf"\sqrt{{{view.trace.config.head_dim}}}"
    formulas.formula(symbols, rf"S_{{{pin.row + 1},{pin.col + 1}}} = \frac{{{total}}}{{{root}}} = {value}")


def _counts(view: View, step: GenerationStep, *, asking: bool) -> None:
    """The shapes of this step, and which rows were computed and which read."""
    rows = {row.letter: row for row in decoding.rows(view.trace.config, step)}
    lines = []
    for name, axes in _AXES.items():
        letter = "q" if name == "scores" else name  # QKᵀ has a row for each row of Q, and none is kept either
        now, reused = step.computed_rows[letter], step.reused_rows[letter]
        total = f"{rows[letter].computed:,} + {rows[letter].reused:,}"
        lines.append([i18n.symbol(name), letters(step.shapes[name], axes, rows=generation_run.few(step)), str(now),
                      *(["?", "?"] if asking else [str(reused), total])])
    prose.table([_("tensor"), _("shape in this step"), _("rows computed now"), _("rows read from the cache"),
                  _("all layers, heads and texts: computed + read")], lines)


def _look_for(view: View, run: Run, place: int) -> None:
    step = run.steps[place]
    config, new, held = view.trace.config, step.inputs.shape[1], step.cached
    label = run.prompt.label
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
    sentences.append(_chosen(run, place, view.batch))
    if config.group > 1:
        sentences.append(_("With {group} query heads to each KV head, the cache holds {kv} of the {heads} rows for "
                           "each token that a KV head for every query head would need.").format(
                               group=config.group, kv=config.kv_heads, heads=config.heads))
    if config.positions == "rope":
        sentences.append(_("The rows of K in the cache are turned by RoPE already, each by its own position; only the "
                           "new row is turned now."))
    prose.look_for(sentences)


def _chosen(run: Run, place: int, batch: int) -> str:
    """What comes of the last row of a step: the token, and whether a step follows that reads it."""
    token = run.steps[place].token
    if token is None:
        return _("No token is chosen yet: the prompt goes on.")
    said = (_("Only the last row leads to the next token: {token}. The run ends with it, so no step reads it any more.")
            if run.ends_with(place) else
            _("Only the last row leads to the next token: {token}. It is read in the next step."))
    return said.format(token=f"`{run.prompt.label(int(token[batch]))}`")


def _why(bench: Bench, run: Run, step: GenerationStep) -> None:
    """The candidates for the next token, and where the draw fell."""
    made = step.sampling
    if made is None or step.token is None or step.u is None:
        st.caption(_("This piece of the prompt chooses no token; only the last one does."))
        return
    token, u = int(step.token[bench.batch]), float(step.u[bench.batch])
    found = candidates.candidates(made, bench.batch, token)
    labels = [run.prompt.label(one.token) for one in found.top]
    words = {"plain": _("as the model gave it"), "probability": _("after the settings"),
             "others": _("all other {count} tokens").format(count=f"{found.others:,}"), "draw": _("the draw u"),
             "interval": _("the unit interval, tokens in the order of the vocabulary")}
    greedy = step.settings.temperature == 0
    st.plotly_chart(
        figures.next_token(found, None if greedy else u, labels=labels, words=words,
                           colours=theme.candidate_colours(), decimals=bench.decimals), width="stretch",
        config={"displayModeBar": False}, key="next-token",
        alt=_("Bars of the likeliest next tokens and of all others together; below, the unit interval with the draw."))
    chosen = found.top[[one.token for one in found.top].index(token)]
    if greedy:
        st.markdown(_("At temperature zero nothing is drawn: {token} has the largest logit and is taken. The model "
                      "itself gives it {plain}.").format(token=f"`{run.prompt.label(token)}`",
                                                  plain=format_number(chosen.plain, bench.decimals)))
        return
    st.markdown(_("Of all tokens {kept} are left after the settings. u = {u} falls into the part of {token}, from "
                  "{start} to {end}, so that is the next token.").format(
                      kept=f"{found.kept:,}", u=format_number(u, bench.decimals),
                      token=f"`{run.prompt.label(token)}`", start=format_number(chosen.start, bench.decimals),
                      end=format_number(chosen.end, bench.decimals)))


def _table(run: Run) -> None:
    """One line for each step."""
    config, lines = run.prompt.decoder.config, []
    names = {"prefill": _("prefill"), "decode": _("decode")}
    for number, step in enumerate(run.steps, start=1):
        rows, formula = decoding.rows(config, step), decoding.predicted(run.prompt.decoder, step)
        lines.append([str(number), names[step.kind], str(step.inputs.shape[1]),
                      f"{sum(row.computed for row in rows):,}", f"{sum(row.reused for row in rows):,}",
                      numbers.format_seconds(step.seconds), numbers.quantity(formula.flops, "FLOP"),
                      numbers.format_bytes(formula.bytes),
                      "" if step.token is None else f"`{run.prompt.label(int(step.token[0]))}`"])
    prose.table([_("step"), _("phase"), _("tokens read"), _("rows of q, k, v computed"), _("rows read from the cache"),
                  _("time"), _("FLOP by formula"), _("bytes by formula"), _("next token")], lines)
    st.caption(_("The rows are counted over all layers, heads and texts. Times are those of this machine, without "
                 "waiting for a turn. FLOP are those of the matrix products; bytes count every weight once, and the "
                 "rows read from the cache and written to it."))


def _compare(run: Run, place: int) -> None:
    """The same logits without the cache, the difference and both times."""
    step = run.steps[place]
    if step.logits is None:
        st.caption(_("This piece of the prompt chooses no token; only the last one does."))
        return
    if not run.settings.cache:
        st.caption(_("This run was made without a cache, so there is nothing to see. Switch it on in the settings and "
                     "start over."))
        return
    small = run.prompt.source != "live"
    if not small and place not in run.compared and not st.button(
            _("Read the whole text again without the cache"), key="compare-go"):
        return
    found = run.compare(place)
    st.markdown(_("The logits of this step, and those of reading the whole text (T = {count}) again without a cache, "
                  "differ by at most {difference}, among values up to {size}. With the cache it took {cached}, without "
                  "{uncached}.").format(
                      count=step.text.shape[1], difference=numbers.format_difference(found.difference),
                      size=format_number(found.size, decimals=2), cached=numbers.format_seconds(found.cached_seconds),
                      uncached=numbers.format_seconds(found.uncached_seconds)))
    if found.difference:
        st.caption(_("The same sums in another order round differently in the last digits."))
    if not step.cached:
        st.caption(_("This step read no row from the cache, so both did the same work, and the times differ by "
                     "chance."))
    elif found.cached_seconds >= found.uncached_seconds:
        st.caption(_("Here the cache does not pay. It spares {flops} by the formula, and with {count} tokens and "
                     "{parameters} parameters that is too little for the clock: what every pass takes, long or short, "
                     "outweighs it.").format(
                         flops=numbers.quantity(decoding.spared(run.prompt.decoder, step), "FLOP"),
                         count=step.text.shape[1],
                         parameters=numbers.quantity(cost.parameters(run.prompt.decoder.config)["total"])))


def _carried(view: View, run: Run, place: int) -> None:
    """Which tensors of this step the next one reads."""
    lines = [[i18n.symbol(one.name), "×".join(map(str, one.shape)),
              _("yes, as a part of {symbol}").format(symbol=i18n.symbol(one.read_as)) if one.read_as else _("no")]
             for one in decoding.carried(view.trace, view.layer)]
    prose.table([_("tensor of this step"), _("shape"), _("read by the next step")], lines)
    st.markdown(_("The next token asks with a query of its own. It asks the K of every token before it and reads "
                  "their V, so both are read again in each step; an old query was only ever needed for the row of its "
                  "own token."))
    following = run.steps[place + 1].trace if place + 1 < len(run.steps) else None
    if following is not None and view.name("k_all") in view.trace:
        st.caption(_("Check: K and V that step {step} read from the cache, against those that this step left. Largest "
                     "difference: {difference}.").format(step=place + 2, difference=numbers.format_difference(
                         decoding.left_for_next(view.trace, following, view.layer))))


def _predict(bench: Bench, exercise: Exercise) -> None:
    def ask(question: questions.Question) -> str:
        if question.kind == "value":
            return _("What is QKᵀ[{row},{column}]? Its cell shows ? until you answer.").format(
                row=question.row + 1, column=question.column + 1)
        if question.kind == "count":
            return _("How many rows of K does one head of one layer read from the cache in this step?")
        return _("How many numbers of K does this step compute, over all layers, heads and texts?")

    def reveal(question: questions.Question) -> str:
        if question.kind == "value":
            return _("QKᵀ[{row},{column}] = {value}.").format(
                row=question.row + 1, column=question.column + 1,
                value=format_number(question.score, bench.decimals))
        return _("It is {count}.").format(count=f"{int(question.answer):,}")

    exercise.draw(ask, reveal, {
        "scaled": _("That is S: you already divided by √Dh. QKᵀ is the sum before the division."),
        "all": _("That counts the new rows too: they are computed now, not read from the cache."),
        "new": _("That is how many are computed now."),
        "one_layer": _("That is one layer; all of them compute their own K."),
        "query_heads": _("K has one row for each KV head, and there are fewer of those than query heads."),
        "every_row": _("That would be K of the whole text: the old rows are in the cache already."),
    })


def _program(view: View) -> None:
    if view.name("k_all") in view.trace:
        code.program(programs.decode(view.trace, view.layer), [steps.append, generation.generate, sampling.draw],
                       key="generation")
    else:
        code.program(programs.mixing(view.trace, view.layer), [generation.generate, sampling.draw], key="generation")


def _phases() -> None:
    """What is known, what runs in parallel and what limits, in the three phases (D3 §7)."""
    prose.table([_("phase"), _("what is known"), _("what runs in parallel"), _("what limits it")], [
        [_("training"), _("the whole text, so every next token too"),
         _("all texts of the batch and all positions"), _("memory for what the backward pass needs, and data")],
        [_("prefill"), _("the whole prompt"), _("all positions of the prompt"),
         _("computing: the scores grow with the square of the length")],
        [_("decode"), _("only what has been written so far"), _("layers' products, heads and texts, not positions"),
         _("one token after the other, each reading all weights and the whole cache")],
    ])
    st.markdown(_("In training the right next token is known at every position, so one pass serves all of them. In "
                  "generation each token depends on the one before, and no machine can turn that into one pass."))


_shown = generation_run.look()
header.page_header("generation", frame.here().built)
notices.notices(_shown.resolved, frame.here().dropped)
generation_run.fragment(lab)
