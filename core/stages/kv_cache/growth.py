"""How a cache grows with the text, for the ways of sharing K and V, and what is easily counted wrong about it."""

from __future__ import annotations

from typing import NamedTuple

from core.config import ModelConfig
from core.cost import kv_cache_bytes
from core.errors import UnknownOption

POINTS = 48  # of a curve
SLIPS = ("k_only", "query_heads", "one_layer", "one_text", "elements")


class Curve(NamedTuple):
    """Bytes of a cache at each of the lengths, with that many KV heads and that window (None: all tokens are kept)."""

    kind: str
    kv_heads: int
    window: int | None
    bytes: list[int]


def lengths(longest: int) -> list[int]:
    """Lengths from 0 to the longest, evenly spaced."""
    return sorted({round(longest * point / POINTS) for point in range(POINTS + 1)})


def curves(
    config: ModelConfig, batch: int, at: list[int], bytes_per_element: int, window: int | None = None,
) -> list[Curve]:
    """The cache of a model as it is ("own"), with a KV head for each query head ("mha"), with one for all ("mqa"), and,
    if a `window` is given, as it is but keeping only the last so many tokens ("window")."""
    kinds = [("mha", config.heads, config.sliding_window), ("own", config.kv_heads, config.sliding_window),
             ("mqa", 1, config.sliding_window)]
    if window is not None:
        kinds.append(("window", config.kv_heads, window))
    return [Curve(kind, heads, kept, [
        kv_cache_bytes(config.with_(kv_heads=heads, sliding_window=kept), batch, tokens, bytes_per_element)
        for tokens in at]) for kind, heads, kept in kinds]


def divisors(heads: int) -> list[int]:
    """The numbers of KV heads that `heads` query heads can share evenly, the most first."""
    return [count for count in range(heads, 0, -1) if heads % count == 0]


def miscounted(config: ModelConfig, batch: int, tokens: int, bytes_per_element: int, slip: str) -> int:
    """The bytes that come out with a factor forgotten or mistaken: "k_only" counts one of K and V, "query_heads" takes
    H for Hkv, "one_layer" forgets L, "one_text" B, "elements" counts numbers and not bytes."""
    right = kv_cache_bytes(config, batch, tokens, bytes_per_element)
    wrong = {"k_only": right // 2, "query_heads": right * config.group, "one_layer": right // config.layers,
             "one_text": right // batch, "elements": right // bytes_per_element}
    if slip not in wrong:
        raise UnknownOption("slip", slip, SLIPS)
    return wrong[slip]
