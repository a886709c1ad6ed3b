"""What holds for every page of a stage, with all its sections open: axe finds nothing serious, a phone fits it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.on_page import serious, settled, sideways

ROOT = Path(__file__).parents[2]
PAGES = ["projections", "mask", "mixing"]  # scores has such tests of its own


@pytest.fixture(scope="session")
def url(serve: Callable[[Path], str]) -> str:
    """The address of the app as `make run` starts it."""
    return serve(ROOT / "serve.py")


def opened(page: Page, address: str) -> Page:
    """The page with every section unfolded."""
    page.goto(address)
    page.locator("[role=gridcell]").first.wait_for()
    settled(page)
    sections = page.locator("[class*=st-key-open-]")
    for number in range(sections.count()):
        sections.nth(number).locator("summary").first.click()
        expect(sections.nth(number).locator("[data-testid=stExpanderDetails] > *").first).to_be_visible()
    settled(page)
    return page


@pytest.mark.parametrize(("scheme", "lang"), [("light", "en"), ("dark", "zh")])
@pytest.mark.parametrize("slug", PAGES)
def test_axe_finds_nothing_serious(
    open_page: Callable[..., Page], url: str, slug: str, scheme: str, lang: str,
) -> None:
    page = opened(open_page(color_scheme=scheme), f"{url}/{slug}?lang={lang}&example=block")
    assert serious(page) == []


@pytest.mark.parametrize(("scheme", "parts"), [("light", "example=block"), ("dark", "source=toy&T=12&D=24&H=3&Hkv=3")])
@pytest.mark.parametrize("slug", PAGES)
def test_a_phone_never_scrolls_the_page_sideways(
    open_page: Callable[..., Page], url: str, slug: str, scheme: str, parts: str,
) -> None:
    phone = open_page(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page = opened(phone, f"{url}/{slug}?lang=en&{parts}")
    assert sideways(page) == [0, 0, 0]
    assert serious(page) == []
