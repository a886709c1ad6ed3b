"""The equation component in Chromium: what is lit, what the dock says, editing, keyboard, stepping, sizes, exports."""

from __future__ import annotations

import base64
import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from ui.theme import AXES

ROOT = Path(__file__).parents[2]
Q = np.array([[1, 0], [0, 1], [1, 1]])
KT = np.array([[1, 1, 2], [0, 1, 1]])
SQRT2 = "1.414"


def load(page: Page, address: str, case: str, more: str = "") -> Page:
    """Open the bench at that case and wait until its numbers stand."""
    page.goto(f"{address}/?case={case}{more}")
    page.locator("[role=gridcell]").first.wait_for()
    page.locator("#said").wait_for()
    return page


def cell(page: Page, symbol: str, row: int, col: int) -> Locator:
    """The cell in that row and column, counted from 1 as on screen."""
    return page.get_by_role("gridcell", name=re.compile(rf"^{re.escape(symbol)} row {row} column {col}: "))


def glowing(page: Page, kind: str) -> set[str]:
    """The cells with that mark, as "symbol row i column j"."""
    script = """(kind) => [...document.querySelectorAll("*")].filter((n) => n.shadowRoot)
        .flatMap((n) => [...n.shadowRoot.querySelectorAll(".cell." + kind)]).map((n) => n.ariaLabel)"""
    found: list[str] = page.evaluate(script, kind)
    return {label.split(":")[0] for label in found}


def main_line(page: Page) -> str:
    """What the dock writes."""
    return page.locator(".dock .main").text_content() or ""


def notes(page: Page) -> str:
    """What the dock adds in small type."""
    return page.locator(".dock .notes").text_content() or ""


def said(page: Page) -> dict[str, Any]:
    """What Python holds: the edits and the pin."""
    return json.loads(page.locator("#said").text_content() or "{}")


def eventually(page: Page, part: str, wanted: object) -> None:
    """Wait until Python holds `wanted`; fail with what it holds instead."""
    for _ in range(80):
        if said(page)[part] == wanted:
            return
        page.wait_for_timeout(50)
    assert said(page)[part] == wanted


def brackets(number: int) -> str:
    """A factor as it is written in a product."""
    return f"(−{-number})" if number < 0 else str(number)


def test_numbers_are_printed_in_the_browser_as_in_python(page: Page) -> None:
    cases = json.loads((ROOT / "tests/ui/number_cases.json").read_text("utf-8"))
    source = base64.b64encode((ROOT / "ui/equation/numbers.js").read_bytes()).decode()
    script = """async ([source, cases]) => {
        const m = await import("data:text/javascript;base64," + source);
        const one = new Float32Array(1), bits = new Uint32Array(one.buffer);
        const print = (decimals) => [m.formatNumber(one[0], decimals), m.fullValue(one[0])];
        return cases.map((c) => { bits[0] = c.bits; return print(c.decimals); });
    }"""
    page.goto("about:blank")
    got = page.evaluate(script, [source, cases])
    assert got == [[case["shown"], case["full"]] for case in cases]


def test_pointing_lights_exactly_the_cells_a_result_was_made_from_and_writes_its_arithmetic(
    page: Page, bench_url: str
) -> None:
    load(page, bench_url, "d0")
    for i in range(3):
        for j in range(3):
            row = {f"Q row {i + 1} column {d + 1}" for d in range(2)}
            column = {f"Kᵀ row {d + 1} column {j + 1}" for d in range(2)}
            total = int(Q[i] @ KT[:, j])
            products = " + ".join(f"{brackets(Q[i, d])}×{brackets(KT[d, j])}" for d in range(2)) + f" = {total}"
            cell(page, "QKᵀ", i + 1, j + 1).hover()
            assert glowing(page, "lit") == row | column
            assert main_line(page) == f"QKᵀ[{i + 1},{j + 1}] = {products}"
            cell(page, "S", i + 1, j + 1).hover()
            assert glowing(page, "lit") == row | column | {f"QKᵀ row {i + 1} column {j + 1}"}
            scaled = {0: "0", 1: "0.707", 2: "1.414", 3: "2.121"}[total]
            who = f"token {i + 1} asks, token {j + 1} answers"
            assert main_line(page) == f"S[{i + 1},{j + 1}]: {who}: {products};  {total} ÷ {SQRT2} = {scaled}"
            assert ("rounded" in notes(page)) == (total == 3)  # 3 ÷ 1.414 is 2.122 by hand
    page.mouse.move(5, 700)
    assert glowing(page, "lit") == glowing(page, "on") == set()


