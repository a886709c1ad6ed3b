"""The page on mixing, served as for a class and used as a learner uses it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from core import live, worked
from core.stage import At
from core.stages import mixing
from core.stages.mixing import blend
from core.trace import Trace
from tests.browser.on_page import (
    Shown,
    cell,
    check_pointing,
    choose,
    dock,
    edit,
    fill,
    settled,
    unfold,
    wait_for_slice,
)
from ui.shell.numbers import format_number

A, V, AV = "blocks.0.weights", "blocks.0.v", "blocks.0.context"


def visit(page: Page, address: str) -> Page:
    page.goto(address)
    page.locator("[role=gridcell]").first.wait_for()
    return page


@pytest.mark.parametrize(("parts", "make", "head"), [
    ("&example=single_head", worked.single_head, 0), ("&example=block_shared&head=2", lambda: worked.block(1), 1)])
def test_pointing_at_any_cell_writes_its_blend(
    page: Page, url: str, parts: str, make: Callable[[], Trace], head: int,
) -> None:
    trace = make()
    visit(page, f"{url}/mixing?lang=en{parts}")
    frames = [Shown(A), Shown(V), Shown(AV, AV)]
    for frame in frames:
        wait_for_slice(page, trace, frame.name, head=head)
    assert check_pointing(page, 0, trace, frames, head=head) >= 21


def test_the_page_opens_with_the_documents_first_row(page: Page, url: str) -> None:
    visit(page, f"{url}/mixing?lang=en&example=single_head")
    assert dock(page).replace("\u2060", "") == "AV[1,1] = 0.248×1 + 0.248×0 + 0.503×1 = 0.752"
    expect(page.locator(".st-key-formula annotation").last).to_contain_text("= 0.752")
    expect(page.locator(".sums span, .sums div").first).to_have_text("1")


def test_an_edit_of_x_on_another_page_is_here_and_an_edit_of_a_weight_is_told(page: Page, url: str) -> None:
    visit(page, f"{url}/projections?lang=en&example=single_head")
    edit(page, "blocks.0.in", 2, 0, "-2")
    trace = worked.single_head().edited({"blocks.0.in": {(0, 2, 0): -2.0}})
    wait_for_slice(page, trace, V)
    page.wait_for_url("**edits=**")
    settled(page)
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Mixing", exact=True).click()
    wait_for_slice(page, trace, AV)
    edit(page, A, 1, 2, "2")
    wait_for_slice(page, trace.edited({A: {(0, 0, 1, 2): 2.0}}), AV)
    expect(page.get_by_text("no longer sum to one")).to_be_visible()
    expect(page.get_by_text("A was edited by hand")).to_be_visible()


def test_a_slider_moves_the_blend(page: Page, url: str) -> None:
    trace = worked.single_head()
    visit(page, f"{url}/mixing?lang=en&row=3")
    section = unfold(page, "blend")
    own = blend.row_of(At(trace), 2)
    chosen = dict(own.offered)

    def expect_blend() -> None:
        made = blend.blend(own, chosen)
        for name, row in (("chosen", made.weights[0]), ("blend", made.mixed[0])):
            wanted = [format_number(float(value), 3) for value in row]
            expect(page.locator(f"[data-name='{name}'] [role=gridcell]")).to_have_text(wanted)

    expect_blend()
    expect(section.locator(".js-plotly-plot")).to_be_visible()
    for key, press, weight in ((0, "End", 1.0), (2, "Home", 0.0)):
        section.locator("[data-testid=stSlider] input").nth(key).press(press)
        chosen[key] = weight
        expect_blend()
    section.locator(".st-key-blend-reset button").click()
    chosen = dict(own.offered)
    expect_blend()
    wait_for_slice(page, trace, AV)  # the sliders are no edit


def test_the_chain_runs_from_x_to_the_output_on_one_screen(page: Page, url: str) -> None:
    visit(page, f"{url}/mixing?lang=en&example=single_head")
    unfold(page, "chain")
    last = page.locator(f"[data-name='{AV}']").nth(1)
    last.wait_for()
    shorts = ("in", "wq", "q", "wk", "k", "wv", "v", "k", "scores", "scaled", "weights", "context")
    grids = page.locator("[role=grid]").evaluate_all("all => all.map(n => n.dataset.name)")
    assert grids[3:] == [f"blocks.0.{short}" for short in shorts]
    top, bottom = (box for box in (page.locator("[data-name='blocks.0.in']").bounding_box(), last.bounding_box()))
    assert top is not None
    assert bottom is not None
    assert bottom["y"] + bottom["height"] - top["y"] < 800
    last.locator("[role=gridcell]").first.hover()
    lit = page.locator(".cell.lit").evaluate_all("all => all.map(n => n.closest('[role=grid]').dataset.name)")
    assert {f"blocks.0.{short}" for short in ("in", "wq", "q", "wv", "v", "scores", "scaled", "weights")} <= set(lit)


def test_the_chain_of_a_block_ends_with_o(page: Page, url: str) -> None:
    trace = worked.block()
    visit(page, f"{url}/mixing?lang=en&example=block&decimals=2")
    unfold(page, "chain")
    for name in ("concat", "wo", "attn_out"):
        wait_for_slice(page, trace, f"blocks.0.{name}", decimals=2)


def test_a_question_hides_its_cell_and_names_the_slip(page: Page, url: str) -> None:
    trace = worked.single_head()
    visit(page, f"{url}/mixing?lang=en&pin=none")
    section = unfold(page, "predict")
    question = mixing.ask(At(trace), 0)
    place = cell(page, AV, question.row, question.column)
    section.locator(".st-key-mixing-question-ask button").click()
    expect(place).to_have_text("?")
    section.locator("input").fill("0.667")  # the mean of 1, 0, 1
    section.locator("[data-testid=stFormSubmitButton] button").first.click()
    expect(section.locator("[data-testid=stAlert]")).to_contain_text("plain average")
    section.locator("[data-testid=stFormSubmitButton] button").last.click()
    expect(place).to_have_text(format_number(question.answer, 3))


def test_each_mistake_shows_its_own_difference(page: Page, url: str) -> None:
    trace = worked.block()
    visit(page, f"{url}/mixing?lang=en&example=block&head=2")
    unfold(page, "wrong")
    for number, kind in enumerate(("columns", "transposed")):
        choose(page, "mixup", number)
        result = mixing.MISTAKES[kind](At(trace))
        assert result.wrong is not None
        assert result.difference is not None
        for name, tensor in (("wrong", result.wrong), ("right", result.right), ("difference", result.difference)):
            wanted = [format_number(float(value), 3) for value in tensor[0, 1].flatten()]
            expect(page.locator(f"[data-name='{name}'] [role=gridcell]")).to_have_text(wanted)
    choose(page, "mixup", 2)
    expect(page.locator("[data-name='difference']")).to_have_count(0)


def test_the_live_model_mixes_its_real_values(page: Page, url: str) -> None:
    visit(page, f"{url}/mixing?lang=en&source=live&text=A+small+red+fox.&layer=3&head=5")
    expect(page.locator("[data-name='blocks.2.context']")).to_be_visible()
    trace = live.load().trace("A small red fox.")
    seen = cell(page, "blocks.2.context", 3, 0).get_attribute("aria-label") or ""
    value = float(seen.rsplit(": ", 1)[1].replace("−", "-"))
    assert value == pytest.approx(float(trace["blocks.2.context"][0, 4, 3, 0]), abs=1e-4)
    unfold(page, "blend")
    fill(page, "row", "4")
    expect(page.locator("[data-name='blend']")).to_have_attribute("aria-colcount", "64")
    assert page.locator(".frame.editable").count() == 0
