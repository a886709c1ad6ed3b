"""The shapes along the main line for sizes of any model: no tensor is made, so a 70B model costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from core.config import PRESETS, ModelConfig
from core.trace import registered


class Inputs(NamedTuple):
    """How many examples are read at once, and how many tokens each has."""

    batch: int
    tokens: int


class Model(NamedTuple):
    """A model's configuration, with the inputs that its source walks through (None: it names none)."""

    config: ModelConfig
    inputs: Inputs | None = None


MODELS: dict[str, Model] = {
    # D0 §13, which repeats its block "N times"; once here. Its feed-forward has two matrices (D0 §9.4).
    "d0": Model(ModelConfig.from_width(width=8, heads=2, ffn_width=32, ffn="relu", positions="none", vocab=10000,
                                       layers=1, max_positions=4), Inputs(batch=2, tokens=4)),
    **{name: Model(config) for name, config in PRESETS.items()},
    "llama-2-7b": Model(PRESETS["llama-2-7b"], Inputs(batch=1, tokens=2048)),  # D1 §11.1
}


def sizes(config: ModelConfig, inputs: Inputs) -> dict[str, int]:
    """Axis letter → size, B and T included; queries and keys are the same tokens here."""
    return {"B": inputs.batch, "T": inputs.tokens, "Tq": inputs.tokens, "Tk": inputs.tokens, **config.sizes}


def fill(axes: tuple[str, ...], present: Mapping[str, int]) -> tuple[int, ...]:
    """Axis letters (or a literal "1") as numbers."""
    return tuple(present[axis] if axis in present else int(axis) for axis in axes)


class Tensor(NamedTuple):
    """Tensors of the main line with the same axes: their trace names within a block, whether they are meant
    transposed, and the axes."""

    names: tuple[str, ...]
    transposed: bool
    axes: tuple[str, ...]


# In the order of the computation; the second time K is meant transposed.
_ALONG = (("tokens",), ("in", "attn_out", "out"), ("q", "context"), ("k", "v"), ("k",), ("scaled", "weights"),
          ("hidden",), ("logits",))


def tensors() -> list[Tensor]:
    """The tensors of the main line whose shapes are compared by `alike`."""
    found: list[Tensor] = []
    for names in _ALONG:
        axes = registered(f"blocks.0.{names[0]}" if names[0] not in ("tokens", "logits") else names[0]).axes
        transposed = any(names[0] in tensor.names for tensor in found)
        found.append(Tensor(names, transposed, (*axes[:-2], axes[-1], axes[-2]) if transposed else axes))
    return found


def alike(present: Mapping[str, int]) -> list[tuple[tuple[int, ...], list[Tensor]]]:
    """Groups of tensors whose shapes are the same numbers and mean different things (D0 §13); query heads and KV heads
    are both heads."""
    groups: dict[tuple[int, ...], list[Tensor]] = {}
    for tensor in tensors():
        groups.setdefault(fill(tensor.axes, present), []).append(tensor)
    return [(numbers, group) for numbers, group in groups.items()
            if len({tuple(axis.replace("Hkv", "H") for axis in tensor.axes) for tensor in group}) > 1]
