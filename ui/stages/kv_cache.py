"""Sections of the page on the cache with settings of their own: growth by formula, the time of a step measured."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from core import cost
from core.config import PRESETS, ModelConfig
from core.machine.datasheet import DEVICES
from core.stages.kv_cache import decode_time, growth
from core.stages.kv_cache.decode_time import Timing
from ui import bench as bench_module
from ui.bench.limits import MAP_LIMITS
from ui.bench.parameters import MANY, Choice, Decimals, Whole
from ui.furniture import figures
from ui.furniture.generation_run import TICK, Run
from ui.furniture.prose import units_note
from ui.shell import i18n, numbers, theme
from ui.shell.i18n import _
from ui.shell.numbers import format_bytes

LONGEST_LIVE = 512  # tokens up to which the live model is measured: above, a step without the cache takes many seconds
NAMES = {"gpt2": "GPT-2", "llama-2-7b": "LLaMA-2-7B", "llama-2-70b": "LLaMA-2-70B", "llama-3-8b": "Llama-3-8B",
         "mistral-7b": "Mistral-7B", "qwen2.5-0.5b": "Qwen2.5-0.5B", "smollm2-135m": "SmolLM2-135M"}
LONGEST = MAP_LIMITS["T"][1]
FIRST_LENGTH = 8192
FIRST_REQUESTS = 16

MODEL = Choice("of_model", "llama-3-8b", codes=("own", *NAMES), stage="kv_cache")
HEADS = Choice("of_heads", "", codes=Decimals(1, MANY), stage="kv_cache")
TYPE = Choice("of_type", "float16", codes=tuple(cost.BYTES), stage="kv_cache")
REQUESTS = Whole("requests", FIRST_REQUESTS, low=1, high=MAP_LIMITS["B"][1], stage="kv_cache")
LENGTH = Whole("length", FIRST_LENGTH, low=1, high=LONGEST, stage="kv_cache")
WINDOW = Whole("window_of", 0, low=0, high=LONGEST, stage="kv_cache")  # 0: none
DEVICE = Choice("device", "a100", codes=tuple(DEVICES), stage="kv_cache")
MISCOUNT = Choice("miscount", "k_only", codes=("k_only", "query_heads", "one_layer", "one_text", "elements"),
                  stage="kv_cache")


@st.fragment
def curves() -> None:
    """The cache over the length of the text, for a known model or the one on the bench, and what a GPU holds of it."""
    run: Run = bench_module.recall("run")
    config, batch, tokens, dtype = _chosen(run.prompt.decoder.config)
    window = WINDOW.value() or None
    size = cost.BYTES[dtype]
    device = DEVICES[DEVICE.draw(
        st.selectbox, _("Beside the weights, in the memory of"), {code: one.name for code, one in DEVICES.items()})]
    fit = cost.requests_that_fit(config, device, tokens, dtype)
    at = growth.lengths(tokens)
    found = growth.curves(config, batch, at, size, window)
    heads = i18n.axis("Hkv")
    words = {"mha": _("one KV head for each query head ({heads} = {count})").format(heads=heads, count=config.heads),
             "own": f"{heads} = {config.kv_heads}", "mqa": _("one for all ({heads} = {count})").format(
                 heads=heads, count=found[2].kv_heads),
             "window": _("window of length {count}").format(count=window), "limit": _("free memory"),
             "x": _("tokens of each request"), "y": "GiB"}
    st.plotly_chart(
        figures.growth(at, found, limit=fit.free, words=words, colours=theme.growth_colours()), width="stretch",
        config={"displayModeBar": False}, key="growth",
        alt=_("Lines of the cache's size over the length of the text, for several numbers of KV heads."))
    own, full = found[1].bytes[-1], found[0].bytes[-1]
    st.markdown(_("With T = {tokens} and {batch} at once, the cache takes {own}; with a KV head for each query "
                  "head, {heads}, it would take {full}. Every further token of a request adds {each}.").format(
                      tokens=f"{tokens:,}", batch=f"{batch:,}", own=format_bytes(own), heads=config.heads,
                      full=format_bytes(full), each=format_bytes(cost.kv_cache_bytes(config, 1, 1, size))))
    if fit.free <= 0:
        st.markdown(_("The weights alone take {weights}, more than the {memory} of {device}.").format(
            weights=format_bytes(fit.weights), memory=format_bytes(device.memory), device=device.name))
    else:
        st.markdown(_("{device} has {memory}. The weights take {weights}, and each request of length T = {tokens} "
                      "takes {each}. Requests that fit at once, at most: {count}.").format(
                          device=device.name, memory=format_bytes(device.memory), weights=format_bytes(fit.weights),
                          tokens=f"{tokens:,}", each=format_bytes(fit.per_request), count=f"{fit.requests:,}"))
    st.caption(_("Source of the figures: {source}.").format(source=device.source) + " " + units_note())
    bench_module.finish()


def _chosen(own: ModelConfig) -> tuple[ModelConfig, int, int, str]:
    """The controls: model, KV heads, requests, tokens, type, window; returns config, B, T and the type."""
    first, second, third, fourth = st.columns(4)
    with first:
        model = MODEL.draw(st.selectbox, _("Model"), {"own": _("the one on the bench"), **NAMES})
    config = own if model == "own" else PRESETS[model]
    with second:
        heads = int(HEADS.draw(
            st.selectbox, _("KV heads"), {str(count): str(count) for count in growth.divisors(config.heads)},
            default=str(config.kv_heads)))
    with third:
        dtype = TYPE.draw(st.selectbox, _("Type"), {name: name for name in cost.BYTES})
    batch = REQUESTS.draw(_("Requests"), where=fourth)
    tokens = LENGTH.draw(_("Tokens of each"), where=first)
    WINDOW.draw(_("Sliding window"), where=second, help=_("How many of the last tokens are kept; zero keeps all."))
    return config.with_(kv_heads=heads), batch, tokens, dtype


class Measuring:
    """Times of one step at growing lengths, measured one after the other as long as it is `running`."""

    def __init__(self, run: Run) -> None:
        live = run.prompt.source == "live"
        self.key, self.live = run.prompt.source, live
        decoder = run.prompt.decoder if live else decode_time.bench_decoder()
        self.config = decoder.config
        self.at = decode_time.lengths(decoder.config, LONGEST_LIVE if live else decoder.config.max_positions)
        self.rows: list[Timing] = []
        self.running = True
        self._coming: Iterator[Timing] = decode_time.decode_times(decoder, self.at, run.prompt.turn)

    def advance(self) -> None:
        """Measure at the next length."""
        found = next(self._coming, None)
        if found is None:
            self.running = False
        else:
            self.rows.append(found)
            self.running = self.running and len(self.rows) < len(self.at)


def times() -> None:
    """The section on the time of one step; it comes again by itself while measuring goes on."""
    found: Measuring | None = bench_module.recall("measuring")
    st.fragment(_times, run_every=TICK if found is not None and found.running else None)()


def _times() -> None:
    run: Run = bench_module.recall("run")
    found: Measuring | None = bench_module.recall("measuring")
    if found is not None and found.key != ("live" if run.prompt.source == "live" else found.key):
        found = None
    st.markdown(_("How long does the step that reads one token take, at growing lengths of the text before it?"))
    with st.container(horizontal=True, vertical_alignment="center"):
        running = found is not None and found.running
        if st.button(_("Stop") if running else _("Measure on this machine"), key="measure-go"):
            if found is not None and running:
                found.running = False
            else:
                bench_module.remember("measuring", Measuring(run))
            st.rerun()
        if found is not None and running:
            st.progress(len(found.rows) / len(found.at))
    if found is not None and found.rows:
        _measured(found)
    if found is not None and found.running:
        found.advance()
        if not found.running:
            st.rerun()


def _measured(found: Measuring) -> None:
    words = {"cached": _("with the cache"), "uncached": _("reading the whole text again"),
             "x": _("tokens of the text"), "y": _("milliseconds")}
    st.plotly_chart(
        figures.decode_times(found.rows, words=words, colours=theme.time_colours()), width="stretch",
        config={"displayModeBar": False}, key="decode-times",
        alt=_("The time of one step over the length of the text: without the cache it grows steeply, with it slowly."))
    first, last = found.rows[0], found.rows[-1]
    if len(found.rows) > 1:
        st.markdown(_("From {few} to {many} tokens a step without the cache grew to {uncached} times its time, with "
                      "the cache to {cached} times. It then reads {bytes} of K and V, and that is what still grows: "
                      "the cache spares computing old rows again, not reading them.").format(
                          few=first.length, many=last.length,
                          uncached=numbers.format_number(last.uncached / first.uncached, decimals=1),
                          cached=numbers.format_number(last.cached / first.cached, decimals=1),
                          bytes=format_bytes(last.cached_bytes)))
    if not found.live:
        config = found.config
        st.caption(_("Measured on a decoder with random weights, large enough for a clock: {layers} layers, width "
                     "{width}, {heads} heads. Other work on this machine shows in the times.").format(
                         layers=config.layers, width=config.width, heads=config.heads))
