"""Who gets the button that installs the model, and what a click does: decided on the server, when it is pressed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.live import registry
from core.live.errors import InstallFailed
from core.live.install import Installation, Installer
from tests.waiting import LONGEST, until
from ui import sources
from ui.furniture import installing
from ui.shell import errors

ROOT = Path(__file__).parents[2]
COMMAND = "python -m pip install the-model"


class Recorder(Installer):
    """Notes what is asked of it and starts nothing."""

    def __init__(self) -> None:
        super().__init__(list)
        self.asked: list[str] = []
        self.at: Installation | None = None

    def start(self) -> None:
        self.asked.append("start")

    def stop(self) -> None:
        self.asked.append("stop")

    def progress(self) -> Installation | None:
        return self.at

    def fail(self, why: str) -> None:
        self._failure = InstallFailed(why, ["pip said <b>this</b>"])


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """A server without the model package, whose installer only listens."""
    loader, found = sources.Loader(registry.DEFAULT), Recorder()
    monkeypatch.setattr(sources, "loader", lambda: loader)
    monkeypatch.setattr(installing, "installer", lambda: found)
    monkeypatch.setitem(registry.MODELS, registry.DEFAULT, registry.Packaged("no-such-distribution", COMMAND))
    yield found
    until(lambda: loader.progress() is None)


def opened(monkeypatch: pytest.MonkeyPatch, *, local: bool, lang: str = "en") -> AppTest:
    """The home page with Live chosen, once it is known that there is no model."""
    monkeypatch.setattr(installing, "possible", lambda: local)
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=LONGEST)
    at.query_params |= {"lang": lang, "source": "live"}
    at.run()
    until(lambda: sources.loader().progress() is None)
    return at.run()


def keys(at: AppTest) -> set[str | None]:
    return {button.key for button in at.button}


def test_without_a_browser_on_this_machine_nothing_is_offered(recorder: Recorder) -> None:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=LONGEST)
    at.query_params |= {"lang": "en", "source": "live"}
    at.run()
    until(lambda: sources.loader().progress() is None)
    at.run()
    assert "install" not in keys(at)
    assert COMMAND in at.error[0].value


def test_someone_at_the_machine_gets_a_button(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    said = []
    for lang in ("en", "zh"):
        at = opened(monkeypatch, local=True, lang=lang)
        assert not at.exception
        said.append(at.info[0].value)
        assert COMMAND in [code.value for code in at.code]
    assert said[0] != said[1]
    at.button(key="install").click().run()
    assert recorder.asked == ["start"]


def test_a_click_is_judged_when_it_arrives(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    at = opened(monkeypatch, local=True)
    monkeypatch.setattr(installing, "possible", lambda: False)
    at.button(key="install").click().run()
    assert recorder.asked == []
    assert "install" not in keys(at)


def test_progress_shows_bytes_and_can_be_stopped(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    at = opened(monkeypatch, local=True)
    recorder.at = Installation("fetch", 25_000_000, 100_000_000, 7.9)
    at.run()
    (bar,) = at.get("progress")
    assert (bar.value, "25.0 of 100.0 MB, 7 s" in bar.proto.text) == (25, True)
    at.button(key="install-stop").click().run()
    assert recorder.asked == ["stop"]
    for stage in ("start", "fetch", "unpack"):
        recorder.at = Installation(stage, 0, 0, 0.0)
        assert not at.run().exception


WHYS = ["network", "absent", "hash", "space", "read_only", "managed", "no_pip", "timeout", "stopped", "unseen", "other"]


def test_every_reason_has_words_of_its_own_in_both_languages(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = []
    for lang in ("en", "zh"):
        at = opened(monkeypatch, local=True, lang=lang)
        for why in WHYS:
            recorder.fail(why)
            at.run()
            said.append(at.error[0].value)
            assert "pip said <b>this</b>" in [code.value for code in at.code]
            assert "install" in keys(at)
    assert len(set(said)) == 2 * len(WHYS)
    assert errors.explain(InstallFailed("network", [])) in said[0]
