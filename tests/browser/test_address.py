"""Addresses, reload, Back and Forward, saved edits, several learners at once, and a server's very first request."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from core import toy, worked
from core.toy import ToySizes
from tests.browser.on_page import (
    STRINGS,
    cell,
    choose,
    digits,
    dock,
    edit,
    fill,
    press_chip,
    settled,
    settles,
    switch,
    unfold,
    visit,
    wait_for_slice,
)

ROOT = Path(__file__).parents[2]
Q = "blocks.0.q"


def pinned(page: Page) -> str | None:
    """The label of the pinned cell of the first equation."""
    found = page.locator(".cell.pinned")
    return found.first.get_attribute("aria-label") if found.count() else None


def picture(page: Page) -> tuple[object, ...]:
    """What a learner sees of the state: every digit, the pin and its arithmetic, the switches, the fields, the text."""
    settled(page)
    page.mouse.move(5, 5)
    switches = page.locator("[role=switch]").evaluate_all("all => all.map(n => n.checked ?? n.ariaChecked)")
    fields = page.locator("section input[type=number], section textarea, [role=slider]").evaluate_all(
        "all => all.map(n => n.value ?? n.ariaValueText)")
    chosen = page.locator("[role=radio]").evaluate_all("all => all.map(n => n.ariaChecked)")
    words = page.locator("[data-testid=stMain]").inner_text().splitlines()
    past = "\n".join(page.locator(".st-key-undoing").all_inner_texts()).splitlines()  # is no part of an address
    words = [line for line in words if line and line not in past]
    return digits(page), pinned(page), dock(page), switches, fields, chosen, words


def expect_picture(page: Page, wanted: tuple[object, ...]) -> None:
    """Wait until the page looks like that; fail with what differs."""
    settles(page, lambda: picture(page), wanted)


def worked_with_everything(page: Page, url: str) -> None:
    """The second head of the block with two edits, another pin, four decimals and no scale."""
    visit(page, f"{url}/scores?lang=en&example=block")
    fill(page, "head", "2")
    wait_for_slice(page, worked.block(), "blocks.0.scaled", head=1)
    edit(page, Q, 1, 0, "9")
    edit(page, "blocks.0.k", 0, 2, "-1.25")
    page.wait_for_url("**edits=**")
    settled(page)
    switch(page, "scale")
    page.wait_for_url("**scale=false**")
    settled(page)
    page.locator(".st-key-decimals [role=slider], .st-key-decimals input").first.press("ArrowRight")
    page.wait_for_url("**decimals=4**")
    settled(page)
    trace = worked.block().edited({Q: {(0, 1, 1, 0): 9.0}, "blocks.0.k": {(0, 1, 2, 0): -1.25}})
    cell(page, "blocks.0.scores", 3, 1).click()
    page.wait_for_url("**pin=scores.3.1**")
    page.wait_for_url("**decimals=4**")
    wait_for_slice(page, trace, "blocks.0.scores", head=1, decimals=4)


def toy_of_ones(page: Page, url: str) -> None:
    """Sizes at the lower ends of their ranges, where a field's value is easily mistaken for no value."""
    visit(page, f"{url}/scores?lang=zh")
    press_chip(page, "toy")
    for letter, number in (("L", "1"), ("H", "1"), ("Hkv", "1"), ("T", "3"), ("seed", "9")):
        fill(page, letter, number)
        page.wait_for_url(f"**{letter}={number}**")
        settled(page)
    wait_for_slice(page, toy.toy(ToySizes(tokens=3, heads=1, kv_heads=1, layers=1), 9), "blocks.0.scaled")
    edit(page, "blocks.0.q_rot", 0, 0, "2")
    page.wait_for_url("**edits=**")


def live_text(page: Page, url: str) -> None:
    """A sentence with characters that an address must escape."""
    visit(page, f"{url}/scores?lang=en&source=live&layer=3&head=2")
    expect(page.locator("[data-name='blocks.2.q_rot']")).to_be_visible()
    box = page.locator(".st-key-text textarea")
    box.fill("A & B = 50% “猫”\n#1?")
    box.press("Control+Enter")
    page.wait_for_url("**text=**")
    expect(page.locator(".labels .label[title^='A (']").first).to_be_attached()


