"""The page on tokens in Chromium: the merges of the live model step by step, and characters and words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

from core import live, worked
from core.live import Live
from core.live.merges import Merger, PreToken
from core.stage import At
from core.stages import tokens
from core.stages.tokens.texts import Merged
from core.tokenizers import ToyTokenizer
from tests.browser.on_page import settled, settles, unfold

SENTENCE = "The cat sat on the mat because it was tired."
MIXED = worked.TEXTS["d1"]
RUNGS = """() => {
    const host = [...document.querySelectorAll("*")].find((node) => node.shadowRoot?.querySelector(".merging"));
    return [...host.shadowRoot.querySelectorAll(".rung")].map((rung) => [...rung.children].map((n) => n.textContent));
}"""


@pytest.fixture(scope="module")
def model() -> Live:
    """The real model, for its tokenizer."""
    return live.load()


def cut(model: Live, text: str) -> tuple[PreToken, ...]:
    return Merger.of(model.tokenizer.vocabulary).pre_tokens(text)


def visit(page: Page, url: str, text: str = SENTENCE, **more: str) -> Page:
    """Open the page on the live model and wait for its tokens."""
    parts = "".join(f"&{key}={value}" for key, value in more.items())
    page.goto(f"{url}/tokens?lang=en&source=live&text={quote(text)}{parts}")
    page.locator(".ladder").wait_for(state="attached")
    page.locator(".st-key-try-d1").wait_for()  # the live model is there
    settled(page)
    return page


def chips(page: Page) -> list[list[str]]:
    """Label and id of every token."""
    return [[chip.locator(".label").inner_text(), chip.locator(".id").inner_text()]
            for chip in page.locator(".chip").all()]


def ladder_of(part: PreToken) -> list[list[str]]:
    """What each row of the ladder says, from the core."""
    heads = ["the text as bytes", *(f"merge {n} · rank {merge.rank}" for n, merge in enumerate(part.merges, 1))]
    return [[head, *(symbol.label for symbol in part.after(n))] for n, head in enumerate(heads)]


@pytest.mark.parametrize("text", [SENTENCE, MIXED, worked.TEXTS["emoji"]])
def test_every_token_of_a_text_with_its_id(page: Page, url: str, model: Live, text: str) -> None:
    visit(page, url, text)
    encoding = model.encode(text)
    assert chips(page) == [[piece, str(token)] for piece, token in zip(encoding.pieces, encoding.ids, strict=True)]
    torn = sum(not piece.whole for part in cut(model, text) for piece in part.pieces)
    expect(page.locator(".chip.torn")).to_have_count(torn)


@pytest.mark.parametrize("text", [SENTENCE, MIXED])
def test_every_rung_of_every_part_is_the_core_s(page: Page, url: str, model: Live, text: str) -> None:
    visit(page, url, text)
    for number, part in enumerate(cut(model, text)):
        page.locator(".part").nth(number).locator(".chip").first.click()
        settles(page, lambda: page.evaluate(RUNGS), ladder_of(part))
        if part.merges:
            merge = part.merges[-1]
            page.mouse.move(0, 0)
            expect(page.locator(".merging .dock .main")).to_have_text(
                f"“{merge.left.label}” + “{merge.right.label}” → “{merge.made.label}”, rank {merge.rank}")


def test_merges_are_stepped_through_and_the_place_is_in_the_address(page: Page, url: str, model: Live) -> None:
    visit(page, url)
    part = cut(model, SENTENCE)[6]
    page.locator(".part").nth(6).locator(".chip").first.click()
    buttons = {name: page.get_by_role("button", name=name) for name in ("Back", "Next", "Show all")}
    rungs = page.locator(".rung")
    buttons["Next"].click()
    expect(rungs).to_have_count(1)
    expect(buttons["Back"]).to_be_disabled()
    for step in range(1, len(part.merges)):
        buttons["Next"].click()
        expect(rungs).to_have_count(step + 1)
    buttons["Back"].click()
    expect(rungs).to_have_count(len(part.merges) - 1)
    buttons["Show all"].click()
    expect(rungs).to_have_count(len(part.merges) + 1)
    settled(page)
    assert "pin=part" in page.url
    page.reload()
    expect(page.locator(".part").nth(6)).to_have_class("part chosen")


def test_pointing_at_a_symbol_lights_its_bytes_and_its_token(page: Page, url: str) -> None:
    visit(page, url)
    page.locator(".part").nth(1).locator(".chip").first.click()  # " cat"
    first = page.locator(".rung").nth(0).locator(".symbol")
    first.nth(1).hover()
    expect(page.locator(".chip.feeds")).to_have_count(1)
    page.locator(".chip").nth(1).hover()
    expect(page.locator(".rung").nth(0).locator(".symbol.lit")).to_have_count(first.count())


def test_the_keyboard_reaches_tokens_and_merges(page: Page, url: str) -> None:
    visit(page, url)
    page.locator(".chip").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".merging .dock .main")).to_contain_text("␣cat")
    page.keyboard.press("Enter")
    expect(page.locator(".part").nth(1)).to_have_class("part chosen")
    page.keyboard.press("ArrowDown")
    page.wait_for_url("**pin=part**")  # what was chosen came back, and the ladder was drawn anew
    settled(page)
    expect(page.locator(".rung .symbol:focus")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(".rung")).to_have_count(0)
    expect(page.locator(".chip:focus")).to_have_count(1)


def test_a_text_too_long_is_refused_and_the_last_one_stays(page: Page, url: str) -> None:
    visit(page, url)
    before = chips(page)
    field = page.locator("[data-testid=stSidebar] textarea")
    field.fill("x" * 100_000)
    field.press("Control+Enter")
    expect(page.locator("[data-testid=stAlert]").first).to_contain_text("100000")
    settled(page)
    assert chips(page) == before


def test_an_example_is_taken_over(page: Page, url: str, model: Live) -> None:
    visit(page, url)
    page.locator(".st-key-try-d1 button").click()
    expect(page.locator(".source")).to_have_text("我喜欢学习")
    settled(page)
    assert [token for _label, token in chips(page)] == [str(token) for token in model.encode(MIXED).ids]


def test_the_question_hides_the_tokens_of_its_part(page: Page, url: str, model: Live) -> None:
    visit(page, url, MIXED)
    text = Merged(MIXED, cut(model, MIXED), model.tokenizer)
    asked = tokens.ask_count(At(worked.block()), 0, text=text)
    assert asked is not None
    section = unfold(page, "predict")
    section.locator(".st-key-tokens-question-ask button").click()
    expect(page.locator(".part").nth(asked.row).locator(".chip")).to_have_count(1)
    expect(page.locator(".part").nth(asked.row).locator(".id")).to_have_text("?")
    section.locator("input").fill(str(int(asked.answer)))
    section.locator("[data-testid=stFormSubmitButton] button").first.click()
    expect(page.locator(".part").nth(asked.row).locator(".chip")).to_have_count(int(asked.answer))


@pytest.mark.parametrize(("source", "kind"), [("worked", "words"), ("worked", "characters"), ("toy", "words")])
def test_characters_and_words(page: Page, url: str, source: str, kind: str) -> None:
    text = "the cat sees a zebra"
    page.goto(f"{url}/tokens?lang=en&source={source}&cut={kind}&sample={quote(text)}")
    page.locator(".chip").first.wait_for()
    settled(page)
    words = worked.BLOCK_VOCABULARY
    tokenizer = ToyTokenizer.of("words", text) if source == "toy" else ToyTokenizer("words", tuple(words)) \
        if kind == "words" else ToyTokenizer.of("characters", " ".join(words))
    wanted = tokenizer.encode(text)
    assert [int(token) for _label, token in chips(page)] == list(wanted.ids)
    expect(page.locator(".chip.torn")).to_have_count(len(wanted.unknown))


def test_the_worked_page_opens_with_the_ids_of_the_block(page: Page, url: str) -> None:
    page.goto(f"{url}/tokens?lang=en")
    page.locator(".chip").first.wait_for()
    assert [int(token) for _label, token in chips(page)] == worked.BLOCK_PROMPT


def test_the_strip_follows_the_text_and_the_unknown_has_no_row(page: Page, url: str) -> None:
    text = "the cat sees a zebra"
    page.goto(f"{url}/tokens?lang=en&sample={quote(text)}")
    settled(page)
    expect(page.locator(".shapes .sizes")).to_contain_text(f"T={len(text.split())}")
    vocab = len(worked.BLOCK_VOCABULARY)
    expect(page.locator("[data-testid=stMain]")).to_contain_text(
        f"has {vocab} rows, for ids up to {vocab - 1}: there is none for the id {vocab}")


def test_the_mistake_shows_a_text_that_is_lost(page: Page, url: str) -> None:
    page.goto(f"{url}/tokens?lang=en")
    page.locator(".chip").first.wait_for()
    cells = unfold(page, "wrong").locator("td")
    expect(cells.nth(3)).not_to_be_empty()
    before, after, *ids = cells.all_inner_texts()
    assert before == after
    assert ids[0] != ids[1]


def test_the_merge_that_the_dock_tells_of_is_in_view(open_page: Callable[..., Page], url: str) -> None:
    page = open_page(viewport={"width": 390, "height": 844})
    visit(page, url, worked.TEXTS["d1"])
    for step in range(3):
        inside = page.locator(".ladder .on").evaluate("""node => {
            const a = node.getBoundingClientRect(), b = node.closest(".ladder-box").getBoundingClientRect();
            return a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
        }""")
        assert inside, step
        page.get_by_role("button", name="Back").click()
        page.mouse.move(0, 0)


def test_typed_text_is_put_in_as_text(page: Page, url: str) -> None:
    page.goto(f"{url}/tokens?lang=en&source=toy&cut=characters&sample={quote('<b onclick=x>&amp;')}")
    page.locator(".chip").first.wait_for()
    assert "".join(label for label, _token in chips(page)) == "<b␣onclick=x>&amp;"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_holds_every_token_and_every_rung(
    open_page: Callable[..., Page], url: str, model: Live, tmp_path: Path, scheme: str,
) -> None:
    text = "unbelievable antidisestablishmentarianism 🦊 <&> \ufffe"
    page = open_page(color_scheme=scheme)
    page.goto(f"{url}/tokens?lang=en&source=live&text={quote(text)}")
    page.locator(".rung").first.wait_for()
    settled(page)
    rungs = page.evaluate(RUNGS)
    chips = page.locator(".merging .chip .label").all_inner_texts()
    with page.expect_download() as download:
        page.get_by_role("button", name="Picture as SVG").click()
    assert download.value.suggested_filename == "tokens.svg"
    download.value.save_as(tmp_path / "tokens.svg")
    root = ElementTree.parse(tmp_path / "tokens.svg").getroot()
    namespace = "{http://www.w3.org/2000/svg}"
    drawn = [node.text or "" for node in root.iter(f"{namespace}text")]
    assert len(chips) == sum(len(whole.pieces) for whole in cut(model, text))
    for written in (*chips, *(word for rung in rungs for word in rung)):
        assert drawn.count(written.replace("\ufffe", "\ufffd")) >= 1, written
    boxes = [node for node in root.iter(f"{namespace}rect") if node.get("rx")]
    assert len(boxes) >= len(chips) + sum(len(rung) - 1 for rung in rungs)
    width, height = float(root.get("width") or 0), float(root.get("height") or 0)
    for node in boxes:
        assert 0 <= float(node.get("x") or -1) < width
        assert 0 <= float(node.get("y") or -1) < height
