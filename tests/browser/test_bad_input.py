"""What a learner or a stranger may type, send or open: a clear message, the last good numbers, nothing executed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Page, expect

from core import live, toy, worked
from core.toy import ToySizes
from tests.browser.on_page import cell, fill, settled, unfold, visit, wait_for_slice

Q = "blocks.0.q"
SCRIPT = "<img src=x onerror='window.hit=1'><script>window.hit=1</script>"
NOT_NUMBERS = ["NaN", "inf", "-Infinity", "1e400", "1e39", "two", "1,5", "0x10", "", "٣", "1 2", "<b>1</b>"]
ALERT = "[data-testid=stAlert]"


def unharmed(page: Page) -> None:
    """No traceback on the page, nothing of what was typed has run, and no dialog is open."""
    settled(page)
    assert page.locator("[data-testid=stException]").count() == 0
    assert page.locator("[role=dialog]").count() == 0
    assert page.evaluate("window.hit") is None


def test_what_is_no_number_is_refused_at_the_cell_in_the_learner_s_language(page: Page, url: str) -> None:
    said: dict[str, list[str]] = {}
    for lang in ("en", "zh"):
        visit(page, f"{url}/scores?lang={lang}&example=single_head")
        alert = page.locator(".dock [role=alert]").first
        for typed in NOT_NUMBERS:
            cell(page, Q, 0, 0).dblclick()
            page.keyboard.press("Control+A")
            page.keyboard.press("Delete")
            page.keyboard.insert_text(typed)
            page.keyboard.press("Enter")
            expect(alert).to_contain_text(typed)
            expect(alert).to_contain_text("Q[1,1]")
            expect(cell(page, Q, 0, 0)).to_have_text("1")
            said.setdefault(typed, []).append(alert.inner_text())
        wait_for_slice(page, worked.single_head(), "blocks.0.scaled")
        unharmed(page)
        assert "edits" not in page.url
    assert all(english != chinese for english, chinese in said.values())


def test_a_number_field_keeps_the_last_good_numbers(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en&source=toy")
    field = page.locator(".st-key-T input")
    for typed in ("-3", "999999999", "0", "1e400", "4.5"):
        fill(page, "T", typed)
        unharmed(page)
        wait_for_slice(page, toy.toy(ToySizes()), "blocks.0.scaled")
        if field.input_value() == typed:  # Streamlit leaves what is out of range standing, with its own message
            expect(page.locator(".st-key-T")).to_contain_text("1")
            expect(page.locator(".st-key-T")).to_contain_text("32")
        assert "T=" not in page.url
    fill(page, "T", "3")
    wait_for_slice(page, toy.toy(ToySizes(tokens=3)), "blocks.0.scaled")


def test_a_strange_sentence_is_read_or_refused_and_never_run(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en&source=live")
    expect(page.locator("[data-name='blocks.0.q_rot']")).to_be_visible()
    box = page.locator(".st-key-text textarea")
    model = live.load()
    for text in (SCRIPT, "שלום עולם", "🦊👩\u200d👩\u200d👧 ok", "**b** $x$ `c` [a](http://x)"):
        box.fill(text)
        box.press("Control+Enter")
        tokens = model.trace(text).tokens
        titles = [f"{token} ({place})" for place, token in enumerate(tokens, start=1)]
        labels = page.locator(".frame:has([data-name='blocks.0.scores']) .labels .label")
        expect(labels).to_have_count(min(len(tokens), labels.count() or len(tokens)))
        expect(labels.first).to_have_attribute("title", titles[0])
        shown = labels.evaluate_all("all => all.map(n => n.title)")
        assert shown == titles[:len(shown)]
        unharmed(page)
        expect(page.locator(ALERT)).to_have_count(0)
    last = page.locator("[data-name='blocks.0.scaled']").get_attribute("aria-rowcount")
    for text in ("", "word " * 20_000, "one two three " * 60):
        box.fill(text)
        box.press("Control+Enter")
        expect(page.locator(ALERT)).to_be_visible()
        unharmed(page)
        assert page.locator("[data-name='blocks.0.scaled']").get_attribute("aria-rowcount") == last
        box.fill("Good again")
        box.press("Control+Enter")
        expect(page.locator(ALERT)).to_have_count(0)
        settled(page)  # what goes and what takes its place may stand there together for a moment
        last = str(len(model.trace("Good again").tokens))
        expect(page.locator("[data-name='blocks.0.scaled']")).to_have_attribute("aria-rowcount", last)


HOSTILE = quote(SCRIPT)
ADDRESSES = [
    "&".join(f"{key}={HOSTILE}" for key in ("lang", "source", "example", "pin", "edits", "layer", "mistake")),
    "source=toy&T=1e400&seed=NaN&b=-1&layer=1e400&head=%00&decimals=9999&presenter=%F0%9F%92%A9&edits=eNqrVg",
    f"unknown={HOSTILE}&{HOSTILE}=1&__proto__=1&constructor=2&lang=&&&=&==",
]


def test_a_hostile_address_opens_the_page_and_says_what_was_left_out(open_page: Callable[..., Page], url: str) -> None:
    page = open_page(locale="zh-CN")  # in English: tests/ui/test_bad_input.py
    for parts in ADDRESSES:
        visit(page, f"{url}/scores?{parts}")
        if "unknown" in parts:
            expect(page.locator(ALERT)).to_have_count(0)
        else:
            expect(page.locator(ALERT).first).to_be_visible()
            said = "".join(page.locator(ALERT).all_inner_texts())
            assert any("\u4e00" <= letter <= "\u9fff" for letter in said)
        unharmed(page)
        wait_for_slice(page, toy.toy(ToySizes()) if "source=toy" in parts else worked.single_head(), "blocks.0.scaled")


def test_a_sentence_in_an_address_is_text(page: Page, url: str) -> None:
    visit(page, f"{url}/scores?lang=en&source=live&text={quote(SCRIPT)}")
    expect(page.locator("[data-name='blocks.0.q_rot']")).to_be_visible()
    expect(page.locator(".st-key-text textarea")).to_have_value(SCRIPT)
    unharmed(page)


def test_a_file_that_holds_no_edits_leaves_the_present_ones(page: Page, url: str, tmp_path: Path) -> None:
    visit(page, f"{url}/scores?lang=en&example=single_head")
    cell(page, Q, 0, 0).focus()
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    edited = worked.single_head().edited({Q: {(0, 0, 0, 0): 7.0}})
    wait_for_slice(page, edited, "blocks.0.scaled")
    settled(page)
    damaged = {
        "noise": bytes(range(256)) * 8, "wrong": json.dumps({"single_head": {Q: {"0,0,0,0": "7", "9": 1}}}).encode()}
    for name, content in damaged.items():
        file = tmp_path / f"{name}.json"
        file.write_bytes(content)
        unfold(page, "share").locator("input[type=file]").set_input_files(file)
        expect(page.locator(ALERT).first).to_be_visible()
        unharmed(page)
        wait_for_slice(page, edited, "blocks.0.scaled")
        page.reload()
        wait_for_slice(page, edited, "blocks.0.scaled")
        expect(page.locator(ALERT)).to_have_count(0)
