"""The sizes of the map: presets, a model's own config.json, and a field for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from core import shapes
from core.config import LONGEST_JSON, ModelConfig
from core.errors import WorkbenchError
from ui import bench as bench_module
from ui.bench.session import session
from ui.furniture import model_sizes
from ui.furniture.model_sizes import FIELDS, PRESET_NAMES
from ui.shell import errors, i18n
from ui.shell.i18n import _

LETTERS = ("B", "T", "D", "H", "Hkv", "Dh", "F", "V", "L")


def controls(on_bench: Mapping[str, int]) -> None:
    """Presets, a model's own config.json, and a field for every size; `on_bench` are those of the trace in use."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="map-sources"):
        known = {code: _preset_sizes(code) for code in PRESET_NAMES}
        held = {letter: FIELDS[letter].value() for letter in LETTERS}
        current = next((code for code, sizes in known.items() if all(held[k] == n for k, n in sizes.items())), None)
        bench_module.pick(_("Sizes of"), {"": _("your own"), **PRESET_NAMES}, current or "", _take_preset, key="preset")
        st.button(_("The sizes on the bench"), on_click=model_sizes.put, args=(_own_width(on_bench),),
                  help=_("Those of the example, toy or model that is chosen in the sidebar."), key="map-bench")
        with st.popover(_("From a config.json")):
            _config_form()
    with st.container(horizontal=True, key="map-sizes"):
        words = {"B": _("batch"), "T": _("tokens"), "D": _("width"), "H": _("query heads"), "Hkv": _("KV heads"),
                 "F": _("FFN width"), "V": _("vocabulary"), "L": _("layers"),
                 "Dh": _("own width") if held["Dh"] else f"(0: {i18n.axis('D')}÷{i18n.axis('H')})"}
        for letter in LETTERS:
            FIELDS[letter].draw(f"**{i18n.axis(letter)}** {words[letter]}", width=92)


def _preset_sizes(code: str) -> dict[str, int]:
    """What a preset says about the fields; one that names no inputs leaves B and T alone."""
    model = shapes.MODELS[code]
    found = {letter: size for letter, size in model.config.sizes.items() if letter in LETTERS}
    return _own_width(found | ({"B": model.inputs.batch, "T": model.inputs.tokens} if model.inputs else {}))


def _own_width(found: Mapping[str, int]) -> dict[str, int]:
    """The same sizes with Dh = 0 where it is D ÷ H."""
    usual = found.get("D", 0) == found.get("H", 0) * found.get("Dh", 0)
    return {letter: size for letter, size in found.items() if letter != "Dh"} | {"Dh": 0 if usual else found["Dh"]}


def _take_preset(code: str) -> None:
    if code:
        model_sizes.put(_preset_sizes(code))


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
        config = ModelConfig.from_json(text)
        model_sizes.put(_own_width({k: n for k, n in config.sizes.items() if k in LETTERS}))
    except WorkbenchError as error:
        problem = error
    held().problem = problem
