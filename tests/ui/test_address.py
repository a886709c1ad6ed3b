"""What the address carries, edits and the pinned cell: packed, read back; nothing that a stranger sends may raise."""

from __future__ import annotations

import base64
import json
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.trace import NAMES, registered
from core.worked import EXAMPLES
from ui.bench import address
from ui.bench.address import TOY, pack_edits, pack_pin, pack_window, unpack_edits, unpack_pin, unpack_window

SCOPES = (*EXAMPLES, TOY)
NAMES_HERE = [name.format(l=layer) for name in NAMES for layer in (0, 3)]
FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def scoped_edits(draw: st.DrawFn) -> address.ScopedEdits:
    """Edits of registered tensors, each with as many places in its index as the tensor has axes."""
    edits: address.ScopedEdits = {}
    for scope in draw(st.lists(st.sampled_from(SCOPES), unique=True)):
        for name in draw(st.lists(st.sampled_from(NAMES_HERE), unique=True, max_size=4)):
            place = st.tuples(*[st.integers(0, 999)] * len(registered(name).axes))
            cells = draw(st.dictionaries(place, FLOAT32, min_size=1, max_size=6))
            edits.setdefault(scope, {})[name] = cells
    return edits


def singles(edits: address.ScopedEdits) -> dict[tuple[object, ...], bytes]:
    """The float32 bits at each place; −0 is written as 0."""
    return {(scope, name, index): np.float32(value + 0.0).tobytes() for scope, names in edits.items()
            for name, cells in names.items() for index, value in cells.items()}


def packed(found: Any) -> str:
    """Any JSON in the form of the parameter."""
    return packed_text(json.dumps(found).encode())


def packed_text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.compress(raw, 9)).decode().rstrip("=")


@given(scoped_edits())
def test_edits_come_back_from_the_address_as_the_same_float32_numbers(edits: address.ScopedEdits) -> None:
    parameter = pack_edits(edits)
    assert (parameter == "") == (not edits)
    assert parameter.replace("-", "").replace("_", "").isalnum() or not edits  # needs no escaping in an address
    found = unpack_edits(parameter)
    if len(parameter) > address.LONGEST_PARAMETER:
        assert found == ({}, 1)
        return
    assert found.dropped == 0
    assert singles(found.edits) == singles(edits)
    assert pack_edits(found.edits) == parameter


@given(scoped_edits())
def test_edits_come_back_from_a_state_file(edits: address.ScopedEdits) -> None:
    found = address.edits_from_json(address.edits_to_json(edits))
    assert (singles(found.edits), found.dropped) == (singles(edits), 0)


@given(st.sampled_from(["q", "k", "scores", "scaled"]), st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_pin_comes_back_from_the_address(frame: str, row: int, col: int) -> None:
    pin = {"id": frame, "row": row, "col": col}
    assert unpack_pin(pack_pin(pin)) == pin


@given(st.text(max_size=200) | st.from_regex(r"[A-Za-z0-9_=-]{0,200}", fullmatch=True))
def test_no_text_at_all_raises(parameter: str) -> None:
    found = unpack_edits(parameter)
    assert found.edits == {}
    assert found.dropped == (1 if parameter else 0)
    pin = unpack_pin(parameter)
    assert pin is None or pack_pin(pin).split(".")[0] == parameter.split(".")[0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["toy", "block", "blocks.0.q", "mask", "0,0,0,0", "1", ""]) | st.text(max_size=8), inner,
        max_size=4),
    max_leaves=20)


@given(JSON)
def test_any_json_is_read_without_raising_and_only_sound_entries_stay(found: Any) -> None:
    kept, dropped = unpack_edits(packed(found))
    for scope, names in kept.items():
        assert scope in SCOPES
        for name, cells in names.items():
            for index, value in cells.items():
                assert len(index) == len(registered(name).axes)
                assert isinstance(value, float)
                assert np.isfinite(np.float32(value))
    assert dropped or kept or not isinstance(found, dict) or not found or all(not v for v in found.values())


@given(scoped_edits(), st.data())
def test_a_parameter_that_was_cut_short_is_dropped_whole(edits: address.ScopedEdits, data: st.DataObject) -> None:
    parameter = pack_edits(edits)
    if len(parameter) < 2:
        return
    short = parameter[:data.draw(st.integers(1, len(parameter) - 1))]
    found = unpack_edits(short)
    assert found in ((edits, 0), ({}, 1))  # only the last bits, which hold nothing, may be missing


