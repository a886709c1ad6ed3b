"""What can be chosen on the page on mixing."""

from __future__ import annotations

from dataclasses import dataclass

from ui.bench.parameters import MANY, Choice, Whole

ROW = Whole("row", 2, low=1, high=MANY, stage="mixing")  # its weights can be chosen; from 1
MIXUP = Choice("mixup", "columns", codes=("columns", "transposed", "kv_order"), stage="mixing")


@dataclass
class Blending:
    """How many times the chosen weights were given back."""

    resets: int = 0