@pytest.mark.parametrize("prepare", [worked_with_everything, toy_of_ones, live_text])
def test_a_copied_address_and_a_reload_show_the_same_page(
    open_page: Callable[..., Page], url: str, prepare: Callable[[Page, str], None],
) -> None:
    page = open_page(locale="en-US")
    prepare(page, url)
    seen, address = picture(page), page.url
    other = open_page(locale="zh-CN" if "lang=en" in address else "en-US")
    visit(other, address)
    if prepare is live_text:
        expect(other.locator("[data-name='blocks.2.q_rot']")).to_be_visible()
    expect_picture(other, seen)
    page.reload()
    page.locator("[role=gridcell]").first.wait_for()
    expect_picture(page, seen)


def test_the_share_section_offers_the_address_itself(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en&example=block")
    edit(page, Q, 0, 0, "4")
    page.wait_for_url("**edits=**")
    link = unfold(page, "share").locator("code").first
    expect(link).to_contain_text("edits=")
    offered, here = urlsplit(link.inner_text().strip()), urlsplit(page.url)
    assert (offered.netloc, offered.path) == (here.netloc, here.path)
    assert parse_qs(offered.query) == parse_qs(here.query)


def test_back_undoes_the_last_step_and_forward_does_it_again(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en&example=single_head")
    settled(page)
    trace = worked.single_head()
    opened = pinned(page)
    cell(page, "blocks.0.scores", 1, 2).click()
    page.wait_for_url("**pin=scores.1.2**")
    settled(page)
    once, twice = ({Q: {(0, 0, 0, 0): 7.0}}, {Q: {(0, 0, 0, 0): 7.0, (0, 0, 2, 1): -3.0}})
    for row, col, number, edits in ((0, 0, "7", once), (2, 1, "-3", twice)):
        cell(page, Q, row, col).focus()
        page.keyboard.type(number)
        page.keyboard.press("Enter")
        wait_for_slice(page, trace.edited(edits), "blocks.0.scaled")
        settled(page)
    choose(page, "lang", 1)
    expect(page.get_by_role("status", name="算式")).to_be_visible()
    settled(page)

    page.go_back()
    expect(page.get_by_role("status", name=STRINGS["dock"])).to_be_visible()
    wait_for_slice(page, trace.edited(twice), "blocks.0.scaled")
    page.go_back()
    wait_for_slice(page, trace.edited(once), "blocks.0.scaled")
    wait_for_slice(page, trace.edited(once), Q)
    page.go_back()
    wait_for_slice(page, trace, "blocks.0.scaled")
    wait_for_slice(page, trace, Q)
    expect(cell(page, "blocks.0.scores", 1, 2)).to_have_attribute("aria-selected", "true")
    page.go_back()
    expect(cell(page, "blocks.0.scaled", 1, 2)).to_have_attribute("aria-selected", "true")
    settles(page, lambda: pinned(page), opened)

    page.go_forward()
    expect(cell(page, "blocks.0.scores", 1, 2)).to_have_attribute("aria-selected", "true")
    for edits in (once, twice):
        page.go_forward()
        wait_for_slice(page, trace.edited(edits), "blocks.0.scaled")
        wait_for_slice(page, trace.edited(edits), Q)
    page.go_forward()
    expect(page.get_by_role("status", name="算式")).to_be_visible()
    wait_for_slice(page, trace.edited(twice), "blocks.0.scaled")


def test_after_back_an_edit_starts_from_what_is_on_screen(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en&example=single_head")
    settled(page)
    trace = worked.single_head()
    for col, number in ((0, 7.0), (1, 5.0)):
        before = page.url
        cell(page, Q, 0, col).focus()
        page.keyboard.type(str(number))
        page.keyboard.press("Enter")
        page.wait_for_url(lambda now, before=before: now != before)
        settled(page)
    page.go_back()
    first = {Q: {(0, 0, 0, 0): 7.0}}
    wait_for_slice(page, trace.edited(first), Q)
    cell(page, Q, 2, 0).focus()
    page.keyboard.type("4")
    page.keyboard.press("Enter")
    wait_for_slice(page, trace.edited({Q: {(0, 0, 0, 0): 7.0, (0, 0, 2, 0): 4.0}}), "blocks.0.scaled")


def test_two_learners_do_not_see_each_other_s_edits(open_page: Callable[..., Page], url: str) -> None:
    ada, bob = (visit(open_page(), f"{url}/scores?lang=en&example=block") for _ in range(2))
    edit(ada, Q, 0, 0, "5")
    edit(bob, Q, 0, 0, "-6")
    edit(bob, "blocks.0.k", 1, 3, "2")
    for page, edits in ((ada, {Q: {(0, 0, 0, 0): 5.0}}),
                        (bob, {Q: {(0, 0, 0, 0): -6.0}, "blocks.0.k": {(0, 0, 3, 1): 2.0}})):
        wait_for_slice(page, worked.block().edited(edits), "blocks.0.scaled")
        settled(page)
        switch(page, "scale")
        expect(page.locator("[data-name='blocks.0.scaled']")).to_have_count(0)
        wait_for_slice(page, worked.block().edited(edits), "blocks.0.scores")
    eve = visit(open_page(), f"{url}/scores?lang=en&example=block")
    wait_for_slice(eve, worked.block(), "blocks.0.scaled")


def test_saved_edits_open_in_another_browser(open_page: Callable[..., Page], url: str, tmp_path: Path) -> None:
    page = visit(open_page(), f"{url}/scores?lang=en&example=block")
    edit(page, Q, 0, 0, "5")
    edited = worked.block().edited({Q: {(0, 0, 0, 0): 5.0}})
    wait_for_slice(page, edited, "blocks.0.scaled")
    settled(page)
    with page.expect_download() as download:
        unfold(page, "share").locator(".st-key-scores-state button").click()
    file = tmp_path / "state.json"
    download.value.save_as(file)
    assert json.loads(file.read_text())["edits"] == {"block": {Q: {"0,0,0,0": 5}}}
    other = visit(open_page(), f"{url}/scores?lang=zh")  # on another example: the file says which one it belongs to
    unfold(other, "share").locator("input[type=file]").set_input_files(file)
    wait_for_slice(other, edited, "blocks.0.scaled")
    expect(cell(other, Q, 0, 0)).to_have_class("cell edited")


def test_a_saved_toy_opens_in_its_sizes_with_seed_bias_and_place(
    open_page: Callable[..., Page], url: str, tmp_path: Path,
) -> None:
    address = f"{url}/scores?lang=en&source=toy&T=3&D=6&H=3&Hkv=3&L=3&seed=8&bias=on&layer=2&head=3"
    trace = toy.toy(ToySizes(tokens=3, width=6, heads=3, kv_heads=3, layers=3), 8, bias=True)
    page = visit(open_page(), address)
    wait_for_slice(page, trace, "blocks.1.scaled", head=2)
    settled(page)
    with page.expect_download() as download:
        unfold(page, "share").locator(".st-key-scores-state button").click()
    file = tmp_path / "state.json"
    download.value.save_as(file)
    for parts in ("lang=zh", "lang=en&source=toy&T=5&D=8&H=2&Hkv=1&seed=1&head=2"):
        other = visit(open_page(), f"{url}/scores?{parts}")
        unfold(other, "share").locator("input[type=file]").set_input_files(file)
        wait_for_slice(other, trace, "blocks.1.scaled", head=2)
        settled(other)
        assert all(part in other.url for part in ("T=3", "D=6", "seed=8", "bias=on", "layer=2", "head=3"))
        other.reload()
        wait_for_slice(other, trace, "blocks.1.scaled", head=2)


def test_the_choices_hold_from_page_to_page(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en&source=toy&T=3&seed=4&head=2&decimals=4")
    edit(page, "blocks.0.q_rot", 0, 0, "2")
    page.wait_for_url("**edits=**")
    settled(page)
    before = digits(page)
    links = page.locator("[data-testid=stSidebarNav] a")
    links.first.click()
    page.locator(".st-key-map").wait_for()
    expect(page.locator("[role=gridcell]")).to_have_count(0)
    expect(page.locator(".st-key-T input")).to_have_value("3")
    page.locator(".st-key-box-open-scores a:visible").click()
    page.locator("[role=gridcell]").first.wait_for()
    settled(page)
    assert digits(page) == before
    assert all(part in page.url for part in ("source=toy", "T=3", "seed=4", "head=2", "decimals=4", "edits="))


def test_the_very_first_request_of_a_server_may_be_a_deep_link(
    own_server: Callable[[Path], str], open_page: Callable[..., Page],
) -> None:
    page = visit(open_page(), f"{own_server(ROOT / 'serve.py')}/scores?lang=zh&example=block")
    wait_for_slice(page, worked.block(), "blocks.0.scaled")
    expect(page.get_by_text("Page not found")).to_have_count(0)
    expect(page.locator("[role=dialog]")).to_have_count(0)
