"""The page on RoPE: the rotation in digits, the clock hands beside it, and what only the distance decides."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from core import derive, live, worked
from core.stage import At
from core.stages import rope
from core.stages.rope import meetings, rotation, scaling
from core.trace import Trace
from tests.browser.on_page import STRINGS, SWEEP, cell, choose, dock, press_chip, settled, unfold, wait_for_slice
from ui.shell.numbers import format_number, full_value

Q, Q_ROT, K, K_ROT = (f"blocks.0.{short}" for short in ("q", "q_rot", "k", "k_rot"))


def visit(page: Page, address: str) -> Page:
    page.goto(address)
    page.locator("[role=gridcell]").first.wait_for()
    page.locator(".dial").first.wait_for()
    return page


def printed(value: float) -> str:
    return format_number(value, 3)


def bracketed(value: float) -> str:
    text = printed(value)
    return f"({text})" if text.startswith("−") else text


def angle_text(value: float) -> str:
    """Three digits where three decimals would leave nothing."""
    text = printed(value)
    return f"{value:.3g}" if text == "≈0" else text


def expected(trace: Trace, letter: str) -> Iterator[tuple[str, int, int, str, set[tuple[str, int, int]]]]:
    """For every turned cell, from `core.derive`: its place, what the dock says, and what lights up."""
    name, before = f"blocks.0.{letter}_rot", f"blocks.0.{letter}"
    symbol = letter.upper()
    for row, column in ((r, c) for r in range(4) for c in range(8)):
        made = derive.cell(trace, name, (0, 0, row, column))
        (own, cos), *rest = made.terms if len(made.terms[0]) == 2 else (made.terms[0] * 2,)
        label = f"{symbol}[{row + 1},{column + 1}]"
        value = printed(made.value)
        if not rest:
            yield name, row, column, f"{label} = {label} ({STRINGS['unturned']}) = {value}", {(before, row, column)}
            continue
        partner, sine = rest[0]
        pair = cos.index[1]
        second = rotation.pairs(rotation.settings(trace.config))[pair].second == column
        sign, size = ("+", sine.value) if second else ("−", -sine.value)
        text = (f"{label} = {bracketed(own.value)}×{bracketed(cos.value)} {sign} "
                f"{bracketed(partner.value)}×{bracketed(size)} = {value}")
        yield name, row, column, text, {(before, row, own.index[3]), (before, row, partner.index[3]),
                                        ("cos", row, pair), ("sin", row, pair)}


CASES = {
    "": lambda: worked.rope_pairs(), "&letter=k": lambda: worked.rope_pairs(),
    "&pairing=half": lambda: rotation.under(worked.rope_pairs(), 0, rotation.Rope(8)),
    "&turned=4": lambda: rotation.under(worked.rope_pairs(), 0, rotation.Rope(4, pairing="adjacent")),
    "&moved=12&base=100&letter=k": lambda: rotation.under(
        worked.rope_pairs(), 0, rotation.Rope(8, 100.0, "adjacent"), 12),
}


@pytest.mark.parametrize("parts", CASES)
def test_every_turned_cell_says_its_rotation(page: Page, url: str, parts: str) -> None:
    trace = CASES[parts]()
    letter = "k" if "letter=k" in parts else "q"
    visit(page, f"{url}/rope?lang=en{parts}")
    wait_for_slice(page, trace, f"blocks.0.{letter}_rot")
    settled(page)
    said: list[dict[str, Any]] = page.evaluate(SWEEP, 0)
    seen = {tuple(found["at"]): found for found in said}
    for name, row, column, text, sources in expected(trace, letter):
        found = seen[name, row, column]
        assert found["main"] == text
        assert {tuple(at) for at in found["lit"]} == sources
    angles = rotation.angles(trace, 0)
    pairs = rotation.pairs(rotation.settings(trace.config))
    for row, position in enumerate(angles.positions.tolist()):
        for pair in pairs:
            angle = position * pair.theta
            for word, function in (("cos", math.cos), ("sin", math.sin)):
                found = seen[word, row, pair.number]
                assert found["main"] == (f"{word}[{row + 1},{pair.number + 1}] = {word}({printed(position)} × "
                                         f"{angle_text(pair.theta)}) = {word}({angle_text(angle)}) = "
                                         f"{printed(function(angle))}")
                turned = {(f"blocks.0.{letter}_rot", row, column) for column in (pair.first, pair.second)}
                assert {tuple(at) for at in found["feeds"]} == turned
            before = seen[f"blocks.0.{letter}", row, pair.first]
            assert {tuple(at) for at in before["feeds"]} == turned


def lit(page: Page, kind: str) -> set[tuple[str, int, int]]:
    found = page.locator(f".cell.{kind}").evaluate_all(
        "all => all.map(n => [n.closest('[role=grid]').dataset.name, n.parentNode.ariaRowIndex - 1,"
        " n.ariaColIndex - 1])")
    return {tuple(at) for at in found}


def test_pointing_at_a_hand_lights_its_pair_everywhere_and_writes_both_cells(page: Page, url: str) -> None:
    visit(page, f"{url}/rope?lang=en")
    trace = worked.rope_pairs()
    wait_for_slice(page, trace, Q_ROT)
    cell(page, Q_ROT, 1, 0).hover()
    for pair, turn in enumerate(rotation.turns(trace["blocks.0.q"][0, 0, 1], 8, rotation.settings(trace.config))):
        hand = page.locator(".dial").nth(pair)
        hand.hover()
        first, second = turn.pair.first, turn.pair.second
        assert lit(page, "on") == {(Q_ROT, 1, first), (Q_ROT, 1, second)}
        assert lit(page, "lit") == {(Q, 1, first), (Q, 1, second), ("cos", 1, pair), ("sin", 1, pair)}
        text = dock(page)
        assert f"pair {pair + 1} turns by 8 × {angle_text(turn.pair.theta)} = {angle_text(turn.angle)}" in text
        for column, value in ((first, turn.after[0]), (second, turn.after[1])):
            assert f"Q[2,{column + 1}] = " in text
            assert printed(value) in text
        assert hand.get_attribute("aria-label") == STRINGS["dial"].format(
            p=pair + 1, before="; ".join(map(printed, turn.before)), after="; ".join(map(printed, turn.after)),
            angle=angle_text(turn.angle))
        assert "lit" in (hand.get_attribute("class") or "")


def tip(page: Page, pair: int) -> tuple[float, float]:
    """Where the thick hand of a pair points, y upwards."""
    line = page.locator(".dial").nth(pair).locator("line").last
    return float(line.get_attribute("x2") or 0), -float(line.get_attribute("y2") or 0)


def test_hands_point_where_the_numbers_say(page: Page, url: str) -> None:
    visit(page, f"{url}/rope?lang=en&moved=9")
    trace = rotation.under(worked.rope_pairs(), 0, rotation.settings(worked.rope_pairs().config), 9)
    wait_for_slice(page, trace, Q_ROT)
    settled(page)
    for row in range(4):
        cell(page, Q_ROT, row, 0).hover()
        position = int(trace["positions"][0, row])
        turns = rotation.turns(trace["blocks.0.q"][0, 0, row], position, rotation.settings(trace.config))
        longest = max(turn.length for turn in turns)
        for pair, turn in enumerate(turns):
            if not turn.length:
                continue
            x, y = tip(page, pair)
            assert math.atan2(y, x) == pytest.approx(math.atan2(turn.after[1], turn.after[0]), abs=2e-3)
            assert math.hypot(x, y) / 40 == pytest.approx(turn.length / longest, abs=2e-3)


def test_hands_are_reached_by_keys_and_pinned(page: Page, url: str) -> None:
    visit(page, f"{url}/rope?lang=en")
    hands = page.locator(".dial")
    assert hands.evaluate_all("all => all.map(n => n.tabIndex)") == [0, -1, -1, -1]
    hands.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(hands.nth(2)).to_be_focused()
    assert "pair 3" in dock(page)
    page.keyboard.press("Enter")
    expect(cell(page, Q_ROT, 0, 4)).to_have_attribute("aria-selected", "true")
    page.wait_for_url("**pin=after.0.4**")
    page.keyboard.press("End")
    expect(hands.nth(3)).to_be_focused()


def test_moving_all_positions_on_turns_every_hand_and_no_score(page: Page, url: str) -> None:
    visit(page, f"{url}/rope?lang=en")
    trace = worked.rope_pairs()
    how = rotation.settings(trace.config)
    moves = page.get_by_role("radiogroup", name="All positions move on by")
    expect(moves).to_contain_text("All positions move on by")
    moves.get_by_role("radio", checked=True).focus()
    for moved in (1, 2):
        page.keyboard.press("ArrowRight")
        wait_for_slice(page, rotation.under(trace, 0, how, moved), Q_ROT)
    expect(page.get_by_text("Moving all positions on by 2 turns every hand")).to_be_visible()
    page.wait_for_url("**moved=2**")


def test_a_question_hides_the_pairs_cells_and_its_hand(page: Page, url: str) -> None:
    visit(page, f"{url}/rope?lang=en&pin=none")
    section = unfold(page, "predict")
    section.locator(".st-key-rope-question-ask button").click()
    asked = rope.ask(At(worked.rope_pairs()), 0)
    row = worked.ROPE_POSITIONS.index(asked.row)
    expect(cell(page, "cos", row, asked.column)).to_have_text("?")
    expect(cell(page, Q_ROT, row, 2 * asked.column)).to_have_text("?")
    cell(page, "cos", row, asked.column).hover()
    expect(page.locator(".dial").nth(asked.column)).to_contain_text("∠ ?")
    assert printed(asked.answer) not in dock(page)
    page.locator(".dial").nth(asked.column).hover()
    assert printed(asked.answer) not in dock(page)
    section.locator("input").fill(str(round(math.degrees(asked.answer), 3)))
    section.locator("[data-testid=stFormSubmitButton] button").first.click()
    expect(section.locator("[data-testid=stAlert]")).to_contain_text("degrees")
    section.locator("input").fill(str(asked.answer))
    section.locator("[data-testid=stFormSubmitButton] button").first.click()
    expect(page.locator(".cell.secret")).to_have_count(0)


def texts(page: Page, name: str) -> Locator:
    return page.locator(f"[data-name='{name}'] [role=gridcell]")


def test_equal_distances_meet_equally_and_content_still_matters(page: Page, url: str) -> None:
    visit(page, f"{url}/rope?lang=en")
    section = unfold(page, "distance")
    found = meetings.meetings(worked.rope_pairs(), 0, 0, 0, 0, 1, 10)
    assert found.other is not None
    rows = (found.here, found.there, found.other)
    expect(texts(page, "parts")).to_have_text([printed(part) for met in rows for part in met.score.parts])
    expect(texts(page, "sums")).to_have_text([printed(met.score.total) for met in rows])
    expect(section).to_contain_text("q at 3 with k at 8, and q at 13 with k at 18")
    expect(section.locator(".js-plotly-plot")).to_be_visible()


def test_the_other_sections_show_what_the_core_says(page: Page, url: str) -> None:
    trace = worked.rope_pairs()
    visit(page, f"{url}/rope?lang=en&scaling=llama3&factor=8")
    unfold(page, "speeds")
    how = rotation.Rope(8, pairing="adjacent", scaling=scaling.scaling("llama3", 8.0))
    kinds = {"kept": "kept", "between": "between", "divided": "divided by the factor"}
    expect(page.locator(".st-key-open-speeds table >> nth=1 >> tbody td:last-child")).to_have_text(
        [kinds[found.kind] for found in scaling.stretched(8, 1e4, how.scaling)])
    visit(page, f"{url}/rope?lang=en")
    unfold(page, "pairings")
    other = meetings.pairings(trace, 0, 0, 0)
    expect(texts(page, "permuted")).to_have_text([printed(float(v)) for v in other.after.flatten()])
    unfold(page, "cache")
    decoded = rope.decoded(At(trace))
    for name, row in (("right", decoded.row), ("stuck", decoded.stuck)):
        expect(texts(page, name)).to_have_text([printed(float(v)) for v in row.flatten()])
    page.locator(".st-key-open-cache summary").click()
    unfold(page, "wrong")
    for number, kind in enumerate(rope.MISTAKES):
        choose(page, "misturn", number)
        result = rope.MISTAKES[kind](At(trace))
        assert result.difference is not None
        largest = printed(result.largest(0, 0))
        expect(page.get_by_text(f"Largest difference in this head: {largest}")).to_be_visible()


def test_the_live_model_turns_its_real_queries(page: Page, url: str) -> None:
    visit(page, f"{url}/rope?lang=en&source=live&text=A+small+red+fox.&layer=3&head=5")
    expect(page.locator("[data-name='blocks.2.q_rot']")).to_be_visible()
    trace = live.load().trace("A small red fox.")
    seen = cell(page, "blocks.2.q_rot", 3, 0).get_attribute("aria-label") or ""
    value = float(seen.rsplit(": ", 1)[1].replace("−", "-"))
    assert value == pytest.approx(float(trace["blocks.2.q_rot"][0, 4, 3, 0]), abs=1e-4)
    assert page.locator(".dial").count() == 32
    assert page.locator(".frame.editable").count() == 0


def test_the_slider_of_the_base_follows_the_source(page: Page, url: str) -> None:
    visit(page, f"{url}/rope?lang=en&text=A+small+red+fox.")
    shown = page.locator(".st-key-base [data-testid=stSliderThumbValue]")
    expect(shown).to_have_text("10000")
    press_chip(page, "live")
    expect(page.locator("[data-name='blocks.0.q_rot']")).to_have_attribute("aria-colcount", "64")
    base = live.load().config.rope_base
    assert base != worked.rope_pairs().config.rope_base
    expect(shown).to_have_text(full_value(base))


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_no_word_of_many_hands_overlaps_another(
    open_page: Callable[..., Page], url: str, width: int, scheme: str,
) -> None:
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    visit(page, f"{url}/rope?lang=en&source=live&text=A+small+red+fox.")
    expect(page.locator(".dial")).to_have_count(32)
    settled(page)
    boxes = page.locator(".dial").evaluate_all("""all => all.flatMap((dial, n) => [
        ...dial.querySelectorAll("span")].map((word) => {
        const range = document.createRange();
        range.selectNodeContents(word);
        const box = range.getBoundingClientRect();
        return [n, box.left, box.right, box.top, box.bottom];
    }))""")
    assert len(boxes) == 3 * 32
    for n, left, right, top, bottom in boxes:
        assert right <= width
        assert not any(m != n and left < r and other < right and top < b and t < bottom for m, other, r, t, b in boxes)
    last = rotation.pairs(rotation.settings(live.load().config))[-1].theta
    expect(page.locator(".dial-theta").last).to_have_text(f"θ {last:.2e}".replace("e-0", "e−"))


def test_an_example_without_rotation_keeps_its_place_and_an_unsound_address_is_dropped(page: Page, url: str) -> None:
    visit(page, f"{url}/rope?lang=en&example=single_head")
    wait_for_slice(page, worked.rope_pairs(), Q_ROT)
    expect(page.locator("[data-testid=stAlert]")).to_be_visible()
    assert "example=single_head" in page.url
    visit(page, f"{url}/rope?lang=en&moved=9999&base=-3&turned=7&pairing=x&scaling=y&factor=0")
    wait_for_slice(page, worked.rope_pairs(), Q_ROT)


def test_the_first_view_holds_equation_hands_and_dock(page: Page, url: str) -> None:
    visit(page, f"{url}/rope?lang=en")
    settled(page)
    for part in (f"[data-name='{Q_ROT}']", ".dial >> nth=3", ".dock .main"):
        box = page.locator(part).first.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 800
    hand = page.locator(".dial").nth(3).bounding_box()
    rule = page.locator(".dock").first.bounding_box()
    assert hand is not None
    assert rule is not None
    assert hand["y"] + hand["height"] <= rule["y"]
