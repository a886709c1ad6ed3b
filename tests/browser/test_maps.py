"""Matrices too large for digits: windows that pan without a round trip, and maps on canvas."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from core import derive
from core.trace import Trace
from tests.browser.large import TOKENS, WIDTH, large
from tests.browser.on_equation import cell, eventually, glowing, load, main_line, notes, said
from tests.browser.on_page import expected, scores_frames
from ui.equation import MAX_SIDE
from ui.shell.numbers import format_number

HEAD = 4
SAMPLE = [(0, 0), (127, 0), (0, 127), (63, 64), (90, 25), (127, 127), (17, 101)]
X, WQ, Q = "blocks.0.norm1", "blocks.0.wq", "blocks.0.q"
# Points all over a map; how often each kind of canvas was drawn on meanwhile, by its class.
STROKES = """(name) => {
    const host = [...document.querySelectorAll("*")].find((n) => n.shadowRoot?.querySelector(".equation"));
    const map = host.shadowRoot.querySelector(`[data-name='${name}']`), kind = CanvasRenderingContext2D.prototype;
    const r = map.querySelector(".base").getBoundingClientRect(), count = { base: 0, glow: 0 }, kept = {};
    for (const act of ["clearRect", "drawImage", "fillRect", "fillText", "putImageData", "stroke", "strokeRect"]) {
        kept[act] = kind[act];
        kind[act] = function (...all) { count[this.canvas.className] += 1; return kept[act].apply(this, all); };
    }
    for (let k = 0; k < 40; k++)
        map.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, pointerType: "mouse",
            clientX: r.left + (k * 37.3) % r.width, clientY: r.top + (k * 53.7) % r.height }));
    Object.assign(kind, kept);
    return count;
}"""


@pytest.fixture(scope="module")
def trace() -> Trace:
    """The decoder that the bench shows at full length."""
    return large(TOKENS)


def base(page: Page, name: str) -> Locator:
    """The canvas that holds a map's colours."""
    return page.locator(f"[data-name='{name}'] canvas.base")


def point_at(page: Page, name: str, row: int, col: int) -> None:
    """Point at the middle of a cell, counted from 0 on what was sent."""
    canvas = base(page, name)
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    grid = page.locator(f"[data-name='{name}']")
    rows, cols = (min(MAX_SIDE, int(grid.get_attribute(f"aria-{side}count") or 0)) for side in ("row", "col"))
    page.mouse.move(box["x"] + (col + 0.5) * box["width"] / cols, box["y"] + (row + 0.5) * box["height"] / rows)


def test_every_sampled_cell_of_a_map_says_what_the_core_derives(
    open_page: Callable[..., Page], bench_url: str, trace: Trace
) -> None:
    page = load(open_page(viewport={"width": 1280, "height": 1800}), bench_url, "map128")  # no map under the dock
    frames = scores_frames(trace)
    known = {frame.name: frame for frame in frames}
    for frame in frames[2:]:
        for place in SAMPLE:
            want = expected(trace, known, frame, (0, HEAD), place, 3, trace.tokens)
            point_at(page, frame.name, *place)
            assert main_line(page) == want.text
            assert ("rounded" in notes(page)) == want.rounded
    for row, col in ((90, 25), (90, 101)):
        value = derive.cell(trace, "blocks.0.weights", (0, HEAD, row, col)).total
        point_at(page, "blocks.0.weights", row, col)
        assert main_line(page).startswith(f"A[{row + 1},{col + 1}] = e^(")
        assert main_line(page).endswith(f" = {format_number(value, 3)}")
    assert said(page)["runs"] == 1  # pointing asks Python nothing


