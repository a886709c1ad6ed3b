"""Sections about the steps of a run: the next token's candidates, all steps in numbers, with the cache and without."""

from __future__ import annotations

import streamlit as st

from core import cost, decoding
from core.stages.generation import candidates
from ui.furniture import prose
from ui.furniture.generation_run import Running
from ui.shell import i18n, numbers, theme
from ui.shell.i18n import _
from ui.shell.numbers import format_number
from ui.stages.generation import figure


def why(shown: Running) -> None:
    """The candidates for the next token, and where the draw fell."""
    bench, run, step = shown.bench, shown.run, shown.step
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
        figure.next_token(found, None if greedy else u, labels=labels, words=words,
                           colours=theme.candidate_colours(), decimals=bench.decimals), width="stretch",
        config={"displayModeBar": False}, key="next-token",
        alt=_("Bars of the likeliest next tokens and of all others together; below, the unit interval with the draw."))
    chosen = found.top[[one.token for one in found.top].index(token)]
    if greedy:
        st.markdown(_("At temperature zero nothing is drawn: {token} has the largest logit and is taken. The model "
                      "itself gives it the probability {plain}.").format(token=f"`{run.prompt.label(token)}`",
                                                  plain=format_number(chosen.plain, bench.decimals)))
        return
    st.markdown(_("Of all tokens {kept} are left after the settings. u = {u} falls into the part of {token}, from "
                  "{start} to {end}, so that is the next token.").format(
                      kept=f"{found.kept:,}", u=format_number(u, bench.decimals),
                      token=f"`{run.prompt.label(token)}`", start=format_number(chosen.start, bench.decimals),
                      end=format_number(chosen.end, bench.decimals)))


def table(shown: Running) -> None:
    """One line for each step."""
    run = shown.run
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


def compare(shown: Running) -> None:
    """The same logits without the cache, the difference and both times."""
    run, place, step = shown.run, shown.looked_at, shown.step
    if step.logits is None:
        st.caption(_("This piece of the prompt chooses no token; only the last one does."))
        return
    if not run.settings.cache:
        st.caption(_("This run was made without a cache, so there is nothing to see. Switch the cache on in the "
                     "settings and start over."))
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
        st.caption(_("This step read no row from the cache. So both ways did the same work, and their times differ by "
                     "chance."))
    elif found.cached_seconds >= found.uncached_seconds:
        st.caption(_("Here the cache does not pay. By the formula it saves {flops}, and with {count} tokens and "
                     "{parameters} parameters that is too little for the clock: what every pass takes, long or short, "
                     "outweighs it.").format(
                         flops=numbers.quantity(decoding.spared(run.prompt.decoder, step), "FLOP"),
                         count=step.text.shape[1],
                         parameters=numbers.quantity(cost.parameters(run.prompt.decoder.config)["total"])))


def carried(shown: Running) -> None:
    """Which tensors of this step the next one reads."""
    view, run, place = shown.view, shown.run, shown.looked_at
    lines = [[i18n.symbol(one.name), "×".join(map(str, one.shape)),
              _("yes, as a part of {symbol}").format(symbol=i18n.symbol(one.read_as)) if one.read_as else _("no")]
             for one in decoding.carried(view.trace, view.layer)]
    prose.table([_("tensor of this step"), _("shape"), _("read by the next step")], lines)
    st.markdown(_("The next token comes with a query of its own. It is multiplied with the K of every token before it "
                  "and reads their V, so both are read again in each step; an old query was only ever needed for the "
                  "row of its own token."))
    following = run.steps[place + 1].trace if place + 1 < len(run.steps) else None
    if following is not None and view.name("k_all") in view.trace:
        st.caption(_("Check: the K and V that step {step} read from the cache, against those that this step left "
                     "there. Largest difference: {difference}.").format(
                         step=place + 2, difference=numbers.format_difference(
                             decoding.left_for_next(view.trace, following, view.layer))))


def phases(shown: Running) -> None:
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
