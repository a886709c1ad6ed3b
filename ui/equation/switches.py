"""Switches of an equation: choices of which the variants travel with it, so that the browser shows one at once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ui.equation.answers import Pin, count
from ui.equation.frames import Frame
from ui.equation.rule import Rule
from ui.equation.wiring import Wiring

LARGEST = 64 * 1024  # bytes of variants that travel with an equation; of more those that fit
_MOST_FLIPS = 64


@dataclass(frozen=True)
class Switch:
    """A choice among codes, each with its label, of which `value` is chosen. One of "true" and "false" is a toggle.
    `titled` is whether its own label is to be read beside it, where the options do not speak for themselves."""

    key: str
    label: str
    options: Mapping[str, str]
    value: str
    titled: bool = False

    def payload(self) -> dict[str, Any]:
        """The switch as the browser reads it."""
        return {"key": self.key, "label": self.label, "options": [list(option) for option in self.options.items()],
                "value": self.value, "titled": self.titled}


@dataclass(frozen=True)
class Variant:
    """The equation with other `codes` (key of a switch -> code). `edits` are as in the payload of an
    equation; `without` are the switches that mean nothing in it."""

    codes: Mapping[str, str]
    frames: Sequence[Frame]
    rules: Sequence[Rule]
    pin: Pin | None = None
    edits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    wiring: Wiring | None = None
    without: Sequence[str] = ()

    def payload(self, frames: Sequence[Frame], sent: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The variant as the browser reads it: a frame that it shares with `frames`, or that is packed as one of them
        is in what was `sent` (by id), goes by its id."""
        packed = [None if any(one is frame for frame in frames) else one.payload() for one in self.frames]
        return {
            "codes": dict(self.codes), "without": list(self.without),
            "frames": [one.id if own is None or sent.get(one.id) == own else own
                       for one, own in zip(self.frames, packed, strict=True)],
            "rules": [rule.payload() for rule in self.rules], "pin": self.pin.payload() if self.pin else None,
            "edits": dict(self.edits), "wiring": self.wiring.payload() if self.wiring else None}


def payloads(
    variants: Sequence[Variant], frames: Sequence[Frame], sent: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """As many variants as there is room for, the first ones first; `frames` are those of the equation, `sent` the same
    as they go out."""
    kept: list[dict[str, Any]] = []
    own, room = {frame["id"]: frame for frame in sent}, LARGEST
    for variant in variants:
        packed = variant.payload(frames, own)
        room -= len(json.dumps(packed))
        if room < 0:
            break
        kept.append(packed)
    return kept


class Flip(NamedTuple):
    """A switch that was thrown; `seq` counts upwards."""

    seq: int
    key: str
    code: str


def read_flips(value: object, switches: Sequence[Switch]) -> list[Flip]:
    """What a browser says was thrown, in that order; whatever is no code of one of the switches is dropped."""
    sent = value.get("flips") if isinstance(value, Mapping) else None
    if not isinstance(sent, Sequence) or isinstance(sent, str) or len(sent) > _MOST_FLIPS:
        return []
    codes = {one.key: one.options for one in switches}
    found = []
    for one in sent:
        if not isinstance(one, Mapping):
            continue
        seq, key, code = count(one.get("seq")), one.get("key"), one.get("code")
        if seq is not None and isinstance(key, str) and isinstance(code, str) and code in codes.get(key, {}):
            found.append(Flip(seq, key, code))
    return sorted(found)