def test_a_map_shows_each_value_at_its_place_on_the_stated_range(page: Page, bench_url: str, trace: Trace) -> None:
    load(page, bench_url, "map128")
    values = derive.slice_of(trace, "blocks.0.scaled", 0, HEAD).numpy()
    script = """(n, [row, col]) => [...n.getContext("2d").getImageData(
        (col + 0.5) * n.width / 128, (row + 0.5) * n.height / 128, 1, 1).data]"""
    for row, col in SAMPLE:
        *_colour, alpha = base(page, "blocks.0.scaled").evaluate(script, [row, col])
        assert alpha / 255 == pytest.approx(abs(values[row, col]) / np.abs(values).max(), abs=0.003)
    low, high = (format_number(float(end), 2) for end in (values.min(), values.max()))
    assert page.locator(".frame:has([data-name='blocks.0.scaled'])").get_by_text(f"{low} … {high}").count() == 1
    shut = base(page, "mask").evaluate("n => n.getContext('2d').getImageData(0, 0, n.width, n.height).data.filter("
                                       "(v, k) => k % 4 === 3 && v).length")
    assert shut > 0  # hatched


def test_the_lit_row_and_column_of_a_map_are_those_of_its_operands(page: Page, bench_url: str) -> None:
    load(page, bench_url, "map128&pin=none")
    point_at(page, "blocks.0.scores", 90, 25)
    lit = """n => { const c = n.getContext("2d"), w = n.width, h = n.height, d = c.getImageData(0, 0, w, h).data;
        const rows = new Set(), cols = new Set();
        for (let k = 3; k < d.length; k += 4) if (d[k]) { rows.add((k >> 2) / w | 0); cols.add((k >> 2) % w); }
        return [Math.min(...rows) / h, Math.max(...rows) / h, Math.min(...cols) / w, Math.max(...cols) / w]; }"""
    q, k = (page.locator(f"[data-name='blocks.0.{name}'] canvas.glow").evaluate(lit) for name in ("q_rot", "k_rot"))
    assert q[0] == pytest.approx(90 / 128, abs=0.03)
    assert q[1] == pytest.approx(91 / 128, abs=0.03)
    assert (q[2], q[3]) == (pytest.approx(0, abs=0.05), pytest.approx(1, abs=0.05))
    assert (k[0], k[1]) == (pytest.approx(0, abs=0.1), pytest.approx(1, abs=0.1))
    assert k[2] == pytest.approx(25 / 128, abs=0.03)
    assert k[3] == pytest.approx(26 / 128, abs=0.03)


def test_a_map_is_walked_with_keys_and_only_the_cells_round_the_focus_exist(page: Page, bench_url: str) -> None:
    load(page, bench_url, "map128")
    grid = page.locator("[data-name='blocks.0.scaled']")
    assert (grid.get_attribute("aria-rowcount"), grid.get_attribute("aria-colcount")) == ("128", "128")
    assert grid.locator("[role=gridcell]").count() == 25
    cell(page, "S", 1, 1).focus()
    for keys, place in (("ArrowDown ArrowRight ArrowRight", (2, 3)), ("PageDown PageDown", (34, 3)), ("End", (34, 128)),
                        ("ArrowRight", (34, 128)), ("PageUp", (18, 128)), ("Home", (18, 1)),
                        ("Control+End", (128, 128)), ("ArrowUp " * 7, (121, 128)), ("Control+Home", (1, 1)),
                        ("ArrowDown " * 9, (10, 1))):
        for key in keys.split():
            page.keyboard.press(key)
        expect(cell(page, "S", *place)).to_be_focused()
        assert main_line(page).startswith(f"S[{place[0]},{place[1]}]: ")
    assert grid.locator("[role=gridcell]").count() == 25
    page.keyboard.press("Enter")
    eventually(page, "pin", {"id": "s", "name": "blocks.0.scaled", "row": 9, "col": 0})
    page.keyboard.press("Escape")
    eventually(page, "pin", None)


def test_a_click_on_a_map_pins_its_cell_and_names_it_at_the_edge(page: Page, bench_url: str, trace: Trace) -> None:
    load(page, bench_url, "map128")
    point_at(page, "blocks.0.weights", 100, 40)
    page.mouse.down()
    page.mouse.up()
    eventually(page, "pin", {"id": "a", "name": "blocks.0.weights", "row": 100, "col": 40})
    expect(cell(page, "A", 101, 41)).to_have_attribute("aria-selected", "true")
    here = page.locator(".frame:has([data-name='blocks.0.weights']) .label.here bdi")
    assert here.all_text_contents() == [trace.tokens[40], trace.tokens[100]]


