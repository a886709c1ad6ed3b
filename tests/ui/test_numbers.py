"""The one rule for printing a number (DESIGN §4), and what the component accepts from a browser."""

from __future__ import annotations

import base64
import json
import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.equation import (
    Append,
    Axis,
    Change,
    Frame,
    Lookup,
    Matmul,
    Pin,
    build_payload,
    default_strings,
    editable,
    read_edits,
    read_pin,
    read_window,
)
from ui.shell.numbers import format_double, format_number, full_value

CASES = json.loads(Path(__file__).with_name("number_cases.json").read_text("utf-8"))
singles = st.floats(width=32, allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['full']}@{c['decimals']}")
def test_number_is_printed_as_in_the_shared_table(case: dict[str, object]) -> None:
    value = float(np.array(case["bits"], np.uint32).view(np.float32))
    assert format_number(value, int(str(case["decimals"]))) == case["shown"]
    assert full_value(value) == case["full"]


@given(singles)
def test_full_value_reads_back_and_no_shorter_decimal_does(x: float) -> None:
    text = full_value(x)
    assert np.float32(float(text)) == np.float32(x)
    digits = len(Decimal(text).normalize().as_tuple().digits)
    shortest = np.format_float_scientific(np.float32(x), unique=True).split("e")[0].strip("-").rstrip("0")
    assert digits <= max(1, len(shortest.replace(".", "")))


@given(singles, st.integers(2, 6))
def test_printed_digits_are_within_half_a_unit_and_never_minus_zero(x: float, decimals: int) -> None:
    text = format_number(x, decimals)
    assert "-" not in text
    assert text not in ("−0", "−0.000")
    if text == "≈0":
        assert x != 0
        assert abs(x) < 0.5 * 10**-decimals
    elif abs(x) < 1e4:
        assert abs(Decimal(text.replace("−", "-")) - Decimal(x)) <= Decimal(10) ** -decimals / 2
    else:
        assert "e" in text
        assert float(text.replace("−", "-")) == pytest.approx(x, rel=0.00501)


@given(singles, st.integers(2, 6))
def test_sign_does_not_change_the_digits(x: float, decimals: int) -> None:
    assert format_number(-x, decimals).strip("−") == format_number(x, decimals).strip("−")


@given(singles, st.integers(2, 6))
def test_a_float32_is_printed_the_same_as_a_float64(x: float, decimals: int) -> None:
    assert format_double(x, decimals) == format_number(x, decimals)


@pytest.mark.parametrize(("decimals", "text"), [(2, "6283.19"), (3, "6283.185"), (6, "6283.185307")])
def test_a_float64_is_not_rounded_to_a_float32_first(decimals: int, text: str) -> None:
    """2π·1000 = 6283.18530717958… (the wavelength of the last of four hands)."""
    assert format_double(2 * math.pi * 1000, decimals) == text


def two_frames() -> list[Frame]:
    k = np.arange(6, dtype=np.float32).reshape(2, 3)
    return [
        Frame("k", "blocks.0.k", "Kᵀ", "key", k, Axis("Dh"), Axis("T"), transposed=True, editable=True),
        Frame("s", "blocks.0.scores", "S", "score", k, Axis("T"), Axis("T", offset=4, total=9)),
    ]


def typed(**parts: object) -> dict[str, object]:
    """A change as the browser sends it."""
    return {"seq": 1, "rev": 0, "name": "blocks.0.k", "cell": "0,0", "value": 2.0} | parts


def test_changes_are_read_in_the_tensors_own_rows_and_columns_and_in_order() -> None:
    assert editable(two_frames()) == {"blocks.0.k": (3, 2)}
    sent = {"changes": [typed(seq=4, rev=1, cell="2,1", value=0.5), typed(cell="1,2"), typed(seq=3, value=None)]}
    assert read_edits(sent, {"blocks.0.k": (3, 2)}) == [
        Change(3, 0, "blocks.0.k", 0, 0, None), Change(4, 1, "blocks.0.k", 2, 1, 0.5)]


HOSTILE_NUMBERS = [math.nan, math.inf, -math.inf, 1e39, 10**400, True, "1", [1], {}]
HOSTILE_CELLS = [
    "",
    "0",
    "0,0,0",
    "-1,0",
    "0,-1",
    "3,0",
    "0,2",
    "a,b",
    "0, 0",
    "٠,٠",
    "1e0,0",
    "9" * 30 + ",0",
    5,
    None,
]


KEPT = [Change(2, 0, "blocks.0.k", 0, 1, 2.0)]


def read_beside_a_sound_one(change: object) -> list[Change] | None:
    return read_edits({"changes": [change, typed(seq=2, cell="0,1")]}, {"blocks.0.k": (3, 2)})


@pytest.mark.parametrize("number", HOSTILE_NUMBERS, ids=repr)
def test_a_number_that_is_not_a_finite_float32_is_dropped(number: object) -> None:
    assert read_beside_a_sound_one(typed(value=number)) == KEPT


@pytest.mark.parametrize("cell", HOSTILE_CELLS, ids=repr)
def test_a_change_outside_the_tensor_is_dropped(cell: object) -> None:
    assert read_beside_a_sound_one(typed(cell=cell)) == KEPT


@pytest.mark.parametrize("change", [
    typed(name="blocks.0.scores"), typed(name="blocks.9.k"), typed(name=["blocks.0.k"]), typed(name=None),
    typed(seq=-1), typed(seq=math.nan),
    typed(seq=10**400), typed(seq=True), typed(seq=1.5), typed(seq="1"), typed(rev=-1),
    typed(rev=None), {}, [], None, "x", 3,
    {key: part for key, part in typed().items() if key != "value"},
], ids=repr)
def test_what_is_no_change_of_an_editable_number_is_dropped(change: object) -> None:
    assert read_beside_a_sound_one(change) == KEPT


