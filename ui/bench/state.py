"""The bench as one object, and what begins and ends a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from core import notation
from core.live import registry
from core.toy import ToySizes
from core.trace import Index
from ui.bench import address
from ui.bench.edits import all_edits, replaced
from ui.bench.limits import (
    CHOICES,
    COUNTS,
    DEFAULT_DECIMALS,
    DEFAULT_SIZES,
    DEFAULT_TEXT,
    EXAMPLES,
    FRACTIONS,
    LONGEST_ADDRESS,
    LONGEST_LINKED_TEXT,
    NUMBERS,
    SAVED,
    SIZE_LETTERS,
    SOURCES,
    STEPS,
    SWITCHES,
    UNPINNED,
)
from ui.bench.location import announce, arrived, drop, early, held, read_number, sound, write
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
    notices: list[str] = []
    for key, (known, default) in CHOICES.items():
        fallback = i18n.from_locale(locale) if key == "lang" else default
        if arrived(key):
            value = st.query_params.get(key, "")
            if value and value not in known:
                notices.append("unknown_choice")
            st.session_state[key] = value if value in known else fallback
        st.session_state.setdefault(key, fallback)  # a browser may leave out a widget that it was not shown
    if arrived("text"):
        st.session_state["text"] = st.query_params.get("text") or DEFAULT_TEXT
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
    came = [key for key in (*NUMBERS, *FRACTIONS, *SWITCHES) if arrived(key)]
    unsound = [key for key in came if not sound(key)]
    for key in set(STEPS).intersection(came):
        number = read_number(st.query_params.get(key, ""))
        remember(key, None if number is None or key in unsound else int(number))
    if unsound:
        drop(unsound)
        notices.append("unknown_choice")
    if opened := recall("opened"):
        st.session_state.update(opened)
        announce({key: value for key, value in opened.items() if key in NUMBERS})
        remember("opened", None)
    i18n.use(st.session_state["lang"], st.session_state["notation"])
    return notices


def finish() -> None:
    """Write the address: what a copied link needs, and nothing that is at its default."""
    pin = st.session_state.get("_pin")
    text = st.session_state.get("text", DEFAULT_TEXT)
    packed = address.pack_edits(all_edits())
    write({
        "lang": st.session_state["lang"],
        "source": st.session_state["source"] if st.session_state["source"] != SOURCES[0] else "",
        "example": st.session_state["example"],
        "bias": st.session_state["bias"],
        "mask": st.session_state["mask"],
        "notation": st.session_state["notation"] if st.session_state["notation"] != notation.DEFAULT else "",
        "text": text if text != DEFAULT_TEXT and len(text) <= LONGEST_LINKED_TEXT else "",
        "edits": packed if len(packed) <= address.LONGEST_PARAMETER else "",
        "pin": address.pack_pin(pin) if isinstance(pin, dict) else pin or "",
        "order": pack_order(st.session_state.get("_order") or ()),
        "window": address.pack_window(st.session_state.get("_window", {})),
    })


def current(example: str = EXAMPLES[0], mask: str = "") -> Bench:
    """The bench as it stands; `example` and `mask` are what the page opens with while the learner has not chosen."""
    state = st.session_state
    chosen = state.get("example") or example
    source = state.get("source", SOURCES[0])
    scope = {"worked": chosen, "toy": "toy"}.get(source, "")
    sizes = ToySizes(**{name: int(state.get(letter, getattr(DEFAULT_SIZES, name)))
                        for letter, name in SIZE_LETTERS.items()})
    return Bench(
        language=state.get("lang", i18n.DEFAULT), source=source, example=chosen,
        text=state.get("text", DEFAULT_TEXT), seed=int(state.get("seed", 0)), sizes=sizes,
        bias=state.get("bias") == "on", mask=state.get("mask") or mask,
        hidden=early(*counted(state.get("mask") or mask)),
        layer=int(state.get("layer", 1)) - 1, head=int(state.get("head", 1)) - 1, batch=int(state.get("b", 1)) - 1,
        decimals=int(state.get("decimals", DEFAULT_DECIMALS)), presenter=bool(state.get("presenter", False)),
        chat=bool(held("chat", False)),
        edits=dict(sorted(all_edits().get(scope, {}).items())))


def counted(mask: str) -> tuple[str, int]:
    """The field that holds the number of such a mask, and what it opens with: keys in reach, or tokens at the end."""
    key = "reach" if mask in ("window", "prefix") else "hidden"
    return key, COUNTS[key]


def count_of(mask: str, tokens: int) -> tuple[str, int, int, int]:
    """The field for the number of such a mask over so many tokens: key, lowest, highest, what it opens with."""
    key, opening = counted(mask)
    return key, 1, tokens, opening


def chosen() -> dict[str, str | int]:
    """What is chosen now of `SAVED`, defaults included."""
    bench = current("")
    sizes = {letter: getattr(bench.sizes, name) for letter, name in SIZE_LETTERS.items()}
    found = {"source": bench.source, "example": bench.example, "text": bench.text, "bias": "on" if bench.bias else "",
             "mask": bench.mask, **sizes, **{key: early(key, opening) for key, opening in COUNTS.items()},
             "seed": bench.seed, "layer": bench.layer + 1, "head": bench.head + 1, "b": bench.batch + 1}
    return {key: found[key] for key in SAVED}


def choose(choices: Mapping[str, str | int]) -> None:
    """Take over sound choices in the next run, before the widgets that show them are drawn."""
    remember("opened", dict(choices))


def model_name() -> str:
    """The live model that was chosen: the registered one, or an own checkpoint by its name."""
    return str(st.session_state.get("model") or registry.DEFAULT)


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


def put(texts: Mapping[str, str]) -> None:
    """Put texts into bound fields, by key, before these are drawn."""
    st.session_state.update(texts)


def set_text(text: str) -> None:
    """Make this the text that the live model reads, before its field is drawn."""
    st.session_state["text"] = text