def test_labels_at_the_edge_of_a_map_do_not_collide(page: Page, bench_url: str) -> None:
    load(page, bench_url, "map128")
    tops = page.locator(".frame:has([data-name='blocks.0.scaled']) .labels .label:visible").evaluate_all(
        "all => all.map((n) => { const r = n.getBoundingClientRect(); return [r.top, r.bottom]; })")
    assert len(tops) > 10
    for (_top, bottom), (top, _bottom) in pairwise(tops[1:]):
        assert bottom <= top + 2


def test_a_map_steps_and_hides_as_digits_do(page: Page, bench_url: str, tmp_path: Path) -> None:
    load(page, bench_url, "map128", "&hide=1")
    point_at(page, "blocks.0.weights", 2, 1)
    assert main_line(page) == "A[3,2] = ?"
    with page.expect_download() as download:
        page.get_by_role("button", name="A as CSV").click()
    download.value.save_as(tmp_path / "a.csv")
    rows = list(csv.reader((tmp_path / "a.csv").read_text().splitlines()))
    assert rows[2] == [""] * 128
    filled = "n => n.getContext('2d').getImageData(0, 0, n.width, n.height).data.some((v, k) => k % 4 === 3 && v)"
    assert base(page, "blocks.0.scores").evaluate(filled)
    page.get_by_role("button", name="Next").click()
    page.mouse.move(5, 5)
    assert re.match(r"QKᵀ\[1,1\] = ", main_line(page))
    assert not base(page, "blocks.0.scaled").evaluate(filled)
    point_at(page, "blocks.0.scaled", 3, 3)
    assert "not computed yet" in notes(page)


def test_a_map_is_saved_with_its_colours_and_all_its_values(
    page: Page, bench_url: str, tmp_path: Path, trace: Trace
) -> None:
    load(page, bench_url, "map128")
    with page.expect_download() as download:
        page.get_by_role("button", name="S+M as CSV").click()
    download.value.save_as(tmp_path / "masked.csv")
    table = np.array([[float(text) for text in row]
                      for row in csv.reader((tmp_path / "masked.csv").read_text().splitlines())], np.float32)
    assert np.array_equal(table, derive.slice_of(trace, "blocks.0.masked", 0, HEAD).numpy())
    with page.expect_download() as download:
        page.get_by_role("button", name="Equation as SVG").click()
    download.value.save_as(tmp_path / "equation.svg")
    svg = (tmp_path / "equation.svg").read_text("utf-8")
    assert svg.count("<image ") == 7
    assert svg.count("data:image/png;base64,") == 7
    assert 'transform="rotate(-90 ' in svg


def test_digits_can_be_had_in_place_of_a_map(page: Page, bench_url: str) -> None:
    load(page, bench_url, "map128")
    page.get_by_role("button", name="Digits").click()
    expect(base(page, "blocks.0.scores")).to_have_count(0)
    expect(cell(page, "A", 2, 1)).to_have_text(re.compile(r"\d\.\d\d"))
    page.get_by_role("button", name="Colours").click()
    expect(base(page, "blocks.0.scores")).to_be_visible()


def test_pointing_at_a_map_draws_its_glow_and_never_its_colours(page: Page, bench_url: str) -> None:
    """128×128 colours take long; the glow is a few boxes. How long it takes is for `benchmarks`."""
    load(page, bench_url, "map128")
    for name in ("scores", "weights"):
        drawn = page.evaluate(STROKES, f"blocks.0.{name}")
        assert drawn["base"] == 0
        assert 40 <= drawn["glow"] <= 40 * 128


