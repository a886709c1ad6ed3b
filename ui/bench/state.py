"""The bench as one object, read from the session and its widgets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn

import streamlit as st

from core.live import registry
from core.toy import ToySizes
from core.trace import Index
from ui.bench.choices import (
    BATCH,
    BIAS,
    CHAT,
    DECIMALS_SHOWN,
    EXAMPLE,
    HEAD,
    LANGUAGE,
    LAYER,
    MASK,
    MODEL,
    PRESENTER,
    SEED,
    SIZES,
    SOURCE,
    TEXT,
    TYPED,
    mask_of,
)
from ui.bench.limits import (
    DEFAULT_DECIMALS,
    DEFAULT_EXAMPLE,
    DEFAULT_SIZES,
    DEFAULT_TEXT,
    SIZE_LETTERS,
    SOURCES,
)
from ui.bench.parameters import declared
from ui.bench.session import MaskChoice, examples, session
from ui.shell import i18n

_OWN_MASK = MaskChoice()


@dataclass(frozen=True)
class Bench:
    """The state that every page shares. `layer`, `head` and `batch` count from 0; `edits` are those of the scope
    (the worked example, or the toy) that is on screen; `text` is the live model's, and `chat`
    puts it into its chat template; `typed` a text in words, "" for the example's own; `bias` is the toy's."""

    language: str = i18n.DEFAULT
    source: str = SOURCES[0]
    example: str = DEFAULT_EXAMPLE
    text: str = DEFAULT_TEXT
    typed: str = ""
    seed: int = 0
    sizes: ToySizes = DEFAULT_SIZES
    bias: bool = False
    mask: MaskChoice = _OWN_MASK
    layer: int = 0
    head: int = 0
    batch: int = 0
    decimals: int = DEFAULT_DECIMALS
    presenter: bool = False
    chat: bool = False
    edits: Mapping[str, Mapping[Index, float]] = field(default_factory=dict)

    @property
    def scope(self) -> str | None:
        """Where edits belong: the worked example or the toy; None on the live model, which is not edited."""
        return {"worked": self.example, "toy": "toy"}.get(self.source)

    @property
    def ids(self) -> tuple[int, ...] | None:
        """The ids of the typed words; None for the example's own."""
        return examples()[self.example].ids_of(self.typed) if self.source == "worked" and self.typed else None

    @property
    def mask_kind(self) -> str:
        """The kind of the mask in effect: the chosen one, else the source's own."""
        return self.mask.kind or (examples()[self.example].mask if self.source == "worked" else "causal")

    def showing(self, example: str) -> Bench:
        """This bench with a worked example, and its edits, in the place of what it selects."""
        return replace(self, source="worked", example=example, edits=_edits_of(example))


def current() -> Bench:
    """The bench as it stands."""
    example, source = EXAMPLE.value() or DEFAULT_EXAMPLE, SOURCE.value()
    # The seed is the toy's: an address that names one says nothing of other sources until its field was drawn.
    seed = SEED.value() if source == "toy" or SEED.is_held else SEED.default
    return Bench(
        language=LANGUAGE.value(), source=source, example=example, text=TEXT.value(), typed=TYPED.value().strip(),
        seed=seed,
        sizes=ToySizes(**{name: SIZES[letter].value() for letter, name in SIZE_LETTERS.items()}),
        bias=BIAS.value() == "on", mask=mask_of(MASK.value()),
        layer=LAYER.value() - 1, head=HEAD.value() - 1, batch=BATCH.value() - 1, decimals=DECIMALS_SHOWN.value(),
        presenter=PRESENTER.value(), chat=CHAT.value(),
        edits=_edits_of({"worked": example, "toy": "toy"}.get(source, "")))


def _edits_of(scope: str) -> dict[str, Mapping[Index, float]]:
    return dict(sorted(session().bench.edits.get(scope, {}).items()))


def chosen() -> dict[str, str | int]:
    """What is chosen now of what a state file carries, defaults included."""
    return {one.key: one.value() for one in declared() if one.saved}


def choose(choices: Mapping[str, str | int]) -> NoReturn:
    """End this run or callback, and run the whole page with these sound choices, taken over before the widgets that
    show them are drawn."""
    session().opening = dict(choices)
    st.rerun()


def model_name() -> str:
    """The live model that was chosen: the registered one, or an own checkpoint by its name."""
    return MODEL.value() or registry.DEFAULT
