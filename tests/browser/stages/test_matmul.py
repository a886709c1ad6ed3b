"""The matrix product in Chromium: the rule for typed shapes, every cell, the products of a batch one by one."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from core import worked
from core.stages.matmul import product
from tests.browser.on_page import SWEEP, choose, dock, fill, settled, unfold
from ui.shell.numbers import format_number


def visit(page: Page, address: str) -> Page:
    """Open an address and wait for the rule."""
    page.goto(address)
    page.locator(".shape-rule").wait_for()
    settled(page)
    return page


def main(page: Page) -> Locator:
    return page.locator("[data-testid=stMain]")


def texts(values: object) -> list[str]:
    """What the cells of a tensor say."""
    return [format_number(float(value), 3) for value in values.flatten()]  # type: ignore[attr-defined]


def check_slice(page: Page, part: product.Slice) -> None:
    """The three matrices on screen are those of the core."""
    for name, tensor in (("a", part.left), ("b", part.right), ("c", part.product)):
        expect(page.locator(f"[data-name='{name}'] [role=gridcell]")).to_have_text(texts(tensor))


def bracketed(value: float) -> str:
    text = format_number(value, 3)
    return f"({text})" if value < 0 else text


def test_every_cell_of_the_document_s_shapes(page: Page, url: str) -> None:
    visit(page, f"{url}/matmul?lang=en")
    found = product.product((3, 2), (2, 4))
    left, right = product.pair(found, 0)
    check_slice(page, product.slice_of(left, right, found, 0))
    seen = {tuple(cell["at"]): cell for cell in page.evaluate(SWEEP, 0)}
    assert len(seen) == 6 + 8 + 12
    for (name, row, column), cell in seen.items():
        if name == "c":
            terms = product.cell(left, right, (row, column)).terms
            written = " + ".join(f"{bracketed(term.left)}×{bracketed(term.right)}" for term in terms)
            value = format_number(float((left @ right)[row, column]), 3)
            assert cell["main"] == f"C[{row + 1},{column + 1}] = {written} = {value}"
            assert {tuple(at) for at in cell["lit"]} == {("a", row, n) for n in range(2)} | {
                ("b", n, column) for n in range(2)}
        else:
            made = {("c", row, p) for p in range(4)} if name == "a" else {("c", m, column) for m in range(3)}
            assert {tuple(at) for at in cell["feeds"]} == made
    assert dock(page).startswith("C[3,1] = ")


def test_the_rule_breaks_with_its_reason_and_torch_s_own_words(page: Page, url: str) -> None:
    visit(page, f"{url}/matmul?lang=en")
    expect(page.locator(".shape-rule .breaks")).to_have_count(0)
    fill(page, "right", "3, 4")
    expect(page.locator(".shape-rule .breaks").first).to_be_visible()
    expect(page.locator("[role=gridcell]")).to_have_count(0)
    wanted = product.product((3, 2), (3, 4)).torch_error
    assert wanted is not None
    expect(main(page)).to_contain_text(wanted)
    expect(main(page)).to_contain_text("A row of A has 2 numbers and a column of B has 3")
    fill(page, "right", "[2, 4]")
    expect(page.locator("[data-name='c'] [role=gridcell]")).to_have_count(12)


def test_the_products_of_a_batch_are_stepped_through(page: Page, url: str) -> None:
    visit(page, f"{url}/matmul?lang=en")
    for case in ("heads", "shared", "stretched"):
        found = product.product(*worked.SHAPES[case])
        left, right = product.pair(found, 0)
        page.locator(f".st-key-try-{case} button").click()
        expect(page.locator(".st-key-left input")).to_have_value(str(list(worked.SHAPES[case][0])))
        settled(page)
        for number in range(found.products):
            fill(page, "product", str(number + 1))
            check_slice(page, product.slice_of(left, right, found, number))
        settled(page)
        assert "product=" in page.url


def test_batches_that_differ_are_told(page: Page, url: str) -> None:
    visit(page, f"{url}/matmul?lang=en")
    page.locator(".st-key-try-batch button").click()
    expect(main(page)).to_contain_text("a batch axis has 2 entries in A and 3 in B")


def test_what_cannot_be_read_or_is_too_large_leaves_the_last_shapes(page: Page, url: str) -> None:
    visit(page, f"{url}/matmul?lang=en")
    page.locator("[data-name='c'] [role=gridcell]").first.wait_for()
    before = page.locator("[data-name='c'] [role=gridcell]").all_inner_texts()
    for typed in ("two by four", "99, 4", "2, 2, 2, 2, 2, 2"):
        fill(page, "right", typed)
        expect(page.locator("[data-testid=stAlert]").first).to_be_visible()
        settled(page)
        assert page.locator("[data-name='c'] [role=gridcell]").all_inner_texts() == before
        fill(page, "right", "[2, 4]")
        expect(page.locator("[data-testid=stAlert]")).to_have_count(0)


def test_a_link_restores_shapes_and_product(page: Page, url: str) -> None:
    visit(page, f"{url}/matmul?lang=en&left=[2,3,2]&right=[2,4]&product=2")
    found = product.product((2, 3, 2), (2, 4))
    check_slice(page, product.slice_of(*product.pair(found, 0), found, 1))


def test_mistakes_and_ways_are_the_core_s(page: Page, url: str) -> None:
    visit(page, f"{url}/matmul?lang=en&left=[3,3]&right=[3,3]")
    unfold(page, "wrong")
    left, right = product.pair(product.product((3, 3), (3, 3)), 0)
    for number, wrong in ((1, right @ left), (2, left * right)):
        choose(page, "slip", number)
        expect(page.locator("[data-name='wrong'] [role=gridcell]")).to_have_text(texts(wrong))
        expect(page.locator("[data-name='difference'] [role=gridcell]")).to_have_text(texts(wrong - left @ right))
    section = unfold(page, "ways")
    for way in product.ways(left, right):
        expect(section).to_contain_text(way.code)
        expect(section).to_contain_text(way.error or str(list(way.shape or ())))


def test_a_question_hides_its_cell(page: Page, url: str) -> None:
    visit(page, f"{url}/matmul?lang=en")
    section = unfold(page, "predict")
    section.locator(".st-key-matmul-question-ask button").click()
    expect(page.locator(".cell.secret")).to_have_count(1)
    left, right = product.pair(product.product((3, 2), (2, 4)), 0)
    section.locator("input").fill(str(float((left @ right)[2, 0])))
    section.locator("[data-testid=stFormSubmitButton] button").first.click()
    expect(page.locator(".cell.secret")).to_have_count(0)
