"""How a cache grows with the text, for the ways of sharing K and V."""

from __future__ import annotations

from typing import NamedTuple

from core.config import ModelConfig
from core.cost import kv_cache_bytes

POINTS = 48  # of a curve


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