@pytest.mark.parametrize(("width", "scale"), [(390, 3), (1280, 2)])
def test_maps_fit_the_page_and_are_sharp(
    open_page: Callable[..., Page], bench_url: str, width: int, scale: int
) -> None:
    page = load(open_page(viewport={"width": width, "height": 844}, device_scale_factor=scale), bench_url, "map128")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    box = page.locator(".equation")
    right = box.evaluate("n => n.getBoundingClientRect().right")
    assert max(page.locator(".grid").evaluate_all("all => all.map(n => n.getBoundingClientRect().right)")) <= right
    canvas = base(page, "blocks.0.weights")
    assert canvas.evaluate("n => n.width / n.getBoundingClientRect().width") == pytest.approx(scale, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_a_map(open_page: Callable[..., Page], bench_url: str, scheme: str) -> None:
    page = load(open_page(color_scheme=scheme), bench_url, "map128")
    found = Axe().run(page, context=".stBidiComponent, [data-testid=stBidiComponent]",
                      options={"resultTypes": ["violations"]}).response
    assert [v["id"] for v in found["violations"] if v["impact"] in ("serious", "critical")] == []


def test_a_transpose_links_each_cell_to_the_one_it_copies(page: Page, bench_url: str) -> None:
    load(page, bench_url, "turned")
    cell(page, "Kᵀ", 2, 3).hover()
    assert main_line(page) == "Kᵀ[2,3] = K[3,2] = 1"
    assert glowing(page, "lit") == {"K row 3 column 2"}
    cell(page, "K", 3, 1).hover()
    assert glowing(page, "feeds") == {"Kᵀ row 1 column 3"}
    assert "Kᵀ[1,3]" in notes(page)


def test_an_appended_row_says_whether_it_was_read_or_computed(page: Page, bench_url: str) -> None:
    load(page, bench_url, "append")
    cell(page, "K", 2, 1).hover()
    assert main_line(page) == "K[2,1] = Kcache[2,1] = 1"
    assert notes(page).startswith("read from the cache")
    assert glowing(page, "lit") == {"Kcache row 2 column 1"}
    cell(page, "K", 3, 1).hover()
    assert main_line(page) == "K[3,1] = Knew[1,1] = 2"
    assert notes(page).startswith("computed in this step")
    assert glowing(page, "lit") == {"Knew row 1 column 1"}
    cell(page, "Knew", 1, 2).hover()
    assert glowing(page, "feeds") == {"K row 3 column 2"}
    assert "used in K[3,2]" in notes(page)


def test_a_looked_up_row_says_which_id_picked_it(page: Page, bench_url: str) -> None:
    load(page, bench_url, "lookup")
    cell(page, "X", 2, 2).hover()
    assert main_line(page) == "X[2,2] = E[7,2] = 3.250"
    assert notes(page).startswith("row 7 of E, since token 2 has id 6")
    assert glowing(page, "lit") == {"E row 7 column 2", "ids row 2 column 1"}
    cell(page, "E", 9, 1).hover()
    assert glowing(page, "feeds") == {"X row 1 column 1", "X row 3 column 1"}
    cell(page, "X", 4, 1).hover()  # of a row that was not sent the sentence is as true
    assert main_line(page) == "X[4,1] = E[2,1] = 0.500"
    assert glowing(page, "lit") == {"ids row 4 column 1"}


# Windows.


def shown(page: Page, name: str, side: str) -> tuple[int, int]:
    """First and last row or column on screen, from 1, as the line under the frame says."""
    text = page.locator(f".frame:has([data-name='{name}']) .below").inner_text()
    found = re.search(rf"{side} (\d+)–(\d+) of {WIDTH}", text)
    assert found is not None
    return int(found[1]), int(found[2])


def check_sum(page: Page, trace: Trace, row: int, col: int) -> None:
    """The whole sum in digits: what lies before, the terms on screen, what lies after, each as the core has it."""
    first, last = shown(page, X, "columns")
    assert shown(page, WQ, "rows") == (first, last)
    cell(page, "Q", row + 1, col + 1).hover()
    what = derive.cell(trace, "blocks.0.q_proj", (0, row, HEAD * 64 + col))
    products = [math.prod(factor.value for factor in term) for term in what.terms]

    def text(value: float) -> str:
        digits = format_number(value, 3)
        return f"({digits})" if digits.startswith("−") else digits

    terms = ["×".join(text(factor.value) for factor in term) for term in what.terms[first - 1:last]]
    if len(terms) > 8:
        terms = [*terms[:3], "…", terms[-2], f"{terms[-1]} ({len(terms)} terms)"]
    before, after = math.fsum(products[:first - 1]), math.fsum(products[last:])
    parts = [f"{text(before)} (terms 1–{first - 1})"] if first > 1 else []
    parts += terms
    parts += [f"{text(after)} (terms {last + 1}–{WIDTH})"] if last < WIDTH else []
    assert main_line(page) == f"Q[{row + 1},{col + 1}] = {' + '.join(parts)} = {format_number(what.value, 3)}"


def test_a_window_pans_at_once_within_what_was_sent_and_takes_its_partner_along(page: Page, bench_url: str) -> None:
    load(page, bench_url, "wide5")
    short = large(5)
    check_sum(page, short, 1, 2)
    page.get_by_role("button", name=re.compile("Later part of D in X")).click()
    check_sum(page, short, 4, 0)
    first, last = shown(page, X, "columns")
    assert first == last // 2 + 1
    box = page.locator(f"[data-name='{X}'] .cell").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 150, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 150 - 2 * box["width"], box["y"] + 5, steps=5)
    page.mouse.up()
    assert shown(page, X, "columns") == (first + 2, last + 2)
    assert said(page)["pin"] is None  # dragging pins nothing
    check_sum(page, short, 0, 1)
    cell(page, "X₁", 1, first + 2).focus()
    page.keyboard.press("ArrowLeft")
    assert shown(page, X, "columns") == (first + 1, last + 1)
    page.mouse.move(box["x"] + 20, box["y"] + 5)
    page.mouse.wheel(box["width"] * 3, 0)
    expect(page.locator(f".frame:has([data-name='{X}']) .below")).to_contain_text(f"{first + 4}–{last + 4}")
    assert said(page)["runs"] == 1


