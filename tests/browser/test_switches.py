"""A switch of the equation is on screen within two frames, however late the server answers, and all else follows."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from core import worked
from tests.browser.late import Late
from tests.browser.on_page import edit, serious, settled, switch, visit, wait_for_slice

# Throws a switch and says after two frames which matrices are on screen, and whether the switch says so.
THROW = """async (key) => {
    const roots = [...document.querySelectorAll("*")].map((node) => node.shadowRoot).filter(Boolean);
    const root = roots.find((one) => one.querySelector(`[data-key='${key}']`));
    root.querySelector(`[data-key='${key}']`).click();
    for (let n = 0; n < 2; n++) await new Promise((done) => requestAnimationFrame(done));
    return [[...root.querySelectorAll("[role=grid]")].map((grid) => grid.dataset.name.split(".").pop()),
        root.querySelector(`[data-key='${key}']`).ariaChecked];
}"""

# The buttons of all choices that have an edge without a line, or one that the equation's box cuts off.
CUT_OFF = """() => {
    const roots = [...document.querySelectorAll("*")].map((node) => node.shadowRoot).filter(Boolean);
    const root = roots.find((one) => one.querySelector(".choice"));
    const box = root.querySelector(".equation").getBoundingClientRect();
    return [...root.querySelectorAll(".choice button")].filter((node) => {
        const own = node.getBoundingClientRect(), lines = getComputedStyle(node);
        return own.top < box.top || own.left < box.left || own.right > box.right ||
            ["Top", "Right", "Bottom", "Left"].some((edge) => parseFloat(lines[`border${edge}Width`]) < 1);
    }).map((node) => node.textContent);
}"""


@pytest.mark.parametrize("delay", [0, 150, 5000])
def test_a_thrown_switch_is_on_screen_within_two_frames(own_page: Page, url: str, delay: int) -> None:
    page, late = own_page, Late(own_page)
    visit(page, f"{url}/scores?lang=en&v=3")
    wait_for_slice(page, worked.block(), "blocks.0.scaled")
    late.delay = delay
    seen = [page.evaluate(THROW, key) for key in ("scale", "scale", "transpose", "transpose", "scale")]
    whole = ["q", "k", "scores", "scaled"]
    assert seen == [[whole[:3], "false"], [whole, "true"], [whole[:2], "false"], [whole, "true"], [whole[:3], "false"]]
    late.end()
    expect(page).to_have_url(re.compile("scale=false"))
    settled(page)
    expect(page.locator("[role=grid]")).to_have_count(3)
    expect(page.locator("[data-key='scale']")).to_have_attribute("aria-checked", "false")
    expect(page.locator(".st-key-formula")).not_to_contain_text("D")


# Of the equation with a choice: which entry is taken, and what stands in its matrices; with a code that one is taken
# first, and two frames pass.
TAKEN = """async ([key, code]) => {
    const roots = [...document.querySelectorAll("*")].map((node) => node.shadowRoot).filter(Boolean);
    const root = roots.find((one) => one.querySelector(`[data-key='${key}']`));
    if (code !== null) {
        root.querySelector(`[data-key='${key}'] [data-code='${code}']`).click();
        for (let n = 0; n < 2; n++) await new Promise((done) => requestAnimationFrame(done));
    }
    return [root.querySelector(`[data-key='${key}'] [aria-checked='true']`).dataset.code,
        [...root.querySelectorAll("[role=grid]")].map((grid) => `${grid.dataset.name}: ${grid.textContent}`)];
}"""


@pytest.mark.parametrize("delay", [150, 5000])
@pytest.mark.parametrize(("slug", "key", "codes"), [
    ("mask", "mask", ["window", "none", "padding"]), ("mask", "where", ["after", "none", "renormalised"]),
    ("rope", "moved", ["1", "50", "2"]), ("heads", "way", ["mixed", "viewed"]), ("sharing", "kvheads", ["4", "1"]),
    ("order", "sight", ["causal"])])
def test_what_is_taken_is_on_screen_within_two_frames_and_stays_when_the_answer_comes(
    own_page: Page, url: str, slug: str, key: str, codes: list[str], delay: int,
) -> None:
    page, late = own_page, Late(own_page)
    visit(page, f"{url}/{slug}?lang=en&v=3")
    settled(page)
    for code in codes:
        expect(page.locator(f"[data-key='{key}']")).to_be_visible()
        before = page.evaluate(TAKEN, [key, None])
        late.delay = delay
        shown = page.evaluate(TAKEN, [key, code])
        assert shown[0] == code
        assert shown[1] != before[1]
        late.end()
        expect(page).to_have_url(re.compile(f"{key}={code}"))
        settled(page)
        expect(page.locator(f"[data-key='{key}']")).to_be_visible()
        assert page.evaluate(TAKEN, [key, None]) == shown


def test_an_edit_and_a_switch_on_their_way_together_are_both_taken(own_page: Page, url: str) -> None:
    page, late = own_page, Late(own_page)
    visit(page, f"{url}/scores?lang=en&v=3")
    wait_for_slice(page, worked.block(), "blocks.0.scaled")
    late.delay = 1000
    edit(page, "blocks.0.q", 0, 0, "5")
    switch(page, "scale")
    late.end()
    settled(page)
    wait_for_slice(page, worked.block().edited({"blocks.0.q": {(0, 0, 0, 0): 5.0}}), "blocks.0.scores")
    expect(page.locator("[data-name='blocks.0.scaled']")).to_have_count(0)
    for part in ("edits=", "scale=false"):
        expect(page).to_have_url(re.compile(part))
    settled(page)
    page.reload()
    wait_for_slice(page, worked.block().edited({"blocks.0.q": {(0, 0, 0, 0): 5.0}}), "blocks.0.scores")
    expect(page.locator("[data-name='blocks.0.scaled']")).to_have_count(0)


def test_switches_are_reached_and_thrown_by_key(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en&v=3")
    toggle = page.get_by_role("switch", name="Divide by √Dh")
    toggle.focus()
    page.keyboard.press("Space")
    expect(toggle).to_have_attribute("aria-checked", "false")
    expect(page.locator("[data-name='blocks.0.scaled']")).to_have_count(0)
    settled(page)
    assert page.evaluate("document.activeElement.shadowRoot?.activeElement?.dataset.key") == "scale"
    page.keyboard.press("Enter")
    expect(page.locator("[data-name='blocks.0.scaled']")).to_have_count(1)
    assert serious(page) == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("slug", ["mask", "heads", "sharing", "order", "rope"])
def test_no_edge_of_a_choice_is_cut_off_or_missing(page: Page, url: str, slug: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    visit(page, f"{url}/{slug}?lang=en&v=3")
    expect(page.locator(".choice button[aria-checked='true']").first).to_be_visible()
    assert page.evaluate(CUT_OFF) == []
