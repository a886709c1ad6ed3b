"""What can be chosen on the tokens page."""

from __future__ import annotations

from core.tokenizers import KINDS
from ui.bench.parameters import Choice

CUT = Choice("cut", "words", codes=KINDS, stage="tokens")
SLIP = Choice("slip", "space", codes=("space", "decode"), stage="tokens")
