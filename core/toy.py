"""A small decoder with seeded random weights, in sizes of the learner's choosing."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from core.config import FeedForward, ModelConfig, Norm, NormPlace, Positions
from core.errors import SizeOutOfRange
from core.model import Decoder
from core.trace import Trace

LIMITS: dict[str, tuple[int, int]] = {
    "batch": (1, 4), "tokens": (1, 32), "width": (1, 64), "heads": (1, 8), "kv_heads": (1, 8), "ffn_width": (1, 128),
    "vocab": (2, 64), "layers": (1, 4), "seed": (0, 2**31 - 1),
}

BIAS_SPREAD = 0.5  # standard deviation: half of what a projection of ordinary numbers has, so that it can be seen


class ToySizes(NamedTuple):
    """Sizes of a toy decoder, each within `LIMITS`; B=batch, T=tokens, D=width, H=heads, Hkv=kv_heads, F=ffn_width,
    V=vocab, L=layers."""

    batch: int = 1
    tokens: int = 4
    width: int = 8
    heads: int = 2
    kv_heads: int = 2
    ffn_width: int = 32
    vocab: int = 16
    layers: int = 2


def toy(
    sizes: ToySizes, seed: int = 0, *, norm: Norm = "rms", norm_place: NormPlace = "pre",
    positions: Positions = "rope", ffn: FeedForward = "swiglu", bias: bool = False,
) -> Trace:
    """A traced forward pass of a random decoder on random ids; the same seed and sizes give the same numbers.
    Tokens are labelled by their ids, "#12". With `bias` the projections to Q, K and V add one each; it is drawn after
    everything else, so that all other parameters and the ids stay the same.

    Matrices are drawn with variance 1/rows, so that every stage keeps numbers of ordinary size. RoPE needs an even
    head width; with an odd one the toy has no positions. Raises a ConfigError that says which sizes would work.
    """
    for name, value in (*sizes._asdict().items(), ("seed", seed)):
        low, high = LIMITS[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise SizeOutOfRange(name, value, low, high)
    head_width = sizes.width // sizes.heads
    config = ModelConfig.from_width(
        width=sizes.width, heads=sizes.heads, kv_heads=sizes.kv_heads, vocab=sizes.vocab, layers=sizes.layers,
        ffn_width=sizes.ffn_width, max_positions=LIMITS["tokens"][1], norm=norm, norm_place=norm_place,
        positions="none" if positions == "rope" and head_width % 2 else positions, ffn=ffn, qkv_bias=bias)
    generator = torch.Generator().manual_seed(seed)
    decoder = Decoder(config)
    for parameter in decoder.parameters():
        if parameter.ndim == 2:
            parameter.normal_(0.0, 1.0 / math.sqrt(parameter.shape[0]), generator=generator)
    decoder.get_parameter("embedding").normal_(0.0, 1.0, generator=generator)
    ids = torch.randint(sizes.vocab, (sizes.batch, sizes.tokens), generator=generator)
    for name, parameter in decoder.named_parameters():
        if name.rsplit(".", 1)[-1] in ("bq", "bk", "bv"):
            parameter.normal_(0.0, BIAS_SPREAD, generator=generator)
    trace = Trace(tokens=[f"#{token}" for token in ids[0].tolist()], source="toy")
    decoder(ids, trace=trace)
    return trace
