"""Previous and next by key: the links of the header, never while typing, the bench stays as it is. And one Back."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from core import worked
from tests.browser.on_page import cell, digits, dock, edit, settled, switch, unfold, wait_for_slice


def visit(page: Page, address: str) -> Page:
    page.goto(address)
    expect_page(page, address.split("?")[0].rsplit("/", 1)[-1])
    page.evaluate("window.sameDocument = true")
    return page


def expect_page(page: Page, slug: str) -> None:
    expect(page).to_have_url(re.compile(rf"/{slug}\?.*lang="))
    page.locator("[role=gridcell]").first.wait_for()
    settled(page)


def stays(page: Page, slug: str) -> None:
    """Whatever a key or a step in the history has set going has begun by the frame after next; it leads nowhere."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect_page(page, slug)


def test_alt_and_the_page_keys_walk_through_the_pages_with_the_bench_kept(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en&example=block&head=2&decimals=4")
    edit(page, "blocks.0.q", 0, 0, "5")
    page.wait_for_url("**edits=**")
    settled(page)
    trace = worked.block().edited({"blocks.0.q": {(0, 1, 0, 0): 5.0}})
    for key, slug in (("PageDown", "mask"), ("PageDown", "mixing"), ("PageUp", "mask"), ("PageUp", "scores")):
        page.keyboard.press(f"Alt+{key}")
        expect_page(page, slug)
        assert all(part in page.url for part in ("example=block", "head=2", "decimals=4", "edits="))
    wait_for_slice(page, trace, "blocks.0.scaled", head=1, decimals=4)
    assert page.evaluate("window.sameDocument")


def test_a_presenter_s_keys_turn_pages_in_its_view_only(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=zh")
    page.keyboard.press("PageDown")
    stays(page, "scores")
    switch(page, "presenter")
    page.wait_for_url("**presenter=true**")
    settled(page)
    page.keyboard.press("PageDown")
    expect_page(page, "mask")
    assert "presenter=true" in page.url
    cell(page, "blocks.0.scaled", 0, 0).focus()  # as after a click on a cell
    page.keyboard.press("PageUp")
    expect_page(page, "scores")


def test_no_key_turns_the_page_while_something_is_typed_or_with_another_modifier(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en&source=toy&presenter=false")
    page.locator(".st-key-T input").focus()
    page.keyboard.press("Alt+PageDown")
    stays(page, "scores")
    page.locator(".st-key-decimals [role=slider], .st-key-decimals input").first.focus()
    page.keyboard.press("Alt+PageDown")
    stays(page, "scores")
    cell(page, "blocks.0.q_rot", 0, 0).dblclick()  # the cell's own field
    page.keyboard.press("Alt+PageDown")
    stays(page, "scores")
    page.keyboard.press("Escape")
    page.locator("h2").first.click()
    for keys in ("Control+Alt+PageDown", "Shift+Alt+PageDown", "ArrowRight", "Alt+ArrowUp"):
        page.keyboard.press(keys)
    stays(page, "scores")


def test_a_page_beside_the_line_leads_back_to_it_and_the_grid_keeps_its_keys(page: Page, url: str) -> None:
    visit(page, f"{url}/rope?lang=en&pin=none")
    page.keyboard.press("Alt+PageDown")
    expect_page(page, "scores")
    page.go_back()
    expect_page(page, "rope")
    cell(page, "blocks.0.q", 0, 0).focus()
    page.keyboard.press("ArrowRight")
    assert dock(page).startswith("Q[1,2]")
    unfold(page, "share").locator("code").first.wait_for()
    page.keyboard.press("Alt+PageUp")
    expect_page(page, "projections")


def test_the_links_say_their_keys(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en")
    for name, key in (("‹ Projections", "Alt+PageUp"), ("Mask ›", "Alt+PageDown")):
        link = page.locator(".st-key-page-header").get_by_role("link", name=name)
        expect(link).to_have_attribute("aria-keyshortcuts", key)
        link.hover()
        expect(page.get_by_role("tooltip").last).to_contain_text(key)


def test_one_back_leads_to_the_page_before(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en&example=block&head=2&decimals=4")
    choose_page(page, "Mask")
    expect_page(page, "mask")
    choose_page(page, "Mixing")
    expect_page(page, "mixing")
    for slug in ("mask", "scores"):
        page.go_back()
        stays(page, slug)
        assert all(part in page.url for part in ("example=block", "head=2", "decimals=4"))
    for slug in ("mask", "mixing"):
        page.go_forward()
        stays(page, slug)
    assert page.evaluate("window.sameDocument")


def test_back_still_undoes_what_was_done_on_the_page(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en&example=block")
    choose_page(page, "Mixing")
    expect_page(page, "mixing")
    cell(page, "blocks.0.context", 3, 1).click()
    page.wait_for_url("**pin=context.3.1**")
    settled(page)
    page.go_back()
    expect(page).not_to_have_url(re.compile("pin="))
    expect_page(page, "mixing")
    page.go_back()
    expect_page(page, "scores")


def test_the_steps_of_a_run_are_kept_by_a_reload_and_are_one_step_of_the_history(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en")
    choose_page(page, "Generation")
    expect_page(page, "generation")
    for made in (3, 4, 5):
        page.locator(".st-key-run-step button").click()
        page.wait_for_url(f"**made={made}**")
        settled(page)
    seen = digits(page), page.locator("div.text").inner_text()
    page.reload()
    expect(page.locator("div.text")).to_have_text(re.compile("chosen next"))
    expect_page(page, "generation")
    assert (digits(page), page.locator("div.text").inner_text()) == seen
    page.go_back()
    expect_page(page, "scores")


def choose_page(page: Page, title: str) -> None:
    """Follow a link of the menu."""
    page.locator("[data-testid=stSidebarNavLink]").get_by_text(title, exact=True).click()


def test_a_stage_s_name_changes_the_page_in_place_and_opens_the_same_bench_in_a_new_tab(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en&v=3&mask=window&reach=3")
    stage = page.locator(".stages a", has_text="Mixing")
    stage.hover()
    with page.context.expect_page() as opened:
        stage.click(modifiers=["Control"])
    assert {"lang=en", "mask=window", "reach=3"} <= set(opened.value.url.partition("?")[2].split("&"))
    assert "/mixing" in opened.value.url
    opened.value.close()
    expect_page(page, "scores")
    stage.click()
    expect_page(page, "mixing")
    expect(page.locator(".stages [aria-current=page]")).to_have_text("Mixing")
    assert page.evaluate("window.sameDocument") is True
    expect(page).to_have_url(re.compile("mask=window"))


def test_on_a_phone_the_lit_stage_is_in_view(open_page: Callable[..., Page], url: str) -> None:
    page = open_page(viewport={"width": 390, "height": 844})
    for slug in ("tokens", "heads", "cost"):
        page.goto(f"{url}/{slug}?lang=en&v=3")
        expect(page.locator(".stages [aria-current=page]")).to_be_in_viewport(ratio=1)
