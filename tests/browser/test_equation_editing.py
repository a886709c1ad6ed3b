"""The equation component in Chromium: editing, keyboard, pinning, stepping."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.on_equation import SQRT2, cell, eventually, glowing, load, main_line, notes, said


def test_edit_commits_on_enter_reverts_on_escape_and_marks_the_cell(page: Page, bench_url: str) -> None:
    load(page, bench_url, "d0")
    cell(page, "Q", 1, 2).dblclick()
    page.keyboard.type("−2.5")
    page.keyboard.press("Enter")
    eventually(page, "edits", {"blocks.0.q": {"0,1": -2.5}})
    expect(cell(page, "QKᵀ", 1, 2)).to_have_text("−1.500")
    expect(cell(page, "Q", 1, 2)).to_have_class(re.compile("edited"))
    cell(page, "QKᵀ", 1, 2).hover()
    assert main_line(page) == "QKᵀ[1,2] = 1×1 + (−2.500)×1 = −1.500"
    cell(page, "Q", 2, 1).dblclick()
    page.keyboard.type("7")
    page.keyboard.press("Escape")
    expect(cell(page, "Q", 2, 1)).to_have_text("0")
    cell(page, "Kᵀ", 2, 3).dblclick()  # transposed: row 2, column 3 on screen is K[3, 2]
    page.keyboard.type("4")
    cell(page, "QKᵀ", 1, 1).click()  # leaving commits
    eventually(page, "edits", {"blocks.0.q": {"0,1": -2.5}, "blocks.0.k": {"2,1": 4}})
    cell(page, "Q", 1, 2).click()
    page.get_by_role("button", name="Take the edit back").click()
    eventually(page, "edits", {"blocks.0.k": {"2,1": 4}})
    expect(cell(page, "Q", 1, 2)).to_have_text("0")
    page.get_by_role("button", name="Reset").click()
    eventually(page, "edits", {})
    expect(cell(page, "Kᵀ", 2, 3)).to_have_text("1")


def test_what_is_not_a_finite_number_is_refused_with_a_message(page: Page, bench_url: str) -> None:
    load(page, bench_url, "d0")
    for typed in ("NaN", "inf", "1e400", "1e39", "two", "1,5", "0x10", "", "--1"):
        cell(page, "Q", 1, 1).dblclick()
        page.keyboard.press("Delete")
        page.keyboard.insert_text(typed)
        page.keyboard.press("Enter")
        message = f"“{typed}” cannot be used as a value; type an ordinary number. Q[1,1] stays 1."
        expect(page.get_by_role("alert").filter(has_text="ordinary")).to_have_text(message)
        expect(cell(page, "Q", 1, 1)).to_have_text("1")
    page.wait_for_timeout(120)
    assert said(page)["edits"] == {}


def test_a_rerun_neither_repaints_the_cell_being_edited_nor_moves_the_caret(page: Page, bench_url: str) -> None:
    load(page, bench_url, "d0")
    cell(page, "Q", 1, 1).focus()
    page.keyboard.type("5\n")
    cell(page, "Q", 2, 1).focus()
    page.keyboard.type("12.")
    eventually(page, "edits", {"blocks.0.q": {"0,0": 5}})
    page.keyboard.type("5")
    assert page.locator(".cell input").input_value() == "12.5"
    page.keyboard.press("Enter")
    eventually(page, "edits", {"blocks.0.q": {"0,0": 5, "1,0": 12.5}})


def test_everything_works_from_the_keyboard(page: Page, bench_url: str) -> None:
    load(page, bench_url, "d0")
    cell(page, "Q", 1, 1).focus()
    assert main_line(page) == "Q[1,1] = 1"
    page.keyboard.press("Tab")
    expect(cell(page, "Kᵀ", 1, 1)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    expect(cell(page, "QKᵀ", 2, 3)).to_be_focused()
    assert main_line(page) == "QKᵀ[2,3] = 0×2 + 1×1 = 1"
    page.keyboard.press("Enter")
    eventually(page, "pin", {"id": "raw", "name": "blocks.0.scores", "row": 1, "col": 2})
    page.keyboard.press("Escape")
    eventually(page, "pin", None)
    assert glowing(page, "lit") == set()
    cell(page, "Q", 3, 2).focus()
    page.keyboard.press("F2")
    page.keyboard.type("3\n")
    eventually(page, "edits", {"blocks.0.q": {"2,1": 3}})
    page.keyboard.press("Delete")
    expect(cell(page, "Q", 3, 2)).to_have_text("1")


def test_a_click_pins_and_a_visible_control_lets_go(page: Page, bench_url: str) -> None:
    load(page, bench_url, "d0")
    cell(page, "S", 2, 3).click()
    eventually(page, "pin", {"id": "s", "name": "blocks.0.scaled", "row": 1, "col": 2})
    cell(page, "Q", 1, 1).hover()
    assert main_line(page).startswith("Q[1,1]")
    page.mouse.move(5, 700)
    assert main_line(page).startswith("S[2,3]: ")
    assert "Q row 2 column 1" in glowing(page, "lit")
    page.get_by_role("button", name="Let go of the pinned cell").click()
    eventually(page, "pin", None)
    expect(page.get_by_role("button", name="Let go of the pinned cell")).to_be_hidden()


def test_a_page_can_open_with_a_cell_pinned(page: Page, bench_url: str) -> None:
    load(page, bench_url, "pin")
    assert notes(page).endswith("point at any other cell; Esc lets go")
    cell(page, "Q", 1, 1).hover()
    assert "Esc" not in notes(page)
    page.mouse.move(5, 700)
    expect(page.get_by_role("status", name="Arithmetic")).to_contain_text("S[2,3]: token 2 asks, token 3 answers")
    expect(cell(page, "S", 2, 3)).to_have_attribute("aria-selected", "true")


def test_a_phone_gets_no_hint_about_keys(open_page: Callable[..., Page], bench_url: str) -> None:
    page = load(open_page(viewport={"width": 390, "height": 800}), bench_url, "pin")
    assert "full value 0.70710677 (float32)" in notes(page)
    assert "Esc" not in notes(page)


def test_touch_pins(open_page: Callable[..., Page], bench_url: str) -> None:
    page = load(open_page(has_touch=True, viewport={"width": 390, "height": 800}), bench_url, "d0")
    cell(page, "QKᵀ", 2, 3).tap()
    eventually(page, "pin", {"id": "raw", "name": "blocks.0.scores", "row": 1, "col": 2})


def test_stepping_computes_a_cell_then_its_row_then_all(page: Page, bench_url: str) -> None:
    load(page, bench_url, "d0")
    numbers = page.locator("[data-name='blocks.0.scores'] [role=gridcell]")
    scaled = page.locator("[data-name='blocks.0.scaled'] [role=gridcell]")
    after = page.get_by_role("button", name="Next")
    after.click()
    assert numbers.all_text_contents() == ["1"] + [""] * 8
    assert set(scaled.all_text_contents()) == {""}
    assert main_line(page) == "QKᵀ[1,1] = 1×1 + 0×0 = 1"
    scaled.first.hover()
    assert "÷" not in main_line(page)
    assert "not computed yet" in notes(page)
    after.click()
    assert numbers.all_text_contents() == ["1", "1", "2"] + [""] * 6
    after.click()
    assert "" not in numbers.all_text_contents()
    after.click()
    assert scaled.all_text_contents() == ["0.707"] + [""] * 8
    page.get_by_role("button", name="Back").click()
    assert set(scaled.all_text_contents()) == {""}
    page.get_by_role("button", name="Show all").click()
    assert "" not in scaled.all_text_contents()
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(numbers.nth(1)).to_have_text("1", timeout=4000)  # it advances by itself
    page.get_by_role("button", name="Pause").click()
    still = numbers.all_text_contents()
    page.wait_for_timeout(600)
    assert numbers.all_text_contents() == still


def test_reduced_motion_plays_in_jumps(open_page: Callable[..., Page], bench_url: str) -> None:
    page = load(open_page(reduced_motion="reduce"), bench_url, "d0")
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Play").click()
    numbers = page.locator("[data-name='blocks.0.scores'] [role=gridcell]")
    assert numbers.all_text_contents() == ["1", "1", "2"] + [""] * 6
    page.wait_for_timeout(700)
    assert numbers.all_text_contents() == ["1", "1", "2"] + [""] * 6


def test_an_edit_cuts_only_the_link_of_its_own_cell(page: Page, bench_url: str) -> None:
    load(page, bench_url, "cut")  # QKᵀ[2,3] was set to 5
    struck = page.locator(".sign.struck")
    assert struck.count() == 1
    assert struck.evaluate("n => getComputedStyle(n, '::after').borderLeftStyle") == "solid"
    below = page.locator(".frame:has([data-name='blocks.0.scores']) .below").inner_text()
    assert "cells you set are no longer computed" in below
    cell(page, "QKᵀ", 2, 3).hover()
    assert main_line(page) == "QKᵀ[2,3] = 5"
    assert "no longer follows" in notes(page)
    assert (glowing(page, "lit"), glowing(page, "feeds")) == (set(), {"S row 2 column 3"})
    cell(page, "S", 2, 3).hover()
    assert main_line(page) == f"S[2,3] = 5 ÷ {SQRT2} = 3.536"
    assert glowing(page, "lit") == {"QKᵀ row 2 column 3"}
    cell(page, "QKᵀ", 2, 2).hover()
    assert main_line(page) == "QKᵀ[2,2] = 0×1 + 1×1 = 1"
    assert "follow" not in notes(page)
    operands = {"Q row 2 column 1", "Q row 2 column 2", "Kᵀ row 1 column 2", "Kᵀ row 2 column 2"}
    assert glowing(page, "lit") == operands
    cell(page, "S", 2, 2).hover()
    assert glowing(page, "lit") == operands | {"QKᵀ row 2 column 2"}
    cell(page, "Q", 2, 1).hover()
    assert glowing(page, "feeds") == {f"{m} row 2 column {j}" for m in ("QKᵀ", "S") for j in (1, 2)}
    cell(page, "QKᵀ", 2, 3).click()
    page.mouse.move(5, 700)
    page.get_by_role("button", name="Next").click()  # stepping goes on, from the pinned cell
    assert main_line(page) == "QKᵀ[2,3] = 5"
    assert "no longer follows" in notes(page)
    page.get_by_role("button", name="Next").click()
    assert main_line(page) == "QKᵀ[2,2] = 0×1 + 1×1 = 1"


def test_an_edit_is_known_in_a_frame_that_can_only_be_read(page: Page, bench_url: str) -> None:
    load(page, bench_url, "projection")  # Q[1,2] was set to 7
    cell(page, "Q", 1, 2).click()
    assert main_line(page) == "Q[1,2] = 7"
    assert "no longer follows" in notes(page)
    expect(page.get_by_role("button", name="Take the edit back")).to_be_hidden()
    cell(page, "Q", 3, 2).hover()
    assert main_line(page) == "Q[3,2] = 1×2 + 1×1 = 3"
    assert glowing(page, "lit") == {"X row 3 column 1", "X row 3 column 2", "WQ row 1 column 4", "WQ row 2 column 4"}


def test_play_keeps_a_calm_pace_and_says_what_is_done(own_page: Page, bench_url: str) -> None:
    page = load(own_page, bench_url, "d0")
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    numbers = page.locator("[data-name='blocks.0.scores'] [role=gridcell]")

    def known() -> int:
        return sum(text != "" for text in numbers.all_text_contents())

    page.get_by_role("button", name="Play").click()
    page.mouse.move(5, 700)
    assert known() == 1
    for after, (wait, done) in {
        2: (1400, ""),
        3: (1400, "row 1 of QKᵀ is done"),
        6: (1400, "row 2 of QKᵀ is done"),
        9: (1200, "QKᵀ is done"),
    }.items():
        before = known()
        page.clock.run_for(wait - 100)
        assert known() == before
        page.clock.run_for(100)
        assert known() == after
        assert notes(page).startswith(done)
