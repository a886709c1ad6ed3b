"""The page on scores, served as for a class and used as a learner uses it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from core import live, toy, worked
from core.stage import At
from core.stages import scores
from core.toy import ToySizes
from tests.browser.on_page import (
    cell,
    check_pointing,
    choose,
    digits,
    dock,
    edit,
    expectations,
    fill,
    press_chip,
    projection_frames,
    scores_frames,
    settled,
    settles,
    switch,
    unfold,
    visit,
    wait_for_slice,
)
from ui.shell.numbers import format_number


def test_pointing_at_any_cell_lights_what_it_was_made_from_and_writes_its_arithmetic(page: Page, url: str) -> None:
    """In a browser for one example; tests/ui/test_pointing.py has the others."""
    trace = worked.block()
    visit(page, f"{url}/scores?lang=en&example=block&head=2&decimals=2")
    count = check_pointing(page, 0, trace, scores_frames(trace), head=1, decimals=2, labels=trace.tokens)
    unfold(page, "from")
    expect(page.locator(".dock")).to_have_count(3)
    for nth, letter in ((1, "q"), (2, "k")):
        count += check_pointing(page, nth, trace, projection_frames(trace, letter), head=1, decimals=2)
    assert count >= 30 + 32


def test_a_long_sum_is_written_with_its_first_and_last_terms(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en&source=toy&T=3&D=10&H=1&Hkv=1")
    settled(page)
    cell(page, "blocks.0.scores", 0, 0).hover()
    assert dock(page).count(" + ") == 5


def test_a_real_pointer_does_what_the_pointing_events_do(page: Page, url: str) -> None:
    trace = worked.block()
    visit(page, f"{url}/scores?lang=en&example=block")
    wanted = expectations(trace, scores_frames(trace), 0, 0, 3, trace.tokens)
    for name, row, col in (("blocks.0.scaled", 3, 0), ("blocks.0.k", 1, 2), ("blocks.0.scores", 2, 1)):
        cell(page, name, row, col).hover()
        assert dock(page) == wanted[name, row, col].text
        lit = page.locator(".cell.lit").evaluate_all(
            "all => all.map(n => [n.closest('[role=grid]').dataset.name, n.parentNode.ariaRowIndex - 1,"
            " n.ariaColIndex - 1])")
        assert {tuple(place) for place in lit} == wanted[name, row, col].sources


def test_the_keyboard_alone_reaches_moves_pins_edits_and_lets_go(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en&pin=none")
    first = cell(page, "blocks.0.q", 0, 0)
    for _ in range(60):
        if first.evaluate("node => node === node.getRootNode().activeElement"):
            break
        page.keyboard.press("Tab")
    expect(first).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.type("-2.5")
    page.keyboard.press("Enter")
    trace = worked.single_head().edited({"blocks.0.q": {(0, 0, 0, 1): -2.5}})
    wait_for_slice(page, trace, "blocks.0.scaled")
    expect(cell(page, "blocks.0.q", 0, 1)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    expect(cell(page, "blocks.0.scores", 1, 2)).to_be_focused()
    wanted = expectations(trace, scores_frames(trace), 0, 0, 3)
    assert dock(page) == wanted["blocks.0.scores", 1, 2].text
    page.keyboard.press("Enter")
    page.wait_for_url("**pin=scores.1.2**")
    page.keyboard.press("Escape")
    page.wait_for_url("**pin=none**")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Delete")
    wait_for_slice(page, worked.single_head(), "blocks.0.scaled")


def test_every_edit_flows_into_the_scores(page: Page, url: str) -> None:
    trace = worked.single_head()
    visit(page, f"{url}/scores?lang=en&example=single_head")
    unfold(page, "from")
    expect(page.locator(".dock")).to_have_count(3)
    steps: list[tuple[str, int, int, int, dict[tuple[int, ...], float]]] = [
        ("blocks.0.q", 0, 0, 1, {(0, 0, 0, 1): 3.5}),
        ("blocks.0.k", 0, 1, 2, {(0, 0, 2, 1): -2.0}),  # shown transposed
        ("blocks.0.in", 0, 2, 0, {(0, 2, 0): 0.25}),
        ("blocks.0.wq", 0, 1, 1, {(1, 1): -1.5}),
        ("blocks.0.wk", 0, 0, 1, {(0, 1): 7.0}),
    ]
    for name, nth, row, col, cells in steps:
        trace = trace.edited({name: cells})
        edit(page, name, row, col, str(next(iter(cells.values()))), nth)
        wait_for_slice(page, trace, "blocks.0.scaled")
        for again, place in (("q", 1), ("k", 1)):  # the same tensor further down follows too
            wait_for_slice(page, trace, f"blocks.0.{again}", nth=place)
    assert check_pointing(page, 0, trace, scores_frames(trace)) == 30
    page.locator(".st-key-revert button").click()
    wait_for_slice(page, worked.single_head(), "blocks.0.scaled")
    expect(page.locator(".cell.edited")).to_have_count(0)


def test_ten_edits_typed_fast_all_arrive(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en&example=single_head")
    cell(page, "blocks.0.q", 0, 0).focus()
    typed = "2345678923"
    for number, move in zip(typed, "→↓←↓→↑↑←↓↓", strict=True):
        page.keyboard.press(number)
        page.keyboard.press("Enter")
        page.keyboard.press({"→": "ArrowRight", "←": "ArrowLeft", "↑": "ArrowUp", "↓": "ArrowDown"}[move])
    last = {(0, 0): 2, (0, 1): 9, (1, 0): 3, (1, 1): 8, (2, 0): 6, (2, 1): 7}
    trace = worked.single_head().edited({"blocks.0.q": {(0, 0, *at): float(value) for at, value in last.items()}})
    wait_for_slice(page, trace, "blocks.0.scaled")
    settled(page)
    page.reload()
    wait_for_slice(page, trace, "blocks.0.q")
    wait_for_slice(page, trace, "blocks.0.scaled")


def test_a_question_hides_its_cells_until_it_is_answered_or_skipped(page: Page, url: str) -> None:
    trace = worked.single_head()
    visit(page, f"{url}/scores?lang=en&pin=none")
    section = unfold(page, "predict")
    for number, answer in enumerate(("", "right", "999")):
        question = scores.ask(At(trace), number)
        places = [cell(page, f"blocks.0.{name}", question.row, question.column) for name in ("scores", "scaled")]
        section.locator(".st-key-scores-question-ask button").click()
        for place in places:
            expect(place).to_have_text("?")
            place.hover()
            settles(page, lambda: dock(page)[-3:], "= ?")
        expect(page.locator(".cell.secret")).to_have_count(2)
        if answer == "999":  # no number, then a wrong one: the question stays until it is skipped
            for text, said in (("two", "not a number"), (answer, "Try again")):
                section.locator("input").fill(text)
                section.locator("[data-testid=stFormSubmitButton] button").first.click()
                expect(section.locator("[data-testid=stAlert]")).to_contain_text(said)
                settled(page)
                expect(places[0]).to_have_text("?")
        if answer == "right":
            section.locator("input").fill(format_number(question.answer, 3))
            section.locator("[data-testid=stFormSubmitButton] button").first.click()
        else:
            section.locator("[data-testid=stFormSubmitButton] button").last.click()
        expect(places[0]).to_have_text(format_number(question.score, 3))
        wait_for_slice(page, trace, "blocks.0.scaled")


def test_without_the_transpose_torch_s_own_words_stand_on_the_page(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en&example=single_head")
    switch(page, "transpose")
    error = scores.MISTAKES["untransposed"](At(worked.single_head())).error
    expect(page.locator("[data-testid=stAlert]")).to_contain_text(str(error))
    settles(page, lambda: page.locator("[role=grid]").evaluate_all("all => all.map(n => n.dataset.name)"),
            ["blocks.0.q", "blocks.0.k"])
    wait_for_slice(page, worked.single_head(), "blocks.0.k")
    edit(page, "blocks.0.k", 2, 1, "5")
    switch(page, "transpose")
    edited = worked.single_head().edited({"blocks.0.k": {(0, 0, 2, 1): 5.0}})
    wait_for_slice(page, edited, "blocks.0.scaled")
    visit(page, f"{url}/scores?lang=en&source=toy&transpose=false")  # T = Dh = 4: nothing fails
    expect(page.locator("[data-testid=stAlert]")).to_be_visible()
    expect(page.locator("[data-testid=stAlert]")).to_contain_text("4")


def test_the_scale_can_be_left_out_and_each_mistake_shows_its_own_difference(page: Page, url: str) -> None:
    trace = worked.block()
    visit(page, f"{url}/scores?lang=en&example=block&head=2&scale=false")
    wait_for_slice(page, trace, "blocks.0.scores", head=1)
    expect(page.locator("[data-name='blocks.0.scaled']")).to_have_count(0)
    switch(page, "scale")
    wait_for_slice(page, trace, "blocks.0.scaled", head=1)
    unfold(page, "wrong")
    for number, kind in enumerate(("unscaled", "model_width", "times_root")):
        choose(page, "mistake", number)
        result = scores.MISTAKES[kind](At(trace))
        assert result.wrong is not None
        assert result.difference is not None
        for name, tensor in (("wrong", result.wrong), ("difference", result.difference)):
            wanted = [format_number(float(value), 3) for value in tensor[0, 1].flatten()]
            expect(page.locator(f"[data-name='{name}'] [role=gridcell]")).to_have_text(wanted)
        wait_for_slice(page, trace, "blocks.0.scaled", head=1, nth=1)


def test_a_toy_of_any_size_shows_its_own_numbers(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en")
    press_chip(page, "toy")
    wait_for_slice(page, toy.toy(ToySizes()), "blocks.0.scaled")
    for letter, number in (("T", "3"), ("D", "12"), ("H", "3"), ("Hkv", "1"), ("seed", "5")):
        fill(page, letter, number)
        settled(page)
    trace = toy.toy(ToySizes(tokens=3, width=12, heads=3, kv_heads=1), 5)
    wait_for_slice(page, trace, "blocks.0.scaled")
    fill(page, "head", "3")
    wait_for_slice(page, trace, "blocks.0.scaled", head=2)
    fill(page, "layer", "2")
    wait_for_slice(page, trace, "blocks.1.scaled", head=2)
    fill(page, "H", "5")  # 12 over 5
    expect(page.locator("[data-testid=stAlert]")).to_contain_text("5")
    wait_for_slice(page, trace, "blocks.1.scaled", head=2)


def test_the_live_model_s_scores_are_those_of_the_typed_sentence(page: Page, url: str) -> None:
    sentence = "A small red fox."
    visit(page, f"{url}/scores?lang=en")
    wait_for_slice(page, worked.block(), "blocks.0.scaled")
    press_chip(page, "live")
    page.locator(".st-key-text textarea").wait_for()
    expect(page.locator("[data-name='blocks.0.q_rot']")).to_be_visible()
    page.locator(".st-key-text textarea").fill(sentence)
    page.locator(".st-key-text textarea").press("Control+Enter")
    trace = live.load().trace(sentence)
    size = len(trace.tokens)
    expect(page.locator("[data-name='blocks.0.scaled']")).to_have_attribute("aria-rowcount", str(size))
    fill(page, "layer", "5")
    fill(page, "head", "8")
    expect(page.locator(".frame:has([data-name='blocks.4.scaled'])")).to_contain_text("h=8")
    settled(page)
    for row, col in ((0, 0), (size - 1, 0), (2, size - 1)):
        seen = cell(page, "blocks.4.scaled", row, col).get_attribute("aria-label") or ""
        value = float(seen.rsplit(": ", 1)[1].replace("−", "-"))
        assert value == pytest.approx(float(trace["blocks.4.scaled"][0, 7, row, col]), abs=1e-4)
    assert page.locator(".cell.edited, .frame.editable").count() == 0
    labels = page.locator(".frame:has([data-name='blocks.4.scaled']) .labels .label").evaluate_all(
        "all => all.map(n => n.title)")
    assert labels == [f"{token} ({place})" for place, token in enumerate(trace.tokens, start=1)]


@pytest.mark.parametrize("letters", ["d0", "d1"])
def test_another_language_changes_the_words_and_nothing_else(page: Page, url: str, letters: str) -> None:
    visit(page, f"{url}/scores?lang=en&example=block&head=2&decimals=4&scale=false&pin=scores.3.1&notation={letters}")
    edit(page, "blocks.0.q", 1, 0, "9")
    page.wait_for_url("**edits=**")
    cell(page, "blocks.0.scores", 3, 1).click()
    page.wait_for_url("**pin=scores.3.1**")
    settled(page)
    before, words = digits(page), page.locator("[data-testid=stMain]").inner_text()
    arithmetic = dock(page).split(" = ", 1)
    choose(page, "lang", 1)
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    expect(page.get_by_role("status", name="算式")).to_be_visible()
    settled(page)
    assert digits(page) == before
    assert dock(page).split(" = ", 1) == arithmetic
    assert page.locator("[data-testid=stMain]").inner_text() != words
    assert all(part in page.url for part in ("lang=zh", "example=block", "head=2", "decimals=4", "scale=false",
                                             "pin=scores.3.1", "edits="))
    choose(page, "lang", 0)
    expect(page.locator("html")).to_have_attribute("lang", "en")
    expect(page.get_by_role("status", name="Arithmetic")).to_be_visible()
    settled(page)
    assert page.locator("[data-testid=stMain]").inner_text() == words