def test_what_was_not_sent_is_asked_for_and_the_focus_goes_there(page: Page, bench_url: str) -> None:
    load(page, bench_url, "wide5")
    short = large(5)
    cell(page, "X₁", 2, 3).focus()
    page.keyboard.press("End")
    expect(cell(page, "X₁", 2, WIDTH)).to_be_focused()
    assert shown(page, X, "columns")[1] == WIDTH
    check_sum(page, short, 1, 2)
    assert said(page)["runs"] > 1
    ruler = page.locator(f".frame:has([data-name='{X}']) .ruler-c")
    box = ruler.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 1)
    expect(page.locator(f".frame:has([data-name='{X}']) .below")).not_to_contain_text(f"–{WIDTH} of")
    first, last = shown(page, X, "columns")
    assert first < WIDTH / 2 < last
    check_sum(page, short, 3, 5)
    cell(page, "WQ", first, HEAD * 64 + 1).focus()
    page.keyboard.press("Control+Home")
    expect(cell(page, "WQ", 1, HEAD * 64 + 1)).to_be_focused()
    assert shown(page, X, "columns")[0] == 1


def test_a_long_text_s_projection_is_a_map_whose_sum_is_whole(page: Page, bench_url: str, trace: Trace) -> None:
    load(page, bench_url, "wide128")
    page.get_by_role("button", name=re.compile("Later part of D in X")).click()
    expect(page.locator(f".frame:has([data-name='{X}']) .below")).to_contain_text("columns 129–256 of 576")
    point_at(page, Q, 90, 25)
    what = derive.cell(trace, "blocks.0.q_proj", (0, 90, HEAD * 64 + 25))
    products = [math.prod(factor.value for factor in term) for term in what.terms]
    before, after = (format_number(math.fsum(part), 3) for part in (products[:128], products[256:]))
    written = main_line(page).replace("(−", "−").replace("))", ")")
    assert re.search(rf"= {before}\)? \(terms 1–128\) \+ ", written)
    assert re.search(rf" \+ {after}\)? \(terms 257–576\) = {format_number(what.value, 3)}$", written)
