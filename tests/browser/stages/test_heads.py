"""The page on heads, served as for a class and used as a learner uses it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from core import derive, worked
from core.stage import At
from core.stages import heads
from core.stages.heads import index_map
from tests.browser.on_page import cell, choose, dock, edit, overhang, places, settled, swept, unfold
from ui.shell.numbers import format_number

BLOCK = worked.block()
TOKENS, HEADS, WIDTH = 4, 2, 2
Q, Z, O = "blocks.0.q_proj", "blocks.0.concat", "blocks.0.attn_out"  # noqa: E741


def visit(page: Page, address: str) -> Page:
    page.goto(address)
    page.locator("[role=gridcell]").first.wait_for()
    settled(page)
    return page


def places_of(token: int, column: int) -> dict[str, tuple[str, str, int, int]]:
    """Where the number at (token, column) of [T, H·Dh] stands in each shape: its name in the dock and its place."""
    head, _, d = index_map.after(token, column, WIDTH)
    view = index_map.index_map(TOKENS, HEADS, WIDTH).viewed
    h, t, e = (int(i) for i in (view == token * HEADS * WIDTH + column).nonzero()[0])
    return {
        "flat": (f"[t{token + 1},c{column + 1}]", "", token, column),
        "cut": (f"[t{token + 1},h{head + 1},d{d + 1}]", "", token * HEADS + head, d),
        "split": (f"[h{head + 1},t{token + 1},d{d + 1}]", "", head * TOKENS + token, d),
        "viewed": (f"[h{h + 1},t{t + 1},d{e + 1}]", "", h * TOKENS + t, e),
    }


# For each way: the symbols, the shapes in the order in which the numbers pass through them, and the frames' names.
WAYS = {
    "split": (Q, [("flat", "Q", Q), ("cut", "Q", "reshaped"), ("split", "Q", "split")]),
    "merged": (Z, [("split", "AV", "heads"), ("cut", "AV", "turned"), ("flat", "Z", Z)]),
}


@pytest.mark.parametrize("way", WAYS)
def test_pointing_at_any_cell_follows_its_number_through_every_shape(page: Page, url: str, way: str) -> None:
    name, shapes = WAYS[way]
    visit(page, f"{url}/heads?lang=en&way={way}")
    said = {tuple(cell["at"]): cell for cell in swept(page)}
    assert len(said) == 3 * BLOCK[name].numel()
    for token in range(TOKENS):
        for column in range(HEADS * WIDTH):
            printed = format_number(float(BLOCK[name][0, token, column]), 3)
            at = places_of(token, column)
            chain = [(f"{symbol}{at[shape][0]}", (frame, *at[shape][2:])) for shape, symbol, frame in shapes]
            for step, (_text, place) in enumerate(chain):
                seen = said[place]
                assert seen["main"] == " = ".join([text for text, _ in reversed(chain[:step + 1])] + [printed])
                assert places(seen["lit"]) == {place for _, place in chain[:step]}
                # A number that was only moved tells where it came from; the first one tells where it goes.
                assert places(seen["feeds"]) == (set() if step else {place for _, place in chain[1:]})


def test_pointing_at_the_wrong_view_shows_which_token_it_took(page: Page, url: str) -> None:
    visit(page, f"{url}/heads?lang=en&way=viewed")
    said = {tuple(cell["at"]): cell for cell in swept(page)}
    for token in range(TOKENS):
        for column in range(HEADS * WIDTH):
            printed = format_number(float(BLOCK[Q][0, token, column]), 3)
            at = places_of(token, column)
            for shape, word in (("viewed", "wrong"), ("split", "right")):
                seen = said[shape, *at[shape][2:]]
                assert seen["main"] == f"{word} Q{at[shape][0]} = Q{at['flat'][0]} = {printed}"
                assert places(seen["lit"]) == {(Q, token, column)}
            assert places(said[Q, token, column]["feeds"]) == {
                (shape, *at[shape][2:]) for shape in ("viewed", "split")}
    notes = page.locator(".row-notes").first.locator("span")
    expect(notes).to_have_text(["", "from the", "from cat", "from cat", "from sees", "from sees", "from a", ""])


def test_stepping_builds_one_shape_after_the_other(page: Page, url: str) -> None:
    visit(page, f"{url}/heads?lang=en&pin=none")
    page.get_by_role("button", name="Next").click()
    assert page.locator("[data-name='reshaped'] .blank").count() == 15
    for _rest in range(3):
        page.get_by_role("button", name="Next").click()
    assert page.locator("[data-name='reshaped'] .blank").count() == 0
    assert page.locator("[data-name='split'] .blank").count() == 15
    assert dock(page).startswith("Q[h1,t1,d1] = Q[t1,h1,d1] = Q[t1,c1] = ")


def test_an_edit_of_q_moves_in_every_shape(page: Page, url: str) -> None:
    visit(page, f"{url}/heads?lang=en")
    edit(page, Q, 2, 3, "7")
    expect(cell(page, "reshaped", 5, 1)).to_have_text("7")
    expect(cell(page, "split", 6, 1)).to_have_text("7")


def test_arrow_keys_walk_through_a_stack(page: Page, url: str) -> None:
    visit(page, f"{url}/heads?lang=en")
    cell(page, "split", 3, 0).focus()
    page.keyboard.press("ArrowDown")
    assert dock(page).startswith("Q[h2,t1,d1] = ")


def test_z_times_wo_is_written_out_and_equals_the_parts_of_the_heads(page: Page, url: str) -> None:
    visit(page, f"{url}/heads?lang=en&way=mixed")
    for row in range(TOKENS):
        for col in range(TOKENS):
            cell(page, O, row, col).hover()
            what = derive.cell(BLOCK, O, (0, row, col))
            terms = [[format_number(factor.value, 3) for factor in term] for term in what.terms]
            text = " + ".join("×".join(f"({x})" if x[0] == "−" else x for x in term) for term in terms)
            assert dock(page) == f"O[{row + 1},{col + 1}] = {text} = {format_number(what.value, 3)}"
    unfold(page, "added")
    part = page.locator("[data-name='part'] [role=gridcell]")
    found = index_map.added(BLOCK, 0, 0, 0)
    expect(part).to_have_text([format_number(float(value), 3) for value in found.part.flatten()])
    expect(page.locator("[data-name='others'] [role=gridcell]")).to_have_text(
        [format_number(float(value), 3) for value in found.others.flatten()])


def test_a_thumbnail_is_chosen_with_the_mouse_and_the_keyboard(page: Page, url: str) -> None:
    visit(page, f"{url}/heads?lang=en")
    unfold(page, "maps")
    thumbs = page.locator(".thumbnail")
    expect(thumbs).to_have_count(HEADS + 1)
    weights = page.locator("[data-name='blocks.0.weights'] [role=gridcell]")

    def shows(values: Any) -> None:
        expect(weights).to_have_text([format_number(float(value), 3) for value in values.flatten()])

    shows(BLOCK["blocks.0.weights"][0, 0])
    thumbs.nth(1).click()
    shows(BLOCK["blocks.0.weights"][0, 1])
    settled(page)
    assert [thumb.get_attribute("aria-checked") for thumb in thumbs.all()] == ["false", "true", "false"]
    page.keyboard.press("ArrowRight")
    single = index_map.one_head(BLOCK, 0).single.weights[0, 0]
    expect(page.locator("[data-name='wide_weights'] [role=gridcell]")).to_have_text(
        [format_number(float(value), 3) for value in single.flatten()])
    expect(thumbs.nth(2)).to_be_focused()
    drawn = thumbs.nth(1).locator("canvas").evaluate(
        "c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data].filter((_, k) => k % 4 === 3)")
    assert drawn == [round(float(value) * 255) for value in BLOCK["blocks.0.weights"][0, 1].flatten()]


def test_each_mistake_shows_its_own_difference(page: Page, url: str) -> None:
    visit(page, f"{url}/heads?lang=en&decimals=2")
    unfold(page, "wrong")
    for number, kind in enumerate(heads.MISTAKES):
        choose(page, "slip", number)
        result = heads.MISTAKES[kind](At(BLOCK))
        assert result.difference is not None
        matrix = result.difference[0, 0] if result.difference.ndim == 4 else result.difference[0]
        expect(page.locator("[data-name='difference'] [role=gridcell]")).to_have_text(
            [format_number(float(value), 2) for value in matrix.flatten()])


@pytest.mark.parametrize("address", [
    "heads?source=live", "heads?source=live&way=merged", "heads?source=live&way=mixed", "heads?source=live&way=viewed"])
def test_the_dock_covers_no_number_in_the_first_view(page: Page, url: str, address: str) -> None:
    visit(page, f"{url}/{address}&lang=en")
    if "live" in address:
        expect(page.locator(".shapes .sizes")).to_contain_text("D=576")
    page.wait_for_function("document.querySelector('[data-testid=stApp]').dataset.testScriptState === 'notRunning'")
    settled(page)
    assert overhang(page) <= 0


def test_a_pinned_number_is_in_view_in_every_shape(page: Page, url: str) -> None:
    visit(page, f"{url}/heads?lang=en&source=toy&H=4&T=6&D=32&Hkv=2&pin=none")
    last = page.locator("[data-name='split'] [role=gridcell]").last
    last.click()
    settled(page)
    for name in ("blocks.0.q_proj", "reshaped"):
        expect(page.locator(f"[data-name='{name}'] .cell.lit")).to_have_count(1)
    expect(page.locator("[data-name='split'] .cell.pinned")).to_have_count(1)
