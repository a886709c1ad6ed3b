"""The masks that a learner can choose from, as additive tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from core import ops
from core.errors import SizeOutOfRange, UnknownOption

KINDS = ("none", "causal", "padding", "both", "window", "prefix")
COUNTED = ("padding", "both", "window", "prefix")  # kinds that take a number


def build(kind: str, tokens: int, count: int = 1) -> Tensor:
    """(1, 1, T, T) floats, 0 where a key may be read and −inf where not.

    "none"; "causal"; "padding": the last `count` tokens are padding, read by nobody; "both": causal and padding;
    "window": causal, the last `count` keys with the current one among them; "prefix": causal, but the first `count`
    keys are open to all. Raises UnknownOption, and SizeOutOfRange for a count that does not fit.
    """
    if kind in COUNTED and not 1 <= count <= tokens:
        raise SizeOutOfRange("tokens", count, 1, tokens)
    everything = torch.zeros(1, 1, tokens, tokens)
    match kind:
        case "none":
            return everything
        case "causal":
            return everything + ops.causal_mask(tokens)
        case "padding":
            return everything + padding(tokens, count)
        case "both":
            return everything + ops.causal_mask(tokens) + padding(tokens, count)
        case "window":
            return everything + ops.sliding_window_mask(tokens, tokens, count)
        case "prefix":
            return everything + ops.prefix_mask(tokens, tokens, count)
    raise UnknownOption("mask", kind, KINDS)


def padding(tokens: int, count: int) -> Tensor:
    """(1, 1, 1, T): the last `count` keys are hidden, whatever the query."""
    return ops.padding_mask(torch.arange(tokens)[None] < tokens - count)
