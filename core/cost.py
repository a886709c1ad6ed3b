"""What a model costs by formula: parameters, arithmetic, bytes moved and bytes kept, part by part.

Every function that returns parts returns a flat dict whose "total" is the sum of the rest. A step reads `t_new` tokens
on top of `t_past` cached ones in each text of the batch: a prefill is (T, 0), a decode step (1, T).
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch

from core.cache import DTYPES
from core.config import MAX_SIZE, ModelConfig
from core.errors import SettingOutOfRange, SizeOutOfRange, UnknownOption
from core.machine.datasheet import Device
from core.model import Decoder, parameter_shapes

BYTES: dict[str, int] = {name: dtype.itemsize for name, dtype in DTYPES.items()}
CACHED: dict[str, int] = {**BYTES, "int8": 1}
# Bytes of one weight as it is stored. Quantised formats add scales, one for each small group of weights; not counted.
STORED: dict[str, float] = {**CACHED, "int4": 0.5}
_PART = {"embedding": "embedding", "position_table": "positions", "w_vocab": "head",
         **dict.fromkeys(("wq", "wk", "wv", "wo", "bq", "bk", "bv", "bo"), "attention"),
         **dict.fromkeys(("w_gate", "w_up", "w_down", "w1", "b1", "w2", "b2"), "ffn")}  # all others are a norm's


def parameters(config: ModelConfig) -> dict[str, int]:
    """Numbers in the model: embedding, positions (a learned table), attention, ffn, norms, head (0 when it is the
    embedding again), total."""
    counts = dict.fromkeys(("embedding", "positions", "attention", "ffn", "norms", "head"), 0)
    for name, shape in parameter_shapes(config).items():
        counts[_PART.get(name.rsplit(".", 1)[-1], "norms")] += math.prod(shape)
    return _with_total(counts)


def built_parameters(config: ModelConfig) -> int:
    """The same total, counted from the tensors of the decoder that is built (without memory for them)."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in Decoder(config).parameters())


def block_parameters(config: ModelConfig) -> dict[str, int]:
    """Numbers in one block: attention, ffn, norms, total (D1 §11.2)."""
    both = parameters(config.with_(layers=2)), parameters(config.with_(layers=1))
    return _with_total({part: both[0][part] - both[1][part] for part in ("attention", "ffn", "norms")})


def kv_cache_bytes(config: ModelConfig, batch: int, tokens: int, bytes_per_element: int = 2) -> int:
    """2·L·B·T·Hkv·Dh·s, T at most the sliding window: what `core.cache.KVCache` allocates for that many tokens. Servers
    add paging, alignment and their own buffers."""
    _check(batch=(batch, 1), tokens=(tokens, 0))
    rows = tokens if config.sliding_window is None else min(tokens, config.sliding_window)
    return 2 * config.layers * batch * rows * config.kv_heads * config.head_dim * bytes_per_element


def keys_read(config: ModelConfig, t_new: int, t_past: int) -> int:
    """Columns of the scores of a step: the new tokens and the cached ones still inside the window."""
    return t_new + (t_past if config.sliding_window is None else min(t_past, config.sliding_window - 1))


def flops(
    config: ModelConfig, batch: int, t_new: int, t_past: int = 0, *, head_tokens: int | None = None,
) -> dict[str, int]:
    """2·m·n·k of every matrix product: qkv (the three projections), scores (QKᵀ), mix (AV), out (WO), ffn, head, total.

    Attention counts the whole Tq × Tk rectangle: neither halved for causality nor for a window, though a fused kernel
    may skip what is masked. The head counts all new tokens, or `head_tokens` of each text (generation needs the last
    only). Norms, softmax, RoPE, activations and additions are left out: they grow with T·D, not T·D².
    """
    _check(batch=(batch, 1), t_new=(t_new, 1), t_past=(t_past, 0))
    rows, width, heads = batch * t_new, config.width, config.heads * config.head_dim
    pairs = batch * t_new * keys_read(config, t_new, t_past)
    matrices = {"none": 0, "swiglu": 3}.get(config.ffn, 2)
    head_rows = rows if head_tokens is None else batch * head_tokens
    return _with_total({
        "qkv": 2 * config.layers * rows * width * (heads + 2 * config.kv_heads * config.head_dim),
        "scores": 2 * config.layers * pairs * heads,
        "mix": 2 * config.layers * pairs * heads,
        "out": 2 * config.layers * rows * heads * width,
        "ffn": 2 * config.layers * rows * width * config.ffn_width * matrices,
        "head": 2 * head_rows * width * config.vocab,
    })


