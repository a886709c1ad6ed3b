"""The page on projections, served as for a class and used as a learner uses it."""

from __future__ import annotations

import math

import pytest
from playwright.sync_api import Locator, Page, expect

from core import derive, live, toy, worked
from core.stage import At
from core.stages import projections
from core.toy import ToySizes
from core.trace import Trace
from tests.browser.on_page import cell, choose, dock, edit, settled, settles, unfold, wait_for_slice
from ui.shell.numbers import format_number

X, K = "blocks.0.in", "blocks.0.k"


def visit(page: Page, address: str) -> Page:
    page.goto(address)
    page.locator("[role=gridcell]").first.wait_for()
    return page


def formulas(page: Page) -> Locator:
    """The formulas in LaTeX, as KaTeX keeps them beside what it draws."""
    return page.locator(".st-key-formula annotation")


def test_the_page_opens_with_one_x_three_roles_and_the_telling_cell(page: Page, url: str) -> None:
    trace = worked.single_head()
    visit(page, f"{url}/projections?lang=en&example=single_head")
    for name in (X, *(f"blocks.0.{short}" for short in ("wq", "q", "wk", "k", "wv", "v"))):
        wait_for_slice(page, trace, name)
    assert page.locator("[role=grid]").count() == 7
    assert dock(page).replace("\u2060", "") == "K[3,1] = 1×1 + 1×1 = 2"
    expect(formulas(page).last).to_contain_text(r"K_{3,1} = 1 \times 1 + 1 \times 1 = 2")
    for row in range(3):
        for col in range(2):
            for letter in "qkv":
                cell(page, f"blocks.0.{letter}", row, col).hover()
                what = derive.cell(trace, f"blocks.0.{letter}_proj", (0, row, col))
                terms = " + ".join("×".join(format_number(f.value, 3) for f in term) for term in what.terms)
                assert dock(page) == f"{letter.upper()}[{row + 1},{col + 1}] = {terms} = {format_number(what.value, 3)}"


def test_changing_x_moves_q_k_and_v_and_no_matrix(page: Page, url: str) -> None:
    visit(page, f"{url}/projections?lang=en&example=single_head")
    section = unfold(page, "moved")
    section.locator("table").wait_for()
    edit(page, X, 1, 0, "3")
    trace = worked.single_head().edited({X: {(0, 1, 0): 3.0}})
    for letter in "qkv":
        wait_for_slice(page, trace, f"blocks.0.{letter}")
    parts = projections.parts(At(trace))
    assert [part.changed > 0 for part in parts] == [True, False, False, False, True, True, True]
    expect(section.locator("tbody tr td:last-child")).to_have_text([f"{p.changed} of {p.size}" for p in parts])
    edit(page, "blocks.0.wk", 0, 1, "-2")
    trace = trace.edited({"blocks.0.wk": {(0, 1): -2.0}})
    wait_for_slice(page, trace, K)
    page.wait_for_url("**edits=**")
    settled(page)
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Scores", exact=True).click()
    wait_for_slice(page, trace, "blocks.0.scaled")


@pytest.mark.parametrize("head", [1, 2])
def test_a_head_takes_its_own_columns_and_the_layouts_agree(page: Page, url: str, head: int) -> None:
    trace = worked.block()
    visit(page, f"{url}/projections?lang=en&example=block&head={head}")
    for letter in "qkv":
        wait_for_slice(page, trace, f"blocks.0.{letter}", head=head - 1)
    first = (head - 1) * 2
    assert cell(page, "blocks.0.wv", 1, first).text_content() == format_number(float(trace["blocks.0.wv"][1, first]), 3)
    section = unfold(page, "layouts")
    expect(section.locator("tbody tr td:last-child")).to_have_text(["0", "0", "0"])
    product = [format_number(float(value), 3) for value in
               derive.slice_of(trace, "blocks.0.q_proj", 0, 0)[0]]
    row = page.locator("[data-name=product] [role=row]").first.locator("[role=gridcell]")
    settles(page, lambda: row.all_inner_texts()[:4], product)