def test_pointing_at_an_operand_lights_what_it_is_used_for(page: Page, bench_url: str) -> None:
    load(page, bench_url, "d0")
    cell(page, "Q", 2, 1).hover()
    assert glowing(page, "feeds") == {f"{m} row 2 column {j}" for m in ("QKᵀ", "S") for j in (1, 2, 3)}
    assert main_line(page) == "Q[2,1] = 0"
    assert "QKᵀ, row 2" in notes(page)
    assert "full value 0 (float32)" in notes(page)
    cell(page, "Kᵀ", 1, 3).hover()
    assert glowing(page, "feeds") == {f"{m} row {i} column 3" for m in ("QKᵀ", "S") for i in (1, 2, 3)}


def test_mask_and_softmax_are_hatched_explained_and_summed(page: Page, bench_url: str) -> None:
    load(page, bench_url, "weights")
    masked = cell(page, "S+M", 1, 2)
    expect(masked).to_have_text("−∞")
    assert "repeating-linear-gradient" in masked.evaluate("n => getComputedStyle(n).backgroundImage")
    masked.hover()
    assert main_line(page) == "S+M[1,2] = 0.707 + (−∞) = −∞"
    assert "“猫”" in notes(page)
    cell(page, "A", 2, 1).hover()
    assert main_line(page) == (
        "A[2,1] = e^(0 − 0.707) ÷ (e^(0 − 0.707) + e^(0.707 − 0.707) + e^(−∞ − 0.707)) = 0.493 ÷ 1.493 = 0.330"
    )
    assert glowing(page, "lit") == {f"{m} row 2 column {j}" for m in ("S", "M", "S+M") for j in (1, 2, 3)}
    assert page.locator("[data-name='blocks.0.weights'] + .sums").inner_text().split() == ["1", "1", "1"]


def test_a_bias_is_the_last_term_and_a_difference_is_written_as_one(page: Page, bench_url: str) -> None:
    load(page, bench_url, "bias")
    cell(page, "Y", 3, 2).hover()
    assert main_line(page) == "Y[3,2] = 1×1 + 1×1 + (−2) = 0"
    wanted = {f"X row 3 column {d}" for d in (1, 2)} | {f"WQ row {d} column 5" for d in (1, 2)} | {"bQ row 1 column 5"}
    assert glowing(page, "lit") == wanted
    cell(page, "Δ", 3, 2).hover()
    assert main_line(page) == "Δ[3,2] = 0 − 2 = −2"
    cell(page, "bQ", 1, 5).hover()
    assert glowing(page, "feeds") == {f"{m} row {i} column 2" for m in ("Y", "Δ") for i in (1, 2, 3)}


def test_a_sum_that_was_not_sent_whole_is_said_to_be_so(page: Page, bench_url: str) -> None:
    load(page, bench_url, "partial")
    cell(page, "QKᵀ", 2, 3).hover()
    assert main_line(page) == "QKᵀ[2,3] = 1"
    assert "outside the numbers" in notes(page)
    assert "1–2 of 5" in page.locator(".frame:has([data-name='blocks.0.q']) .below").inner_text()


def test_tokens_are_named_in_the_sentence_and_are_never_html(page: Page, bench_url: str) -> None:
    load(page, bench_url, "labels")
    cell(page, "S", 1, 2).hover()
    assert "“<script>window.hit=1</script>” (1) asks, “🦊 fox” (2) answers" in main_line(page)
    cell(page, "S", 3, 3).hover()
    assert "\u2068שלום\u2069" in main_line(page)
    assert page.evaluate("window.hit") is None
    assert page.locator(".equation script").count() == 0
    assert (
        page.locator(".label", has_text="<script>").first.get_attribute("title") == "<script>window.hit=1</script> (1)"
    )


