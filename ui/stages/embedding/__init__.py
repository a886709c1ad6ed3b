"""The embedding stage: the table with the rows that are read, and one word in two sentences."""

from __future__ import annotations

from ui.bench.limits import MAP_LIMITS
from ui.bench.parameters import Choice, Decimals, Text, Whole

SECOND_SENTENCE = "I bought an old car and sold it"  # shares "it" with the first: there the cat, here the car
LONGEST = 300  # characters of the second sentence
LARGEST_ID = MAP_LIMITS["V"][1]

POSITIONS = Choice("positions", "", codes=("none", "learned", "sinusoidal", "rope", "relative"), stage="embedding")
WORD = Choice("word", "", codes=Decimals(0, LARGEST_ID), stage="embedding")
SECOND = Text("second", SECOND_SENTENCE, longest=LONGEST, stage="embedding")
OUTSIDE = Whole("outside", -1, low=-LARGEST_ID, high=LARGEST_ID, stage="embedding")
SLIP = Choice("slip", "place", codes=("place", "outside"), stage="embedding")
