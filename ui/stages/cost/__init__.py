"""What only the cost page draws: the ledger, the roofline, and what follows from them."""

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
from core.stages import cost as stage
from ui.furniture import code, formulas, model_sizes, prose, sections, share
from ui.furniture.exercise import Exercise
from ui.furniture.page import on_bench
from ui.shell import errors, theme
from ui.shell.i18n import _, axis
from ui.shell.numbers import percent, quantity
from ui.sources import Resolved
from ui.stages.cost import choices, figure, measured, tables
from ui.stages.cost.choices import OPENING
from ui.stages.cost.subject import Costs


def subject() -> Costs:
    """What the bench selects; the controls choose the workload."""
    return on_bench(Costs)


def shape_sizes(shown: Costs) -> dict[str, int]:
    """The sizes of the strip."""
    return sizes(shown.load.config, Inputs(shown.load.batch, shown.load.tokens))


def controls(shown: Costs) -> None:
    """The model, how many texts of how many tokens, who shares keys and values, and the types."""
    shown.load = _workload(shown.resolved)
    shown.lines = tuple(ledger.ledger(shown.load))


def _workload(resolved: Resolved) -> Workload:
    models = {**model_sizes.preset_names(), "map": _("the sizes of the map"), "bench": _("the current model")}
    words = {"T": _("tokens"), "B": _("texts at once")}
    sharing = {"own": _("as it is"), "mha": "MHA", "gqa": "GQA", "mqa": "MQA"}
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        own = "llama-2-7b" if resolved.source == "worked" else "bench"
        model = choices.MODEL.draw_own(st.selectbox, _("Model"), models, own=own, width=210, on_change=_take_inputs,
                                       args=(own,))
        tokens = choices.TOKENS.draw(f"{axis('T')} · {words['T']}", width=130)
        batch = choices.TEXTS.notch(f"{axis('B')} · {words['B']}", ledger.BATCHES, width=190)
        kind = choices.SHARING.draw(st.segmented_control, _("Sharing of KV heads"), sharing, required=True)
        weights = choices.WEIGHTS.draw(
            st.selectbox, _("Weight type"), {name: name for name in cost.STORED}, width=120)
        cache = choices.CACHE.draw(st.selectbox, _("Cache type"), {name: name for name in cost.CACHED}, width=120)
    if model == own == "llama-2-7b":
        st.caption(_("This page opens with a model of real size, as the costs of a small one say little. What you look "
                     "at elsewhere stays; choose “the current model” for its own costs."))
    try:
        config = _config(model, resolved)
    except WorkbenchError as problem:
        st.error(errors.explain(problem))
        st.caption(_("The sizes on the map contradict one another and make no model, so you see the model that this "
                     "page opens with. Change the sizes on the map, or choose another model above."))
        config = OPENING.config
    return Workload(ledger.shared(config, kind), batch, tokens, weights, cache)


def _take_inputs(own: str) -> None:
    """With another model, as many texts and tokens as its source walks through, or as the map says."""
    chosen = choices.MODEL.value()
    model = own if chosen == "own" else chosen
    inputs = model_sizes.inputs_of_fields() if model == "map" else MODELS[model].inputs if model in MODELS else None
    if inputs is not None:
        choices.TOKENS.put_within(inputs.tokens)
        choices.TEXTS.put(max(batch for batch in ledger.BATCHES if batch <= inputs.batch))


def _config(model: str, resolved: Resolved) -> ModelConfig:
    if model == "map":
        model_sizes.keep()
        return model_sizes.config_of_fields()
    return resolved.trace.config if model == "bench" else MODELS[model].config


def draw(shown: Costs) -> None:
    """The ledger with the formula of one of its parts, the roofline, and what to look for."""
    formula_at, table_at = st.container(), st.container()
    shown.part = choices.PART.draw(st.segmented_control, _("The formula of"), tables.product_names(), required=True)
    with formula_at:
        _formula(shown.load, shown.part)
    with table_at:
        tables.ledger_table(shown.lines, shown.part)
    st.caption(_("FLOP: an addition or a multiplication; a matrix product takes one of each for every pair of numbers "
                 "that it multiplies. Bytes: what must be moved at least; the weights are read once for the whole "
                 "batch. Norms, softmax, RoPE and activation functions are left out: they take far less arithmetic "
                 "than the products.") + " " + prose.units_note())
    shown.device = _roof(shown.load)
    prose.look_for(_look_for(shown))
    _growth(shown)


def _formula(load: Workload, part: str) -> None:
    both = [ledger.factors(load, kind, part) for kind in ledger.PASSES]
    amounts = [next(line for line in ledger.ledger(load) if line.part == part)]
    values = amounts[0].prefill_flops, amounts[0].decode_flops
    formulas.formula(tables.product_latex(both[0]), *(
        rf"\text{{{name}: }}{tables.product_in_digits(found, value)}"
        for name, found, value in zip((_("prefill"), _("decode step")), both, values, strict=True)))


