"""The presenter's view: larger type, and title, formula, equation and dock on the screen together."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.on_page import settled, sideways, switch

PAGES = ["projections", "scores", "mask", "mixing"]
# Where things stand in pixels from the top: the title, the formula, the first equation and its dock, the screen's end.
FIRST_VIEW = """() => {
    const top = (node) => Math.round(node.getBoundingClientRect().top);
    const bottom = (node) => Math.round(node.getBoundingClientRect().bottom);
    const root = [...document.querySelectorAll("*")].find((n) => n.shadowRoot?.querySelector(".equation")).shadowRoot;
    const [eq, dock] = [".eq", ".dock"].map((path) => root.querySelector(path));
    const title = document.querySelector("h2"), formula = document.querySelector(".st-key-formula");
    return [0, top(title), bottom(title), top(formula), bottom(formula), top(eq), bottom(eq), top(dock), bottom(dock),
        innerHeight];
}"""


def visit(page: Page, address: str) -> Page:
    page.goto(address)
    page.locator("[role=gridcell]").first.wait_for()
    settled(page)
    return page


def type_size(page: Page) -> float:
    return float(page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)"))


@pytest.mark.parametrize(("width", "height"), [(1920, 1080), (1920, 800), (1280, 720)])
@pytest.mark.parametrize("slug", PAGES)
def test_the_first_view_holds_title_formula_equation_and_dock_in_full(
    open_page: Callable[..., Page], url: str, slug: str, width: int, height: int,
) -> None:
    page = open_page(viewport={"width": width, "height": height})
    for parts in ("lang=en", "lang=zh&example=block"):
        visit(page, f"{url}/{slug}?presenter=true&{parts}")
        places = page.evaluate(FIRST_VIEW)
        assert places == sorted(places), parts
        assert sideways(page) == [0, 0, 0]


def test_the_switch_enlarges_the_type_hides_the_sidebar_and_takes_both_back(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en")
    plain = type_size(page)
    switch(page, "presenter")
    expect(page.locator("[data-testid=stSidebar]")).to_be_hidden()
    assert type_size(page) > 1.15 * plain
    switch(page, "presenter")
    expect(page.locator("[data-testid=stSidebar]")).to_be_visible()
    assert type_size(page) == plain


def test_a_phone_in_the_presenter_s_view_does_not_scroll_sideways(open_page: Callable[..., Page], url: str) -> None:
    page = visit(open_page(viewport={"width": 390, "height": 844}), f"{url}/scores?lang=en&presenter=true")
    assert sideways(page) == [0, 0, 0]
