"""One state for all pages, as a learner meets it: chips, undo by key, next at the foot, fifty openings of a link."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
from playwright.sync_api import Page, expect

from core import derive, live, worked
from core.generation import generate
from core.trace import Trace
from tests.browser.on_page import cell, edit, press_chip, settled, visit, wait_for_slice


def test_a_chip_shows_its_example_and_ctrl_z_takes_it_and_an_edit_back(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en")
    block, edited = worked.block(), worked.block().edited({"blocks.0.q": {(0, 0, 0, 0): 5.0}})
    wait_for_slice(page, block, "blocks.0.scaled")
    edit(page, "blocks.0.q", 0, 0, "5")
    wait_for_slice(page, edited, "blocks.0.scaled")
    settled(page)
    press_chip(page, "Matrices §6")
    wait_for_slice(page, worked.matrices(), "blocks.0.scaled")
    expect(page).to_have_url(re.compile("example=matrices"))
    settled(page)
    for key, trace in (("Control+z", edited), ("Control+z", block), ("Control+Shift+Z", edited),
                       ("Control+y", worked.matrices())):
        page.keyboard.press(key)
        wait_for_slice(page, trace, "blocks.0.scaled")
        settled(page)


def test_in_a_field_ctrl_z_is_the_field_s_own(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en")
    edit(page, "blocks.0.q", 0, 0, "5")
    edited = worked.block().edited({"blocks.0.q": {(0, 0, 0, 0): 5.0}})
    wait_for_slice(page, edited, "blocks.0.scaled")
    settled(page)
    cell(page, "blocks.0.q", 1, 0).dblclick()
    page.keyboard.type("7")
    page.keyboard.press("Control+z")
    page.keyboard.press("Escape")
    settled(page)
    wait_for_slice(page, edited, "blocks.0.scaled")


def test_next_at_the_foot_leads_on_with_what_was_chosen(page: Page, url: str) -> None:
    visit(page, f"{url}/mask?lang=en&v=3&mask=window&reach=2")
    page.locator(".st-key-page-foot a").click()
    expect(page).to_have_url(re.compile("/mixing.*mask=window"))
    settled(page)
    weights = page.locator("[data-name='blocks.0.weights']").first.locator("[role=gridcell]")
    expect(weights.nth(12)).to_have_text("0")  # row 4 reads its own and the key before it


OPENINGS = 50
SENTENCE, MADE, LAYER, HEAD = "My sun", 3, 5, 2
# Every cell that is drawn: trace name, rows and columns of the whole matrix, row and column from 0, full value.
CELLS = """() => [...document.querySelectorAll("*")].flatMap((host) => [...host.shadowRoot?.querySelectorAll(
    "[role=grid]") ?? []].flatMap((grid) => [...grid.querySelectorAll("[role=gridcell]")].map((cell) => [
        grid.dataset.name, +grid.ariaRowCount, +grid.ariaColCount, cell.parentNode.ariaRowIndex - 1,
        cell.ariaColIndex - 1, cell.ariaLabel.split(": ").pop()])))"""


def test_fifty_openings_of_a_link_show_the_step_that_it_names(open_page: Callable[..., Page], url: str) -> None:
    """Every cell of every equation, each time in a window that has loaded nothing yet."""
    smollm = live.load()
    ids = torch.tensor([smollm.encode(SENTENCE).ids])
    steps = generate(smollm.decoder, ids, max_tokens=MADE, trace=True, label=smollm.tokenizer.label)
    trace = list(steps)[-1].trace
    assert trace is not None
    link = f"{url}/generation?v=3&lang=en&source=live&text=My+sun&made={MADE}&at={MADE}&layer={LAYER}&head={HEAD}"
    for opening in range(OPENINGS):
        page = open_page()
        page.goto(link)
        expect(page.locator(f"[data-name='blocks.{LAYER - 1}.scores']").first).to_be_visible()
        expect(page.locator(".st-key-run-step button")).to_be_enabled()  # the run goes on by itself until it is there
        settled(page)
        cells = page.evaluate(CELLS)
        wrong = [cell for cell in cells if differs(trace, *cell)]
        assert len(cells) > 100, opening
        assert wrong == [], opening
        page.close()


def differs(trace: Trace, name: str, rows: int, cols: int, row: int, col: int, shown: str) -> bool:
    """Whether a cell shows another number than the core computes here, of a matrix that may stand transposed."""
    matrix = derive.slice_of(trace, name, 0, HEAD - 1)
    matrix = matrix if tuple(matrix.shape) == (rows, cols) else matrix.mT
    return float(shown.replace("\u2212", "-")) != pytest.approx(float(matrix[row, col]), abs=1e-4)
