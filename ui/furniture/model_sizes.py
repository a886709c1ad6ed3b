"""The models that pages compute with: presets by name, and the one in the fields of the map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from core.config import MAX_SIZE, FeedForward, ModelConfig, Norm, NormPlace, Positions
from core.shapes import MODELS, Inputs, sizes
from ui.bench.limits import MAP_LIMITS
from ui.bench.parameters import Choice, Parameter, Switch, Whole
from ui.shell import documents

_NAMES = {
    "d0": "{d0}", "gpt2": "GPT-2", "llama-2-7b": "LLaMA-2-7B ({d1})", "llama-2-70b": "LLaMA-2-70B",
    "llama-3-8b": "Llama-3-8B", "mistral-7b": "Mistral-7B", "qwen2.5-0.5b": "Qwen2.5-0.5B",
    "smollm2-135m": "SmolLM2-135M"}
_FIRST = MODELS["d0"]
FIRST_SIZES = sizes(_FIRST.config, _FIRST.inputs or Inputs(1, 1))  # those that the map opens with
FIELDS: Mapping[str, Whole] = {
    letter: Whole(f"m{letter}", size, low=low, high=high, stage="home")
    for letter, (low, high) in MAP_LIMITS.items() for size in [FIRST_SIZES[letter] if letter != "Dh" else 0]}
# What a model is besides its sizes, by the name that `ModelConfig` has for it.
KINDS: Mapping[str, Choice] = {
    name: Choice(key, getattr(_FIRST.config, name), codes=get_args(kind), stage="home") for name, key, kind in (
        ("norm", "mnorm", Norm), ("norm_place", "mplace", NormPlace), ("ffn", "mffn", FeedForward),
        ("positions", "mpos", Positions))}
SWITCHES: Mapping[str, Switch] = {
    name: Switch(key, getattr(_FIRST.config, name), stage="home") for name, key in (
        ("tied_head", "mtied"), ("qkv_bias", "mbqkv"), ("out_bias", "mbo"), ("ffn_bias", "mbffn"),
        ("qk_norm", "mqknorm"))}
WINDOW = Whole("mwindow", 0, low=0, high=MAX_SIZE, stage="home")  # 0: none
LENGTH = Whole("mP", 0, low=0, high=MAX_SIZE, stage="home")  # positions that the model was made for; 0: as many as T


def preset_names() -> dict[str, str]:
    """Code of each preset to its name, with the document that it is from."""
    places = {"d0": documents.named("D0 §13"), "d1": documents.named("D1 §11")}
    return {code: name.format(**places) for code, name in _NAMES.items()}


def put(config: ModelConfig, inputs: Inputs | None = None) -> None:
    """Put a model into the fields of the map, before these are drawn, each size kept within its limits; without
    `inputs` B and T stay."""
    for field, value in _said(config, inputs):
        if isinstance(field, Whole):
            field.put_within(value)
        else:
            field.put(value)


def holds(config: ModelConfig, inputs: Inputs | None = None) -> bool:
    """Whether the fields hold that model."""
    return all(field.value() == value for field, value in _said(config, inputs) if field is not LENGTH)


def _said(config: ModelConfig, inputs: Inputs | None) -> list[tuple[Parameter[Any], Any]]:
    """What a model says about each of the fields that it says anything about."""
    usual = config.width == config.heads * config.head_dim
    told = config.sizes | {"Dh": 0 if usual else config.head_dim}
    told |= {"B": inputs.batch, "T": inputs.tokens} if inputs else {}
    said: list[tuple[Parameter[Any], Any]] = [(FIELDS[letter], told[letter]) for letter in FIELDS if letter in told]
    said += [(kind, getattr(config, name)) for name, kind in KINDS.items()]
    said += [(switch, getattr(config, name)) for name, switch in SWITCHES.items()]
    length = 0 if config.positions == "none" else config.max_positions
    return [*said, (WINDOW, config.sliding_window or 0), (LENGTH, length)]


def of_fields() -> dict[str, int]:
    """The sizes in the map's fields, axis letter → size. Raises a ConfigError for sizes that cannot work together."""
    return sizes(config_of_fields(), inputs_of_fields())


def keep() -> None:
    """Have the address of a page that draws no field of the map say what they hold."""
    fields: list[Parameter[Any]] = [*FIELDS.values(), *KINDS.values(), *SWITCHES.values(), WINDOW, LENGTH]
    for one in fields:
        one.kept()


def inputs_of_fields() -> Inputs:
    """B and T of the map."""
    return Inputs(FIELDS["B"].value(), FIELDS["T"].value())


def config_of_fields() -> ModelConfig:
    """The model in the map's fields. Raises a ConfigError for sizes that cannot work together."""
    wanted = {letter: field.value() for letter, field in FIELDS.items()}
    rest: dict[str, Any] = {
        "kv_heads": wanted["Hkv"], "ffn_width": wanted["F"], "vocab": wanted["V"], "layers": wanted["L"],
        "max_positions": LENGTH.value() or wanted["T"], "sliding_window": WINDOW.value() or None,
        **{name: kind.value() for name, kind in KINDS.items()},
        **{name: switch.value() for name, switch in SWITCHES.items()}}
    if wanted["Dh"]:
        return ModelConfig(width=wanted["D"], heads=wanted["H"], head_dim=wanted["Dh"], **rest)
    return ModelConfig.from_width(width=wanted["D"], heads=wanted["H"], **rest)
