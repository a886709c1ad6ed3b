"""The page on the KV cache through AppTest: its rows, its bytes, what a GPU holds of it, and the measurement."""

from __future__ import annotations

import pytest

from core import cost, toy
from core.config import PRESETS
from core.machine.datasheet import DEVICES
from core.stages.kv_cache.questions import SLIPS, miscounted
from tests.ui.on_page import (
    CACHE,
    SOURCES,
    TOY_SIZES,
    everything,
    opened,
    payloads,
    pressed,
)
from ui.shell.numbers import format_bytes


def test_the_rows_that_a_cache_has_room_for_have_a_letter_of_their_own() -> None:
    for notation, letter, axis in (("d0", "T_max", "T"), ("d1", "S_max", "S"), ("hf", "kv_len_max", "seq_len")):
        at = opened(CACHE, lang="en", example="block", notation=notation)
        assert {frame["rows"]["letter"] for frame in payloads(at)[0]["frames"]} == {letter}
        assert f"reserved for is `{letter}` = 8; the number written so far is `{axis}` = 5." in everything(at)


def test_rows_that_are_not_written_yet_are_blank_and_bytes_are_equal() -> None:
    at = opened(CACHE, lang="en", example="block")
    for frame in payloads(at)[0]["frames"]:
        if frame["filled"] is None:
            continue
        assert (frame["filled"], frame["fresh"][0], frame["rows"]["total"]) == (5, 4, 8)
    table = next(text.value for text in at.markdown if "written" in text.value and "|" in text.value)
    assert "| 5 | 160 | 160 |" in table
    assert "| 8 | 256 | 256 |" in table


@pytest.mark.parametrize("preset", ["llama-3-8b", "mistral-7b"])
def test_what_a_gpu_holds_is_what_the_core_says(preset: str) -> None:
    at = opened(CACHE, lang="en", of_model=preset, length="4096", requests="2", device="h100")
    at.session_state["open-growth"] = True
    at.run()
    assert not at.exception
    config = PRESETS[preset]
    fit = cost.requests_that_fit(config, DEVICES["h100"], 4096, "float16")
    text = everything(at)
    assert f"Requests that fit at once, at most: {fit.requests:,}." in text
    assert format_bytes(cost.kv_cache_bytes(config, 2, 4096, 2)) in text
    at.selectbox(key="of_heads").set_value("1").run()
    fit = cost.requests_that_fit(config.with_(kv_heads=1), DEVICES["h100"], 4096)
    assert f"Requests that fit at once, at most: {fit.requests:,}." in everything(at)


@pytest.mark.parametrize("slip", SLIPS)
def test_each_miscount_is_shown_beside_what_is_right(slip: str) -> None:
    at = opened(CACHE, lang="en", miscount=slip, **SOURCES["toy"][0])
    at.session_state["open-wrong"] = True
    at.run()
    assert not at.exception
    config = toy.toy(TOY_SIZES, 7).config
    right, wrong = cost.kv_cache_bytes(config, 2, 6, 4), miscounted(config, 2, 6, 4, slip)
    difference = f"{wrong - right:,}".replace("-", "−")
    assert any(f"| {wrong:,} | {right:,} | {difference} |" in text.value for text in at.markdown)


def test_a_measurement_goes_on_by_itself_and_stops() -> None:
    at = opened(CACHE, lang="en", example="block")
    at.session_state["open-times"] = True
    at.run()
    pressed(at, "measure-go")
    assert len(at.get("progress")) == 1
    at.run()
    assert len(at.get("plotly_chart")) == 1
    pressed(at, "measure-stop")
    assert not at.get("progress")
