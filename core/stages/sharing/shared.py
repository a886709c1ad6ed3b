"""Query heads that share KV heads: who reads whose, and what the same input gives with fewer of them.

MHA has a KV head for every query head, MQA one for all, GQA a number between (Shazeer 2019; Ainslie et al. 2023).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from core.check import largest_difference
from core.errors import Indivisible, UnknownOption
from core.layer import attention_output, isolated_layer
from core.trace import Trace

DOCUMENT_KV_HEADS = (32, 8, 1)  # D1 §6: with 32 query heads of width 128
WAYS = ("mean", "first")
Way = Literal["mean", "first"]


def read_by(heads: int, kv_heads: int) -> tuple[int, ...]:
    """The KV head that each query head reads, h // (H // Hkv), from 0. Raises Indivisible where H is no multiple of
    Hkv (case D6)."""
    if min(heads, kv_heads) < 1 or heads % kv_heads:
        raise Indivisible("heads", heads, "kv_heads", max(kv_heads, 1))
    return tuple(head // (heads // kv_heads) for head in range(heads))


def choices(heads: int) -> tuple[int, ...]:
    """The numbers of KV heads that go with H query heads, from H down to 1."""
    return tuple(count for count in range(heads, 0, -1) if heads % count == 0)


class Wiring(NamedTuple):
    """One number of KV heads: its name (MHA, GQA, MQA; one head alone is MHA), who reads which, the query heads that
    share each KV head, the shape of K and of V, the bytes of both for one layer, and those over MHA's."""

    kind: Literal["MHA", "GQA", "MQA"]
    kv_heads: int
    reads: tuple[int, ...]
    readers: tuple[tuple[int, ...], ...]
    shape: tuple[int, int, int, int]
    cache_bytes: int
    ratio: Fraction


def wiring(
    heads: int, kv_heads: int, head_dim: int, tokens: int, *, batch: int = 1, dtype: torch.dtype = torch.float16,
) -> Wiring:
    """Who reads whose, and the size of one layer's K and V, read off tensors of these sizes that hold no numbers."""
    reads = read_by(heads, kv_heads)
    readers = tuple(tuple(h for h in range(heads) if reads[h] == kv) for kv in range(kv_heads))
    k = torch.empty(batch, kv_heads, tokens, head_dim, dtype=dtype, device="meta")
    kind: Literal["MHA", "GQA", "MQA"] = "MHA" if kv_heads == heads else "MQA" if kv_heads == 1 else "GQA"
    return Wiring(kind, kv_heads, reads, readers, (batch, kv_heads, tokens, head_dim), 2 * k.nbytes,
                  Fraction(kv_heads, heads))


def pool(x: Tensor, heads: int, kv_heads: int, way: Way = "mean") -> Tensor:
    """x (B, n, T, Dh) -> (B, Hkv, T, Dh): n KV heads, spread out to the H query heads that read them, then gathered
    into Hkv groups of neighbours.

    "mean" takes the average of a group, which Ainslie et al. 2023 (§2.1, figure 4) found to keep most of a trained
    model; "first" its first head. K and V are linear in their matrices, so the pooled heads are what pooled matrices
    give. Raises Indivisible, UnknownOption.
    """
    if way not in WAYS:
        raise UnknownOption("way", way, WAYS)
    spread = x[:, list(read_by(heads, x.shape[1]))]  # (B, H, T, Dh)
    read_by(heads, kv_heads)
    groups = spread.reshape(x.shape[0], kv_heads, heads // kv_heads, *x.shape[2:])  # (B, Hkv, H/Hkv, T, Dh)
    return groups.mean(dim=2) if way == "mean" else groups[:, :, 0]


def change(own: int, kv_heads: int) -> Literal["none", "copied", "pooled"]:
    """What happens to a layer's `own` KV heads when it gets `kv_heads`: nothing, a copy of each for every head that
    reads it, or several are brought together."""
    if kv_heads == own:
        return "none"
    return "pooled" if kv_heads % own else "copied"


class Shared(NamedTuple):
    """A layer with another number of KV heads: its wiring (bytes as the trace's tensors take them), the `trace` of that
    layer alone (names `blocks.0.…`), what happened to its KV heads, and the largest difference of its output from the
    layer's own."""

    wiring: Wiring
    trace: Trace
    change: Literal["none", "copied", "pooled"]
    difference: float


def share(trace: Trace, layer: int, kv_heads: int, way: Way = "mean") -> Shared:
    """The same queries on the layer's K and V, pooled into `kv_heads` heads before norms and rotation. With the layer's
    own number everything stays as it is."""
    config, block = trace.config, f"blocks.{layer}."
    q, k = (name.removeprefix(block) for name in trace.steps[block + "scores"].reads)
    if kv_heads == config.kv_heads:
        edited = [name.removeprefix(block) for name in trace.edits]
        found = isolated_layer(trace, layer, keep=("q_proj", "q", "k", "v", q, k, *edited))
    else:
        pooled = {name: pool(trace[block + name], config.heads, kv_heads, way) for name in ("k", "v")}
        stale = {f"{kind}{letter}" for kind in "wb" for letter in "kv"}
        found = isolated_layer(
            trace, layer, keep=("q_proj", "q", q), put=pooled, leave=stale, kv_heads=kv_heads, qkv_bias=False)
    v = found["blocks.0.v"]
    batch, _, tokens, width = v.shape
    name = attention_output(found)
    difference = largest_difference(found[f"blocks.0.{name}"], trace[block + name])
    return Shared(wiring(config.heads, kv_heads, width, tokens, batch=batch, dtype=v.dtype), found,
                  change(config.kv_heads, kv_heads), difference)
