"""The state file: the edits and all that was chosen, for when an address has no room for them.

A file may come from a stranger, so every entry is checked; what is not of the right form is dropped and counted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

import streamlit as st

from ui import bench as bench_module
from ui.bench import address, arrival
from ui.bench.parameters import declared
from ui.bench.session import ScopedEdits, session


class State(NamedTuple):
    """The edits, the sound choices (key of the address -> code, text or number), how many entries were dropped, and
    whether the file says what a missing choice means."""

    edits: ScopedEdits
    choices: dict[str, str | int]
    dropped: int
    old: bool = False


def to_json(edits: ScopedEdits, choices: Mapping[str, str | int]) -> str:
    """The text of a state file."""
    return json.dumps({arrival.VERSION: arrival.NEWEST, "view": dict(choices),
                       "edits": json.loads(address.edits_to_json(edits))}, ensure_ascii=False)


def from_json(raw: bytes) -> State:
    """Read `to_json` back, checking every entry."""
    if len(raw) > address.LARGEST_TEXT:
        return State({}, {}, 1)
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return State({}, {}, 1)
    if not isinstance(found, Mapping) or not isinstance(found.get("edits"), Mapping):
        return State({}, {}, 1)
    unpacked = address.edits_from_json(json.dumps(found["edits"]))
    view = found.get("view", {})
    if not isinstance(view, Mapping):
        return State(unpacked.edits, {}, unpacked.dropped + 1)
    sound = {key: value for key, value in view.items() if _is_sound(key, value)}
    return State(unpacked.edits, sound, unpacked.dropped + len(view) - len(sound), arrival.VERSION not in found)


def _is_sound(key: str, value: object) -> bool:
    """Whether a state file carries such a choice and it can have that value."""
    return any(one.accepts(value) for one in declared() if one.saved and one.key == key)


def saved() -> str:
    """The state of this session, as the text of a state file."""
    return to_json(bench_module.all_edits(), bench_module.chosen())


def take(file_id: str, raw: bytes) -> None:
    """Take a state file over, once for each upload; what had to be dropped is told on the next run."""
    held = session()
    if held.file == file_id:
        return
    held.file = file_id
    found = from_json(raw)
    held.notices = ["edits_dropped"] if found.dropped else []
    if found.edits or not found.dropped:
        bench_module.replace_edits(found.edits)
        held.old = found.old
        bench_module.choose(found.choices)
    st.rerun()