def test_a_bias_is_added_kept_in_the_address_and_on_other_pages(page: Page, url: str) -> None:
    sizes = ToySizes(tokens=3, width=4)
    visit(page, f"{url}/projections?lang=en&source=toy&T=3&D=4&decimals=2")
    wait_for_slice(page, toy.toy(sizes), K, decimals=2)
    expect(page.locator("[data-name='blocks.0.bk']")).to_have_count(0)
    page.locator(".st-key-_bias label").first.click()
    trace = toy.toy(sizes, bias=True)
    wait_for_slice(page, trace, K, decimals=2)
    page.wait_for_url("**bias=on**")
    edit(page, "blocks.0.bk", 0, 1, "9")
    trace = trace.edited({"blocks.0.bk": {(1,): 9.0}})
    wait_for_slice(page, trace, K, decimals=2)
    cell(page, K, 0, 1).hover()
    assert " + 9 " in dock(page)
    page.wait_for_url("**edits=**")
    settled(page)
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Scores", exact=True).click()
    wait_for_slice(page, trace, "blocks.0.scaled", decimals=2)
    page.wait_for_url("**/scores?**bias=on**")
    page.reload()
    wait_for_slice(page, trace, "blocks.0.scaled", decimals=2)


def test_a_question_hides_its_cell_until_it_is_answered(page: Page, url: str) -> None:
    trace = worked.single_head()
    visit(page, f"{url}/projections?lang=en&pin=none")
    section = unfold(page, "predict")
    question = projections.ask(At(trace), 0)
    place = cell(page, f"blocks.0.{question.of}", question.row, question.column)
    section.locator(".st-key-projections-question-ask button").click()
    expect(place).to_have_text("?")
    section.locator("input").fill("1")
    section.locator("[data-testid=stFormSubmitButton] button").first.click()
    expect(section.locator("[data-testid=stAlert]")).to_contain_text("another role")
    section.locator("input").fill(format_number(question.answer, 3))
    section.locator("[data-testid=stFormSubmitButton] button").first.click()
    expect(place).to_have_text(format_number(question.answer, 3))


def test_each_mistake_shows_its_own_difference(page: Page, url: str) -> None:
    trace = worked.block()
    visit(page, f"{url}/projections?lang=en&example=block&head=2")
    unfold(page, "wrong")
    for number, kind in enumerate(projections.MISTAKES):
        choose(page, "slip", number)
        result = projections.MISTAKES[kind](At(trace), letter="k")
        assert result.wrong is not None
        assert result.difference is not None
        for name, tensor in (("wrong", result.wrong), ("right", result.right), ("difference", result.difference)):
            wanted = [format_number(float(value), 3) for value in tensor[0, 1].flatten()]
            expect(page.locator(f"[data-name='{name}'] [role=gridcell]")).to_have_text(wanted)


def test_the_live_model_shows_its_real_rows_and_the_window_moves(page: Page, url: str) -> None:
    sentence = "A small red fox."
    visit(page, f"{url}/projections?lang=en&source=live&text=A+small+red+fox.&layer=3&head=5&role=v")
    expect(page.locator("[data-name='blocks.2.v']")).to_be_visible()
    trace: Trace = live.load().trace(sentence)
    expect(page.get_by_role("button", name="Earlier part of D in X₁")).to_be_disabled()
    wide = page.locator("[data-name='blocks.2.norm1']")
    wide.locator("[role=gridcell]").first.focus()
    page.keyboard.press("End")
    expect(wide.locator("[aria-colindex='576']").first).to_be_focused()
    expect(page.locator("[data-name='blocks.2.wv'] [aria-rowindex='576']")).to_be_visible()
    expect(page.locator("[data-name='blocks.2.norm1']")).to_have_attribute("aria-colcount", "576")
    seen = cell(page, "blocks.2.v", 1, 0).get_attribute("aria-label") or ""
    value = float(seen.rsplit(": ", 1)[1].replace("−", "-"))
    assert value == pytest.approx(float(trace["blocks.2.v"][0, 1, 1, 0]), abs=1e-4)
    cell(page, "blocks.2.v", 1, 0).hover()
    first = int(wide.locator("[role=gridcell]").first.get_attribute("aria-colindex") or 0)
    terms = derive.cell(trace, "blocks.2.v_proj", (0, 1, 64)).terms  # head 5 reads the second KV head
    before = format_number(math.fsum(math.prod(factor.value for factor in term) for term in terms[:first - 1]), 3)
    assert f"{before.replace('−', '(−')}{')' * ('−' in before)} (terms 1–{first - 1}) + " in dock(page)
    page.wait_for_url("**window=D.449**")
    page.reload()  # the address brings the window back
    expect(wide.locator("[aria-colindex='449']").first).to_be_visible()
    assert page.locator(".frame.editable").count() == 0