def test_repeated_tokens_are_told_apart(page: Page, bench_url: str) -> None:
    load(page, bench_url, "repeat")
    heads = page.locator(".frame:has([data-name='blocks.0.scores']) .heads .label").all_text_contents()
    assert heads == ["the1", "cat", "the3"]


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
        message = f"“{typed}” is not a finite number. Q[1,1] stays 1."
        expect(page.get_by_role("alert").filter(has_text="finite")).to_have_text(message)
        expect(cell(page, "Q", 1, 1)).to_have_text("1")
    page.wait_for_timeout(120)
    assert said(page)["edits"] == {}


def test_ten_edits_typed_fast_all_arrive_and_the_focus_stays(page: Page, bench_url: str) -> None:
    load(page, bench_url, "d0")
    cell(page, "Q", 1, 1).focus()
    for number, move in zip("2345678923", "→↓←↓→↑↑←↓↓", strict=True):
        page.keyboard.press(number)
        page.keyboard.press("Enter")
        page.keyboard.press({"→": "ArrowRight", "←": "ArrowLeft", "↑": "ArrowUp", "↓": "ArrowDown"}[move])
    eventually(page, "edits", {"blocks.0.q": {"0,0": 2, "0,1": 9, "1,0": 3, "1,1": 8, "2,0": 6, "2,1": 7}})
    assert page.locator("[data-name='blocks.0.q'] [role=gridcell]").all_text_contents() == [
        "2",
        "9",
        "3",
        "8",
        "6",
        "7",
    ]
    expect(cell(page, "Q", 3, 1)).to_be_focused()


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


def test_a_hidden_cell_is_not_revealed_by_anything(page: Page, bench_url: str, tmp_path: Path) -> None:
    load(page, bench_url, "hidden")
    asked = cell(page, "S", 2, 3)
    expect(asked).to_have_text("?")
    assert "hidden" in (asked.get_attribute("aria-label") or "")
    asked.hover()
    assert main_line(page) == "S[2,3] = ?"
    assert "Answer the question" in notes(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="S as CSV").click()
    download.value.save_as(tmp_path / "s.csv")
    assert (tmp_path / "s.csv").read_text().splitlines()[1] == "0,0.70710677,"


def test_an_edit_cuts_only_the_link_of_its_own_cell(page: Page, bench_url: str) -> None:
    load(page, bench_url, "cut")  # QKᵀ[2,3] was set to 5
    struck = page.locator(".sign.struck")
    assert struck.count() == 1
    assert struck.evaluate("n => getComputedStyle(n, '::after').borderLeftStyle") == "solid"
    assert "edited cells do not follow" in page.locator(".frame:has([data-name='blocks.0.scores']) .below").inner_text()
    cell(page, "QKᵀ", 2, 3).hover()
    assert main_line(page) == "QKᵀ[2,3] = 5"
    assert "does not follow" in notes(page)
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
    assert "does not follow" in notes(page)
    page.get_by_role("button", name="Next").click()
    assert main_line(page) == "QKᵀ[2,2] = 0×1 + 1×1 = 1"


def test_an_edit_is_known_in_a_frame_that_can_only_be_read(page: Page, bench_url: str) -> None:
    load(page, bench_url, "projection")  # Q[1,2] was set to 7
    cell(page, "Q", 1, 2).click()
    assert main_line(page) == "Q[1,2] = 7"
    assert "does not follow" in notes(page)
    expect(page.get_by_role("button", name="Take the edit back")).to_be_hidden()
    cell(page, "Q", 3, 2).hover()
    assert main_line(page) == "Q[3,2] = 1×2 + 1×1 = 3"
    assert glowing(page, "lit") == {"X row 3 column 1", "X row 3 column 2", "WQ row 1 column 4", "WQ row 2 column 4"}


