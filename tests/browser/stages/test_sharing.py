"""The page on sharing, served as for a class and used as a learner uses it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from core import derive, worked
from core.stages.sharing import shared
from core.trace import Trace
from tests.browser.on_page import cell, choose, dock, overhang, places, settled, swept
from ui.shell.numbers import format_number

GROUPED = worked.grouped()


def visit(page: Page, address: str) -> Page:
    page.goto(address)
    page.locator("[role=gridcell]").first.wait_for()
    settled(page)
    return page


def products(trace: Trace, which: str) -> list[tuple[str, str, set[tuple[Any, ...]]]]:
    """For every cell of the product: its place, the arithmetic and what it was made from, from `core.derive`."""
    name = f"blocks.0.{'scores' if which == 'k' else 'context'}"
    group, expected = trace.config.group, []
    _, heads_, tokens, columns = trace[name].shape
    for head in range(heads_):
        for row in range(tokens):
            for col in range(columns):
                what = derive.cell(trace, name, (0, head, row, col))
                terms = [[format_number(factor.value, 3) for factor in term] for term in what.terms]
                text = " + ".join("×".join(f"({x})" if x[0] == "−" else x for x in term) for term in terms)
                place = f"h{head + 1},t{row + 1},{'t' if which == 'k' else 'd'}{col + 1}"
                inner = len(terms)
                lit = {("left", head * tokens + row, k) for k in range(inner)}
                lit |= {("right", head // group * inner + k, col) for k in range(inner)}
                expected.append((f"{'QKᵀ' if which == 'k' else 'AV'}[{place}]",
                                 f"{text} = {format_number(what.value, 3)}", lit))
    return expected


@pytest.mark.parametrize("which", ["k", "v"])
def test_pointing_at_any_product_lights_the_kv_head_that_is_read(page: Page, url: str, which: str) -> None:
    visit(page, f"{url}/sharing?lang=en&which={which}")
    for number, count in enumerate((4, 2, 1)):
        trace = shared.share(GROUPED, 0, count).trace
        choose(page, "kvheads", number)
        page.mouse.move(0, 0)  # whatever comes to lie below it
        expect(page.locator(".head.of-kv")).to_have_count(count)
        said = [cell for cell in swept(page) if cell["at"][0] == "product"]
        for seen, (place, text, lit) in zip(said, products(trace, which), strict=True):
            assert seen["main"] == f"{place} = {text}"
            assert places(seen["lit"]) == lit


def test_a_number_of_v_feeds_every_query_head_that_shares_it(page: Page, url: str) -> None:
    visit(page, f"{url}/sharing?lang=en&pin=none")
    for number, (count, readers) in enumerate(((4, 1), (2, 2), (1, 4))):
        choose(page, "kvheads", number)
        page.mouse.move(0, 0)  # whatever comes to lie below it
        expect(page.locator(".head.of-kv")).to_have_count(count)
        (seen,) = [cell for cell in swept(page) if cell["at"] == ["right", 2, 1]]
        assert places(seen["feeds"]) == {("product", row, 1) for row in range(readers * GROUPED.sizes["T"])}


def lit(page: Page) -> list[str]:
    return page.locator(".head.lit").all_inner_texts()


def rows_lit(page: Page, name: str) -> set[int]:
    rows: list[int] = page.locator(f"[data-name='{name}'] .cell.lit").evaluate_all(
        "all => all.map(n => n.parentNode.ariaRowIndex - 1)")
    return set(rows)


def test_pointing_at_a_head_lights_its_partner_and_their_rows(page: Page, url: str) -> None:
    visit(page, f"{url}/sharing?lang=en&example=block_shared")
    page.get_by_role("button", name="query head 2").hover()
    assert lit(page) == ["Q2", "KV1"]
    assert dock(page) == "Query head 2 reads KV head 1, as do these query heads: 1."
    assert [rows_lit(page, name) for name in ("left", "right", "product")] == [{4, 5, 6, 7}, {0, 1, 2, 3}, {4, 5, 6, 7}]
    page.get_by_role("button", name="KV head 1").focus()
    assert lit(page) == ["Q1", "Q2", "KV1"]
    assert rows_lit(page, "product") == set(range(8))
    cell(page, "product", 1, 0).hover()
    assert lit(page) == ["Q1", "KV1"]
    cell(page, "right", 1, 0).hover()
    assert lit(page) == ["Q1", "Q2", "KV1"]


def test_the_switch_moves_picture_digits_bytes_and_strip_without_a_new_page(page: Page, url: str) -> None:
    visit(page, f"{url}/sharing?lang=en")
    for place, (count, kind, size) in enumerate((
            (4, "MHA", "192 bytes for this layer, as many as for MHA"),
            (2, "GQA", "96 bytes for this layer, 1/2 of MHA's"), (1, "MQA", "48 bytes for this layer, 1/4 of MHA's"))):
        choose(page, "kvheads", place)
        expect(page.locator(".head.of-kv")).to_have_count(count)
        expect(page.locator(".wiring-notes div").first).to_have_text(kind)
        expect(page.locator(".wiring-notes")).to_contain_text(size)
        expect(page.locator(".shapes .sizes")).to_contain_text(f"Hkv={count}")
        found = shared.share(GROUPED, 0, count)
        expect(page.locator("[data-name='product'] [role=gridcell]")).to_have_text(
            [format_number(float(value), 3) for value in found.trace["blocks.0.context"].flatten()])
    page.wait_for_url("**kvheads=1**")


@pytest.mark.parametrize("address", ["source=live", "example=grouped", "example=grouped&kvheads=4&which=k"])
def test_the_dock_covers_no_number_in_the_first_view(page: Page, url: str, address: str) -> None:
    visit(page, f"{url}/sharing?{address}&lang=en")
    if "live" in address:
        expect(page.locator(".shapes .sizes")).to_contain_text("D=576")
    page.wait_for_function("document.querySelector('[data-testid=stApp]').dataset.testScriptState === 'notRunning'")
    settled(page)
    assert overhang(page) <= 0
