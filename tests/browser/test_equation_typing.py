"""What is typed stays, in order, whatever comes back meanwhile and however late, and the focus stays in the grid."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from core import worked
from tests.browser.late import Late
from tests.browser.on_equation import cell, load, said
from tests.browser.on_page import cell as place
from tests.browser.on_page import settled, unfold, visit, wait_for_slice

Q, X = "blocks.0.q", "blocks.0.in"
ARROWS = {"→": "ArrowRight", "←": "ArrowLeft", "↑": "ArrowUp", "↓": "ArrowDown"}
NUMBERS, MOVES = "2345678923", "→↓←↓→↑↑←↓↓"
TYPED = [[2, 9], [3, 8], [6, 7]]  # what stands in Q at the end
DELAYS = [0, 200, 800]


def type_ten(page: Page, late: Late) -> None:
    """Ten numbers with Enter and an arrow between them, from the first cell on, while answers come in."""
    for number, move in zip(NUMBERS, MOVES, strict=True):
        for key in (number, "Enter", ARROWS[move]):
            page.keyboard.press(key)
            late.pass_on()
        focused = page.evaluate("""() => { let node = document.activeElement;
            while (node?.shadowRoot) node = node.shadowRoot.activeElement; return node?.className ?? ""; }""")
        assert "cell" in focused.split()


@pytest.mark.parametrize("delay", DELAYS)
def test_ten_numbers_typed_fast_all_arrive_in_order(own_page: Page, bench_url: str, delay: int) -> None:
    page, late = own_page, Late(own_page)
    load(page, bench_url, "d0")
    cell(page, "Q", 1, 1).focus()
    late.delay = delay
    type_ten(page, late)
    shown = page.locator(f"[data-name='{Q}'] [role=gridcell]")
    numbers = [str(number) for row in TYPED for number in row]
    assert shown.all_text_contents() == numbers
    wanted = {Q: {f"{i},{j}": number for i, row in enumerate(TYPED) for j, number in enumerate(row)}}
    late.until(lambda: said(page)["edits"] == wanted)
    late.until(lambda: page.locator(".equation.waiting").count() == 0)
    assert shown.all_text_contents() == numbers
    expect(cell(page, "Q", 3, 1)).to_be_focused()
    page.keyboard.press("Delete")  # and one of them taken back
    del wanted[Q]["2,0"]
    late.until(lambda: said(page)["edits"] == wanted)
    late.until(lambda: shown.all_text_contents() == [*numbers[:4], "1", numbers[5]])


@pytest.mark.parametrize("delay", DELAYS)
def test_ten_numbers_typed_on_a_page_of_the_app_are_what_it_goes_on_with(own_page: Page, url: str, delay: int) -> None:
    """The address of the page comes back late as well, and the browser goes on sending the one that it has."""
    page, late = own_page, Late(own_page)
    visit(page, f"{url}/scores?lang=en&example=single_head")
    settled(page)
    trace = worked.single_head().edited({Q: {
        (0, 0, i, j): float(number) for i, row in enumerate(TYPED) for j, number in enumerate(row)}})
    place(page, Q, 0, 0).focus()
    late.delay = delay
    type_ten(page, late)
    shown = page.locator(f"[data-name='{Q}']").first.locator("[role=gridcell]")
    assert shown.all_text_contents() == [str(number) for row in TYPED for number in row]
    late.until(lambda: page.locator(".equation.waiting").count() == 0)
    late.until(lambda: "edits=" in page.url)
    late.end()
    settled(page)
    wait_for_slice(page, trace, Q)
    wait_for_slice(page, trace, "blocks.0.scores")
    page.reload()
    wait_for_slice(page, trace, "blocks.0.scores")


AT_ONCE = """(places) => {
    for (const [grid, row, column, number] of places) {
        const roots = [...document.querySelectorAll("*")].filter((n) => n.shadowRoot).map((n) => n.shadowRoot);
        const found = roots.flatMap((root) => [...root.querySelectorAll("[data-name='blocks.0.in']")])[grid];
        const cell = found.querySelector(`[aria-rowindex='${row}'] [aria-colindex='${column}']`);
        const press = (node, key) => node.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        cell.focus();
        press(cell, number);
        press(cell.querySelector("input"), "Enter");
    }
}"""


@pytest.mark.parametrize("delay", DELAYS)
def test_two_equations_edited_at_once_lose_nothing(own_page: Page, url: str, delay: int) -> None:
    page, late = own_page, Late(own_page)
    visit(page, f"{url}/scores?lang=en&example=single_head")
    unfold(page, "from")
    settled(page)
    late.until(lambda: page.locator(f"[data-name='{X}']").count() == 2)
    trace = worked.single_head().edited({X: {(0, 0, 0): 5.0, (0, 1, 1): 7.0, (0, 2, 0): 8.0, (0, 2, 1): 9.0}})
    late.delay = delay
    page.evaluate(AT_ONCE, [[0, 1, 1, "5"], [1, 2, 2, "7"], [0, 3, 1, "8"], [1, 3, 2, "9"]])
    late.until(lambda: page.locator(".equation.waiting").count() == 0)
    late.end()
    settled(page)
    for nth in range(2):
        wait_for_slice(page, trace, X, nth=nth)
    wait_for_slice(page, trace, "blocks.0.scores")
