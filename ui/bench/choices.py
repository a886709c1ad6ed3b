"""The parameters that hold on every page: what is looked at, and how it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core import masks, notation
from core.live import registry
from core.live.model import MAX_CHARACTERS
from core.toy import LIMITS
from ui.bench.limits import (
    DECIMALS,
    DEFAULT_DECIMALS,
    DEFAULT_SIZES,
    DEFAULT_TEXT,
    LONGEST_TYPED,
    SIZE_LETTERS,
    SOURCES,
)
from ui.bench.parameters import MANY, Choice, Switch, Text, Whole
from ui.bench.session import MaskChoice, examples
from ui.shell import i18n


@dataclass(frozen=True)
class _Models:
    """The live models that there are now: the registered one, and the own checkpoints."""

    def __contains__(self, name: object) -> bool:
        return name == registry.DEFAULT or name in registry.own()


@dataclass(frozen=True)
class _Examples:
    """The worked examples, and those that the learner brought."""

    def __contains__(self, name: object) -> bool:
        return name in examples()


LANGUAGE = Choice("lang", i18n.DEFAULT, codes=tuple(i18n.languages()), standing=True)
SOURCE = Choice("source", SOURCES[0], codes=SOURCES, standing=True, saved=True)
EXAMPLE = Choice("example", "", codes=_Examples(), standing=True, saved=True)  # "": the app's, or a page's own
TEXT = Text("text", DEFAULT_TEXT, longest=MAX_CHARACTERS, standing=True, saved=True)
TYPED = Text("sample", "", longest=LONGEST_TYPED, standing=True, saved=True)  # in words; "": the example's own
MODEL = Choice("model", "", codes=_Models())
BIAS = Choice("bias", "", codes=("on",), standing=True, saved=True)
MASK = Choice("mask", "", codes=masks.KINDS, standing=True, saved=True)  # "": the source's own
HIDDEN = Whole("hidden", 1, low=1, high=MANY, standing=True, saved=True)  # tokens at the end
REACH = Whole("reach", 2, low=1, high=MANY, standing=True, saved=True)  # keys in a window or prefix
SIZES: Mapping[str, Whole] = {
    letter: Whole(letter, getattr(DEFAULT_SIZES, name), low=LIMITS[name][0], high=LIMITS[name][1], saved=True)
    for letter, name in SIZE_LETTERS.items()}
SEED = Whole("seed", 0, low=LIMITS["seed"][0], high=LIMITS["seed"][1], saved=True)
LAYER = Whole("layer", 1, low=1, high=MANY, saved=True)
HEAD = Whole("head", 1, low=1, high=MANY, saved=True)
BATCH = Whole("b", 1, low=1, high=MANY, saved=True)
CHAT = Switch("chat", False)  # the typed text goes into the live model's chat template
DRAW = Whole("draw", 0, low=LIMITS["seed"][0], high=LIMITS["seed"][1])  # the seed of a draw
MADE = Whole("made", 0, low=0, high=MANY)  # steps of a run that have been made
AT = Whole("at", 1, low=1, high=MANY)  # which of them is looked at
NOTATION = Choice("notation", notation.DEFAULT, codes=tuple(notation.NOTATIONS), standing=True)
DECIMALS_SHOWN = Whole("decimals", DEFAULT_DECIMALS, low=DECIMALS[0], high=DECIMALS[-1])
PRESENTER = Switch("presenter", False)


def mask_of(kind: str) -> MaskChoice:
    """That kind of mask with the number that is chosen for it."""
    counted = count_of(kind)
    return MaskChoice(kind, 1 if counted is None else counted.value())


def count_of(mask: str) -> Whole | None:
    """The parameter that holds the number of such a mask; None where it has none."""
    return {"window": REACH, "prefix": REACH, "padding": HIDDEN, "both": HIDDEN}.get(mask)