@pytest.mark.parametrize("sent", [
    None, 1, "x", [], {}, {"changes": None}, {"changes": {}}, {"changes": "x"}, {"changes": [typed()] * 20_000},
], ids=lambda sent: repr(sent)[:40])
def test_what_has_not_the_form_of_changes_is_none(sent: object) -> None:
    assert read_edits(sent, {"blocks.0.k": (3, 2)}) is None


def test_a_pin_is_read_over_the_whole_axis_and_nowhere_else() -> None:
    frames = two_frames()
    assert read_pin({"id": "s", "name": "anything", "row": 1, "col": 8}, frames) == Pin("s", "blocks.0.scores", 1, 8)
    for wrong in (
        {"id": "s", "row": 2, "col": 0},
        {"id": "s", "row": 0, "col": 9},
        {"id": "x", "row": 0, "col": 0},
        {"id": "s", "row": -1, "col": 0},
        {"id": "s", "row": "0", "col": 0},
        {"id": ["s"], "row": 0, "col": 0},
        None,
        "s",
        [],
    ):
        assert read_pin(wrong, frames) is None


def test_a_window_is_read_for_axes_that_are_sent_in_part_and_stays_inside_them() -> None:
    frames = two_frames()
    assert read_window({"T": 3}, frames) == {"T": 3}
    assert read_window({"T": 8}, frames) == {"T": 6}  # 3 of 9 places are sent
    for wrong in ({"T": -1}, {"T": "1"}, {"T": 1.5}, {"T": True}, {"T": None}, {"Dh": 1}, {"Z": 1}, {}):
        assert read_window(wrong, frames) == {}
    for wrong in (None, "T", [], 3):
        assert read_window(wrong, frames) is None


def test_the_rest_of_a_sum_has_the_shape_of_its_result() -> None:
    frames = [Frame(id, f"blocks.0.{id}", id, "query", np.ones((2, 2), np.float32), Axis("T"), Axis("D"))
              for id in ("x", "w", "q")]
    more = {"decimals": 3, "strings": {}, "pin": None, "edits": {}, "rev": 0, "seq": 0, "hidden_note": ""}
    rest = np.array([[1, 2], [3, 4]], np.float32), np.zeros((2, 2), np.float32)
    rule = build_payload(frames, [Matmul("q", "x", "w", "D", rest=rest)], **more)["rules"][0]  # type: ignore[arg-type]
    assert np.frombuffer(base64.b64decode(rule["before"]), "<f4").tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="rest"):
        build_payload(frames, [Matmul("q", "x", "w", "D", rest=(rest[0][:1], rest[1]))], **more)  # type: ignore[arg-type]


def test_payload_is_json_without_nan_and_hidden_values_stay_in_python() -> None:
    values = np.array([[1, -np.inf], [np.nan, 4]], np.float32)
    frame = Frame("s", "blocks.0.masked", "S+M", "score", values, Axis("T"), Axis("T"), hidden=[(1, 1)])
    payload = build_payload(
        [frame], [], decimals=3, strings=default_strings(str), pin=None, edits={}, rev=0, seq=0, hidden_note=""
    )
    sent = json.loads(json.dumps(payload, allow_nan=False))["frames"][0]
    numbers = np.frombuffer(base64.b64decode(sent["values"]), "<f4").reshape(2, 2)
    assert numbers[0].tolist() == [1, -np.inf]
    assert np.isnan(numbers[1]).all()
    assert sent["range"] == [0, 1]
    assert values[1, 1] == 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"values": np.zeros((0, 2), np.float32)},
        {"values": np.zeros((129, 1), np.float32)},
        {"values": np.zeros(3, np.float32)},
        {"role": "colour"},
        {"rows": Axis("Z")},
        {"rows": Axis("T", labels=["a"])},
        {"cols": Axis("T", offset=2, total=3)},
        {"rows": Axis("V", places=[1], total=9)},
        {"rows": Axis("V", places=[1, 1], total=9)},
        {"cols": Axis("V", places=[0, 1], total=9)},
    ],
    ids=repr,
)
def test_a_frame_that_contradicts_itself_is_an_error(wrong: dict[str, object]) -> None:
    good: dict[str, object] = {
        "values": np.zeros((2, 2), np.float32),
        "role": "score",
        "rows": Axis("T"),
        "cols": Axis("T"),
    }
    with pytest.raises(ValueError, match="frame 's'"):
        Frame(id="s", name="blocks.0.scores", label="S", **(good | wrong))  # type: ignore[arg-type]


def test_rules_and_ids_that_do_not_fit_the_frames_are_errors() -> None:
    frames = two_frames()
    rest = {"decimals": 3, "strings": {}, "pin": None, "edits": {}, "rev": 0, "seq": 0, "hidden_note": ""}
    with pytest.raises(ValueError, match="not there"):
        build_payload(frames, [Matmul("s", "q", "k", "Dh")], **rest)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not there"):
        build_payload(frames, [Append("s", "k", "new")], **rest)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="for 2 rows"):
        build_payload(frames, [Lookup("s", "k", "k")], **rest)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unique"):
        build_payload([frames[0], frames[0]], [], **rest)  # type: ignore[arg-type]


def test_every_text_of_the_component_passes_through_the_translation() -> None:
    seen: list[str] = []
    strings = default_strings(lambda text: seen.append(text) or text.upper())
    assert sorted(strings.values()) == sorted(text.upper() for text in seen)
