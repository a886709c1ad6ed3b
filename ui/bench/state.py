"""The bench as one object, read from the session and its widgets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.live import registry
from core.toy import ToySizes
from core.trace import Index
from core.worked import EXAMPLES
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
    count_of,
)
from ui.bench.limits import DEFAULT_DECIMALS, DEFAULT_SIZES, DEFAULT_TEXT, SIZE_LETTERS, SOURCES
from ui.bench.parameters import declared
from ui.bench.session import MaskChoice, session
from ui.shell import i18n

_OWN_MASK = MaskChoice()


@dataclass(frozen=True)
class Bench:
    """The state that every page shares. `layer`, `head` and `batch` count from 0; `edits` are those of the scope
    (the worked example, or the toy) that is on screen; `example` is empty until the learner chooses one; `bias` is the
    toy's; `chat` puts the typed text into the live model's chat template."""

    language: str = i18n.DEFAULT
    source: str = SOURCES[0]
    example: str = ""
    text: str = DEFAULT_TEXT
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


def current(example: str = next(iter(EXAMPLES)), mask: str = "") -> Bench:
    """The bench as it stands; `example` and `mask` are what the page opens with while the learner has not chosen."""
    chosen = EXAMPLE.value() or example
    source = SOURCE.value()
    kind = MASK.value() or mask
    counted = count_of(kind)
    scope = {"worked": chosen, "toy": "toy"}.get(source, "")
    # The seed is the toy's: an address that names one says nothing of other sources until its field was drawn.
    seed = SEED.value() if source == "toy" or SEED.is_held else SEED.default
    return Bench(
        language=LANGUAGE.value(), source=source, example=chosen, text=TEXT.value(), seed=seed,
        sizes=ToySizes(**{name: SIZES[letter].value() for letter, name in SIZE_LETTERS.items()}),
        bias=BIAS.value() == "on", mask=MaskChoice(kind, 1 if counted is None else counted.value()),
        layer=LAYER.value() - 1, head=HEAD.value() - 1, batch=BATCH.value() - 1, decimals=DECIMALS_SHOWN.value(),
        presenter=PRESENTER.value(), chat=CHAT.value(),
        edits=dict(sorted(session().bench.edits.get(scope, {}).items())))


def chosen() -> dict[str, str | int]:
    """What is chosen now of what a state file carries, defaults included."""
    return {one.key: one.value() for one in declared() if one.saved}


def choose(choices: Mapping[str, str | int]) -> None:
    """Take over sound choices in the next run, before the widgets that show them are drawn."""
    session().opening = dict(choices)


def model_name() -> str:
    """The live model that was chosen: the registered one, or an own checkpoint by its name."""
    return MODEL.value() or registry.DEFAULT
