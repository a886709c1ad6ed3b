"""Cost: where computation and memory go, for a prefill and for a decode step."""

from __future__ import annotations

import streamlit as st

from core import cost
from core.config import ModelConfig
from core.cost import Roofline
from core.errors import WorkbenchError
from core.machine import ledger
from core.machine.datasheet import DEVICES, Device
from core.machine.ledger import Workload
from core.questions import Question
from core.shapes import MODELS, Inputs, sizes
from core.stages.cost import practice
from ui import bench as bench_module
from ui.bench import Bench
from ui.furniture import checks, code, figures, formulas, header, notices, prose, sections, share, strip
from ui.furniture.exercise import Exercise
from ui.shell import errors, frame, theme
from ui.shell.i18n import _, axis, in_latex
from ui.shell.numbers import percent, quantity
from ui.sources import Resolved
from ui.stages.cost import (
    CACHE,
    DEVICE,
    MODEL,
    OPENING,
    PART,
    SHARING,
    SLIP,
    TEXTS,
    TOKENS,
    WEIGHTS,
    measured,
    tables,
)
from ui.stages.home import atlas


@st.fragment
def lab() -> None:
    """Everything that follows the model, the sizes, the types and the device."""
    bench, resolved = frame.look()
    strip_at = st.container()
    load = _controls(resolved)
    with strip_at:
        strip.shape_strip("cost", sizes(load.config, Inputs(load.batch, load.tokens)))
    lines = ledger.ledger(load)
    formula_at, table_at = st.container(), st.container()
    part = PART.draw(st.segmented_control, _("The formula of"), tables.product_names(), required=True)
    with formula_at:
        _formula(load, part)
    with table_at:
        tables.ledger_table(lines, part)
    st.caption(_("FLOP: an addition or a multiplication, two for each pair of a matrix product. Bytes: what must be "
                 "moved at least, weights once for the whole batch. Left out: norms, softmax, RoPE and activations, "
                 "which grow with T·D only.") + " " + prose.units_note())
    device = _roof(load)
    _look_for(load, device)
    _growth(load, bench)
    for title, key, body in (
        (_("When attention overtakes the feed-forward network"), "crossover", lambda: _crossover(load)),
        (_("MHA, GQA and MQA beside each other"), "sharing", lambda: _sharing(load, device)),
        (_("FlashAttention: the same result, fewer bytes"), "fused", lambda: _fused(load, resolved, bench)),
        (_("What each optimisation reduces"), "savings", lambda: _savings(load, device)),
        (_("Predicted and measured, on this machine"), "machine", measured.section),
        (_("Common mistakes"), "wrong", lambda: _mistake(load, device)),
        (_("PyTorch"), "code", lambda: code.program(
            code.program(load), [cost.flops, cost.traffic, cost.roofline], key="cost")),
        (_("Share and save"), "share", lambda: share.share_file(
            _("All numbers of this page (.csv)"), lambda: tables.as_csv(lines), "cost.csv", key="cost")),
    ):
        sections.folded(title, key, body)
    _check(load)
    bench_module.finish()


def _controls(resolved: Resolved) -> Workload:
    """The model, how many texts of how many tokens, who shares keys and values, and the types."""
    models = {**atlas.PRESET_NAMES, "map": _("the sizes of the map"), "bench": _("what is on the bench")}
    words = {"T": _("tokens"), "B": _("texts at once")}
    sharing = {"own": _("as it is"), "mha": "MHA", "gqa": "GQA", "mqa": "MQA"}
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        model = MODEL.draw_own(st.selectbox, _("Model"), models, width=210,
                               own="llama-2-7b" if resolved.source == "worked" else "bench")
        tokens = TOKENS.draw(f"{axis('T')} · {words['T']}", width=130)
        batch = TEXTS.notch(f"{axis('B')} · {words['B']}", ledger.BATCHES, width=190)
        kind = SHARING.draw(st.segmented_control, _("Heads of K and V"), sharing, required=True)
        weights = WEIGHTS.draw(st.selectbox, _("Weights in"), {name: name for name in cost.STORED}, width=120)
        cache = CACHE.draw(st.selectbox, _("Cache in"), {name: name for name in cost.CACHED}, width=120)
    try:
        config = _config(model, resolved)
    except WorkbenchError as problem:
        st.error(errors.explain(problem))
        st.caption(_("The sizes of the map do not fit together; below stands the model that this page opens with."))
        config = OPENING.config
    return Workload(ledger.shared(config, kind), batch, tokens, weights, cache)


