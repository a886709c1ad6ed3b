"""The mask page in Chromium: three frames, four places, the softmax opened, a mask that holds on other pages."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from core import masks, ops, worked
from core.stage import At
from core.stages import mask
from tests.browser.on_page import choose, digits, settled, unfold, visit, wait_for_slice
from ui.shell.numbers import format_number


def numbers(page: Page, name: str) -> list[str]:
    """What the cells of a grid say, in order, once they are drawn."""
    page.locator(f"[data-name='{name}'] [role=gridcell]").first.wait_for()
    return page.locator(f"[data-name='{name}'] [role=gridcell]").all_inner_texts()


def printed(values: object) -> list[str]:
    """The same from a tensor of the core."""
    return [format_number(float(value), 3) for value in values.flatten()]  # type: ignore[attr-defined]


def test_the_document_s_causal_mask(page: Page, url: str) -> None:
    visit(page, f"{url}/mask?lang=en&example=single_head&mask=causal")
    trace = worked.single_head("causal")
    for name in ("blocks.0.scaled", "blocks.0.masked", "blocks.0.weights"):
        wait_for_slice(page, trace, name)
    assert numbers(page, "mask") == ["0", "−∞", "−∞", "0", "0", "−∞", "0", "0", "0"]
    assert numbers(page, "blocks.0.weights") == ["1", "0", "0", "0.330", "0.670", "0", "0.140", "0.284", "0.576"]
    assert page.locator(".cell.ninf").count() == 6
    expect(page.locator(".frame:has([data-name='blocks.0.weights']) .sums")).to_contain_text("1")


def test_the_four_places_of_the_mask_show_their_own_row_sums(page: Page, url: str) -> None:
    trace = worked.block()
    visit(page, f"{url}/mask?lang=en&example=block&head=2")
    for place, kind, name in ((0, "none", "weights"), (2, "after", "left"), (3, "renormalised", "weights")):
        choose(page, "where", place)
        result = mask.masking(At(trace), kind)
        expect(page.locator(f"[data-name='{name}'] [role=gridcell]")).to_have_text(printed(result.weights[0, 1]))
        sums = page.locator(f".frame:has([data-name='{name}']) .sums span")
        settled(page)
        for shown, value in zip(sums.all_inner_texts(), result.sums[0, 1], strict=True):
            assert float(shown) == pytest.approx(float(value), abs=6e-4)


def test_every_step_of_the_opened_softmax_is_on_the_page(page: Page, url: str) -> None:
    visit(page, f"{url}/mask?lang=en&example=d3_lab")
    unfold(page, "softmax")
    steps = ops.softmax_steps(worked.d3_lab()["blocks.0.masked"])
    for name, values in (("top", steps.top), ("shifted", steps.shifted), ("powers", steps.exponentials),
                         ("sums", steps.total), ("weights", steps.weights)):
        expect(page.locator(f"[data-name='{name}'] [role=gridcell]")).to_have_text(printed(values))
    page.locator("[data-name='powers'] [role=gridcell]").nth(3).hover()
    dock = page.locator("[role=status]").nth(1)
    expect(dock).to_contain_text("e^(−0.800) = 0.449")
    page.locator("[data-name='sums'] [role=gridcell]").nth(1).hover()
    expect(dock).to_contain_text("0.449 + 1 + 0 = 1.449")


def test_a_mask_chosen_here_holds_on_the_next_page_and_in_the_address(page: Page, url: str) -> None:
    visit(page, f"{url}/mask?lang=en&example=block&mask=window&hidden=2")
    trace = worked.block().with_mask(masks.build("window", 4, 2))
    wait_for_slice(page, trace, "blocks.0.weights")
    settled(page)
    page.reload()
    wait_for_slice(page, trace, "blocks.0.weights")
    assert "mask=window" in page.url


def test_nothing_left_to_read_is_said_and_gives_zeros(page: Page, url: str) -> None:
    visit(page, f"{url}/mask?lang=en&mask=padding&hidden=3")
    expect(page.locator("[data-name='blocks.0.weights']").first.locator("[role=gridcell]")).to_have_text(["0"] * 9)
    expect(page.locator("[data-testid=stMain]")).to_contain_text("NaN")


def test_an_example_that_does_not_reach_a_stage_is_kept_and_explained(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en&v=3&example=d3_lab")
    wait_for_slice(page, worked.block(), "blocks.0.scores")
    expect(page.locator("[data-testid=stAlert]")).to_be_visible()
    assert "example=d3_lab" in page.url


def test_a_question_hides_the_row_of_the_mask(page: Page, url: str) -> None:
    visit(page, f"{url}/mask?lang=en&example=block")
    wait_for_slice(page, worked.block(), "blocks.0.weights")
    settled(page)
    before = digits(page)
    section = unfold(page, "predict")
    section.locator(".st-key-mask-question-ask button").click()
    expect(page.locator(".cell.secret")).to_have_count(12)
    section.locator("input").fill("4")
    section.locator("[data-testid=stFormSubmitButton] button").first.click()
    expect(page.locator(".cell.secret")).to_have_count(0)
    settled(page)
    assert digits(page) == before
