"""The map in a real browser: boxes that lead to their pages, sizes that live in the address, letters that stay."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from core import notation
from tests.browser.on_page import fits, serious, sideways, visit


def box(page: Page, slug: str) -> str:
    """What the box of a stage says is made there."""
    return page.locator(f"[class*='st-key-box-'][class*='-{slug}'] .made").inner_text()


def set_size(page: Page, letter: str, text: str) -> None:
    """Type a size into its field."""
    page.locator(f".st-key-m{letter} input").fill(text)
    page.keyboard.press("Enter")


def test_a_box_leads_to_its_page_and_the_letters_go_along(open_page: Callable[..., Page], app_url: str) -> None:
    page = visit(open_page(), f"{app_url}/?lang=en&notation=d1")
    page.locator(".st-key-box-open-scores a:visible").click()
    grid = page.locator("[role=grid][data-name='blocks.0.scaled']")
    expect(grid).to_have_attribute("aria-label", re.compile("^S̃"))
    expect(page).to_have_url(re.compile(r"/scores\?.*notation=d1"))


def test_stages_to_come_are_no_links(open_page: Callable[..., Page], app_url: str) -> None:
    page = visit(open_page(), f"{app_url}/?lang=en")
    assert page.locator("[class*=st-key-box-coming-]").count()
    assert not page.locator("[class*=st-key-box-coming-] a").count()


def test_a_size_moves_every_box_it_concerns_and_stands_in_the_address(
    open_page: Callable[..., Page], app_url: str,
) -> None:
    page = visit(open_page(), f"{app_url}/?lang=en")
    set_size(page, "T", "6")
    expect(page.locator(".st-key-box-open-scores .made")).to_contain_text("2×2×6×6")
    assert "2×6×10000" in box(page, "logits")
    expect(page).to_have_url(re.compile("mT=6"))
    page.reload()
    expect(page.locator(".st-key-box-open-scores .made")).to_contain_text("2×2×6×6")


def test_sizes_that_cannot_work_say_why_and_the_map_stays(open_page: Callable[..., Page], app_url: str) -> None:
    page = visit(open_page(), f"{app_url}/?lang=zh")
    set_size(page, "H", "3")
    expect(page.locator("[data-testid=stAlert]")).to_contain_text("H = 3")
    assert "2×2×4×4" in box(page, "scores")


@pytest.mark.parametrize("code", notation.NOTATIONS)
def test_no_notation_scrolls_the_page_sideways(open_page: Callable[..., Page], app_url: str, code: str) -> None:
    page = visit(open_page(viewport={"width": 1280, "height": 800}), f"{app_url}/?lang=en&notation={code}")
    page.locator(".letters").wait_for()
    assert sideways(page) == [0, 0, 0]
    page.set_viewport_size({"width": 390, "height": 800})
    fits(page)


@pytest.mark.parametrize(("scheme", "lang"), [("light", "en"), ("dark", "zh")])
def test_axe_finds_nothing_serious(open_page: Callable[..., Page], app_url: str, scheme: str, lang: str) -> None:
    page = visit(open_page(color_scheme=scheme), f"{app_url}/?lang={lang}")
    page.locator(".letters").wait_for()
    assert serious(page) == []
