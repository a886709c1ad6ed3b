"""The equation component in Chromium: what is in view at any size, windows, contrast, speed."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.on_equation import cell, load, main_line


def test_a_sign_that_is_a_phrase_breaks_before_its_operator_and_stands_at_the_middle(
    open_page: Callable[..., Page], bench_url: str
) -> None:
    page = open_page()
    for width in (1280, 900, 390):
        page.set_viewport_size({"width": width, "height": 800})
        load(page, bench_url, "phrases")
        signs = [n.locator("span").all_text_contents() for n in page.locator(".sign").all()]
        assert signs == [[], ["÷ 1 ="], ["but", "÷ √2 ="], ["wrong", "− right ="]]
        assert page.locator(".sign").last.text_content() == "wrong − right ="
        middle = "n => { const r = n.getBoundingClientRect(); return (r.top + r.bottom) / 2; }"
        for term in page.locator(".term:has(.sign span)").all() if width > 390 else []:
            assert abs(term.locator(".sign").evaluate(middle) - term.locator(".grid").evaluate(middle)) < 6


def bounds(found: Locator) -> dict[str, float]:
    """Where an element stands on screen."""
    box: dict[str, float] = found.evaluate("n => n.getBoundingClientRect().toJSON()")
    return box


def test_a_big_equation_leaves_the_first_view_room_for_title_and_dock(page: Page, bench_url: str) -> None:
    load(page, bench_url, "12x64", "&sidebar=1")
    lines = page.locator(".term").evaluate_all("all => new Set(all.map(n => n.offsetTop)).size")
    assert lines == 2
    title_to_formula = 250
    assert bounds(page.locator(".eq"))["height"] + bounds(page.locator(".dock"))["height"] < 800 - title_to_formula
    rows = page.locator("[data-name='blocks.0.scaled'] [role=row]")
    few = rows.count()
    assert few >= 5
    assert page.locator("[data-name='blocks.0.q'] [role=row]").first.locator("[role=gridcell]").count() > 4
    page.set_viewport_size({"width": 1280, "height": 1100})  # a taller window shows more
    expect(rows.nth(few)).to_be_visible()


def test_operands_stack_on_a_phone_only(open_page: Callable[..., Page], bench_url: str) -> None:
    tops = "all => new Set(all.map(n => n.offsetTop)).size"
    page = load(open_page(viewport={"width": 1024, "height": 768}), bench_url, "d0", "&sidebar=1")
    assert page.locator(".equation").evaluate("n => n.clientWidth") < 660
    assert page.locator(".term").evaluate_all(tops) <= 2
    page.set_viewport_size({"width": 390, "height": 800})
    load(page, bench_url, "d0")
    assert page.locator(".term").evaluate_all(tops) == 4


def test_the_dock_shows_long_arithmetic_whole_and_breaks_no_term(
    open_page: Callable[..., Page], bench_url: str
) -> None:
    page = load(open_page(viewport={"width": 390, "height": 800}), bench_url, "20x64")
    cell(page, "S", 1, 1).hover()
    number = r"\(?−?[\d.]+\)?"
    product = rf"{number}×{number}"
    total = rf"{product} \+ {product} \+ … \+ {product} \(64 terms\) = (\S+);"
    assert re.fullmatch(rf"S\[1,1\]: .*: {total}  \1 ÷ 8 = \S+", main_line(page))
    dock = page.locator(".dock-text")
    assert dock.evaluate("n => n.scrollHeight - n.clientHeight") <= 1
    line = page.locator(".dock .main").evaluate("n => parseFloat(getComputedStyle(n).lineHeight)")
    assert max(page.locator(".tied").evaluate_all("all => all.map(n => n.offsetHeight)")) < 1.5 * line
    cell(page, "S", 1, 1).click()
    page.set_viewport_size({"width": 390, "height": 260})  # what is taller than 40 % of the screen scrolls, by key too
    expect(dock).to_have_attribute("tabindex", "0")
    assert bounds(dock)["height"] <= 0.4 * 260 + 1


@pytest.mark.parametrize(("case", "rows", "depth"), [("20x64", 20, 64), ("32x64", 32, 64)])
def test_large_matrices_show_a_window_that_pans_with_its_partner(
    page: Page, bench_url: str, case: str, rows: int, depth: int
) -> None:
    load(page, bench_url, case)
    grid = page.locator("[data-name='blocks.0.q']")
    assert (grid.get_attribute("aria-rowcount"), grid.get_attribute("aria-colcount")) == (str(rows), str(depth))
    assert page.locator("[role=gridcell]").count() <= 4 * 32 * 32
    shown = grid.locator("[role=row]").first.locator("[role=gridcell]").count()
    assert 3 <= shown <= 32
    assert f"1–{shown} of {depth}" in page.locator(".frame:has([data-name='blocks.0.q']) .below").inner_text()
    page.get_by_role("button", name="Later part of Dh in Q").click()
    expect(cell(page, "Kᵀ", shown + 1, 1)).to_be_visible()  # the rows of Kᵀ went along
    last = cell(page, "Q", 1, 2 * shown)
    last.focus()
    page.keyboard.press("ArrowRight")
    expect(cell(page, "Q", 1, 2 * shown + 1)).to_be_focused()
    cell(page, "QKᵀ", 1, 1).hover()
    assert re.fullmatch(r"QKᵀ\[1,1\] = (\S+ \+ ){3}… \+ \S+ \+ \S+ \(64 terms\) = \S+", main_line(page))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_phone_never_scrolls_sideways(open_page: Callable[..., Page], bench_url: str) -> None:
    page = open_page(viewport={"width": 390, "height": 800})
    for case in ("d0", "weights", "20x64", "64x64", "labels"):
        load(page, bench_url, case)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        box = page.locator(".equation")
        assert box.evaluate("n => n.scrollWidth - n.clientWidth") <= 0
        right = box.evaluate("n => n.getBoundingClientRect().right")
        assert max(page.locator(".grid").evaluate_all("all => all.map(n => n.getBoundingClientRect().right)")) <= right


def test_where_no_digits_fit_the_colours_stay_and_the_numbers_are_in_the_labels_and_the_dock(
    open_page: Callable[..., Page], bench_url: str
) -> None:
    page = load(open_page(viewport={"width": 200, "height": 800}), bench_url, "64x64")
    assert set(page.locator("[role=gridcell]").all_text_contents()) == {""}
    first = cell(page, "Q", 1, 1)
    assert re.search(r": 0\.\d{5,}$", first.get_attribute("aria-label") or "")
    first.hover()
    assert main_line(page) == "Q[1,1] = 0.126"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_digits_keep_their_contrast_and_axe_finds_nothing_serious(
    open_page: Callable[..., Page], bench_url: str, scheme: str
) -> None:
    page = load(open_page(color_scheme=scheme), bench_url, "pin")
    assert page.locator(".equation").evaluate("n => n.classList.contains('dark')") == (scheme == "dark")
    found = (
        Axe()
        .run(page, context=".stBidiComponent, [data-testid=stBidiComponent]", options={"resultTypes": ["violations"]})
        .response
    )
    assert [v["id"] for v in found["violations"] if v["impact"] in ("serious", "critical")] == []
