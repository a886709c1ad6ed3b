"""What the address bar carries besides plain widget values: edits and the pinned cell, packed and checked.

Everything read here may come from a stranger's link or file, so it is inflated up to a bound, checked entry by entry,
and whatever is not of the right form is dropped and counted, never guessed at.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from core.errors import UnknownName
from core.trace import Index, registered
from ui.bench.session import ScopedEdits, examples
from ui.shell.numbers import full_value

LONGEST_PARAMETER = 6000  # characters; an address has room for 8,000 in all
LARGEST_TEXT = 512 * 1024  # bytes of JSON after inflating
MOST_EDITS = 20_000
LARGEST_INDEX = 100_000
TOO_LARGE = 2.0**128 - 2.0**103  # rounds to ∞ as a float32; the largest one, written in short, lies just below
BASE64_GROUP = 4
PIN_PARTS = 3  # frame, row, column
TOY = "toy"  # the scope of the toy's edits; an example's is its name


class Unpacked(NamedTuple):
    """What could be read, and how many entries (or whole parameters) were dropped."""

    edits: ScopedEdits
    dropped: int


def pack_edits(edits: ScopedEdits) -> str:
    """Edits as one URL-safe parameter; empty when there are none."""
    text = edits_to_json(edits)
    if text == "{}":
        return ""
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), zlib.Z_BEST_COMPRESSION)).decode().rstrip("=")


def unpack_edits(parameter: str) -> Unpacked:
    """The edits in a parameter; anything malformed, oversized or unknown is dropped and counted."""
    if not parameter:
        return Unpacked({}, 0)
    if len(parameter) > LONGEST_PARAMETER:
        return Unpacked({}, 1)
    try:
        packed = base64.b64decode(parameter + "=" * (-len(parameter) % BASE64_GROUP), altchars=b"-_", validate=True)
        inflater = zlib.decompressobj()
        raw = inflater.decompress(packed, LARGEST_TEXT)
    except (binascii.Error, ValueError, zlib.error):
        return Unpacked({}, 1)
    return edits_from_json(raw) if inflater.eof else Unpacked({}, 1)


def edits_to_json(edits: ScopedEdits) -> str:
    """The edits as JSON with each number as the shortest decimal of its float32; the form of a saved state file."""
    plain = {
        scope: {name: {",".join(map(str, index)): float(full_value(value)) for index, value in sorted(cells.items())}
                for name, cells in sorted(names.items()) if cells}
        for scope, names in sorted(edits.items())}
    return json.dumps({scope: names for scope, names in plain.items() if names}, separators=(",", ":"))


def edits_from_json(raw: bytes | str) -> Unpacked:
    """Read `edits_to_json` back, checking every entry."""
    if len(raw) > LARGEST_TEXT:
        return Unpacked({}, 1)
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return Unpacked({}, 1)
    if not isinstance(found, Mapping):
        return Unpacked({}, 1)
    edits: ScopedEdits = {}
    dropped = kept = 0
    known = examples()
    for scope, name, key, value in _entries(found):
        index = _index(name, key)
        if not (scope == TOY or scope in known) or index is None or not _is_float32(value) or kept >= MOST_EDITS:
            dropped += 1
            continue
        edits.setdefault(scope, {}).setdefault(name, {})[index] = float(value)
        kept += 1
    return Unpacked(edits, dropped)


def pack_pin(pin: Mapping[str, Any]) -> str:
    """A pinned cell as "frame.row.column"."""
    return f"{pin['id']}.{pin['row']}.{pin['col']}"


def unpack_pin(parameter: str) -> dict[str, Any] | None:
    """The raw form that `ui.equation.read_pin` checks against the frames on the page; None when malformed."""
    parts = parameter.split(".")
    if len(parts) != PIN_PARTS or len(parameter) > 64 or not all(p.isascii() and p.isdecimal() for p in parts[1:]):
        return None
    return {"id": parts[0], "row": int(parts[1]), "col": int(parts[2])}


def pack_window(windows: Mapping[str, int]) -> str:
    """The windows on long axes as "D.129": letter and first place, from 1; those at the start are left out."""
    return "_".join(f"{letter}.{first + 1}" for letter, first in sorted(windows.items()) if first)


def unpack_window(parameter: str) -> dict[str, int]:
    """Read `pack_window` back; what is malformed is left out, as the place of a window changes no number."""
    windows: dict[str, int] = {}
    for part in parameter.split("_") if len(parameter) <= 64 else []:
        letter, _dot, first = part.rpartition(".")
        if letter and first.isascii() and first.isdecimal() and 1 <= int(first) <= LARGEST_INDEX:
            windows[letter] = int(first) - 1
    return windows


def _entries(found: Mapping[str, Any]) -> list[tuple[str, str, str, Any]]:
    """Flatten scope → name → index → value; a part that is no mapping counts as one entry that cannot be read."""
    entries: list[tuple[str, str, str, Any]] = []
    for scope, names in found.items():
        for name, cells in names.items() if isinstance(names, Mapping) else [("", None)]:
            for key, value in cells.items() if isinstance(cells, Mapping) else [("", None)]:
                entries.append((scope, name, key, value))
    return entries


def _index(name: str, key: str) -> Index | None:
    """The full index in "b,h,i,j", if the name is registered and has that many axes."""
    try:
        axes = registered(name).axes
    except UnknownName:
        return None
    parts = key.split(",")
    if len(parts) != len(axes) or len(key) > 64 or not all(part.isascii() and part.isdecimal() for part in parts):
        return None
    index = tuple(int(part) for part in parts)
    return index if max(index) <= LARGEST_INDEX else None


def _is_float32(value: object) -> bool:
    """Whether it is a number that a float32 can hold; comparing keeps an integer of any length an integer."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < TOO_LARGE