def test_a_heads_block_says_which_columns_of_the_whole_matrix_it_is(page: Page, bench_url: str) -> None:
    load(page, bench_url, "projection")
    frame = page.locator(".frame:has([data-name='blocks.0.wq'])")
    assert frame.locator(".shape").text_content() == "[D, H·Dh] 2×4"
    assert "columns 3–4 of 4" in frame.locator(".below").inner_text()
    wide = frame.locator(".shape .axis").nth(1)
    hue = AXES["H·Dh"].light
    rgb = f"rgb({', '.join(str(int(hue[k : k + 2], 16)) for k in (1, 3, 5))})"
    assert wide.evaluate("n => getComputedStyle(n).color") == rgb


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


def test_a_cell_pinned_by_python_stands_in_the_window_with_what_made_it(page: Page, bench_url: str) -> None:
    load(page, bench_url, "20x64", "&pin=1")
    expect(cell(page, "S", 20, 20)).to_have_attribute("aria-selected", "true")
    assert {"QKᵀ row 20 column 20", "Q row 20 column 1", "Kᵀ row 1 column 20"} <= glowing(page, "lit")
    page.set_viewport_size({"width": 1000, "height": 700})
    expect(cell(page, "S", 20, 20)).to_be_visible()


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


def test_lost_decimals_are_owned_up_to(page: Page, bench_url: str) -> None:
    load(page, bench_url, "20x64", "&sidebar=1")
    assert page.locator(".fits").text_content() == "2 of 3 decimals fit in the cells; the line below shows all of them."
    load(page, bench_url, "d0")
    assert page.locator(".fits").text_content() == ""


def test_play_keeps_a_calm_pace_and_says_what_is_done(page: Page, bench_url: str) -> None:
    load(page, bench_url, "d0")
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


def test_downloads_hold_full_values_and_the_picture_on_screen(page: Page, bench_url: str, tmp_path: Path) -> None:
    load(page, bench_url, "weights")
    with page.expect_download() as download:
        page.get_by_role("button", name="S+M as CSV").click()
    download.value.save_as(tmp_path / "masked.csv")
    assert download.value.suggested_filename == "blocks.0.masked.csv"
    table = list(csv.reader((tmp_path / "masked.csv").read_text().splitlines()))
    assert table[1] == ["0", "0.70710677", "-inf"]
    assert float(table[0][1]) == -np.inf
    with page.expect_download() as download:
        page.get_by_role("button", name="Equation as SVG").click()
    download.value.save_as(tmp_path / "equation.svg")
    svg = (tmp_path / "equation.svg").read_text("utf-8")
    assert svg.count("<rect") > 36
    assert ">0.707<" in svg
    assert ">softmax →<" in svg
    assert ">猫<" in svg
    assert "color(" not in svg
    load(page, bench_url, "labels")
    with page.expect_download() as download:
        page.get_by_role("button", name="Equation as SVG").click()
    download.value.save_as(tmp_path / "labels.svg")
    svg = (tmp_path / "labels.svg").read_text("utf-8")
    assert "<script" not in svg
    assert re.search(r">&#60;s[^<]*…</text>", svg)  # cut as on screen


def test_pointing_is_quick_at_32_by_32(open_page: Callable[..., Page], bench_url: str) -> None:
    page = load(open_page(viewport={"width": 6800, "height": 1200}), bench_url, "32x32")
    assert page.locator("[role=gridcell]").count() == 4 * 32 * 32  # wide enough to show all of them
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    script = """() => {
        const root = [...document.querySelectorAll('*')].find(n => n.shadowRoot?.querySelector('.equation')).shadowRoot;
        const cells = [...root.querySelectorAll("[data-name='blocks.0.scores'] .cell")], times = [];
        for (let k = 0; k < 60; k++) {
            const cell = cells[(k * 37) % cells.length], start = performance.now();
            cell.dispatchEvent(new PointerEvent('pointerover', { bubbles: true, pointerType: 'mouse' }));
            cell.getBoundingClientRect();
            times.push(performance.now() - start);
        }
        return times.sort((a, b) => a - b)[30];
    }"""
    assert page.evaluate(script) <= 20