Q = "blocks.0.q"
AT = "0,0,0,0"
HOSTILE: dict[str, Callable[[], str]] = {
    "not base64": lambda: "§§§§",
    "base64 of nothing compressed": lambda: base64.urlsafe_b64encode(b"hello").decode(),
    "standard base64 alphabet": lambda: "+/+/",
    "too long": lambda: "A" * (address.LONGEST_PARAMETER + 1),
    "two streams": lambda: packed_text(b"{}")[:-2] + "!!",
    "a list": lambda: packed([1, 2]),
    "a number": lambda: packed(5),
    "null": lambda: packed(None),
    "deep lists": lambda: packed_text(b"[" * 100_000 + b"]" * 100_000),
    "deep mappings": lambda: packed_text(b'{"a":' * 50_000 + b"1" + b"}" * 50_000),
    "not UTF-8": lambda: packed_text(b'{"toy":"\xff\xfe"}'),
    "a lone surrogate": lambda: packed_text(b'{"\\ud800":{"\\udfff":{"0":1}}}'),
    "an integer of ten thousand digits": lambda: packed_text(
        b'{"toy":{"mask":{"0,0,0,0":' + b"9" * 10_000 + b"}}}"),
    "an integer beyond any float": lambda: packed_text(
        b'{"toy":{"mask":{"0,0,0,0":1' + b"0" * 400 + b"}}}"),
    "unknown scope": lambda: packed({"live": {Q: {AT: 1}}}),
    "unknown name": lambda: packed({"toy": {"blocks.0.secret": {AT: 1}}}),
    "a name that is a path": lambda: packed({"toy": {"../../etc/passwd": {AT: 1}}}),
    "index too short": lambda: packed({"toy": {Q: {"0,0,0": 1}}}),
    "index too long": lambda: packed({"toy": {Q: {"0,0,0,0,0": 1}}}),
    "negative index": lambda: packed({"toy": {Q: {"0,0,0,-1": 1}}}),
    "index of other digits": lambda: packed({"toy": {Q: {"0,0,0,٣": 1}}}),
    "index with a point": lambda: packed({"toy": {Q: {"0,0,0,1.5": 1}}}),
    "huge index": lambda: packed({"toy": {Q: {"0,0,0,999999999": 1}}}),
    "empty index": lambda: packed({"toy": {Q: {"": 1}}}),
    "NaN": lambda: packed({"toy": {Q: {AT: float("nan")}}}),
    "infinity": lambda: packed({"toy": {Q: {AT: float("inf")}}}),
    "1e400": lambda: packed_text(b'{"toy":{"blocks.0.q":{"0,0,0,0":1e400}}}'),
    "beyond float32": lambda: packed({"toy": {Q: {AT: 1e39}}}),
    "true": lambda: packed({"toy": {Q: {AT: True}}}),
    "a string": lambda: packed({"toy": {Q: {AT: "1"}}}),
    "a list for a number": lambda: packed({"toy": {Q: {AT: [1]}}}),
    "a mapping for a number": lambda: packed({"toy": {Q: {AT: {}}}}),
    "names that are no mapping": lambda: packed({"toy": 3}),
    "cells that are no mapping": lambda: packed({"toy": {Q: 3}}),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_malformed_is_dropped_and_counted(kind: str) -> None:
    assert unpack_edits(HOSTILE[kind]()) == ({}, 1)


def test_a_sound_entry_beside_a_malformed_one_stays() -> None:
    found = unpack_edits(packed({"toy": {Q: {AT: 2.5, "x": 1}, "nothing": {"0": 1}}, "": {}}))
    assert found == ({"toy": {Q: {(0, 0, 0, 0): 2.5}}}, 2)


def test_a_small_parameter_cannot_inflate_into_a_large_text() -> None:
    bomb = packed_text(b'{"toy":{' + b" " * 4_000_000 + b"}}")
    assert len(bomb) <= address.LONGEST_PARAMETER  # it is not refused for its length
    tracemalloc.start()
    found = unpack_edits(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == ({}, 1)
    assert peak < 4 * address.LARGEST_TEXT


def test_more_entries_than_the_limit_are_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address, "MOST_EDITS", 3)
    found = unpack_edits(packed({"toy": {Q: {f"0,0,0,{k}": k for k in range(5)}}}))
    assert found == ({"toy": {Q: {(0, 0, 0, k): float(k) for k in range(3)}}}, 2)


def test_a_state_file_is_bounded_too() -> None:
    assert address.edits_from_json(b"[" + b" " * address.LARGEST_TEXT + b"]") == ({}, 1)
    assert address.edits_from_json(b"\x00\xff") == ({}, 1)


@pytest.mark.parametrize("parameter", [
    "q", "q.1", "q.1.2.3", "q.-1.0", "q.1.x", "q.٣.1", "q.1.5e3", "q.." + "9" * 80, "..", "q. 1.2"])
def test_a_malformed_pin_is_none(parameter: str) -> None:
    assert unpack_pin(parameter) is None


@given(st.dictionaries(st.sampled_from(["D", "F", "V", "H·Dh"]), st.integers(0, address.LARGEST_INDEX - 1)))
def test_windows_come_back_from_the_address(windows: dict[str, int]) -> None:
    assert unpack_window(pack_window(windows)) == {letter: first for letter, first in windows.items() if first}


@pytest.mark.parametrize("parameter", ["", "D", "D.", ".5", "D.0", "D.-3", "D.1e3", "D.٣", "D.100001", "_", "D.9" * 40])
def test_a_malformed_window_is_left_out(parameter: str) -> None:
    assert unpack_window(parameter) == {}
