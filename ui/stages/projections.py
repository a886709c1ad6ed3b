"""What can be chosen on the page on projections."""

from __future__ import annotations

from ui.bench.parameters import Choice

LETTERS = "qkv"
ROLE = Choice("role", "", codes=("all", *LETTERS), stage="projections")
SLIP = Choice("slip", "transposed", codes=("transposed", "stale", "fused_order"), stage="projections")
SEEN = Choice("seen", "k", codes=tuple(LETTERS), stage="projections")