def _roof(load: Workload) -> Device:
    """The roofline of a chosen device, with this workload on it; returns the device."""
    st.subheader(_("Is the time spent on arithmetic or on memory?"), anchor=False)
    found = measured.measurement().result
    known = {**DEVICES, **({"here": found.ceilings} if found else {})}
    names = {code: device.name if code != "here" else _("this machine, measured") for code, device in known.items()}
    device = known[choices.DEVICE.draw(st.selectbox, _("Device"), names, width=280)]
    stored = device.computes(load.weights)
    decode, prefill = ledger.by_batch(load, device), ledger.estimate(load, "prefill", device)
    words = {"roof": _("what the device can do"), "batches": _("decode step, other B"),
             "decode": _("decode step, B = {batch}").format(batch=load.batch), "prefill": _("prefill"),
             "x": _("FLOP for each byte moved"), "y": _("FLOP per second")}
    with st.container(horizontal=True, key="roof"):
        st.plotly_chart(
            figure.roofline(prefill.ridge, device.peak(stored), decode, load.batch, prefill=prefill, words=words,
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


def _look_for(shown: Costs) -> list[str]:
    load, device, found = shown.load, shown.device, shown.facts
    decode, alone, prefill, parts, counts = found.decode, found.alone, found.prefill, found.shares, found.parameters
    sentences = [
        _("While this device moves one byte it could do {ridge} FLOP, but a decode step does only {intensity} FLOP for "
          "each byte it moves. The computing units therefore work {share} of the time and wait for data in "
          "the rest.").format(
              intensity=quantity(decode.intensity), ridge=quantity(decode.ridge),
              share=percent(decode.compute_seconds / decode.seconds))
        if decode.bound == "memory" else
        _("With {batch} texts at once a decode step does {intensity} FLOP for each byte it moves, more than the "
          "{ridge} FLOP that this device can do in that time: arithmetic is the limit, not memory.").format(
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
    first = found.first_bound
    sentences.append(
        _("Larger batches do not help at this length: every text reads a cache of its own, so memory remains the limit "
          "of a decode step.")
        if first is None else
        _("From B = {first} on, a decode step of this length is bound by arithmetic.").format(first=first))
    if not found.fits:
        sentences.append(_("Weights and cache take {held}; this device has {memory}, so it cannot hold them.").format(
            held=quantity(found.held, "B"), memory=quantity(device.memory, "B")))
    if load.tokens > load.config.max_positions:
        sentences.append(_("The model was made for {limit} positions; here it is asked for more.").format(
            limit=f"{load.config.max_positions:,}"))
    return sentences


def _growth(shown: Costs) -> None:
    """Twice as many tokens: the table, with a question about it."""
    load, at = shown.load, shown.at
    exercise = Exercise("cost-question", (load, shown.bench.language),
                        lambda number: stage.QUESTIONS["growth"].ask(at, number, load=load),
                        lambda question, answer: stage.QUESTIONS["growth"].judge(
                            at, question, answer, shown.bench.decimals))
    st.subheader(_("Twice as many tokens"), anchor=False)
    asked = exercise.question
    tables.growth_table(ledger.doubling(load), load.tokens, asked.row if asked else None)
    sections.folded(_("Predict, then reveal"), "predict", lambda: _predict(exercise))


def _predict(exercise: Exercise) -> None:
    names = tables.growth_names()

    def ask(question: Question) -> str:
        return _("How many times as much is this with twice as many tokens: {what}? Its line shows ? until "
                 "you answer.").format(what=names[question.of])

    def reveal(question: Question) -> str:
        return _("{what}: times {factor}.").format(what=names[question.of], factor=quantity(question.answer))

    exercise.draw(ask, reveal, {
        "square": _("Only what pairs every token with every token grows with the square; this does not."),
        "linear": _("That would be right if every token added the same amount. Is that so here?"),
        "constant": _("That would be right for what does not depend on the length. Does this depend on it?"),
    })


def program(shown: Costs) -> None:
    """The program that counts the same, and the functions that did so here."""
    code.program(stage.program(shown.at, load=shown.load), [cost.flops, cost.traffic, cost.roofline], key="cost")


def shared(shown: Costs) -> None:
    """The link, the state file, and the ledger as a file."""
    share.share_file(_("All numbers of this page (.csv)"), lambda: tables.as_csv(shown.lines), "cost.csv", key="cost")


def check(shown: Costs) -> None:
    """Parameters by formula against those of the model as it is built."""
    load = shown.load
    built = sections.cached(cost.built_parameters, load.config)
    counted = cost.parameters(load.config)["total"]
    st.caption(_("Check: {counted} parameters by formula, {built} in the tensors of the model as it is built. "
                 "Difference: {difference}.").format(
                     counted=f"{counted:,}", built=f"{built:,}", difference=abs(built - counted)))
