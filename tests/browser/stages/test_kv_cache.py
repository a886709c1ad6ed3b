"""The KV cache in a real browser: it fills row by row, and measuring can be stopped."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from core import cost, worked
from tests.browser.on_page import (
    cell,
    switch,
    unfold,
)
from tests.browser.stages.test_generation import press, steps_of, traced, visit
from ui.shell.numbers import format_number


def test_the_cache_fills_row_by_row(page: Page, url: str) -> None:
    steps = steps_of(worked.block())
    visit(page, f"{url}/kv_cache?lang=en&decimals=2")
    for step in steps[1:]:
        rows = step.length_after
        for letter in "kv":
            matrix = traced(step)[f"blocks.0.{letter}_all"][0, 0]
            wanted = [format_number(float(value), 2) for value in matrix.flatten()] + [""] * (2 * (8 - rows))
            expect(page.locator(f"[data-name='blocks.0.{letter}_all'] [role=gridcell]")).to_have_text(wanted)
            expect(page.locator(f"[data-name='blocks.0.{letter}_all'] .cell.fresh")).to_have_count(2)
        expect(page.locator(".st-key-formula annotation").last).to_contain_text(
            f"= {cost.kv_cache_bytes(traced(step).config, 1, rows, 4)}")
        if rows < 8:
            empty = cell(page, "blocks.0.k_all", 7, 0)
            assert "not written yet" in (empty.get_attribute("aria-label") or "")
            press(page, "step")


def test_measuring_draws_both_curves_and_stops(page: Page, url: str) -> None:
    visit(page, f"{url}/kv_cache?lang=en")
    section = unfold(page, "times")
    section.locator(".st-key-measure-go button").click()
    expect(section.locator(".js-plotly-plot").first).to_be_visible()
    section.locator(".st-key-measure-stop button").click()
    expect(section.get_by_text("Measure on this machine")).to_be_visible()


def test_without_the_cache_there_is_nothing_to_fill(page: Page, url: str) -> None:
    visit(page, f"{url}/generation?lang=en")
    page.locator(".st-key-controls").get_by_text("Settings").click()
    switch(page, "cache")
    page.wait_for_url("**cache=false**")
    page.keyboard.press("Escape")
    expect(page.locator("[data-name='blocks.0.q'] [role=row]")).to_have_count(5)
