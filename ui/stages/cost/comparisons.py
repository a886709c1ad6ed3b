"""Sections of the page on costs: crossover, sharing, fused attention, savings, mistakes."""

from __future__ import annotations

import streamlit as st

from core import cost
from core.machine import ledger
from ui.furniture import checks
from ui.shell.i18n import _, axis, in_latex
from ui.shell.numbers import quantity
from ui.stages.cost import choices, tables
from ui.stages.cost.subject import Costs


def crossover(shown: Costs) -> None:
    """At which length attention overtakes the feed-forward network."""
    load = shown.load
    lengths = sorted({*ledger.LENGTHS, load.tokens})
    tables.shares_table({tokens: ledger.shares(load, tokens) for tokens in lengths}, load.tokens)
    found = ledger.crossover(load.config)
    if found is None:
        st.markdown(_("This model has no feed-forward network, so attention has nothing to overtake."))
        return
    matrices = r"4\,T^2\,H\,D_h \ge 2\,m\,T\,D\,F \iff T \ge \frac{m\,D\,F}{2\,H\,D_h}"
    with st.container(key="formula-crossover"):
        st.markdown(f"$\\displaystyle {in_latex(matrices)}$")
    st.markdown(_("Here m is the number of matrices in the feed-forward network. For this model the formula gives T = "
                  "{tokens}: below it the feed-forward network takes more of the arithmetic, above it QKᵀ and AV do. "
                  "The T·T of attention is what grows fastest, not what is largest at "
                  "every length.").format(tokens=f"{found:,}"))


def sharing(shown: Costs) -> None:
    """MHA, GQA and MQA beside each other."""
    load, device = shown.load, shown.device
    rows = []
    for kind in ledger.SHARING[1:]:
        other = load._replace(config=ledger.shared(load.config, kind))
        held = cost.kv_cache_bytes(other.config, other.batch, other.tokens, cost.CACHED[other.cache])
        step = ledger.estimate(other, "decode", device)
        rows.append([f"{kind.upper()}, {axis('Hkv')} = {other.config.kv_heads}",
                     quantity(cost.parameters(other.config)["attention"]), quantity(held, "B"),
                     quantity(step.intensity), quantity(step.seconds, "s")])
    tables.rows_table(["", _("parameters of the projections"), _("KV cache"), _("FLOP for each byte"),
                      _("least time of a decode step")], rows, _("MHA, GQA and MQA beside each other"))
    st.caption(_("With fewer KV heads QKᵀ and AV take as much arithmetic as before: every query head is still "
                 "multiplied with every token. Only WK and WV, and the K and V that are kept and read, "
                 "become smaller."))


def fused(shown: Costs) -> None:
    """Bytes that attention moves, step by step and fused."""
    load = shown.load
    size = cost.CACHED[load.cache]
    both = {name: cost.attention_traffic(load.config, load.batch, load.tokens, bytes_per_element=size, fused=fused)
            for name, fused in ((_("step by step"), False), (_("fused"), True))}
    tables.rows_table(["", _("Q, K, V and AV"), _("S, written and read"), _("A, written and read"), _("all layers")], [
        [name, *(quantity(moved[part], "B") for part in ("operands", "scores", "weights", "total"))]
        for name, moved in both.items()], _("Bytes that attention moves in a prefill"))
    st.markdown(_("A fused kernel reads Q, K and V tile by tile, keeps the scores of each tile on the chip, and "
                  "corrects the softmax of a row when its next keys arrive. The T×T matrices are never written, but "
                  "every pair of tokens is still multiplied: the FLOPs stay the same, and fewer bytes are moved. The "
                  "result is the same up to rounding:"))
    checks.check_line(shown.resolved.trace.check(shown.bench.layer))


def savings(shown: Costs) -> None:
    """What each optimisation reduces, and what “faster” needs to name."""
    load, device = shown.load, shown.device
    tables.rows_table(["", _("reduces"), _("here"), _("still to be looked at")],
                     tables.savings_rows(ledger.savings(load)), _("What each optimisation reduces"))
    st.caption(_("The rows compare a step without the cache and with it; MHA and GQA; scores written to memory and not "
                 "written; all tokens and a window of them; the weights in the chosen type and in four bits; one text "
                 "and {count} at once, for each token."
                 ).format(count=ledger.BATCHED))
    st.markdown(_("“Faster” means nothing by itself. A figure of speed names the hardware, the shapes, the types and "
                  "the precision that the result keeps; here that is: {device}, B = {batch}, T = {tokens}, weights in "
                  "{weights}, cache in {cache}.").format(
                      device=device.name, batch=load.batch, tokens=f"{load.tokens:,}", weights=load.weights,
                      cache=load.cache))


def mistakes(shown: Costs) -> None:
    """Amounts that are easily counted wrong."""
    load, device = shown.load, shown.device
    labels = {"arithmetic": _("Time from FLOPs alone"), "per_text": _("Weights read for every text"),
              "lookup": _("Lookups counted as products"), "training": _("The rule for training")}
    kind = choices.SLIP.draw(st.segmented_control, _("What goes wrong"), labels, required=True)
    found = ledger.slip(load, device, kind)
    what = {
        "arithmetic": _("A decode step on {device}").format(device=device.name),
        "per_text": _("Bytes of a decode step, B = {batch}").format(batch=load.batch),
        "lookup": _("Products with weights in a decode step"), "training": _("A prefill of T = {tokens}").format(
            tokens=f"{load.tokens:,}"),
    }[kind]
    tables.rows_table(["", _("right"), _("wrong"), _("wrong ÷ right")], [
        [what, quantity(found.right, found.unit), quantity(found.wrong, found.unit),
         f"×{found.wrong / found.right:.3g}"]], labels[kind])
    st.markdown({
        "arithmetic": _("FLOPs divided by the device's peak give the time only where arithmetic is the limit. Memory "
                        "is usually the limit of a decode step: its time then depends on the bytes it moves."),
        "per_text": _("The weights are the same for all texts of a batch and are read once. With one text there is no "
                      "difference; choose a larger B."),
        "lookup": _("The embedding holds many parameters, but a token picks one row of it: nothing is multiplied. Only "
                    "if the same table also serves as the vocabulary head is it multiplied there."),
        "training": _("Six FLOPs for each parameter and token is the rule for training: two for the forward pass and "
                      "four for the gradients. Reading a prompt has no backward pass, only the forward one."),
    }[kind])
