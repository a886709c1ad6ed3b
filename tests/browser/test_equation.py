"""The equation component in Chromium: what is lit, what the dock says, what is hidden, exports."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect

from tests.browser.on_equation import KT, SQRT2, Q, brackets, cell, glowing, load, main_line, notes
from ui.shell.theme import AXES


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


def test_a_heads_block_says_which_columns_of_the_whole_matrix_it_is(page: Page, bench_url: str) -> None:
    load(page, bench_url, "projection")
    frame = page.locator(".frame:has([data-name='blocks.0.wq'])")
    assert frame.locator(".shape").text_content() == "[D, H·Dh] 2×4"
    assert "columns 3–4 of 4" in frame.locator(".below").inner_text()
    wide = frame.locator(".shape .axis").nth(1)
    hue = AXES["H·Dh"].light
    rgb = f"rgb({', '.join(str(int(hue[k : k + 2], 16)) for k in (1, 3, 5))})"
    assert wide.evaluate("n => getComputedStyle(n).color") == rgb


def test_a_cell_pinned_by_python_stands_in_the_window_with_what_made_it(page: Page, bench_url: str) -> None:
    load(page, bench_url, "20x64", "&pin=1")
    expect(cell(page, "S", 20, 20)).to_have_attribute("aria-selected", "true")
    assert {"QKᵀ row 20 column 20", "Q row 20 column 1", "Kᵀ row 1 column 20"} <= glowing(page, "lit")
    page.set_viewport_size({"width": 1000, "height": 700})
    expect(cell(page, "S", 20, 20)).to_be_visible()


def test_lost_decimals_are_owned_up_to(page: Page, bench_url: str) -> None:
    load(page, bench_url, "20x64", "&sidebar=1")
    assert page.locator(".fits").text_content() == "2 of 3 decimals fit in the cells; the line below shows all of them."
    load(page, bench_url, "d0")
    assert page.locator(".fits").text_content() == ""


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
