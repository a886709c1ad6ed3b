"""The embedding page in Chromium: every cell of ids, table and rows, both ways; positions; the sections below."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, expect

from core import embedding, worked
from core.stages.embedding import rows
from core.toy import ToySizes, toy
from tests.browser.on_page import STRINGS, SWEEP, choose, dock, edit, settled, unfold, wait_for_slice
from ui.shell.numbers import format_number


def visit(page: Page, address: str) -> Page:
    """Open an address and wait for the first equation."""
    page.goto(address)
    page.locator("[role=gridcell]").first.wait_for()
    return page


def swept(page: Page, nth: int = 0) -> dict[tuple[str, int, int], dict[str, Any]]:
    """What pointing at each cell of an equation does, by trace name, row and column."""
    settled(page)
    return {tuple(seen["at"]): seen for seen in page.evaluate(SWEEP, nth)}


def places(seen: dict[str, Any], kind: str) -> set[tuple[str, int, int]]:
    return {tuple(place) for place in seen[kind]}


def looked_up(id: int, column: int, value: float) -> str:
    """The arithmetic of one looked-up number."""
    return f"E[id {id},{column + 1}] = {format_number(value, 3)}"


def told(id: int, token: int) -> str:
    """Why it is that row."""
    return STRINGS["looked_up"].format(row=id, id=id, symbol="E", i=token + 1)


def test_every_cell_of_the_worked_block_leads_to_its_row_and_back(page: Page, url: str) -> None:
    trace = worked.block()
    visit(page, f"{url}/embedding?lang=en")
    found = swept(page)
    ids, table, x = trace["tokens"][0].tolist(), trace["embedding"], trace["blocks.0.in"][0]
    assert len(found) == 4 + 12 * 4 + 3 * 16
    for (name, row, column), seen in found.items():
        if name == "tokens":
            assert seen["main"] == f"ids[{row + 1}] = {ids[row]}"
            wanted = {("embed", row, c) for c in range(4)} | {("blocks.0.in", row, c) for c in range(4)}
            assert places(seen, "feeds") == wanted
        elif name == "embedding":
            assert seen["main"] == f"E[id {row},{column + 1}] = {format_number(float(table[row, column]), 3)}"
            readers = [t for t, id in enumerate(ids) if id == row]
            assert places(seen, "feeds") == {(made, t, column) for t in readers for made in ("embed", "blocks.0.in")}
            assert (STRINGS["unread"] in seen["notes"]) == (not readers)
        elif name == "embed":
            number = looked_up(ids[row], column, float(table[ids[row], column]))
            assert seen["main"] == f"E[ids][{row + 1},{column + 1}] = {number}"
            assert seen["notes"].startswith(told(ids[row], row))
            assert places(seen, "lit") == {("tokens", row, 0), ("embedding", ids[row], column)}
        elif name == "pos_embed":
            assert seen["main"].startswith(f"P[pos][{row},{column + 1}] = ")
        elif name == "blocks.0.in":
            first, added = (float(trace[made][0, row, column]) for made in ("embed", "pos_embed"))
            assert seen["main"].endswith(
                f";  {format_number(first, 3)} + {format_number(added, 3)} = {format_number(float(x[row, column]), 3)}")
            assert places(seen, "lit") == {("tokens", row, 0), ("embedding", ids[row], column),
                                           ("embed", row, column), ("pos_embed", row, column)}


def test_the_rows_that_are_read_stay_marked_and_the_telling_cell_is_pinned(page: Page, url: str) -> None:
    visit(page, f"{url}/embedding?lang=en")
    assert dock(page) == "E[ids][2,1] = E[id 1,1] = 2"
    marked = page.locator("[data-name='embedding'] .row.read")
    expect(marked).to_have_count(4)
    assert [row.get_attribute("aria-rowindex") for row in marked.all()] == ["1", "2", "3", "4"]


def test_ids_and_positions_count_from_zero_and_ids_are_one_text(page: Page, url: str) -> None:
    trace = worked.block()
    visit(page, f"{url}/embedding?lang=en")
    labels = {name: page.locator(f".frame:has([data-name='{name}']) .labels .label bdi")
              for name in ("tokens", "pos_embed", "blocks.0.in")}
    expect(labels["pos_embed"]).to_have_text([str(place) for place in range(4)])
    expect(labels["blocks.0.in"]).to_have_text(trace.tokens)
    expect(page.locator(".frame:has([data-name='tokens']) .shape")).to_have_text("[T] 4")
    unfold(page, "one-hot")
    grid = page.locator(".frame:has([data-name='one_hot'])")
    numbers = [str(id) for id in range(trace.config.vocab)]
    expect(grid.locator(".heads .label bdi")).to_have_text(numbers)
    for token, row in zip(trace["tokens"][0].tolist(), grid.locator(".row").all(), strict=True):
        ones = [cell.inner_text() for cell in row.locator("[role=gridcell]").all()].index("1")
        assert numbers[ones] == str(token)


def test_rows_of_a_longer_table_are_brought_together_under_their_own_numbers(page: Page, url: str) -> None:
    sizes = ToySizes(batch=2, tokens=5, vocab=40)
    trace = toy(sizes, 3)
    visit(page, f"{url}/embedding?lang=en&source=toy&B=2&T=5&V=40&seed=3&b=2")
    wait_for_slice(page, trace, "embed", batch=1)
    ids = trace["tokens"][1].tolist()
    numbers = sorted(set(ids))
    found = swept(page)
    for (name, row, column), seen in found.items():
        if name == "embed":
            assert looked_up(ids[row], column, float(trace["embedding"][ids[row], column])) in seen["main"]
            assert told(ids[row], row) in seen["notes"]
            assert places(seen, "lit") == {("tokens", row, 0), ("embedding", numbers.index(ids[row]), column)}
        if name == "embedding":
            assert seen["main"].startswith(f"E[id {numbers[row]},{column + 1}] = ")
    expect(page.locator(".frame:has([data-name='embedding'])")).to_contain_text("40×8")


def test_an_edit_of_a_row_moves_every_token_with_its_id(page: Page, url: str) -> None:
    sizes = ToySizes(tokens=6, vocab=3, width=4, heads=1, kv_heads=1)
    trace = toy(sizes, 0)
    visit(page, f"{url}/embedding?lang=en&source=toy&T=6&V=3&D=4&H=1&Hkv=1")
    wait_for_slice(page, trace, "embed")
    row = int(trace["tokens"][0, 0])
    edit(page, "embedding", row, 1, "5")
    wait_for_slice(page, trace.edited({"embedding": {(row, 1): 5.0}}), "embed")


def test_an_edit_in_rows_brought_together_goes_to_the_true_row(page: Page, url: str) -> None:
    trace = toy(ToySizes(vocab=40, width=4, heads=1, kv_heads=1), 0)
    visit(page, f"{url}/embedding?lang=en&source=toy&V=40&D=4&H=1&Hkv=1")
    wait_for_slice(page, trace, "embed")
    token = int(trace["tokens"][0, -1])
    edit(page, "embedding", sorted(set(trace["tokens"][0].tolist())).index(token), 0, "7")
    wait_for_slice(page, trace.edited({"embedding": {(token, 0): 7.0}}), "embed")
    expect(page.locator("[data-name='embedding'] .cell.edited")).to_have_text("7")


def test_positions_are_added_as_the_core_adds_them(page: Page, url: str) -> None:
    trace = worked.block()
    visit(page, f"{url}/embedding?lang=en")
    choose(page, "positions", 2)
    wanted = rows.placed(trace, "sinusoidal")
    assert wanted.added is not None
    for name, values in (("added", wanted.added), ("total", wanted.total[0])):
        texts = [format_number(float(value), 3) for value in values.flatten()]
        expect(page.locator(f"[data-name='{name}'] [role=gridcell]")).to_have_text(texts)
    unfold(page, "positions")
    expect(page.locator("[data-testid=stPlotlyChart]")).to_have_count(1)
    for kind in (0, 3, 4):
        choose(page, "positions", kind)
        expect(page.locator("[data-name='total']")).to_have_count(0)
        wait_for_slice(page, trace, "embed")


def test_one_hot_rows_times_the_table_are_the_same_rows(page: Page, url: str) -> None:
    trace = worked.block()
    visit(page, f"{url}/embedding?lang=en")
    unfold(page, "one-hot")
    found = rows.look_up(trace["embedding"], trace["tokens"])
    for name, values in (("one_hot", found.one_hot), ("product", found.product)):
        texts = [format_number(float(value), 3) for value in values.flatten()]
        expect(page.locator(f"[data-name='{name}'] [role=gridcell]")).to_have_text(texts)
    work = rows.work(1, 4, 12, 4)
    expect(page.locator(".st-key-open-one-hot")).to_contain_text(f"{work.multiplications} multiplications")


def test_a_question_hides_the_row_and_x_until_it_is_answered(page: Page, url: str) -> None:
    visit(page, f"{url}/embedding?lang=en")
    section = unfold(page, "predict")
    section.locator(".st-key-embedding-question-ask button").click()
    expect(page.locator(".cell.secret")).to_have_count(2)
    value = embedding.lookup(worked.block()["embedding"], worked.block()["tokens"])[0, 3, 1]
    section.locator("input").fill(str(float(value)))
    section.locator("[data-testid=stFormSubmitButton] button").first.click()
    expect(page.locator(".cell.secret")).to_have_count(0)


def test_an_id_outside_the_table_is_told_in_three_voices(page: Page, url: str) -> None:
    visit(page, f"{url}/embedding?lang=en&slip=outside")
    section = unfold(page, "wrong")
    expect(section).to_contain_text("NumPy")
    expect(section).to_contain_text("refused")
    expect(section).to_contain_text("token id -1 is outside 0..11")
