"""The page on order: the order chosen by hand, both sides in digits, and what breaks their being equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from core import live, worked
from core.stage import At
from core.stages import order
from core.stages.order import reorder
from core.stages.order.reorder import Reordered
from tests.browser.on_page import SWEEP, choose, overhang, settled, unfold
from ui.shell.numbers import format_number


def visit(page: Page, address: str) -> Page:
    page.goto(address)
    page.locator(".chip").first.wait_for()
    page.locator("[role=gridcell]").first.wait_for()
    return page


def printed(values: Any) -> list[str]:
    return [format_number(float(value), 3) for value in values.flatten()]


def expect_sides(page: Page, found: Reordered) -> None:
    """Every matrix of the equation shows what the core says."""
    for name, values in (("permutation", found.matrix), ("contents", found.contents), ("reordered", found.reordered),
                         ("expected", found.expected), ("found", found.found)):
        cells = page.locator(f"[data-name='{name}']").first.locator("[role=gridcell]")
        expect(cells).to_have_text(printed(values))


def chips(page: Page) -> str:
    return "".join(page.locator(".chip bdi").all_inner_texts())


@pytest.mark.parametrize(("chosen", "mask", "positions"), [
    ((1, 0, 2), "none", "none"), ((1, 0, 2), "causal", "none"), ((2, 1, 0), "none", "rope")])
def test_both_sides_and_the_verdict(page: Page, url: str, chosen: Sequence[int], mask: str, positions: str) -> None:
    parts = f"&order={'.'.join(map(str, chosen))}&sight={mask}&places={positions}"
    visit(page, f"{url}/order?lang=en{parts}")
    found = reorder.reorder(worked.word_order(), 0, chosen, mask=mask, positions=positions)
    expect_sides(page, found)
    assert chips(page) == "".join(worked.WORD_ORDER[place] for place in chosen)
    verdict = page.locator(".st-key-formula annotation").last
    if found.equivariant:
        expect(verdict).to_contain_text("(PX) = P")
    else:
        expect(verdict).to_contain_text(r"\neq")
        expect(verdict).to_contain_text(format_number(found.difference, 3))
    seen = [sight for sight in reorder.sights(chosen, mask) if sight.lost or sight.gained]
    expect(page.locator("[data-testid=stMarkdownContainer] tbody tr")).to_have_count(len(seen))


def test_the_page_opens_with_the_documents_order(page: Page, url: str) -> None:
    visit(page, f"{url}/order?lang=en")
    assert chips(page) == "狗猫追"
    expect_sides(page, reorder.reorder(worked.word_order(), 0, [2, 0, 1]))
    expect(page.locator("[data-testid=stMain]")).to_contain_text("That is equivariance")
    page.locator("[data-name='expected'] [role=gridcell]").first.hover()
    said: list[dict[str, Any]] = page.evaluate(SWEEP, 0)
    first = next(found for found in said if found["at"] == ["expected", 0, 0])
    assert {tuple(at) for at in first["lit"]} == {("permutation", 0, k) for k in range(3)} | {
        ("attention", k, 0) for k in range(3)}


def test_keys_buttons_and_dragging_change_the_order(page: Page, url: str) -> None:
    visit(page, f"{url}/order?lang=en&order=0.1.2")
    trace = worked.word_order()
    settled(page)
    page.locator(".chip").first.focus()
    page.keyboard.press("ArrowRight")
    expect_sides(page, reorder.reorder(trace, 0, [1, 0, 2]))
    expect(page.locator(".said")).to_have_text("猫 is at place 2 of 3")
    expect(page.locator(".chip", has_text="猫")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")  # at the end it stays
    expect_sides(page, reorder.reorder(trace, 0, [1, 2, 0]))
    page.keyboard.press("ArrowUp")
    expect(page.locator(".chip", has_text="狗")).to_be_focused()
    page.get_by_role("button", name="Move 狗 one place earlier").click()
    expect_sides(page, reorder.reorder(trace, 0, [2, 1, 0]))
    page.get_by_role("button", name="As it was").click()
    expect_sides(page, reorder.reorder(trace, 0, [0, 1, 2]))
    settled(page)
    start, end = (page.locator(".chip").nth(place).bounding_box() for place in (0, 2))
    assert start is not None
    assert end is not None
    middle = start["y"] + start["height"] / 2
    page.mouse.move(start["x"] + start["width"] / 2, middle)
    page.mouse.down()
    page.mouse.move(end["x"] + end["width"] - 3, middle, steps=12)
    page.mouse.up()
    expect_sides(page, reorder.reorder(trace, 0, [1, 2, 0]))
    page.wait_for_url("**order=1.2.0**")
    page.get_by_role("button", name="Reverse").click()
    expect_sides(page, reorder.reorder(trace, 0, [0, 2, 1]))


def test_a_question_hides_both_sides_and_names_the_slip(page: Page, url: str) -> None:
    visit(page, f"{url}/order?lang=en")
    section = unfold(page, "predict")
    section.locator(".st-key-order-question-ask button").click()
    expect(page.locator(".cell.secret")).to_have_count(4 * 12)
    asked = order.ask(At(worked.word_order()), 0)
    section.locator("input").fill("3")  # 狗, that came to where 猫 was
    section.locator("[data-testid=stFormSubmitButton] button").first.click()
    expect(section.locator("[data-testid=stAlert]")).to_contain_text("the other way round")
    section.locator("input").fill(str(int(asked.answer)))
    section.locator("[data-testid=stFormSubmitButton] button").first.click()
    expect(page.locator(".cell.secret")).to_have_count(0)


def test_each_mistake_shows_its_own_difference(page: Page, url: str) -> None:
    visit(page, f"{url}/order?lang=en")
    unfold(page, "wrong")
    for number, kind in enumerate(order.MISTAKES):
        choose(page, "misorder", number)
        result = order.MISTAKES[kind](At(worked.word_order()))
        expect(page.locator("[data-name='wrong'] [role=gridcell]")).to_have_text(printed(result.wrong))
        expect(page.get_by_text(f"Largest difference: {format_number(result.largest(0, 0), 3)}")).to_be_visible()


def test_a_layer_of_the_live_model_is_equivariant_too(page: Page, url: str) -> None:
    visit(page, f"{url}/order?lang=en&source=live&text=A+small+red+fox.&layer=3&order=1.0.2.3.4")
    expect(page.locator("[data-name='found']")).to_have_attribute("aria-colcount", "576")
    trace = live.load().trace("A small red fox.")
    found = reorder.reorder(trace, 2, [1, 0, 2, 3, 4])
    assert found.equivariant
    seen = page.locator("[data-name='found'] [role=gridcell]").first.get_attribute("aria-label") or ""
    assert float(seen.rsplit(": ", 1)[1].replace("−", "-")) == pytest.approx(float(found.found[0, 0, 0]), abs=1e-4)
    expect(page.locator(".st-key-formula annotation").last).to_contain_text("(PX) = P")


def test_of_a_wide_x_p_is_a_list_and_all_of_it_is_in_the_first_view(page: Page, url: str) -> None:
    visit(page, f"{url}/order?lang=en&source=live&text=The+cat+sat+on+the+mat+because+it+was+tired.&layer=2")
    expect(page.locator("[data-name='found']")).to_have_attribute("aria-colcount", "576")
    settled(page)
    trace = live.load().trace("The cat sat on the mat because it was tired.")
    chosen = reorder.opening(len(trace.tokens))
    found = reorder.reorder(trace, 1, chosen)
    expect(page.locator("[data-name='permutation'] [role=gridcell]")).to_have_text([str(place + 1) for place in chosen])
    said: list[dict[str, Any]] = page.evaluate(SWEEP, 0)
    for row, place in enumerate(chosen):
        seen = next(cell for cell in said if cell["at"] == ["expected", row, 1])
        value = format_number(float(found.expected[0, row, 1]), 3)
        assert seen["main"] == f"P·Attn(X)[{row + 1},2] = Attn(X)[{place + 1},2] = {value}"
        assert {tuple(at) for at in seen["lit"]} == {("permutation", row, 0), ("attention", place, 1)}
        assert f"row {place + 1} of Attn(X) moves to row {row + 1}" in seen["notes"]
        back = next(cell for cell in said if cell["at"] == ["attention", place, 1])
        assert {tuple(at) for at in back["feeds"]} == {("expected", row, 1), ("difference", row, 1)}
    assert overhang(page) <= 0
