"""What may be chosen of the bench, and within which limits."""

from __future__ import annotations

from core.toy import ToySizes

# Sizes on the map, where nothing is computed; Dh = 0 stands for D ÷ H.
MAP_LIMITS = {"B": (1, 4096), "T": (1, 1_000_000), "D": (1, 65_536), "H": (1, 1024), "Hkv": (1, 1024),
              "Dh": (0, 4096), "F": (1, 1_000_000), "V": (1, 1_000_000), "L": (1, 1000)}
SOURCES = ("worked", "toy", "live")
DEFAULT_EXAMPLE = "block"
SIZE_LETTERS = {"B": "batch", "T": "tokens", "D": "width", "H": "heads", "Hkv": "kv_heads", "F": "ffn_width",
                "V": "vocab", "L": "layers"}
DEFAULT_SIZES = ToySizes()
DEFAULT_TEXT = "The cat sat on the mat because it was tired."
DECIMALS = (2, 3, 4, 5, 6)
DEFAULT_DECIMALS = 3
LONGEST_TYPED = 300  # characters of a text that is cut into characters or words
LONGEST_LINKED_TEXT = 3000  # characters of typed text that an address carries
LONGEST_ADDRESS = 8000
UNPINNED = "none"  # in the address: the learner let go of the cell that the page opens with
