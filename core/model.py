"""The decoder: ids in, logits out, through torch's fused attention.

The written-out form of the same computation is `core.steps`; a `Trace` handed to `forward` captures the residual
stream and recomputes any step from it, so the difference between the two can be shown for every block.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from core import embedding, ops, rope, steps
from core.cache import KVCache
from core.config import ModelConfig
from core.errors import ShapeError
from core.feed_forward import feed_forward, swiglu
from core.trace import NAMES, Trace

INIT_STD = 0.02  # GPT-2's initial standard deviation, for decoders that are not loaded from a file


class Pass(NamedTuple):
    """What all blocks of one forward pass share: cos and sin of RoPE where there is one, the additive mask or None
    (then causal when there are several queries), and the cache if there is one."""

    rotation: tuple[Tensor, Tensor] | None
    mask: Tensor | None
    cache: KVCache | None


class Block(nn.Module):
    """Attention and feed-forward around one residual stream; parameters carry their trace names."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.config, self.layer = config, layer
        for name in block_parameters(config):
            self.register_parameter(name, _new(config, f"blocks.{{l}}.{name}"))

    def forward(self, x: Tensor, shared: Pass) -> Tensor:
        """x (B, T, D) -> (B, T, D)."""
        config = self.config
        if config.norm == "none" or config.norm_place == "post":
            middle = self._norm(1, x + self._attention(x, shared))
            return middle if config.ffn == "none" else self._norm(2, middle + self._feed_forward(middle))
        x = x + self._attention(self._norm(1, x), shared)
        return x if config.ffn == "none" else x + self._feed_forward(self._norm(2, x))

    def _norm(self, which: int, x: Tensor) -> Tensor:
        if self.config.norm == "none":
            return x
        return steps.normalise(self.config, x, self._get(f"gamma{which}"), self._optional(f"beta{which}"))

    def _attention(self, x: Tensor, shared: Pass) -> Tensor:
        config = self.config
        q = ops.split_heads(ops.project(x, self._get("wq"), self._optional("bq")), config.heads)  # (B, H, T, Dh)
        k = ops.split_heads(ops.project(x, self._get("wk"), self._optional("bk")), config.kv_heads)  # (B, Hkv, T, Dh)
        v = ops.split_heads(ops.project(x, self._get("wv"), self._optional("bv")), config.kv_heads)
        if config.qk_norm:
            q, k = steps.OPERATIONS["head_norm"](config, q, self._get("q_gamma")), steps.OPERATIONS["head_norm"](
                config, k, self._get("k_gamma"))
        if shared.rotation is not None:
            both = rope.turn(torch.cat([q, k], dim=1), *shared.rotation, config.rope_pairing)  # (B, H + Hkv, T, Dh)
            q, k = both[:, :config.heads], both[:, config.heads:]
        if shared.cache is not None:
            k, v = shared.cache.append(self.layer, k, v)  # (B, Hkv, Tk, Dh)
        causal = shared.mask is None and q.shape[2] > 1
        context = steps.fused_attention(q, k, v, shared.mask, is_causal=causal)  # (B, H, T, Dh)
        return ops.project(ops.merge_heads(context), self._get("wo"), self._optional("bo"))  # (B, T, D)

    def _feed_forward(self, x: Tensor) -> Tensor:
        if self.config.ffn == "swiglu":
            return swiglu(x, self._get("w_gate"), self._get("w_up"), self._get("w_down"))
        return feed_forward(x, self._get("w1"), self._optional("b1"), self._get("w2"), self._optional("b2"),
                            self.config.ffn)

    def _get(self, name: str) -> Tensor:
        parameter = self._parameters[name]
        assert parameter is not None
        return parameter

    def _optional(self, name: str) -> Tensor | None:
        return self._parameters.get(name)


