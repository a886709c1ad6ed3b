"""The decoder: ids in, logits out, through torch's fused attention.

The written-out form of the same computation is `core.steps`; a `Trace` handed to `forward` captures the residual
stream and recomputes any step from it, so the difference between the two can be shown for every block.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from core import embedding, ops, steps
from core.config import ModelConfig
from core.errors import ShapeError
from core.feed_forward import feed_forward, swiglu
from core.trace import NAMES, Trace

INIT_STD = 0.02  # GPT-2's initial standard deviation, for decoders that are not loaded from a file


class Block(nn.Module):
    """Attention and feed-forward around one residual stream; parameters carry their trace names."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        for name in block_parameters(config):
            self.register_parameter(name, _new(config, f"blocks.{{l}}.{name}"))

    def forward(self, x: Tensor, positions: Tensor, mask: Tensor | None) -> Tensor:
        """x (B, T, D), positions (B, T), additive mask or None for plainly causal -> (B, T, D)."""
        config = self.config
        if config.norm == "none" or config.norm_place == "post":
            middle = self._norm(1, x + self._attention(x, positions, mask))
            return middle if config.ffn == "none" else self._norm(2, middle + self._feed_forward(middle))
        x = x + self._attention(self._norm(1, x), positions, mask)
        return x if config.ffn == "none" else x + self._feed_forward(self._norm(2, x))

    def _norm(self, which: int, x: Tensor) -> Tensor:
        if self.config.norm == "none":
            return x
        return steps.normalise(self.config, x, self._get(f"gamma{which}"), self._optional(f"beta{which}"))

    def _attention(self, x: Tensor, positions: Tensor, mask: Tensor | None) -> Tensor:
        config = self.config
        q = ops.split_heads(ops.project(x, self._get("wq"), self._optional("bq")), config.heads)  # (B, H, T, Dh)
        k = ops.split_heads(ops.project(x, self._get("wk"), self._optional("bk")), config.kv_heads)  # (B, Hkv, T, Dh)
        v = ops.split_heads(ops.project(x, self._get("wv"), self._optional("bv")), config.kv_heads)
        if config.qk_norm:
            q, k = steps.OPERATIONS["head_norm"](config, q, self._get("q_gamma")), steps.OPERATIONS["head_norm"](
                config, k, self._get("k_gamma"))
        if config.positions == "rope":
            q, k = steps.rotate(config, q, positions), steps.rotate(config, k, positions)
        context = steps.fused_attention(q, k, v, mask, is_causal=mask is None)  # (B, H, T, Dh)
        return ops.project(ops.merge_heads(context), self._get("wo"), self._optional("bo"))  # (B, T, D)

    def _feed_forward(self, x: Tensor) -> Tensor:
        if self.config.ffn == "swiglu":
            return swiglu(x, self._get("w_gate"), self._get("w_up"), self._get("w_down"))
        return feed_forward(x, self._get("w1"), self._optional("b1"), self._get("w2"), self._optional("b2"),
                            self.config.ffn)

    def _get(self, name: str) -> Tensor:
        return self.get_parameter(name)

    def _optional(self, name: str) -> Tensor | None:
        return self._parameters.get(name)


class Decoder(nn.Module):
    """A decoder-only Transformer. Its state dict has the parameter names of the trace; matrices are (in, out)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        for name in outer_parameters(config):
            self.register_parameter(name, _new(config, name))
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.requires_grad_(False)

    def forward(self, ids: Tensor, *, trace: Trace | None = None, allowed: Tensor | None = None) -> Tensor:
        """ids (B, T) -> logits (B, T, V).

        `allowed` (B, T) bool is False at padding; positions then count real tokens only (cumsum − 1), so a left-padded
        example sees the positions it would see alone. `trace`, if given, captures the stream. Raises TokenOutOfRange,
        and ShapeError when there are more tokens than positions.
        """
        config = self.config
        length = ids.shape[1]
        if length < 1 or length > config.max_positions:
            raise ShapeError(f"from 1 to {config.max_positions} tokens", ids=ids.shape)
        positions = _positions(ids, allowed)  # (B, T)
        needs_mask = allowed is not None or config.sliding_window is not None
        mask = self.mask(length, allowed) if needs_mask or trace is not None else None  # (B or 1, 1, T, T)
        x = embedding.lookup(self.get_parameter("embedding"), ids)  # (B, T, D)
        if config.positions in ("learned", "sinusoidal"):
            x = x + embedding.lookup(self._position_table(length), positions)
        if trace is not None:
            trace.begin(config, self._given(ids, positions, mask))
        for layer, block in enumerate(self.blocks):
            if trace is not None:
                trace.capture(layer, x)
            x = block(x, positions, mask if needs_mask else None)
        if trace is not None:
            trace.capture(config.layers, x)
        return self._head(x)

    def mask(self, length: int, allowed: Tensor | None) -> Tensor:
        """The additive mask (B or 1, 1, T, T): causal, the sliding window where there is one, and padding."""
        window = self.config.sliding_window
        band = ops.causal_mask(length) if window is None else ops.sliding_window_mask(length, length, window)
        band = band.to(self.get_parameter("embedding").device)[None, None]
        return band if allowed is None else band + ops.padding_mask(allowed)

    def _head(self, x: Tensor) -> Tensor:
        config = self.config
        if config.norm != "none" and config.norm_place == "pre":
            x = steps.normalise(config, x, self.get_parameter("final_gamma"), self._parameters.get("final_beta"))
        if config.tied_head:
            return x @ self.get_parameter("embedding").mT  # (B, T, V)
        return ops.project(x, self.get_parameter("w_vocab"))

    def _position_table(self, length: int) -> Tensor:
        if self.config.positions == "learned":
            return self.get_parameter("position_table")
        return embedding.sinusoidal(length, self.config.width).to(self.get_parameter("embedding").device)

    def _given(self, ids: Tensor, positions: Tensor, mask: Tensor | None) -> dict[str, Tensor]:
        given: dict[str, Tensor] = dict(self.state_dict())
        given |= {"tokens": ids, "positions": positions}
        if mask is not None:
            given["mask"] = mask
        if self.config.positions == "sinusoidal":
            given["position_table"] = embedding.sinusoidal(self.config.max_positions, self.config.width)
        return given


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


def _positions(ids: Tensor, allowed: Tensor | None) -> Tensor:
    """(B, T): 0, 1, 2, … or, with padding, the count of real tokens so far less one (0 on padding before the first)."""
    if allowed is None:
        return torch.arange(ids.shape[1], device=ids.device).expand(ids.shape)
    if allowed.shape != ids.shape or allowed.dtype != torch.bool:
        raise ShapeError("allowed must be a boolean of the shape of ids", allowed=allowed.shape, ids=ids.shape)
    return (allowed.long().cumsum(dim=1) - 1).clamp_min(0)
