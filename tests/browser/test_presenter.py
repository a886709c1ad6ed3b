"""The presenter's view: larger type, and title, formula, equation and dock on the screen together."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.on_page import fits, settled, settles, sideways, switch

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


@pytest.mark.parametrize("parts", ["lang=en", "lang=zh&example=block"])
@pytest.mark.parametrize("slug", PAGES)
def test_the_first_view_holds_title_formula_equation_and_dock_in_full(
    page: Page, url: str, slug: str, parts: str,
) -> None:
    visit(page, f"{url}/{slug}?presenter=true&{parts}")
    for width, height in ((1920, 1080), (1920, 800), (1280, 720)):
        page.set_viewport_size({"width": width, "height": height})
        fits(page)
        settles(page, lambda: (places := page.evaluate(FIRST_VIEW)) == sorted(places) or places, wanted=True)


def test_the_switch_enlarges_the_type_hides_the_sidebar_and_takes_both_back(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en")
    plain = type_size(page)
    switch(page, "presenter")
    expect(page.locator("[data-testid=stSidebar]")).to_be_hidden()
    settles(page, lambda: type_size(page) > 1.15 * plain, wanted=True)
    switch(page, "presenter")
    expect(page.locator("[data-testid=stSidebar]")).to_be_visible()
    settles(page, lambda: type_size(page), plain)


def test_a_phone_in_the_presenter_s_view_does_not_scroll_sideways(open_page: Callable[..., Page], url: str) -> None:
    page = visit(open_page(viewport={"width": 390, "height": 844}), f"{url}/scores?lang=en&presenter=true")
    assert sideways(page) == [0, 0, 0]