class Decoder(nn.Module):
    """A decoder-only Transformer. Its state dict has the parameter names of the trace; matrices are (in, out)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        for name in outer_parameters(config):
            self.register_parameter(name, _new(config, name))
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.layers))
        self.requires_grad_(False)

    def forward(
        self, ids: Tensor, *, cache: KVCache | None = None, trace: Trace | None = None, allowed: Tensor | None = None,
    ) -> Tensor:
        """ids (B, T) -> logits (B, T, V).

        With a `cache`, ids are the tokens after the cached ones; their K and V are appended to it. `allowed` (B, Tk)
        bool, over cached and new tokens, is False at padding; positions then count real tokens only (cumsum − 1), so
        a left-padded example sees the positions it would see alone. `trace`, if given, captures the stream. Raises
        TokenOutOfRange, ShapeError when there are more tokens than positions, CacheFull and CacheMismatch.
        """
        return self.head(self.stream(ids, cache=cache, trace=trace, allowed=allowed))

    def stream(
        self, ids: Tensor, *, cache: KVCache | None = None, trace: Trace | None = None, allowed: Tensor | None = None,
    ) -> Tensor:
        """All of `forward` but the head: the residual stream after the last block (B, T, D)."""
        past = 0 if cache is None else cache.length
        total = past + ids.shape[1]
        if ids.shape[1] < 1 or total > self.config.max_positions:
            raise ShapeError(f"from 1 to {self.config.max_positions} tokens", ids=ids.shape, cached=(past,))
        if cache is not None:
            allowed = cache.fits(self.config, ids, allowed)
        positions = embedding.positions(ids, total, allowed)  # (B, T)
        x = embedding.lookup(self.get_parameter("embedding"), ids)  # (B, T, D)
        if self.config.positions in ("learned", "sinusoidal"):
            x = x + embedding.lookup(self._position_table(total), positions)
        rotation = steps.rotation(self.config, positions, x) if self.config.positions == "rope" else None
        shared = Pass(rotation, self._needed_mask(ids, cache, allowed), cache)
        if trace is not None:
            trace.begin(self.config, self._given(ids, positions, cache, allowed))
        for layer, block in enumerate(self.blocks):
            if trace is not None:
                trace.capture(layer, x)
            x = block(x, shared)
        if trace is not None:
            trace.capture(self.config.layers, x)
        if cache is not None:
            cache.advance(ids.shape[1], allowed)
        return x

    def head(self, x: Tensor) -> Tensor:
        """The final norm, where there is one, and the product with the vocabulary: x (…, D) -> logits (…, V)."""
        config = self.config
        if config.norm != "none" and config.norm_place == "pre":
            x = steps.normalise(config, x, self.get_parameter("final_gamma"), self._parameters.get("final_beta"))
        if config.tied_head:
            return ops.unembed(x, self.get_parameter("embedding"))
        return ops.project(x, self.get_parameter("w_vocab"))

    def mask(self, queries: int, keys: int, allowed: Tensor | None) -> Tensor:
        """The additive mask (B or 1, 1, Tq, Tk), aligned at the end: causal, the sliding window where there is one, and
        padding, `allowed` (B, Tk) False where a key is none."""
        window, weights = self.config.sliding_window, self.get_parameter("embedding")
        band = ops.causal_mask(queries, keys) if window is None else ops.sliding_window_mask(queries, keys, window)
        band = band.to(weights)[None, None]
        return band if allowed is None else (band + ops.padding_mask(allowed)).to(weights)

    def _needed_mask(self, ids: Tensor, cache: KVCache | None, allowed: Tensor | None) -> Tensor | None:
        """The mask for the rows that the fused kernel reads, or None where it needs none: a single query reads all of
        them, and Tq = Tk without padding or window is plainly causal."""
        queries, window = ids.shape[1], self.config.sliding_window
        keys = queries if cache is None else cache.held + queries
        if allowed is None and (window is None or keys <= window) and queries in (1, keys):
            return None
        if cache is not None and allowed is not None:
            allowed = allowed[:, cache.columns(queries)]
        return self.mask(queries, keys, allowed)

    def _position_table(self, length: int) -> Tensor:
        if self.config.positions == "learned":
            return self.get_parameter("position_table")
        return embedding.sinusoidal(length, self.config.width).to(self.get_parameter("embedding").device)

    def _given(
        self, ids: Tensor, positions: Tensor, cache: KVCache | None, allowed: Tensor | None,
    ) -> dict[str, Tensor]:
        """What a trace is given: parameters, ids, the mask over the keys in the order of time, and the cached rows."""
        keys = ids.shape[1] if cache is None else cache.held + ids.shape[1]
        readable = None if allowed is None else allowed[:, -keys:]
        given: dict[str, Tensor] = dict(self.state_dict())
        given |= {"tokens": ids, "positions": positions, "mask": self.mask(ids.shape[1], keys, readable)}
        if self.config.positions == "sinusoidal":
            given["position_table"] = embedding.sinusoidal(self.config.max_positions, self.config.width)
        if cache is not None:
            for layer in range(self.config.layers):
                past = cache.past(layer)
                given |= {f"blocks.{layer}.k_past": past.k, f"blocks.{layer}.v_past": past.v}
        return given


def decoder_of(trace: Trace) -> Decoder:
    """A decoder with the configuration and the parameters of a trace, edited ones included; they are shared, not
    copied. Raises UnknownName where the trace lacks one of them."""
    with torch.device("meta"):
        decoder = Decoder(trace.config)
    decoder.load_state_dict({name: trace[name] for name in decoder.state_dict()}, assign=True)
    return decoder


def outer_parameters(config: ModelConfig) -> list[str]:
    """Names of the parameters outside the blocks that this configuration has."""
    names = ["embedding"]
    if config.positions == "learned":
        names.append("position_table")
    if config.norm != "none" and config.norm_place == "pre":
        names += ["final_gamma", *(["final_beta"] if config.norm == "layer" else [])]
    return names if config.tied_head else [*names, "w_vocab"]


def block_parameters(config: ModelConfig) -> list[str]:
    """Short names of the parameters that one block has."""
    names = ["wq", "wk", "wv", "wo"]
    if config.qkv_bias:
        names += ["bq", "bk", "bv"]
    if config.out_bias:
        names.append("bo")
    if config.qk_norm:
        names += ["q_gamma", "k_gamma"]
    for which in (1, 2):
        if config.norm != "none" and (which == 1 or config.ffn != "none"):
            names += [f"gamma{which}", *([f"beta{which}"] if config.norm == "layer" else [])]
    if config.ffn == "swiglu":
        names += ["w_gate", "w_up", "w_down"]
    elif config.ffn != "none":
        names += ["w1", "w2", *(["b1", "b2"] if config.ffn_bias else [])]
    return names


def parameter_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Every parameter name of a decoder with its shape, from the registry's axes; nothing is allocated."""
    sizes = config.sizes
    shapes = {name: tuple(sizes[axis] for axis in NAMES[name].axes) for name in outer_parameters(config)}
    for layer in range(config.layers):
        for name in block_parameters(config):
            axes = NAMES[f"blocks.{{l}}.{name}"].axes
            shapes[f"blocks.{layer}.{name}"] = tuple(sizes[axis] for axis in axes)
    return shapes


def _new(config: ModelConfig, name: str) -> nn.Parameter:
    """A fresh parameter: gains 1, biases 0, matrices normal with a small standard deviation."""
    shape = tuple(config.sizes[axis] for axis in NAMES[name].axes)
    if torch.get_default_device().type == "meta":  # about to be replaced by loaded weights
        return nn.Parameter(torch.empty(shape))
    short = name.rsplit(".", 1)[-1]
    if "gamma" in short:
        return nn.Parameter(torch.ones(shape))
    if len(shape) == 1:
        return nn.Parameter(torch.zeros(shape))
    return nn.Parameter(torch.randn(shape) * INIT_STD)
