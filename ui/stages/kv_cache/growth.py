"""How a cache grows, by formula, and what a GPU holds of it."""

from __future__ import annotations

import streamlit as st

from core import cost
from core.config import PRESETS, ModelConfig
from core.machine.datasheet import DEVICES
from core.stages.kv_cache import growth
from ui.bench.limits import MAP_LIMITS
from ui.bench.parameters import MANY, Choice, Decimals, Whole
from ui.furniture.generation_run import Running
from ui.furniture.prose import units_note
from ui.shell import i18n, theme
from ui.shell.i18n import _
from ui.shell.numbers import format_bytes
from ui.stages.kv_cache import figure

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


def curves(shown: Running) -> None:
    """The cache over the length of the text, for a known model or the one on the bench, and what a GPU holds of it."""
    config, batch, tokens, dtype = _chosen(shown.run.prompt.decoder.config)
    window = WINDOW.value() or None
    size = cost.BYTES[dtype]
    device = DEVICES[DEVICE.draw(
        st.selectbox, _("Device whose memory holds weights "
                        "and cache"), {code: one.name for code, one in DEVICES.items()})]
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
        figure.growth(at, found, limit=fit.free, words=words, colours=theme.growth_colours()), width="stretch",
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


def _chosen(own: ModelConfig) -> tuple[ModelConfig, int, int, str]:
    """The controls: model, KV heads, requests, tokens, type, window; returns config, B, T and the type."""
    first, second, third, fourth = st.columns(4)
    with first:
        model = MODEL.draw(st.selectbox, _("Model"), {"own": _("the current model"), **NAMES})
    config = own if model == "own" else PRESETS[model]
    with second:
        heads = int(HEADS.draw(
            st.selectbox, _("KV heads"), {str(count): str(count) for count in growth.divisors(config.heads)},
            default=str(config.kv_heads)))
    with third:
        dtype = TYPE.draw(st.selectbox, _("Type"), {name: name for name in cost.BYTES})
    batch = REQUESTS.draw(_("Requests"), where=fourth)
    tokens = LENGTH.draw(_("Tokens per request"), where=first)
    WINDOW.draw(_("Sliding window"), where=second, help=_("How many of the last tokens are kept; zero keeps all."))
    return config.with_(kv_heads=heads), batch, tokens, dtype
