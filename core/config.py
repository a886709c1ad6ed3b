"""What a decoder is made of: one frozen dataclass, presets of known models, and the reader of Hugging Face configs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self, get_args

from core.errors import Indivisible, NotJson, SizeOutOfRange, UnknownOption, UnsupportedModel
from core.rope import frequencies

Norm = Literal["rms", "layer", "none"]
NormPlace = Literal["pre", "post"]
Positions = Literal["none", "sinusoidal", "learned", "rope"]
FeedForward = Literal["relu", "gelu", "gelu_tanh", "swiglu", "none"]
Pairing = Literal["half", "adjacent"]

LONGEST_JSON = 100_000  # characters; published configs have a few thousand
MAX_SIZE = 10_000_000  # nothing a published config says is larger; keeps arithmetic on sizes exact and bounded


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Sizes and choices of a decoder-only Transformer.

    `head_dim` is a size of its own: D/H in the textbook, but not in Qwen3 or Gemma. `kv_heads` equals `heads` in MHA,
    divides it in GQA and is 1 in MQA. `rope_dim` (None: all of `head_dim`) is the rotated part of each head.
    Raises a `core.errors.ConfigError` on sizes that cannot work.
    """

    vocab: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn_width: int
    max_positions: int
    norm: Norm = "rms"
    norm_place: NormPlace = "pre"
    norm_eps: float = 1e-5
    positions: Positions = "rope"
    rope_base: float = 10000.0
    rope_dim: int | None = None
    rope_pairing: Pairing = "half"
    rope_scaling: Mapping[str, Any] | None = field(default=None, hash=False)
    ffn: FeedForward = "swiglu"
    qkv_bias: bool = False
    out_bias: bool = False
    ffn_bias: bool = False
    qk_norm: bool = False
    tied_head: bool = False
    sliding_window: int | None = None

    def __post_init__(self) -> None:
        for name in ("vocab", "width", "layers", "heads", "kv_heads", "head_dim", "ffn_width", "max_positions"):
            _check_size(name, getattr(self, name))
        for name, choices in (("norm", Norm), ("norm_place", NormPlace), ("positions", Positions),
                              ("ffn", FeedForward), ("rope_pairing", Pairing)):
            if getattr(self, name) not in get_args(choices):
                raise UnknownOption(name, getattr(self, name), get_args(choices))
        if self.heads % self.kv_heads:
            raise Indivisible("heads", self.heads, "kv_heads", self.kv_heads)
        if self.sliding_window is not None:
            _check_size("sliding_window", self.sliding_window)
        if not (math.isfinite(self.norm_eps) and self.norm_eps >= 0):
            raise UnknownOption("norm_eps", self.norm_eps, ["a finite number, 0 or more"])
        if self.positions == "rope":
            self._check_rope()

    def _check_rope(self) -> None:
        if not (math.isfinite(self.rope_base) and self.rope_base > 0):
            raise UnknownOption("rope_base", self.rope_base, ["a finite number above 0"])
        _check_size("rope_dim", self.rotary_dim, high=self.head_dim)
        if self.rotary_dim % 2:
            raise Indivisible("rope_dim", self.rotary_dim, "pair", 2)
        frequencies(2, self.rope_base, self.rope_scaling)  # refuses a kind of scaling, or a setting, that is not known

    @property
    def rotary_dim(self) -> int:
        """How many dimensions of each head are rotated."""
        return self.head_dim if self.rope_dim is None else self.rope_dim

    @property
    def group(self) -> int:
        """Query heads per KV head: query head h reads KV head h // group."""
        return self.heads // self.kv_heads

    @property
    def sizes(self) -> dict[str, int]:
        """Axis letter → size, for the axes that the configuration fixes (B and T come from the input)."""
        return {"D": self.width, "H": self.heads, "Hkv": self.kv_heads, "Dh": self.head_dim,
                "HDh": self.heads * self.head_dim, "HkvDh": self.kv_heads * self.head_dim,
                "F": self.ffn_width, "V": self.vocab, "L": self.layers, "P": self.max_positions}

    @classmethod
    def from_width(cls, *, width: int, heads: int, kv_heads: int | None = None, **rest: Any) -> Self:
        """The textbook rule D = H·Dh; says which widths would work when `width` is not a multiple of `heads`."""
        _check_size("width", width)
        _check_size("heads", heads)
        if width % heads:
            raise Indivisible("width", width, "heads", heads)
        shared = heads if kv_heads is None else kv_heads
        return cls(width=width, heads=heads, kv_heads=shared, head_dim=width // heads, **rest)

    @classmethod
    def from_hf(cls, raw: Mapping[str, Any]) -> Self:
        """Read a Hugging Face `config.json`: Llama, Mistral, Qwen2, Qwen3 and GPT-2.

        Understands both `rope_theta` and `rope_parameters`, an own `head_dim`, and counts `sliding_window` only where
        the model uses it. Raises `UnsupportedModel` for other types, `ConfigError` for values that cannot work.
        """
        if not isinstance(raw, Mapping):
            raise UnsupportedModel(type(raw).__name__, sorted(_READERS), "a config is a JSON object")
        kind = raw.get("model_type")
        if not isinstance(kind, str) or kind not in _READERS:
            raise UnsupportedModel(kind, sorted(_READERS))
        return cls(**_READERS[kind](raw))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the text of a `config.json`. Raises NotJson, and what `from_hf` raises."""
        try:
            if len(text) > LONGEST_JSON:
                raise NotJson(len(text), LONGEST_JSON)
            raw = json.loads(text)
        except (ValueError, RecursionError):
            raise NotJson(len(text), LONGEST_JSON) from None
        return cls.from_hf(raw)

    def with_(self, **changes: Any) -> Self:
        """A copy with `changes`, checked again."""
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for keys and files."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def _check_size(name: str, value: object, high: int = MAX_SIZE) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= high:
        raise SizeOutOfRange(name, value, 1, high)


def _optional(raw: Mapping[str, Any], name: str, default: int) -> Any:
    """The value of `name`, or the default where it is absent or null; 0 is a value, and refused later."""
    return default if raw.get(name) is None else raw[name]


def _required(raw: Mapping[str, Any], name: str) -> Any:
    if raw.get(name) is None:
        raise SizeOutOfRange(name, None, 1, MAX_SIZE)
    return raw[name]


def _number(raw: Mapping[str, Any], name: str, default: float) -> float:
    value = raw.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e30:
        raise UnknownOption(name, value, ["a finite number"])
    return float(value)


def _rope(raw: Mapping[str, Any]) -> dict[str, Any]:
    """RoPE settings from `rope_parameters` (newer configs) or `rope_theta` + `rope_scaling` (older ones)."""
    found = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
    if not isinstance(found, Mapping):
        raise UnknownOption("rope_parameters", found, ["an object"])
    both = {**raw, **{name: value for name, value in found.items() if value is not None}}
    base, partial = _number(both, "rope_theta", 10000.0), _number(both, "partial_rotary_factor", 1.0)
    parameters = {k: v for k, v in found.items() if k not in ("rope_theta", "partial_rotary_factor")}
    kind = parameters.get("rope_type") or parameters.get("type") or "default"
    parameters["rope_type"] = kind
    return {"positions": "rope", "rope_base": base, "partial": partial,
            "rope_scaling": None if kind == "default" else parameters}


def _activation(raw: Mapping[str, Any], name: str) -> None:
    """Gated models are implemented with SiLU only; another activation would silently give other numbers."""
    if raw.get(name, "silu") not in ("silu", "swish"):
        raise UnknownOption(name, raw[name], ["silu"])


def _llama_like(raw: Mapping[str, Any]) -> dict[str, Any]:
    _activation(raw, "hidden_act")
    if raw.get("mlp_bias"):
        raise UnsupportedModel(raw["model_type"], sorted(_READERS), "biases in a gated feed-forward")
    width, heads = _required(raw, "hidden_size"), _required(raw, "num_attention_heads")
    _check_size("hidden_size", width)
    _check_size("num_attention_heads", heads)
    head_dim = raw.get("head_dim")
    if head_dim is None and width % heads:
        raise Indivisible("hidden_size", width, "num_attention_heads", heads)
    head_dim = width // heads if head_dim is None else head_dim
    _check_size("head_dim", head_dim)
    rope = _rope(raw)
    rope_dim = int(head_dim * rope.pop("partial"))
    attention_bias = bool(raw.get("attention_bias", False))
    return {
        "vocab": _required(raw, "vocab_size"), "width": width, "layers": _required(raw, "num_hidden_layers"),
        "heads": heads, "kv_heads": _optional(raw, "num_key_value_heads", heads), "head_dim": head_dim,
        "ffn_width": _required(raw, "intermediate_size"),
        "max_positions": _optional(raw, "max_position_embeddings", 2048),
        "norm": "rms", "norm_eps": _number(raw, "rms_norm_eps", 1e-6), "ffn": "swiglu",
        "rope_dim": None if rope_dim == head_dim else rope_dim, **rope,
        "qkv_bias": attention_bias, "out_bias": attention_bias,
        "tied_head": bool(raw.get("tie_word_embeddings", False)),
    }


def _mistral(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Mistral: every layer has the window; a config that does not mention it means that of the first version."""
    return {**_llama_like(raw), "sliding_window": raw.get("sliding_window", 4096)}


def _qwen2(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Qwen2: biases on Q, K and V always, on the output never."""
    return {**_llama_like(raw), "qkv_bias": True, "out_bias": False, "sliding_window": _qwen_window(raw)}


def _qwen3(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Qwen3: RMSNorm on each head's q and k before RoPE; `head_dim` is 128 whatever the width."""
    return {**_llama_like({"head_dim": 128, **raw}), "qk_norm": True, "sliding_window": _qwen_window(raw)}


def _qwen_window(raw: Mapping[str, Any]) -> int | None:
    """The window counts only with `use_sliding_window`, and only if every layer has it."""
    if not raw.get("use_sliding_window") or raw.get("sliding_window") is None:
        return None
    layers, first = _required(raw, "num_hidden_layers"), raw.get("max_window_layers", 28)
    _check_size("num_hidden_layers", layers)
    if first != 0:
        _check_size("max_window_layers", first)
    kinds = {*(["full_attention"] if first else []), *(["sliding_attention"] if first < layers else [])}
    if isinstance(raw.get("layer_types"), list) and raw["layer_types"]:
        kinds = set(map(str, raw["layer_types"]))
    if kinds == {"full_attention"}:
        return None
    if "full_attention" in kinds:
        raise UnsupportedModel(raw["model_type"], sorted(_READERS), "layers with and without a sliding window")
    _check_size("sliding_window", raw["sliding_window"])
    return int(raw["sliding_window"])


def _gpt2(raw: Mapping[str, Any]) -> dict[str, Any]:
    activation = raw.get("activation_function", "gelu_new")
    kinds = {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu", "relu": "relu"}
    if not isinstance(activation, str) or activation not in kinds:
        raise UnknownOption("activation_function", activation, sorted(kinds))
    if raw.get("scale_attn_by_inverse_layer_idx") or not raw.get("scale_attn_weights", True):
        raise UnsupportedModel("gpt2", sorted(_READERS), "scores that are not divided by the root of the head width")
    width, heads = _required(raw, "n_embd"), _required(raw, "n_head")
    _check_size("n_embd", width)
    _check_size("n_head", heads)
    if width % heads:
        raise Indivisible("n_embd", width, "n_head", heads)
    return {
        "vocab": _required(raw, "vocab_size"), "width": width, "layers": _required(raw, "n_layer"),
        "heads": heads, "kv_heads": heads, "head_dim": width // heads,
        "ffn_width": _optional(raw, "n_inner", 4 * width),
        "max_positions": _optional(raw, "n_positions", _optional(raw, "n_ctx", 1024)),
        "norm": "layer", "norm_eps": _number(raw, "layer_norm_epsilon", 1e-5), "positions": "learned",
        "ffn": kinds[activation], "qkv_bias": True, "out_bias": True, "ffn_bias": True,
        "tied_head": bool(raw.get("tie_word_embeddings", True)),
    }


_READERS = {"llama": _llama_like, "mistral": _mistral, "qwen2": _qwen2, "qwen3": _qwen3, "gpt2": _gpt2}
FAMILIES = tuple(sorted(_READERS))  # values of "model_type" that `from_hf` reads


def _llama(**sizes: Any) -> ModelConfig:
    return ModelConfig(norm="rms", positions="rope", ffn="swiglu", **sizes)


PRESETS: dict[str, ModelConfig] = {
    "gpt2": ModelConfig(
        vocab=50257, width=768, layers=12, heads=12, kv_heads=12, head_dim=64, ffn_width=3072, max_positions=1024,
        norm="layer", norm_eps=1e-5, positions="learned", ffn="gelu_tanh",
        qkv_bias=True, out_bias=True, ffn_bias=True, tied_head=True),
    "llama-2-7b": _llama(vocab=32000, width=4096, layers=32, heads=32, kv_heads=32, head_dim=128, ffn_width=11008,
                         max_positions=4096, norm_eps=1e-5),
    "llama-2-70b": _llama(vocab=32000, width=8192, layers=80, heads=64, kv_heads=8, head_dim=128, ffn_width=28672,
                          max_positions=4096, norm_eps=1e-5),
    "llama-3-8b": _llama(vocab=128256, width=4096, layers=32, heads=32, kv_heads=8, head_dim=128, ffn_width=14336,
                         max_positions=8192, norm_eps=1e-5, rope_base=500000.0),
    "mistral-7b": _llama(vocab=32000, width=4096, layers=32, heads=32, kv_heads=8, head_dim=128, ffn_width=14336,
                         max_positions=32768, norm_eps=1e-5, sliding_window=4096),
    "qwen2.5-0.5b": _llama(vocab=151936, width=896, layers=24, heads=14, kv_heads=2, head_dim=64, ffn_width=4864,
                           max_positions=32768, norm_eps=1e-6, rope_base=1000000.0, qkv_bias=True, tied_head=True),
    "smollm2-135m": _llama(vocab=49152, width=576, layers=30, heads=9, kv_heads=3, head_dim=64, ffn_width=1536,
                           max_positions=8192, norm_eps=1e-5, rope_base=100000.0, tied_head=True),
}
