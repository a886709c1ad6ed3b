"""What can be chosen on the page on costs."""

from __future__ import annotations

from core import cost
from core.machine import ledger
from core.machine.datasheet import DEVICES
from core.shapes import MODELS, Inputs
from ui.bench.limits import MAP_LIMITS
from ui.bench.parameters import Choice, Whole

OPENING = MODELS["llama-2-7b"]  # D1 §11
_INPUTS = OPENING.inputs or Inputs(1, 1)

MODEL = Choice("cost_of", "own", codes=(*MODELS, "map", "bench"), stage="cost")
TOKENS = Whole("cT", _INPUTS.tokens, low=1, high=MAP_LIMITS["T"][1], stage="cost")
TEXTS = Whole("cB", 1, low=1, high=ledger.BATCHES[-1], stage="cost")
SHARING = Choice("shared", "own", codes=("mha", "gqa", "mqa"), stage="cost")
WEIGHTS = Choice("wtype", "float16", codes=tuple(cost.STORED), stage="cost")
CACHE = Choice("ctype", "float16", codes=tuple(cost.CACHED), stage="cost")
PART = Choice("part", "pairs", codes=("pairs", "projections", "ffn", "head"), stage="cost")
DEVICE = Choice("device", "a100", codes=(*DEVICES, "here"), stage="cost")
SLIP = Choice("slip", "arithmetic", codes=("arithmetic", "per_text", "lookup", "training"), stage="cost")
