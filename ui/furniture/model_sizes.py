"""The sizes of models that pages compute with: presets by name, and those in the fields of the map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.config import ModelConfig
from core.shapes import MODELS, Inputs, sizes
from ui.bench.limits import MAP_LIMITS
from ui.bench.parameters import Whole

PRESET_NAMES = {
    "d0": "D0 §13", "gpt2": "GPT-2", "llama-2-7b": "LLaMA-2-7B (D1 §11)", "llama-2-70b": "LLaMA-2-70B",
    "llama-3-8b": "Llama-3-8B", "mistral-7b": "Mistral-7B", "qwen2.5-0.5b": "Qwen2.5-0.5B",
    "smollm2-135m": "SmolLM2-135M"}
_FIRST = MODELS["d0"]
FIRST_SIZES = sizes(_FIRST.config, _FIRST.inputs or Inputs(1, 1))  # those that the map opens with
FIELDS: Mapping[str, Whole] = {
    letter: Whole(f"m{letter}", size, low=low, high=high, stage="home")
    for letter, (low, high) in MAP_LIMITS.items() for size in [FIRST_SIZES[letter] if letter != "Dh" else 0]}


def put(wanted: Mapping[str, int]) -> None:
    """Put sizes (axis letter → size; Dh = 0 is D ÷ H) into the map's fields, before these are drawn, each kept within
    its limits."""
    for letter, field in FIELDS.items():
        if letter in wanted:
            field.put_within(wanted[letter])


def of_fields() -> dict[str, int]:
    """The sizes in the map's fields, axis letter → size. Raises a ConfigError for sizes that cannot work together."""
    return sizes(config_of_fields(), Inputs(FIELDS["B"].value(), FIELDS["T"].value()))


def config_of_fields() -> ModelConfig:
    """A model with the sizes in the map's fields: RMSNorm, a gated feed-forward, no biases and no position table.
    Raises a ConfigError for sizes that cannot work together."""
    wanted = {letter: field.value() for letter, field in FIELDS.items()}
    rest: dict[str, Any] = {"kv_heads": wanted["Hkv"], "ffn_width": wanted["F"], "vocab": wanted["V"],
                            "layers": wanted["L"], "max_positions": wanted["T"], "positions": "none"}
    if wanted["Dh"]:
        return ModelConfig(width=wanted["D"], heads=wanted["H"], head_dim=wanted["Dh"], **rest)
    return ModelConfig.from_width(width=wanted["D"], heads=wanted["H"], **rest)
