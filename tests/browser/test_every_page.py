"""What holds for every page of a stage with all its sections open: axe finds nothing serious, nothing scrolls sideways;
and what a page is about is seen at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.on_page import serious, settled, sideways, unfold

ROOT = Path(__file__).parents[2]
SLUGS = sorted(path.stem for path in ROOT.glob("pages/*/*.py") if path.stem != "home")
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


def unfold_all(page: Page) -> None:
    """Open every section of the page."""
    names: list[str] = page.locator("[class*=st-key-open-]").evaluate_all(
        r"nodes => nodes.map(node => /st-key-open-(\S+)/.exec(node.className)[1])")
    assert names
    for name in names:
        unfold(page, name)


def visit(page: Page, address: str) -> Page:
    page.goto(address)
    expect(page.locator("[class*=st-key-open-]").last).to_be_visible()
    settled(page)
    return page


@pytest.mark.parametrize("slug", SLUGS)
def test_the_first_view_holds_formula_equation_and_dock_and_with_all_open_axe_finds_nothing_serious(
    open_page: Callable[..., Page], url: str, slug: str,
) -> None:
    page = visit(open_page(viewport=WIDE), f"{url}/{slug}?lang=en")
    for found in (page.locator(".st-key-formula"), page.locator(".dock .main")):
        if found.count():
            box = found.first.bounding_box()
            assert box is not None
            assert box["y"] + box["height"] < WIDE["height"]
    unfold_all(page)
    assert sideways(page) == [0, 0, 0]
    assert serious(page) == []


@pytest.mark.parametrize("slug", SLUGS)
def test_on_a_phone_in_the_dark_nothing_scrolls_sideways_and_axe_finds_nothing_serious(
    open_page: Callable[..., Page], url: str, slug: str,
) -> None:
    page = visit(open_page(color_scheme="dark", viewport=PHONE),
                 f"{url}/{slug}?lang=zh&source=toy&T=12&D=24&H=4&Hkv=2")
    unfold_all(page)
    assert sideways(page) == [0, 0, 0]
    assert serious(page) == []


@pytest.mark.parametrize("slug", SLUGS)
def test_the_live_model_s_wide_tensors_fit_a_phone(open_page: Callable[..., Page], url: str, slug: str) -> None:
    page = visit(open_page(viewport=PHONE), f"{url}/{slug}?lang=en&source=live&text=A+small+red+fox.")
    expect(page.locator(".shapes").first).to_contain_text("576")
    settled(page)
    assert sideways(page) == [0, 0, 0]
    assert serious(page) == []


@pytest.mark.parametrize("slug", ["embedding", "heads", "mask", "sharing"])
def test_every_entry_of_a_choice_is_in_view_on_a_phone(open_page: Callable[..., Page], url: str, slug: str) -> None:
    page = visit(open_page(viewport=PHONE), f"{url}/{slug}?lang=en")
    page.wait_for_function("""(width) => {
        const entries = [...document.querySelectorAll("[data-testid=stMain] [role=radio]")];
        return entries.length && entries.every((entry) => entry.getBoundingClientRect().right <= width);
    }""", arg=PHONE["width"])
