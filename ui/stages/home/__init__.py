"""The home page: the map of the main line in any sizes, and where to read on."""

from __future__ import annotations

from collections.abc import Mapping

from core.shapes import MODELS, Inputs, sizes
from ui.bench.limits import MAP_LIMITS
from ui.bench.parameters import Whole

_FIRST = MODELS["d0"]
_OPENING = sizes(_FIRST.config, _FIRST.inputs or Inputs(1, 1)) | {"Dh": 0}  # 0: D ÷ H
SIZES: Mapping[str, Whole] = {
    letter: Whole(f"m{letter}", _OPENING[letter], low=low, high=high, stage="home")
    for letter, (low, high) in MAP_LIMITS.items()}


def take(wanted: Mapping[str, int]) -> None:
    """Put sizes (axis letter → size) into the map's fields, before these are drawn; each is kept within its limits."""
    for letter, size in wanted.items():
        SIZES[letter].put_within(size)