def _config(model: str, resolved: Resolved) -> ModelConfig:
    if model == "map":
        return atlas.config()
    return resolved.trace.config if model == "bench" else MODELS[model].config


def _formula(load: Workload, part: str) -> None:
    both = [ledger.factors(load, kind, part) for kind in ledger.PASSES]
    amounts = [next(line for line in ledger.ledger(load) if line.part == part)]
    values = amounts[0].prefill_flops, amounts[0].decode_flops
    formulas.formula(tables.product_latex(both[0]), *(
        rf"\text{{{name}: }}{tables.product_in_digits(found, value)}"
        for name, found, value in zip((_("prefill"), _("decode step")), both, values, strict=True)))


def _roof(load: Workload) -> Device:
    """The roofline of a chosen device, with this workload on it; returns the device."""
    st.subheader(_("Arithmetic or memory: which one is waited for?"), anchor=False)
    found = measured.measurement().result
    known = {**DEVICES, **({"here": found.ceilings} if found else {})}
    names = {code: device.name if code != "here" else _("this machine, measured") for code, device in known.items()}
    device = known[DEVICE.draw(st.selectbox, _("Device"), names, width=280)]
    stored = device.computes(load.weights)
    decode, prefill = ledger.by_batch(load, device), ledger.estimate(load, "prefill", device)
    words = {"roof": _("what the device can do"), "batches": _("decode step, other B"),
             "decode": _("decode step, B = {batch}").format(batch=load.batch), "prefill": _("prefill"),
             "x": _("FLOP for each byte moved"), "y": _("FLOP per second")}
    with st.container(horizontal=True, key="roof"):
        st.plotly_chart(
            figures.roofline(prefill.ridge, device.peak(stored), decode, load.batch, prefill=prefill, words=words,
                             colours=theme.roofline_colours()),
            width="stretch", config={"displayModeBar": False}, key="roofline",
            alt=_("The roofline of the device: a slope where memory bounds, a flat roof where arithmetic does, and the "
                  "passes as points on it."))
    _times(load, decode[load.batch], prefill)
    st.caption(tables.figures_of(device, stored) + " " + _("The least time is a bound, not a forecast."))
    return device


def _times(load: Workload, decode: Roofline, prefill: Roofline) -> None:
    """Least time = max(FLOP ÷ peak, bytes ÷ bandwidth), with the numbers of both passes."""
    rows = [[name, quantity(found.intensity), quantity(found.compute_seconds, "s"), quantity(found.memory_seconds, "s"),
             quantity(found.seconds, "s"), tables.bounds()[found.bound], quantity(load.batch * tokens / found.seconds)]
            for name, found, tokens in ((_("Prefill"), prefill, load.tokens), (_("Decode step"), decode, 1))]
    tables.rows_table(["", _("FLOP for each byte"), _("FLOP ÷ peak"), _("bytes ÷ bandwidth"), _("least time"),
                      _("bound by"), _("tokens per second")], rows, _("The least time of each pass"))


