"""What begins and ends a run: the address taken over, checked, and written back; the link that restores a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from ui.bench import address
from ui.bench.choices import (
    AT,
    EXAMPLE,
    HIDDEN,
    LANGUAGE,
    MADE,
    MASK,
    NOTATION,
    REACH,
    SOURCE,
    TEXT,
    TYPED,
    count_of,
)
from ui.bench.limits import DEFAULT_EXAMPLE, LONGEST_ADDRESS, LONGEST_LINKED_TEXT, UNPINNED
from ui.bench.location import announce, arrived, drop, note_widgets, unchecked, write
from ui.bench.parameters import Choice, Parameter, Whole, declared, meaning
from ui.bench.session import Cell, session
from ui.components.permutation import pack_order, unpack_order
from ui.shell import i18n

VERSION, NEWEST = "v", "3"  # of what a missing key means; addresses and state files of version 0.2.0 have none
# What opened there, by the page: the example, the mask, and of its own choices those that now mean another thing.
_EXAMPLES_THEN = dict.fromkeys(("projections", "scores", "mask", "mixing"), "single_head")
_MASKS_THEN = {"mask": "causal"}
_CHOICES_THEN = {stage: {"mffn": "swiglu"} for stage in ("home", "cost")}
UNKNOWN = "unknown_choice"  # notices are codes; `ui.furniture.notices` words them


def begin(locale: str | None) -> list[str]:
    """Take over what the address says that we did not write; returns notices (codes) about what was dropped."""
    notices = [code for choice in _standing() for code in _take_choice(choice, i18n.from_locale(locale))]
    if arrived(TEXT.key):
        TEXT.put(st.query_params.get(TEXT.key) or TEXT.default)
    for one in (TYPED, HIDDEN, REACH):
        if arrived(one.key):
            notices += _take_standing(one)
    for key, take in (("edits", _take_edits), ("pin", _take_pin), ("window", _take_window), ("order", _take_order)):
        if arrived(key):
            notices += take(st.query_params.get(key, ""))
    held = session()
    if arrived(VERSION):
        notices += [UNKNOWN] if st.query_params.get(VERSION, NEWEST) != NEWEST else []
        held.old = VERSION not in st.query_params and any(key != LANGUAGE.key for key in st.query_params)
    if arrived(MADE.key):
        held.made = MADE.read(st.query_params.get(MADE.key, ""))
    if arrived(AT.key):
        held.at = AT.read(st.query_params.get(AT.key, ""))
    if held.opening:
        _put(held.opening)
        held.opening = {}
    i18n.use(LANGUAGE.value(), NOTATION.value())
    return notices


def _put(opening: Mapping[str, str | int]) -> None:
    """Choose what an opened file or a step of the history says, before a widget holds it; of the numbers that widgets
    bind to the address it says so there too."""
    st.session_state.update(opening)
    bound = {one.key: one.default for one in declared("") if isinstance(one, Whole) and not one.standing}
    numbers = {key: int(value) for key, value in opening.items() if key in bound}
    drop([key for key, value in numbers.items() if value == bound[key] and key in st.query_params])
    announce({key: value for key, value in numbers.items() if value != bound[key]})


def _standing() -> list[Choice]:
    return [one for one in declared("") if isinstance(one, Choice) and one.standing]


def _take_choice(choice: Choice, language: str) -> list[str]:
    fallback = language if choice is LANGUAGE else choice.default
    came = arrived(choice.key)
    raw = session().address.last[choice.key]
    found = choice.read(raw)
    # A browser may leave out a widget that it was not shown, say that nothing is chosen, or name a label of a language
    # that was left: then what was written holds.
    if came or not choice.has(st.session_state.get(choice.key)):
        choice.put(fallback if found is None else found)
    return [UNKNOWN] if came and raw and found is None else []


def _take_standing(parameter: Parameter[Any]) -> list[str]:
    raw = st.query_params.get(parameter.key, "")
    found = parameter.read(raw)
    parameter.put(parameter.default if found is None else found)
    return [UNKNOWN] if raw and found is None else []


def _take_edits(raw: str) -> list[str]:
    found = address.unpack_edits(raw)
    session().bench.edits = found.edits
    session().replaced()
    return ["edits_dropped"] if found.dropped else []


def _take_pin(raw: str) -> list[str]:
    found = None if raw == UNPINNED else address.unpack_pin(raw)
    bench = session().bench
    bench.pin, bench.unpinned = None if found is None else Cell(**found), raw == UNPINNED
    session().replaced()
    return ["pin_dropped"] if raw and bench.pin is None and not bench.unpinned else []


def _take_window(raw: str) -> list[str]:
    session().bench.windows = address.unpack_window(raw)
    return []


def _take_order(raw: str) -> list[str]:
    session().bench.order = unpack_order(raw)
    return [UNKNOWN] if raw and session().bench.order is None else []


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
    return [UNKNOWN] if unsound else []


def as_then(stage: str, reaches: Callable[[str], bool]) -> None:
    """Choose what an address or a state file of version 0.2.0 leaves unsaid, as that stage's page then opened; what
    stood there for an example that does not reach the stage is chosen in its place."""
    held = session()
    if held.old:
        example = EXAMPLE.value()
        if SOURCE.value() == "worked" and not (example and reaches(example)) and stage in _EXAMPLES_THEN:
            EXAMPLE.put(_EXAMPLES_THEN[stage])
        if not MASK.value():
            MASK.put(_MASKS_THEN.get(stage, ""))
        if stage != "tokens":
            TYPED.put("")
        elif example and reaches(example):
            EXAMPLE.put(DEFAULT_EXAMPLE)  # whose words were cut there, whatever was chosen
        st.query_params.update({key: code for key, code in _CHOICES_THEN.get(stage, {}).items()
                                if key not in st.query_params})
    held.old = False


def leave(stage: str) -> None:
    """Let go of what does not outlive a visit of that stage's page."""
    for one in declared(stage):
        if not one.persists:
            st.session_state.pop(one.key, None)


def finish() -> None:
    """Write the address: what a copied link needs, and nothing that is at its default."""
    bench, text, counted = session().bench, TEXT.value(), count_of(MASK.value())
    packed = address.pack_edits(bench.edits)
    pin = UNPINNED if bench.unpinned else "" if bench.pin is None else address.pack_pin(bench.pin._asdict())
    write({
        VERSION: NEWEST,
        **{choice.key: choice.value() if choice is LANGUAGE or choice.value() != choice.default else ""
           for choice in _standing()},
        TEXT.key: text if text != TEXT.default and len(text) <= LONGEST_LINKED_TEXT else "",
        TYPED.key: TYPED.value().strip(),
        **{number.key: str(number.value()) if number is counted and number.value() != number.default else ""
           for number in (HIDDEN, REACH)},
        "edits": packed if len(packed) <= address.LONGEST_PARAMETER else "",
        "pin": pin,
        "order": pack_order(bench.order or ()),
        "window": address.pack_window(bench.windows),
    })
    note_widgets()


def share_link() -> str:
    """The address of this page as it now stands, or "" when it would be too long for a link."""
    base = (st.context.url or "").split("?")[0]
    link = f"{base}?{urlencode(st.query_params.to_dict())}"
    if SOURCE.value() == "live" and len(TEXT.value()) > LONGEST_LINKED_TEXT:
        return ""
    packed = address.pack_edits(session().bench.edits)
    return "" if len(link) > LONGEST_ADDRESS or len(packed) > address.LONGEST_PARAMETER else link