def traffic(
    config: ModelConfig, batch: int, t_new: int, t_past: int = 0, *, bytes_per_weight: float = 2,
    bytes_per_cache: int = 2,
) -> dict[str, int]:
    """Bytes that a step must move at least: every weight read once for the whole batch (of the embedding and the
    position table only the rows looked up), cache_read (K and V of the cached tokens) and cache_written (of the new
    ones), total. Activations are left out: fused kernels keep them on the chip."""
    _check(batch=(batch, 1), t_new=(t_new, 1), t_past=(t_past, 0))
    counts = parameters(config)
    rows = batch * t_new * config.width
    weights = {"embedding": rows, "positions": rows if counts["positions"] else 0, "attention": counts["attention"],
               "ffn": counts["ffn"], "norms": counts["norms"], "head": config.vocab * config.width}
    return _with_total({
        **{part: math.ceil(count * bytes_per_weight) for part, count in weights.items()},
        "cache_read": kv_cache_bytes(config, batch, keys_read(config, t_new, t_past) - t_new, bytes_per_cache),
        "cache_written": kv_cache_bytes(config, batch, t_new, bytes_per_cache),
    })


def attention_traffic(
    config: ModelConfig, batch: int, t_new: int, t_past: int = 0, *, bytes_per_element: int = 2, fused: bool,
) -> dict[str, int]:
    """Bytes that attention itself moves in all layers: operands (q, k and v read, context written) and, where it is not
    fused, scores and weights, each written to memory and read back; fused kernels (FlashAttention, Dao et al. 2022)
    give the same result without them."""
    _check(batch=(batch, 1), t_new=(t_new, 1), t_past=(t_past, 0))
    keys = keys_read(config, t_new, t_past)
    heads, shared = config.heads * config.head_dim, config.kv_heads * config.head_dim
    square = 0 if fused else 2 * config.layers * batch * config.heads * t_new * keys * bytes_per_element
    return _with_total({
        "operands": config.layers * batch * (2 * t_new * heads + 2 * keys * shared) * bytes_per_element,
        "scores": square,
        "weights": square,
    })


class Roofline(NamedTuple):
    """`compute_seconds` at the device's arithmetic, `memory_seconds` at its bandwidth; the longer one is `seconds` and
    names the `bound`. `intensity` is FLOP per byte, `ridge` that of the device, from which on arithmetic bounds."""

    bound: Literal["compute", "memory"]
    seconds: float
    compute_seconds: float
    memory_seconds: float
    intensity: float
    ridge: float


def roofline(flops: float, bytes_moved: float, device: Device, dtype: str) -> Roofline:
    """The least time that a device needs (Williams et al. 2009): a bound, not a forecast. Raises UnknownOption for a
    type that the device has no figure for, SettingOutOfRange for amounts that are not above 0."""
    for name, amount in (("flops", flops), ("bytes_moved", bytes_moved)):
        if not 0 < amount < math.inf:
            raise SettingOutOfRange(name, amount, "0 < n < ∞")
    peak = device.peak(dtype)
    compute, memory = flops / peak, bytes_moved / device.bandwidth
    bound: Literal["compute", "memory"] = "compute" if compute >= memory else "memory"
    return Roofline(bound, max(compute, memory), compute, memory, flops / bytes_moved, peak / device.bandwidth)


class Fit(NamedTuple):
    """Bytes of the `weights` and of the cache `per_request`, bytes `free` beside the weights (negative when they alone
    do not fit), and how many `requests` of that length these hold at once."""

    weights: int
    per_request: int
    free: float
    requests: int


def requests_that_fit(
    config: ModelConfig, device: Device, tokens: int, dtype: str = "float16", cache_dtype: str | None = None,
) -> Fit:
    """How many requests of `tokens` tokens a device holds beside the weights; nothing is set aside for activations.
    Raises UnknownOption for a type that is not in `BYTES`, SizeOutOfRange."""
    for name in (dtype, cache_dtype or dtype):
        if name not in BYTES:
            raise UnknownOption("dtype", name, list(BYTES))
    _check(tokens=(tokens, 1))
    weights = parameters(config)["total"] * BYTES[dtype]
    per_request = kv_cache_bytes(config, 1, tokens, BYTES[cache_dtype or dtype])
    free = device.memory - weights
    return Fit(weights, per_request, free, max(0, int(free // per_request)))


def _with_total(parts: dict[str, int]) -> dict[str, int]:
    return {**parts, "total": sum(parts.values())}


def _check(**counts: tuple[object, int]) -> None:
    """Whole numbers from a smallest one up."""
    for name, (value, low) in counts.items():
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= MAX_SIZE:
            raise SizeOutOfRange(name, value, low, MAX_SIZE)