def _look_for(load: Workload, device: Device) -> None:
    decode, alone = (ledger.estimate(load._replace(batch=batch), "decode", device) for batch in (load.batch, 1))
    prefill = ledger.estimate(load, "prefill", device)
    parts = ledger.shares(load, load.tokens)
    counts = cost.block_parameters(load.config)
    sentences = [
        _("A decode step does {intensity} FLOP for each byte it moves; from {ridge} on this device would be busy "
          "computing. Its units therefore work {share} of the time, and memory is waited for.").format(
              intensity=quantity(decode.intensity), ridge=quantity(decode.ridge),
              share=percent(decode.compute_seconds / decode.seconds))
        if decode.bound == "memory" else
        _("With {batch} texts at once a decode step does {intensity} FLOP for each byte, more than the {ridge} from "
          "which on this device is busy computing.").format(
              batch=load.batch, intensity=quantity(decode.intensity), ridge=quantity(decode.ridge)),
        _("The prefill reads the same weights once for {rows} tokens: {intensity} FLOP for each byte.").format(
            rows=f"{load.batch * load.tokens:,}", intensity=quantity(prefill.intensity)),
        _("In this prefill the feed-forward network takes {ffn} of the arithmetic, the projections {projections}, QKᵀ "
          "and AV {pairs}.").format(ffn=percent(parts["ffn"]), projections=percent(parts["projections"]),
                                    pairs=percent(parts["pairs"])),
        _("A block has {attention} parameters in its projections and {ffn} in its feed-forward network.").format(
            attention=quantity(counts["attention"]), ffn=quantity(counts["ffn"])),
    ]
    if load.batch > 1:
        sentences.insert(1, _("{batch} texts together need {time} for a step, one alone {alone}: the weights are read "
                              "once for all of them, the cache for each.").format(
                                  batch=load.batch, time=quantity(decode.seconds, "s"),
                                  alone=quantity(alone.seconds, "s")))
    first = ledger.first_compute_bound(load, device)
    sentences.append(
        _("At this length no batch leaves the slope: every text brings a cache of its own, which only it reads.")
        if first is None else
        _("From B = {first} on a decode step of this length is bound by arithmetic.").format(first=first))
    held = ledger.weight_bytes(load.config, load.weights) + cost.kv_cache_bytes(
        load.config, load.batch, load.tokens, cost.CACHED[load.cache])
    if held > device.memory:
        sentences.append(_("Weights and cache take {held}; this device has {memory}, so it cannot hold them.").format(
            held=quantity(held, "B"), memory=quantity(device.memory, "B")))
    if load.tokens > load.config.max_positions:
        sentences.append(_("The model was made for {limit} positions; here it is asked for more.").format(
            limit=f"{load.config.max_positions:,}"))
    prose.look_for(sentences)


def _growth(load: Workload, bench: Bench) -> None:
    """Twice as many tokens: the table, with a question about it."""
    exercise = Exercise("cost-question", (load, bench.language), lambda number: practice.growth_question(load, number),
                        practice.judge_growth)
    st.subheader(_("Twice as many tokens"), anchor=False)
    asked = exercise.question
    tables.growth_table(ledger.doubling(load), load.tokens, asked.row if asked else None)
    sections.folded(_("Predict, then reveal"), "predict", lambda: _predict(exercise))


def _predict(exercise: Exercise) -> None:
    names = tables.growth_names()

    def ask(question: Question) -> str:
        return _("With twice as many tokens, how many times as much is this? {what}. Its line shows ? until you "
                 "answer.").format(what=names[question.of])

    def reveal(question: Question) -> str:
        return _("{what}: times {factor}.").format(what=names[question.of], factor=quantity(question.answer))

    exercise.draw(ask, reveal, {
        "square": _("Only what pairs every token with every token grows with the square; this does not."),
        "linear": _("That would be so for what each token brings once. Does it?"),
        "constant": _("That would be so for what does not depend on the length. Does it?"),
    })


def _crossover(load: Workload) -> None:
    lengths = sorted({*ledger.LENGTHS, load.tokens})
    tables.shares_table({tokens: ledger.shares(load, tokens) for tokens in lengths}, load.tokens)
    found = ledger.crossover(load.config)
    if found is None:
        st.markdown(_("This model has no feed-forward network, so there is nothing to overtake."))
        return
    matrices = r"4\,T^2\,H\,D_h \ge 2\,m\,T\,D\,F \iff T \ge \frac{m\,D\,F}{2\,H\,D_h}"
    with st.container(key="formula-crossover"):
        st.markdown(f"$\\displaystyle {in_latex(matrices)}$")
    st.markdown(_("With m matrices in the feed-forward network. Here that is T = {tokens}: below it the feed-forward "
                  "network takes more of the arithmetic, above it QKᵀ and AV do. The T·T of attention is what grows "
                  "fastest, not what is largest at every length.").format(tokens=f"{found:,}"))


