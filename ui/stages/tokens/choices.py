"""What can be chosen on the tokens page."""

from __future__ import annotations

from core import worked
from core.stages.tokens.tokenizers import KINDS
from ui.bench.parameters import Choice, Text

LONGEST = 300  # characters of a text that is cut into characters or words
DEFAULT_TEXT = " ".join(worked.BLOCK_VOCABULARY[token] for token in worked.BLOCK_PROMPT)
SAMPLE = Text("sample", DEFAULT_TEXT, longest=LONGEST, stage="tokens")
CUT = Choice("cut", "words", codes=KINDS, stage="tokens")
SLIP = Choice("slip", "space", codes=("space", "decode"), stage="tokens")
