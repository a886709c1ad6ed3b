"""The bench as one object, and what begins and ends a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from core.live import registry
from core.toy import ToySizes
from core.trace import Index
from ui.bench import address
from ui.bench.choices import (
    AT,
    BATCH,
    BIAS,
    CHAT,
    DECIMALS_SHOWN,
    EXAMPLE,
    HEAD,
    HIDDEN,
    LANGUAGE,
    LAYER,
    MADE,
    MASK,
    MODEL,
    NOTATION,
    PRESENTER,
    SEED,
    SIZES,
    SOURCE,
    TEXT,
    count_of,
)
from ui.bench.edits import all_edits, replaced
from ui.bench.limits import (
    DEFAULT_DECIMALS,
    DEFAULT_SIZES,
    DEFAULT_TEXT,
    EXAMPLES,
    LONGEST_ADDRESS,
    LONGEST_LINKED_TEXT,
    SIZE_LETTERS,
    SOURCES,
    UNPINNED,
)
from ui.bench.location import announce, arrived, drop, unchecked, write
from ui.bench.parameters import Choice, Whole, declared, meaning
from ui.components.permutation import pack_order, unpack_order
from ui.shell import i18n


@dataclass(frozen=True)
class Bench:
    """The state that every page shares. `layer`, `head` and `batch` count from 0; `edits` are those of the scope
    (the worked example, or the toy) that is on screen; `example` is empty until the learner chooses one; `bias` is the
    toy's; `chat` puts the typed text into the live model's chat template; `mask` is the kind of mask ("" for the
    source's own), with its number `hidden`."""

    language: str = i18n.DEFAULT
    source: str = SOURCES[0]
    example: str = ""
    text: str = DEFAULT_TEXT
    seed: int = 0
    sizes: ToySizes = DEFAULT_SIZES
    bias: bool = False
    mask: str = ""
    hidden: int = 1
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


def begin(locale: str | None) -> list[str]:
    """Take over what the address says that we did not write; returns notices (codes) about what was dropped."""
    notices = [code for choice in standing() for code in _take_over(choice, i18n.from_locale(locale))]
    if arrived(TEXT.key):
        TEXT.put(st.query_params.get(TEXT.key) or TEXT.default)
    if arrived("edits"):
        found = address.unpack_edits(st.query_params.get("edits", ""))
        st.session_state["_edits"] = found.edits
        replaced()
        if found.dropped:
            notices.append("edits_dropped")
    if arrived("pin"):
        raw = st.query_params.get("pin", "")
        st.session_state["_pin"] = UNPINNED if raw == UNPINNED else address.unpack_pin(raw)
        replaced()
        if raw and raw != UNPINNED and st.session_state["_pin"] is None:
            notices.append("pin_dropped")
    if arrived("window"):
        st.session_state["_window"] = address.unpack_window(st.query_params.get("window", ""))
    if arrived("order"):
        raw = st.query_params.get("order", "")
        st.session_state["_order"] = unpack_order(raw)
        if raw and st.session_state["_order"] is None:
            notices.append("unknown_choice")
    for step in (MADE, AT):
        if arrived(step.key):
            remember(step.key, step.read(st.query_params.get(step.key, "")))
    if opened := recall("opened"):
        st.session_state.update(opened)
        bound = {parameter.key for parameter in declared("") if isinstance(parameter, Whole)}
        announce({key: value for key, value in opened.items() if key in bound})
        remember("opened", None)
    i18n.use(LANGUAGE.value(), NOTATION.value())
    return notices


def standing() -> list[Choice]:
    """The choices that are taken over and written whether their widgets are drawn or not."""
    return [one for one in declared("") if isinstance(one, Choice) and one.standing]


def _take_over(choice: Choice, language: str) -> list[str]:
    fallback = language if choice is LANGUAGE else choice.default
    raw = st.query_params.get(choice.key, "")
    found = choice.read(raw)
    unknown = arrived(choice.key)
    if unknown:
        choice.put(fallback if found is None else found)
    st.session_state.setdefault(choice.key, fallback)  # a browser may leave out a widget that it was not shown
    return ["unknown_choice"] if unknown and raw and found is None else []


def check(stage: str) -> list[str]:
    """Drop what the address holds that no control of that stage's page can take, before one reads it; returns notices.
    A key that only other pages have is held to what it means there."""
    unsound = []
    for key, raw in unchecked().items():
        own = meaning(key, stage)
        known = [one for one in ([own] if own else declared()) if one.key == key and not one.standing]
        if raw and known and all(one.read(raw) is None for one in known):
            unsound.append(key)
    if unsound:
        drop(unsound)
    return ["unknown_choice"] if unsound else []


def finish() -> None:
    """Write the address: what a copied link needs, and nothing that is at its default."""
    pin = st.session_state.get("_pin")
    text = st.session_state.get("text", DEFAULT_TEXT)
    packed = address.pack_edits(all_edits())
    write({
        **{choice.key: choice.value() if choice is LANGUAGE or choice.value() != choice.default else ""
           for choice in standing()},
        "text": text if text != DEFAULT_TEXT and len(text) <= LONGEST_LINKED_TEXT else "",
        "edits": packed if len(packed) <= address.LONGEST_PARAMETER else "",
        "pin": address.pack_pin(pin) if isinstance(pin, dict) else pin or "",
        "order": pack_order(st.session_state.get("_order") or ()),
        "window": address.pack_window(st.session_state.get("_window", {})),
    })


def current(example: str = EXAMPLES[0], mask: str = "") -> Bench:
    """The bench as it stands; `example` and `mask` are what the page opens with while the learner has not chosen."""
    chosen = EXAMPLE.value() or example
    source = SOURCE.value()
    scope = {"worked": chosen, "toy": "toy"}.get(source, "")
    counted = count_of(MASK.value() or mask) or HIDDEN
    return Bench(
        language=LANGUAGE.value(), source=source, example=chosen, text=TEXT.value(), seed=SEED.value(),
        sizes=ToySizes(**{name: SIZES[letter].value() for letter, name in SIZE_LETTERS.items()}),
        bias=BIAS.value() == "on", mask=MASK.value() or mask, hidden=counted.value(), layer=LAYER.value() - 1,
        head=HEAD.value() - 1, batch=BATCH.value() - 1, decimals=DECIMALS_SHOWN.value(), presenter=PRESENTER.value(),
        chat=CHAT.value(), edits=dict(sorted(all_edits().get(scope, {}).items())))


def chosen() -> dict[str, str | int]:
    """What is chosen now of what a state file carries, defaults included."""
    return {one.key: one.value() for one in declared() if one.saved}


def choose(choices: Mapping[str, str | int]) -> None:
    """Take over sound choices in the next run, before the widgets that show them are drawn."""
    remember("opened", dict(choices))


def model_name() -> str:
    """The live model that was chosen: the registered one, or an own checkpoint by its name."""
    return MODEL.value() or registry.DEFAULT


def remember(key: str, value: Any) -> None:
    """Keep something small for this session under `key`."""
    st.session_state[f"_memory:{key}"] = value


def recall(key: str, default: Any = None) -> Any:
    """What was remembered under `key`."""
    return st.session_state.get(f"_memory:{key}", default)


def share_link() -> str:
    """The address of this page as it now stands, or "" when it would be too long for a link."""
    base = (st.context.url or "").split("?")[0]
    link = f"{base}?{urlencode(st.query_params.to_dict())}"
    text = st.session_state.get("text", DEFAULT_TEXT)
    if st.session_state.get("source") == "live" and len(text) > LONGEST_LINKED_TEXT:
        return ""
    too_long = len(link) > LONGEST_ADDRESS or len(address.pack_edits(all_edits())) > address.LONGEST_PARAMETER
    return "" if too_long else link