def _sharing(load: Workload, device: Device) -> None:
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
    st.caption(_("Fewer heads of K and V change neither QKᵀ nor AV: every query head still meets every token. What "
                 "shrinks is the two matrices WK and WV, and what is kept and read."))


def _fused(load: Workload, resolved: Resolved, bench: Bench) -> None:
    size = cost.CACHED[load.cache]
    both = {name: cost.attention_traffic(load.config, load.batch, load.tokens, bytes_per_element=size, fused=fused)
            for name, fused in ((_("step by step"), False), (_("fused"), True))}
    tables.rows_table(["", _("Q, K, V and AV"), _("S, written and read"), _("A, written and read"), _("all layers")], [
        [name, *(quantity(moved[part], "B") for part in ("operands", "scores", "weights", "total"))]
        for name, moved in both.items()], _("Bytes that attention moves in a prefill"))
    st.markdown(_("A fused kernel takes Q, K and V tile by tile, keeps each tile's scores on the chip, and corrects "
                  "the softmax of a row as its next keys come. The T×T matrices are never written, but every pair of "
                  "tokens is still multiplied: the FLOPs stay, the bytes go. The result is the same up to rounding:"))
    checks.check_line(resolved.trace.check(bench.layer))


def _savings(load: Workload, device: Device) -> None:
    tables.rows_table(["", _("reduces"), _("here"), _("still to be looked at")],
                     tables.savings_rows(ledger.savings(load)), _("What each optimisation reduces"))
    st.caption(_("Compared here: a step without a cache and with it; MHA and GQA; scores written and not; all tokens "
                 "and a window of them; the weights as chosen and in four bits; one text and {count}, for each token."
                 ).format(count=ledger.BATCHED))
    st.markdown(_("“Faster” means nothing by itself. A figure of speed names the hardware, the shapes, the types and "
                  "the precision that the result keeps; here that is: {device}, B = {batch}, T = {tokens}, weights in "
                  "{weights}, cache in {cache}.").format(
                      device=device.name, batch=load.batch, tokens=f"{load.tokens:,}", weights=load.weights,
                      cache=load.cache))


def _mistake(load: Workload, device: Device) -> None:
    labels = {"arithmetic": _("Time from FLOPs alone"), "per_text": _("Weights read for every text"),
              "lookup": _("Lookups counted as products"), "training": _("The rule for training")}
    kind = SLIP.draw(st.segmented_control, _("What goes wrong"), labels, required=True)
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
        "arithmetic": _("FLOPs divided by the device's peak give the time only where arithmetic is what is waited for. "
                        "A decode step waits for its bytes."),
        "per_text": _("The weights are the same for all texts of a batch and are read once. With one text there is no "
                      "difference; move B."),
        "lookup": _("The embedding holds many parameters, but a token picks one row of it: nothing is multiplied. Only "
                    "if the same table is the head as well is it multiplied there."),
        "training": _("Six FLOPs for each parameter and token is the rule for training: two forward and four for the "
                      "gradients. Reading a prompt has no backward pass."),
    }[kind])


def _check(load: Workload) -> None:
    built = sections.cached(cost.built_parameters, load.config)
    counted = cost.parameters(load.config)["total"]
    st.caption(_("Check: {counted} parameters by formula, {built} in the tensors of the model as it is built. "
                 "Difference: {difference}.").format(
                     counted=f"{counted:,}", built=f"{built:,}", difference=abs(built - counted)))


_bench, _resolved = frame.look()
header.page_header("cost", frame.here().built)
notices.notices(_resolved, frame.here().dropped)
lab()
