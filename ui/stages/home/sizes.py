"""The sizes of the map: presets, a model's own config.json, and a field for each."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core import shapes
from core.config import LONGEST_JSON, ModelConfig
from core.errors import WorkbenchError
from core.trace import Trace
from ui import bench as bench_module
from ui.bench.session import session
from ui.furniture import model_sizes
from ui.furniture.model_sizes import FIELDS, KINDS, LENGTH, SWITCHES, WINDOW, preset_names
from ui.shell import errors, i18n
from ui.shell.i18n import _

LETTERS = ("B", "T", "D", "H", "Hkv", "Dh", "F", "V", "L")


def controls(on_bench: Trace) -> None:
    """Presets, a model's own config.json, a field for every size, and what a model is besides; `on_bench` is the trace
    in use."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="map-sources"):
        current = next((code for code in preset_names() if model_sizes.holds(*shapes.MODELS[code])), "")
        bench_module.pick(_("Sizes of"), {"": _("your own"), **preset_names()}, current, _take_preset, key="preset")
        inputs = shapes.Inputs(on_bench.sizes.get("B", 1), on_bench.sizes["T"])
        st.button(_("The sizes of the current example"), on_click=model_sizes.put, args=(on_bench.config, inputs),
                  help=_("The sizes of the example, toy or model that the other pages show."), key="map-bench")
        with st.popover(_("From a config.json")):
            _config_form()
        with st.popover(_("Architecture")):
            _kinds()
    own_width = FIELDS["Dh"].value()
    with st.container(horizontal=True, key="map-sizes"):
        words = {"B": _("batch"), "T": _("tokens"), "D": _("width"), "H": _("query heads"), "Hkv": _("KV heads"),
                 "F": _("FFN width"), "V": _("vocabulary"), "L": _("layers"),
                 "Dh": _("own width") if own_width else f"(0: {i18n.axis('D')}÷{i18n.axis('H')})"}
        for letter in LETTERS:
            FIELDS[letter].draw(f"{i18n.axis(letter)} {words[letter]}", width=92)


def _kinds() -> None:
    """What a model is besides its sizes; the page on cost counts with it."""
    st.caption(_("A model has more than sizes: the page on cost counts with these choices too."))
    words = {
        "norm": (_("Norm"), {"rms": "RMSNorm", "layer": "LayerNorm", "none": _("none")}),
        "norm_place": (_("Where the norm stands"), {"pre": _("before each part"), "post": _("after each part")}),
        "ffn": (_("Feed-forward"), {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU (tanh)", "swiglu": "SwiGLU",
                                    "none": _("none")}),
        "positions": (_("Positions"), {"none": _("none"), "learned": _("learned"), "sinusoidal": _("sinusoidal"),
                                       "rope": "RoPE"})}
    for name, (label, labels) in words.items():
        KINDS[name].draw(st.selectbox, label, labels)
    switches = {"tied_head": _("E serves as W_vocab too"), "qkv_bias": _("Biases in Q, K and V"),
                "out_bias": _("Bias in the output matrix"), "ffn_bias": _("Biases in the feed-forward"),
                "qk_norm": _("Q and K are normed")}
    for name, label in switches.items():
        SWITCHES[name].draw(label)
    WINDOW.draw(_("Keys in the window; zero: no window"))
    LENGTH.draw(_("Positions it was made for; zero: as many as tokens"))


def _take_preset(code: str) -> None:
    if code:
        model_sizes.put(*shapes.MODELS[code])


@dataclass
class Map:
    """The last sizes that fit together, and what was wrong with a config.json."""

    sizes: dict[str, int] | None = None
    problem: WorkbenchError | None = None


def held() -> Map:
    """What the session holds of the map."""
    return session().part(Map)


def _config_form() -> None:
    """A config.json, pasted or as a file; what is wrong with it is said here and changes nothing."""
    st.caption(_("The file config.json of a model in Hugging Face's format: Llama, Mistral, Qwen or GPT."))
    pasted = st.text_area(_("Paste it"), key="map-config", height=120, max_chars=LONGEST_JSON)
    file = st.file_uploader(_("Or open the file"), type="json", key="map-file", max_upload_size=1)
    st.button(_("Read it"), on_click=_take_config, key="map-read",
              args=(file.getvalue().decode("utf-8", "replace") if file else pasted,))
    problem = held().problem
    if problem is not None:
        st.error(errors.explain(problem))


def _take_config(text: str) -> None:
    problem: WorkbenchError | None = None
    try:
        model_sizes.put(ModelConfig.from_json(text))
    except WorkbenchError as error:
        problem = error
    held().problem = problem
