"""Configurations: what is refused and with which values, presets against published counts, Hugging Face files."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core.config import PRESETS, ModelConfig
from core.errors import ConfigError, Indivisible, SizeOutOfRange, UnknownOption, UnsupportedModel
from core.model import parameter_shapes

SIZES: dict[str, Any] = {"vocab": 13, "width": 10, "layers": 2, "heads": 6, "kv_heads": 2, "head_dim": 4,
                         "ffn_width": 7, "max_positions": 9}


def parameters(config: ModelConfig) -> int:
    return sum(math.prod(shape) for shape in parameter_shapes(config).values())


@pytest.mark.parametrize(("preset", "count"), [
    ("gpt2", 124_439_808), ("llama-2-7b", 6_738_415_616), ("llama-2-70b", 68_976_648_192),
    ("llama-3-8b", 8_030_261_248), ("mistral-7b", 7_241_732_096), ("qwen2.5-0.5b", 494_032_768),
    ("smollm2-135m", 134_515_008)])
def test_a_preset_has_the_published_number_of_parameters(preset: str, count: int) -> None:
    """Invariant 11; a tied table counts once."""
    assert parameters(PRESETS[preset]) == count


@pytest.mark.parametrize(("width", "heads", "layers", "tied", "untied"), [
    (768, 12, 12, 124_439_808, 163_037_184), (1024, 16, 24, 354_823_168, 406_286_336),
    (1280, 20, 36, 774_030_080, 838_359_040), (1600, 25, 48, 1_557_611_200, 1_638_022_400)])
def test_the_family_of_gpt2(width: int, heads: int, layers: int, tied: int, untied: int) -> None:
    """I1; without the position table the smallest has 123,653,376, and its matrices alone are 12·L·D²."""
    config = ModelConfig.from_hf({"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_embd": width,
                                  "n_head": heads, "n_layer": layers})
    assert parameters(config) == tied
    assert parameters(config.with_(tied_head=False)) == untied
    assert parameters(config.with_(positions="none")) == tied - 1024 * width
    matrices = {n: s for n, s in parameter_shapes(config).items() if n.startswith("blocks.") and len(s) == 2}
    assert sum(map(math.prod, matrices.values())) == 12 * layers * width**2


def test_tinyllama_and_one_block_of_llama_2() -> None:
    """TinyLlama-1.1B; D1 §5 and W28: attention, SwiGLU and norms of a Llama-2-7B block."""
    tiny = PRESETS["llama-2-7b"].with_(width=2048, layers=22, kv_heads=4, head_dim=64, ffn_width=5632)
    assert parameters(tiny) == 1_100_048_384
    shapes = {n.removeprefix("blocks.0."): math.prod(s) for n, s in parameter_shapes(PRESETS["llama-2-7b"]).items()}
    assert sum(shapes[n] for n in ("wq", "wk", "wv", "wo")) == 67_108_864
    assert sum(shapes[n] for n in ("w_gate", "w_up", "w_down")) == 135_266_304
    assert shapes["gamma1"] + shapes["gamma2"] == 8_192


@pytest.mark.parametrize(("preset", "multiplier", "multiple"), [
    ("llama-2-7b", 1.0, 256), ("llama-2-70b", 1.3, 4096), ("llama-3-8b", 1.3, 1024)])
def test_a_llama_width_follows_its_formula(preset: str, multiplier: float, multiple: int) -> None:
    """F11: ⅔·4D, times the multiplier, rounded up."""
    config = PRESETS[preset]
    width = int(multiplier * int(2 * 4 * config.width / 3))
    assert config.ffn_width == -(-width // multiple) * multiple


# Config files as published, in the form of their time; the second column is what they must be read as.
LLAMA_31_ROPE = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                 "original_max_position_embeddings": 8192}
FILES: list[tuple[dict[str, Any], ModelConfig]] = [
    ({"model_type": "llama", "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 11008,
      "max_position_embeddings": 4096, "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32,
      "rms_norm_eps": 1e-05, "rope_scaling": None, "tie_word_embeddings": False, "vocab_size": 32000},
     PRESETS["llama-2-7b"]),
    ({"model_type": "llama", "attention_bias": False, "hidden_act": "silu", "hidden_size": 4096,
      "intermediate_size": 14336, "max_position_embeddings": 131072, "mlp_bias": False, "num_attention_heads": 32,
      "num_hidden_layers": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_scaling": LLAMA_31_ROPE,
      "rope_theta": 500000.0, "tie_word_embeddings": False, "vocab_size": 128256},
     PRESETS["llama-3-8b"].with_(max_positions=131072, rope_scaling=LLAMA_31_ROPE)),
    ({"model_type": "llama", "hidden_size": 576, "intermediate_size": 1536, "max_position_embeddings": 8192,
      "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3, "rms_norm_eps": 1e-05,
      "rope_theta": 100000, "tie_word_embeddings": True, "vocab_size": 49152}, PRESETS["smollm2-135m"]),
    ({"model_type": "mistral", "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336,
      "max_position_embeddings": 32768, "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
      "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 4096, "tie_word_embeddings": False,
      "vocab_size": 32000}, PRESETS["mistral-7b"]),
    ({"model_type": "qwen2", "hidden_act": "silu", "hidden_size": 896, "intermediate_size": 4864,
      "max_position_embeddings": 32768, "max_window_layers": 21, "num_attention_heads": 14, "num_hidden_layers": 24,
      "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "sliding_window": 32768,
      "tie_word_embeddings": True, "use_sliding_window": False, "vocab_size": 151936}, PRESETS["qwen2.5-0.5b"]),
    ({"model_type": "gpt2", "activation_function": "gelu_new", "layer_norm_epsilon": 1e-05, "n_ctx": 1024,
      "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "vocab_size": 50257}, PRESETS["gpt2"]),
]
QWEN3 = {"model_type": "qwen3", "attention_bias": False, "head_dim": 128, "hidden_act": "silu", "hidden_size": 2560,
         "intermediate_size": 9728, "max_position_embeddings": 40960, "max_window_layers": 36,
         "num_attention_heads": 32, "num_hidden_layers": 36, "num_key_value_heads": 8, "rms_norm_eps": 1e-06,
         "rope_scaling": None, "rope_theta": 1000000, "sliding_window": None, "tie_word_embeddings": True,
         "use_sliding_window": False, "vocab_size": 151936}


@pytest.mark.parametrize(("raw", "config"), FILES, ids=[f"{raw['model_type']}-{raw['vocab_size']}" for raw, _ in FILES])
def test_a_published_config_is_read_in_both_forms(raw: dict[str, Any], config: ModelConfig) -> None:
    assert ModelConfig.from_hf(raw) == config
    new = {key: value for key, value in raw.items() if key not in ("rope_theta", "rope_scaling")}
    if raw["model_type"] != "gpt2":
        new["rope_parameters"] = {"rope_type": "default", "rope_theta": raw.get("rope_theta", 10000.0),
                                  **(raw.get("rope_scaling") or {})}
    assert ModelConfig.from_hf(new) == config


@pytest.mark.parametrize(("width", "heads", "head_dim", "outputs"), [
    (2560, 32, 128, 4096), (5120, 64, 128, 8192), (5120, 32, 128, 4096), (640, 4, 256, 1024),
    (3072, 16, 256, 4096), (3584, 16, 256, 4096), (4608, 32, 128, 4096), (6144, 64, 128, 8192)])
def test_the_head_width_is_an_entry_of_its_own(width: int, heads: int, head_dim: int, outputs: int) -> None:
    """D5: Qwen3-4B, Qwen3-32B, Mistral-Nemo, Gemma-3-270m, Gemma-7B, Gemma-2-9B, Gemma-2-27B and MiniMax-01, where D/H
    is 80, 80, 160, 160, 192, 224, 144 and 96."""
    raw = {**QWEN3, "hidden_size": width, "num_attention_heads": heads, "head_dim": head_dim, "num_key_value_heads": 1}
    config = ModelConfig.from_hf(raw)
    assert config.head_dim != width // heads
    assert parameter_shapes(config)["blocks.0.wq"] == (width, outputs)
    assert parameter_shapes(config)["blocks.0.wo"] == (outputs, width)


def test_qwen3_has_head_norms_and_qwen2_has_biases() -> None:
    config = ModelConfig.from_hf(QWEN3)
    assert (config.qk_norm, config.qkv_bias, config.out_bias, config.tied_head) == (True, False, False, True)
    assert ModelConfig.from_hf({k: v for k, v in QWEN3.items() if k != "head_dim"}).head_dim == 128
    qwen2 = ModelConfig.from_hf({**FILES[4][0], "attention_bias": True})  # an entry that Qwen2 does not read
    assert (qwen2.qk_norm, qwen2.qkv_bias, qwen2.out_bias) == (False, True, False)
    assert parameters(config) == 4_022_468_096  # Qwen3-4B


@pytest.mark.parametrize(("changes", "window"), [
    ({"sliding_window": 64}, None), ({"sliding_window": 64, "use_sliding_window": True}, None),
    ({"sliding_window": 64, "use_sliding_window": True, "max_window_layers": 0}, 64),
    ({"sliding_window": None, "use_sliding_window": True, "max_window_layers": 0}, None)])
def test_a_window_counts_only_where_layers_use_it(changes: dict[str, Any], window: int | None) -> None:
    assert ModelConfig.from_hf({**QWEN3, **changes}).sliding_window == window


def test_a_model_with_windows_in_some_layers_is_refused() -> None:
    with pytest.raises(UnsupportedModel):
        ModelConfig.from_hf({**QWEN3, "sliding_window": 64, "use_sliding_window": True, "max_window_layers": 5})


@pytest.mark.parametrize(("raw", "model_type"), [
    ({"model_type": "mamba"}, "mamba"), ({}, None), ({"model_type": ["llama"]}, ["llama"]), ([], "list")])
def test_other_models_are_refused_by_name(raw: Any, model_type: object) -> None:
    with pytest.raises(UnsupportedModel) as caught:
        ModelConfig.from_hf(raw)
    assert caught.value.model_type == model_type
    assert set(caught.value.supported) == {"llama", "mistral", "qwen2", "qwen3", "gpt2"}


@pytest.mark.parametrize("changes", [
    {"hidden_act": "gelu"}, {"mlp_bias": True}, {"rope_scaling": {"rope_type": "yarn", "factor": 2.0}},
    {"rope_scaling": {"type": "linear"}}])
def test_what_would_silently_give_other_numbers_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        ModelConfig.from_hf({**FILES[1][0], **changes})


@pytest.mark.parametrize("changes", [
    {"scale_attn_by_inverse_layer_idx": True}, {"scale_attn_weights": False}, {"activation_function": "tanh"}])
def test_a_gpt2_that_computes_something_else_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        ModelConfig.from_hf({**FILES[5][0], **changes})


anything = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.just([]),
                     st.dictionaries(st.sampled_from(["rope_type", "factor", "rope_theta"]), st.text(max_size=3)))


@given(st.sampled_from([*[raw for raw, _ in FILES], QWEN3]), st.data())
def test_a_damaged_file_gives_a_config_or_a_config_error(raw: dict[str, Any], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from([*raw, "rope_parameters", "partial_rotary_factor", "n_inner", "layer_types"]))
    damaged = {**raw, key: data.draw(anything)}
    if key == "max_window_layers":
        damaged |= {"use_sliding_window": True, "sliding_window": 8}
    try:
        config = ModelConfig.from_hf(damaged)
    except ConfigError:
        return
    for name, size in config.sizes.items():
        assert isinstance(size, int), name
        assert size >= 1, name


@pytest.mark.parametrize(("field", "value"), [
    ("vocab", 0), ("width", -1), ("layers", 2.0), ("heads", True), ("head_dim", "4"), ("ffn_width", 10**8),
    ("sliding_window", 0), ("rope_dim", 6)])
def test_a_size_out_of_range_is_named_with_its_bounds(field: str, value: object) -> None:
    with pytest.raises(SizeOutOfRange) as caught:
        ModelConfig(**{**SIZES, field: value})
    assert (caught.value.field, caught.value.value, caught.value.low) == (field, value, 1)
    assert caught.value.high >= 4


@pytest.mark.parametrize(("field", "value"), [
    ("norm", "batch"), ("norm_place", "middle"), ("positions", "alibi"), ("ffn", "moe"), ("rope_pairing", "thirds"),
    ("norm_eps", -1e-5), ("norm_eps", math.nan), ("rope_base", 0.0), ("rope_base", math.inf)])
def test_an_unknown_choice_is_named_with_the_known_ones(field: str, value: object) -> None:
    with pytest.raises(UnknownOption) as caught:
        ModelConfig(**{**SIZES, field: value})
    assert caught.value.field == field
    assert caught.value.known


@pytest.mark.parametrize(("changes", "error"), [
    ({"kv_heads": 4}, ("heads", 6, "kv_heads", 4, [4, 8])), ({"head_dim": 5}, ("rope_dim", 5, "pair", 2, [4, 6])),
    ({"heads": 33}, ("heads", 33, "kv_heads", 2, [32, 34])), ({"heads": 3}, ("heads", 3, "kv_heads", 2, [2, 4]))])
def test_sizes_that_must_divide_say_which_would(changes: dict[str, int], error: tuple[object, ...]) -> None:
    """D6: 33 heads on 2 and 3 on 2 are refused."""
    with pytest.raises(Indivisible) as caught:
        ModelConfig(**{**SIZES, **changes})
    e = caught.value
    assert (e.field, e.value, e.by, e.divisor, e.fits) == error


def test_the_textbook_rule_divides_the_width() -> None:
    rest = {key: SIZES[key] for key in ("vocab", "layers", "ffn_width", "max_positions")}
    config = ModelConfig.from_width(width=12, heads=3, **rest)
    assert (config.head_dim, config.kv_heads) == (4, 3)
    with pytest.raises(Indivisible) as caught:
        ModelConfig.from_width(width=10, heads=4, **rest)
    assert (caught.value.field, caught.value.fits) == ("width", [8, 12])


def test_a_config_is_frozen_and_its_copies_are_checked() -> None:
    config = ModelConfig(**SIZES)
    with pytest.raises(AttributeError):
        config.width = 3  # type: ignore[misc]
    with pytest.raises(Indivisible):
        config.with_(kv_heads=4)
    assert ModelConfig(**config.as_dict()) == config
    assert torch.tensor(list(config.sizes.values())).min() >= 1


@pytest.mark.parametrize("field", ["num_key_value_heads", "head_dim", "max_position_embeddings"])
def test_a_zero_in_a_config_file_is_refused_rather_than_replaced(field: str) -> None:
    raw = {"model_type": "llama", "vocab_size": 32, "hidden_size": 16, "num_hidden_layers": 1,
           "num_attention_heads": 4, "intermediate_size": 32, field: 0}
    with pytest.raises(ConfigError):
        ModelConfig.from_hf(raw)


def test_configurations_can_be_cache_keys_whatever_their_rope_scaling() -> None:
    plain = PRESETS["llama-3-8b"]
    scaled = plain.with_(rope_scaling={"rope_type": "linear", "factor": 2.0})
    assert len({plain, scaled, plain.with_()}) == 2
