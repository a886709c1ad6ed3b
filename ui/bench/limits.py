"""What may be chosen, and within which limits; whatever comes from an address or a file is held to them."""

from __future__ import annotations

from collections.abc import Sequence

from core import masks, notation
from core.stages.rope import rotation
from core.toy import LIMITS, ToySizes
from ui.shell import i18n

# Sizes on the map, where nothing is computed; Dh = 0 stands for D ÷ H.
MAP_LIMITS = {"B": (1, 4096), "T": (1, 1_000_000), "D": (1, 65_536), "H": (1, 1024), "Hkv": (1, 1024),
              "Dh": (0, 4096), "F": (1, 1_000_000), "V": (1, 1_000_000), "L": (1, 1000)}
SOURCES = ("worked", "toy", "live")
EXAMPLES = ("single_head", "block", "block_shared", "d3_lab", "rope_pairs", "word_order", "grouped")
SIZE_LETTERS = {"B": "batch", "T": "tokens", "D": "width", "H": "heads", "Hkv": "kv_heads", "F": "ffn_width",
                "V": "vocab", "L": "layers"}
DEFAULT_SIZES = ToySizes()
DEFAULT_TEXT = "The cat sat on the mat because it was tired."
DECIMALS = (2, 3, 4, 5, 6)
DEFAULT_DECIMALS = 3
LONGEST_LINKED_TEXT = 3000  # characters of typed text that an address carries
LONGEST_ADDRESS = 8000
UNPINNED = "none"  # in the address: the learner let go of the cell that the page opens with

CHOICES: dict[str, tuple[Sequence[str], str]] = {
    "lang": (tuple(i18n.languages()), i18n.DEFAULT), "source": (SOURCES, SOURCES[0]), "example": (EXAMPLES, ""),
    "bias": (("on",), ""), "mask": (masks.KINDS, ""), "notation": (tuple(notation.NOTATIONS), notation.DEFAULT),
}
# What Streamlit binds to the address itself, where it drops without a word what it cannot read. How many layers there
# are depends on the source, so of these only what no source has is unsound.
MANY = 1000
MOST_NEW = 256  # tokens that a run may add
NUMBERS = {**{letter: LIMITS[name] for letter, name in SIZE_LETTERS.items()}, "seed": LIMITS["seed"],
            "draw": LIMITS["seed"], "decimals": (DECIMALS[0], DECIMALS[-1]),
            "row": (1, MANY), "hidden": (1, MANY), "reach": (1, MANY), "shift": (0, MANY),
            "made": (0, MANY), "at": (1, MANY), "new": (1, MOST_NEW), "chunk": (0, MANY),
            "requests": (1, MAP_LIMITS["B"][1]),
            "length": (1, MAP_LIMITS["T"][1]), "window_of": (0, MAP_LIMITS["T"][1]), "top_k": (0, MAP_LIMITS["V"][1]),
            "moved": (0, rotation.FARTHEST), "asking": (1, MANY), "answering": (1, MANY), "together": (0, MANY),
            "cB": (1, MAP_LIMITS["B"][1]), "cT": (1, MAP_LIMITS["T"][1]),
            **{f"m{letter}": limits for letter, limits in MAP_LIMITS.items()},
            "layer": (1, MANY), "head": (1, MANY), "b": (1, MANY)}
FRACTIONS = {"temperature": (0.0, 5.0), "top_p": (0.0, 1.0), "min_p": (0.0, 1.0)}
COUNTS = {"hidden": 1, "reach": 2}  # of a mask: tokens at the end, keys in reach; what each opens with
STEPS = ("made", "at")  # how many steps of a run have been made, and which of them is looked at
# The choices that the numbers on screen depend on; a state file carries them.
SAVED = ("source", "example", "text", "bias", "mask", "hidden", "reach", *SIZE_LETTERS, "seed", "layer", "head", "b")
SWITCHES = ("presenter", "transpose", "scale", "cache", "chat")
