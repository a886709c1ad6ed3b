"""The page on costs in a real browser: controls move its numbers, a question hides its line, nothing overflows."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from core.config import PRESETS
from core.machine import ledger
from core.machine.datasheet import DEVICES
from core.machine.ledger import Workload
from tests.browser.on_page import choose, fill, fits, settled, sideways, unfold
from ui.shell.numbers import quantity

LLAMA = Workload(PRESETS["llama-2-7b"], 1, 2048)
SECTIONS = ("crossover", "sharing", "fused", "savings", "machine", "wrong", "code", "share", "predict")
# Where the marker of the present batch stands on the roofline, in pixels from the left.
DIAMOND = """() => {
    const marks = document.querySelectorAll(".st-key-roofline .scatterlayer .trace:nth-child(3) .point");
    return marks.length === 1 ? marks[0].getBoundingClientRect().x : null;
}"""


def visit(page: Page, address: str) -> Page:
    page.goto(address)
    page.locator(".ledger").first.wait_for()
    settled(page)
    return page


def total(page: Page) -> Locator:
    return page.locator(".ledger .total td")


def assert_shows(page: Page, load: Workload) -> None:
    units = ("", "FLOP", "B", "FLOP", "B")
    amounts = ledger.ledger(load)[-1][1:]
    expect(total(page)).to_have_text([quantity(value, unit) for value, unit in zip(amounts, units, strict=True)])


def slide_batch(page: Page, steps: int) -> None:
    """Move the slider of B by that many notches."""
    thumb = page.locator(".st-key-cB [role=slider], .st-key-cB input").first
    for _ in range(steps):
        thumb.press("ArrowRight")


def test_controls_move_the_numbers_and_stand_in_the_address(page: Page, url: str) -> None:
    visit(page, f"{url}/cost?lang=en")
    assert_shows(page, LLAMA)
    fill(page, "cT", "500")
    assert_shows(page, LLAMA._replace(tokens=500))
    choose(page, "shared", 3)
    load = LLAMA._replace(tokens=500, config=PRESETS["llama-2-7b"].with_(kv_heads=1))
    assert_shows(page, load)
    slide_batch(page, 3)
    assert_shows(page, load._replace(batch=8))
    page.wait_for_url(re.compile("(?=.*cT=500)(?=.*shared=mqa)(?=.*cB=8)"))
    page.reload()
    page.locator(".ledger").first.wait_for()
    assert_shows(page, load._replace(batch=8))


def test_more_texts_move_the_decode_step_along_the_roof(page: Page, url: str) -> None:
    visit(page, f"{url}/cost?lang=en")
    page.wait_for_function(DIAMOND)
    places = [page.evaluate(DIAMOND)]
    for batch in (2, 4, 8):
        slide_batch(page, 1)
        found = ledger.estimate(LLAMA._replace(batch=batch), "decode", DEVICES["a100"])
        expect(page.locator(".ledger").nth(1).locator("tbody tr").nth(1)).to_contain_text(quantity(found.seconds, "s"))
        page.wait_for_function(f"(before) => ({DIAMOND})() > before", arg=places[-1])
        places.append(page.evaluate(DIAMOND))
    assert places == sorted(places)


def test_the_formula_follows_the_part(page: Page, url: str) -> None:
    visit(page, f"{url}/cost?lang=en")
    for number, part in enumerate(("pairs", "projections", "ffn", "head")):
        choose(page, "part", number)
        line = next(line for line in ledger.ledger(LLAMA) if line.part == part)
        formula = page.locator(".st-key-formula annotation").nth(1)
        expect(formula).to_contain_text(quantity(line.prefill_flops, "FLOP"))
        expect(page.locator(".ledger tr.lit td").nth(1)).to_contain_text(quantity(line.prefill_flops, "FLOP"))


def test_a_question_hides_its_line_until_it_is_answered(page: Page, url: str) -> None:
    visit(page, f"{url}/cost?lang=en")
    growth = page.locator(".ledger").nth(2)
    section = unfold(page, "predict")
    section.get_by_role("button", name="Ask me one").click()
    expect(growth.locator("tr.lit td")).to_have_text(["134 M", "?", "?"])
    for answer, said in (("2", "if every token added the same amount"), ("4", "Right.")):
        settled(page)
        section.get_by_role("textbox").fill(answer)
        section.get_by_role("button", name="Check").click()
        expect(section).to_contain_text(said)
    expect(growth.locator("tbody tr").first.locator("td")).to_have_text(["134 M", "537 M", "×4"])


def test_the_machine_is_measured_once_for_everyone(open_page: Callable[..., Page], url: str) -> None:
    page = visit(open_page(), f"{url}/cost?lang=en")
    section = unfold(page, "machine")
    section.get_by_role("button", name="Measure this machine").click()
    expect(section.locator("[role=progressbar], [data-testid=stProgress]").first).to_be_visible()
    expect(section.locator(".ledger tbody tr")).to_have_count(6)
    for factor in section.locator(".ledger tbody td:last-child").all_inner_texts():
        assert float(factor.removeprefix("×")) > 0  # a busy machine may have been slower for the bound than for this
    other = visit(open_page(), f"{url}/cost?lang=zh&device=here")
    expect(other.locator(".st-key-device").get_by_role("combobox")).to_have_value("这台机器（实测）")
    expect(unfold(other, "machine").locator(".ledger tbody tr")).to_have_count(6)


@pytest.mark.parametrize("notation", ["d0", "hf"])
def test_nothing_scrolls_the_page_sideways(page: Page, url: str, notation: str) -> None:
    visit(page, f"{url}/cost?lang=en&notation={notation}")
    for key in SECTIONS:
        unfold(page, key)
        settled(page)
    assert sideways(page) == [0, 0, 0]
    page.set_viewport_size({"width": 390, "height": 844})
    fits(page)
