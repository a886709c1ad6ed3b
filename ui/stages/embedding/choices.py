"""What can be chosen on the embedding page."""

from __future__ import annotations

from core.stages.embedding import MISTAKES
from core.stages.embedding.rows import KINDS
from ui.bench.limits import MAP_LIMITS
from ui.bench.parameters import Choice, Decimals, Text, Whole

SECOND_SENTENCE = "I bought an old car and sold it"  # shares "it" with the first: there the cat, here the car
LONGEST = 300  # characters of the second sentence
LARGEST_ID = MAP_LIMITS["V"][1]

POSITIONS = Choice("positions", "", codes=KINDS, stage="embedding")
WORD = Choice("word", "", codes=Decimals(0, LARGEST_ID), stage="embedding")
SECOND = Text("second", SECOND_SENTENCE, longest=LONGEST, stage="embedding")
OUTSIDE = Whole("outside", -1, low=-LARGEST_ID, high=LARGEST_ID, stage="embedding")
SLIP = Choice("slip", "place", codes=tuple(MISTAKES), stage="embedding")
