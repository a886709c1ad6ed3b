"""What the browser tests of the pages share: opening one, finding cells, and what the core says each cell should do."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from core import derive, notation
from core.trace import Trace
from ui.equation import default_strings
from ui.shell.numbers import format_number, full_value

STRINGS = default_strings(str)
PATIENCE_S = 60.0  # seconds to wait for what should come
MOST_TERMS, FIRST_TERMS, LAST_TERMS = 8, 3, 2  # what the dock writes of a sum

HOSTS = """[...document.querySelectorAll("*")].filter((node) => node.shadowRoot?.querySelector(".equation"))"""
# Point at every cell of the k-th equation; what the dock then says and which cells are lit, by trace name and place.
SWEEP = """(k) => {
    const root = HOSTS[k].shadowRoot, text = (path) => root.querySelector(path).textContent;
    const at = (cell) => [cell.closest("[role=grid]").dataset.name, cell.parentNode.ariaRowIndex - 1,
        cell.ariaColIndex - 1];
    const marked = (kind) => [...root.querySelectorAll(".cell." + kind)].map(at);
    const found = [...root.querySelectorAll(".cell")].map((cell) => {
        cell.dispatchEvent(new PointerEvent("pointerover", { bubbles: true, pointerType: "mouse" }));
        return { at: at(cell), label: cell.ariaLabel, main: text(".dock .main"), notes: text(".dock .notes"),
            lit: marked("lit"), feeds: marked("feeds"), on: marked("on") };
    });
    root.querySelector(".eq").dispatchEvent(new PointerEvent("pointerleave"));
    return found;
}""".replace("HOSTS", HOSTS)
# Every digit of every equation: "number of the equation, trace name" -> rows of texts.
DIGITS = """() => Object.fromEntries(HOSTS.flatMap(
    (host, k) => [...host.shadowRoot.querySelectorAll("[role=grid]")].map((grid) => [k + " " + grid.dataset.name,
        [...grid.querySelectorAll("[role=row]")].map((row) => [...row.children].map((cell) => cell.textContent))])))
""".replace("HOSTS", HOSTS)

# Every view of ours has been drawn into.
DRAWN = """() => [...document.querySelectorAll("*")].every((node) => [...node.shadowRoot?.querySelectorAll(
    ".equation, .merging, .permutation, .thumbnails") ?? []].every((view) => view.childElementCount))"""
REACHED = """() => [...document.querySelectorAll(
    ".st-key-formula .stMarkdown, [data-testid=stMarkdownContainer] table")].every(
    (place) => place.scrollWidth <= place.clientWidth || place.hasAttribute("tabindex"))"""

# Streamlit's own menu of pages puts <div> between <ul> and <li>; nothing that an app draws can change that.
CHROME = {("list", "stSidebarNavItems"), ("listitem", "stSidebarNavLinkContainer")}

Place = tuple[str, int, int]  # trace name, row and column as displayed, from 0


class Shown(NamedTuple):
    """A frame: its trace name, the tensor whose rule makes it (None: an operand), whether it stands transposed."""

    name: str
    made: str | None = None
    transposed: bool = False

    @property
    def symbol(self) -> str:
        return notation.symbol(self.name, transposed=self.transposed)


def scores_frames(trace: Trace, layer: int = 0) -> list[Shown]:
    """The frames of the page on scores."""
    block = f"blocks.{layer}."
    q, k = trace.steps[block + "scores"].reads
    return [Shown(q), Shown(k, transposed=True), Shown(block + "scores", block + "scores"),
            Shown(block + "scaled", block + "scaled")]


def projection_frames(trace: Trace, letter: str, layer: int = 0) -> list[Shown]:
    """The frames of "where Q (or K) comes from"."""
    made = f"blocks.{layer}.{letter}_proj"
    return [*map(Shown, trace.steps[made].reads), Shown(f"blocks.{layer}.{letter}", made)]


def visit(page: Page, address: str) -> Page:
    """Open an address and wait until its page stands: the first equation, on the home page the map, all is drawn."""
    page.goto(address)
    page.locator("[role=gridcell]" if "/scores" in address else ".stages, .st-key-map .made").first.wait_for()
    settled(page)
    return page


def cell(page: Page, name: str, row: int, col: int, nth: int = 0) -> Locator:
    """The cell at a displayed place, from 0, of the nth frame with that trace name."""
    grid = page.locator(f"[data-name='{name}']").nth(nth)
    return grid.locator(f"[role=row][aria-rowindex='{row + 1}'] [aria-colindex='{col + 1}']")


def edit(page: Page, name: str, row: int, col: int, text: str, nth: int = 0) -> None:
    """Type a number into a cell as a learner does."""
    cell(page, name, row, col, nth).dblclick()
    page.keyboard.type(text)
    page.keyboard.press("Enter")


def dock(page: Page, nth: int = 0) -> str:
    """The arithmetic in the dock of the nth equation."""
    return page.locator(".dock .main").nth(nth).text_content() or ""


def digits(page: Page) -> dict[str, list[list[str]]]:
    """Every digit of every equation, by number of the equation and trace name."""
    found: dict[str, list[list[str]]] = page.evaluate(DIGITS)
    return found


def wait_for_slice(
    page: Page, trace: Trace, name: str, *, batch: int = 0, head: int = 0, decimals: int = 3, transposed: bool = False,
    nth: int = 0,
) -> None:
    """Wait until the nth frame of that name shows the digits of the trace's slice."""
    matrix = derive.slice_of(trace, name, batch, head)
    wanted = [format_number(float(value), decimals) for value in (matrix.T if transposed else matrix).flatten()]
    cells = page.locator(f"[data-name='{name}']").nth(nth).locator("[role=gridcell]")
    expect(cells).to_have_text(wanted)


def unfold(page: Page, key: str) -> Locator:
    """Open a folded section of the page by key, wait until it stands, and return it. What a section above still draws
    moves it, so that a click can miss."""
    section = page.locator(f".st-key-open-{key}")
    settled(page)
    section.locator("summary").first.press("Enter")
    expect(section.locator("[data-testid=stExpanderDetails] > *").first).to_be_visible()
    settled(page)
    return section


def choose(page: Page, key: str, number: int) -> None:
    """Take the entry with that number, from 0, of a row of choices, Streamlit's or the equation's."""
    page.locator(f".st-key-{key} [role=radio], [data-key='{key}'] [role=radio]").nth(number).click()


def press_chip(page: Page, name: str) -> None:
    """Choose the toy or the live model, in any language, or an example by the name on its chip."""
    chips = page.locator(".st-key-examples [role=radio]")
    {"toy": chips.nth(-2), "live": chips.last}.get(name, chips.get_by_text(name, exact=True)).click()


def switch(page: Page, key: str) -> None:
    """Turn a switch over, Streamlit's or the equation's."""
    page.locator(f".st-key-{key} label, [role=switch][data-key='{key}']").first.click()


def fill(page: Page, key: str, text: str) -> None:
    """Type into a field and apply it."""
    field = page.locator(f".st-key-{key} input")
    field.fill(text)
    field.press("Enter")


def settled(page: Page) -> None:
    """Wait until Streamlit has nothing more to do, all is drawn, every edit has been taken and the fonts are there."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_have_count(1)
    page.wait_for_function(DRAWN)
    expect(page.locator(".equation.waiting")).to_have_count(0)
    page.evaluate("document.fonts.ready.then(() => null)")


def settles(page: Page, look: Callable[[], object], wanted: object) -> None:
    """Wait until what can be seen is `wanted`; fail with what it is instead."""
    deadline = time.monotonic() + PATIENCE_S
    while (seen := look()) != wanted and time.monotonic() < deadline:
        page.wait_for_timeout(50)
    assert seen == wanted


def serious(page: Page) -> list[str]:
    """Serious and critical findings of axe in what this app draws: rule, and where."""
    page.wait_for_function(REACHED)  # places that scroll come into the order of the Tab key a moment after a change
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [f"{rule['id']}: {node['target']}: {node['html'][:120]}" for rule in found
            if rule["impact"] in ("serious", "critical") for node in rule["nodes"]
            if not in_chrome(page, rule["id"], node["target"])]


def in_chrome(page: Page, rule: str, target: list[str]) -> bool:
    """Whether it is one of Streamlit's own elements named above."""
    if rule not in {known for known, _ in CHROME} or len(target) != 1:
        return False
    node: Locator = page.locator(target[0]).first
    return bool(node.evaluate("n => n.closest('[data-testid=stSidebarNavItems]') !== null"))


def sideways(page: Page) -> list[int]:
    """By how many pixels the document, the page and its block can be scrolled sideways."""
    found: list[int] = page.evaluate("""() => [document.scrollingElement, ...document.querySelectorAll(
        "[data-testid=stMain], [data-testid=stMainBlockContainer]")].map((n) => n.scrollWidth - n.clientWidth)""")
    return found


def fits(page: Page) -> None:
    """Wait until nothing scrolls sideways, as after a new width; fail if something does."""
    settles(page, lambda: sideways(page), [0, 0, 0])


def overhang(page: Page) -> float:
    """How far the first equation reaches below the upper edge of its dock, in pixels: what the dock covers."""
    frames = page.locator(".eq").first.locator(".frame .mid").evaluate_all(
        "all => Math.max(...all.map(n => n.getBoundingClientRect().bottom))")
    edge = page.locator(".dock").first.evaluate("n => n.getBoundingClientRect().top")
    assert edge < page.evaluate("innerHeight")
    return float(frames - edge)


class Expected(NamedTuple):
    """What pointing at a cell should do: the cells it was made from, the arithmetic, whether rounding must be said."""

    sources: frozenset[Place]
    text: str
    rounded: bool


def expectations(
    trace: Trace, frames: Sequence[Shown], batch: int, head: int, decimals: int, labels: Sequence[str] = (),
) -> dict[Place, Expected]:
    """For every cell of every frame, from `core.derive` and the printed form of its numbers alone."""
    known = {frame.made or frame.name: frame for frame in frames}
    found: dict[Place, Expected] = {}
    for frame in frames:
        rows, cols = derive.slice_of(trace, frame.name, batch, head).shape
        start = 0
        if frame.name.endswith((".wq", ".wk")):  # only this head's columns are on screen
            cols, start = trace.config.head_dim, _first_column(trace, frame.name[-1], head)
        if frame.transposed:
            rows, cols = cols, rows
        for row in range(rows):
            for col in range(start, start + cols):
                found[frame.name, row, col] = expected(
                    trace, known, frame, (batch, head), (row, col), decimals, labels)
    return found


def users(found: dict[Place, Expected]) -> dict[Place, set[Place]]:
    """For every cell the cells that were made from it."""
    used: dict[Place, set[Place]] = {place: set() for place in found}
    for place, what in found.items():
        for source in what.sources:
            used[source].add(place)
    return used


def _first_column(trace: Trace, letter: str, head: int) -> int:
    return (head if letter == "q" else head // trace.config.group) * trace.config.head_dim


def expected(
    trace: Trace, known: dict[str, Shown], frame: Shown, slice_: tuple[int, int], at: tuple[int, int], decimals: int,
    labels: Sequence[str],
) -> Expected:
    """What one cell should do; `known` holds the frames by trace name, `at` is its place as displayed."""
    row, col = at
    name = f"{frame.symbol}[{row + 1},{col + 1}]"
    if frame.made is None:
        index = derive.full_index(trace, frame.name, *slice_, *(reversed(at) if frame.transposed else at))
        return Expected(frozenset(), f"{name} = {format_number(float(trace[frame.name][index]), decimals)}", False)
    if frame.made.endswith("_proj"):
        index = (slice_[0], row, _first_column(trace, frame.made[-6], slice_[1]) + col)
    else:
        index = derive.full_index(trace, frame.made, *slice_, row, col)
    sources, steps, rounded = _chain(trace, known, frame.made, index, decimals)
    who = ""
    if len(steps) > 1:
        parts = {"i": row + 1, "j": col + 1}
        if labels:
            parts |= {"a": labels[row], "b": labels[col]}
        who = STRINGS["asks_named" if labels else "asks"].format(**parts) + ": "
    text = f"{name}: {who}{';  '.join(steps)}" if len(steps) > 1 else f"{name} = {steps[0]}"
    return Expected(frozenset(sources), text, rounded)


def _chain(
    trace: Trace, known: dict[str, Shown], name: str, index: tuple[int, ...], decimals: int,
) -> tuple[set[Place], list[str], bool]:
    """The cells behind an entry, its steps in digits, and whether the printed digits give another result."""
    what = derive.cell(trace, name, index)
    sources: set[Place] = set()
    before: list[str] = []
    rounded = False
    for term in what.terms:
        for factor in term:
            frame = known[factor.name]
            place = factor.index[-2:] if not frame.transposed else factor.index[:-3:-1]
            sources.add((frame.name, place[0], place[1]))
            if frame.made:
                more, before, rounded = _chain(trace, known, frame.made, factor.index, decimals)
                sources |= more
    result = format_number(what.value, decimals)
    if what.rule.op == "scale":
        above, below = (format_number(value, decimals) for value in (what.terms[0][0].value,
                                                                     what.rule.constants["divisor"]))
        text, hand = f"{above} ÷ {_bracketed(below)}", _number(above) / _number(below)
    else:
        factors = [[format_number(factor.value, decimals) for factor in term] for term in what.terms]
        text = _sum(["×".join(map(_bracketed, term)) for term in factors])
        hand = sum((_product(term) for term in factors), Fraction(0))
    return sources, [*before, f"{text} = {result}"], rounded or _to(hand, decimals) != _number(result)


def _sum(terms: list[str]) -> str:
    if len(terms) <= MOST_TERMS:
        return " + ".join(terms)
    return " + ".join([*terms[:FIRST_TERMS], "…", *terms[-LAST_TERMS:]]) + f" ({STRINGS['terms'].format(n=len(terms))})"


def _bracketed(text: str) -> str:
    return f"({text})" if text.startswith("−") else text


def _number(text: str) -> Fraction:
    return Fraction(0) if text == "≈0" else Fraction(text.replace("−", "-"))


def _product(term: list[str]) -> Fraction:
    result = Fraction(1)
    for factor in term:
        result *= _number(factor)
    return result


def _to(value: Fraction, decimals: int) -> Fraction:
    """Rounded to that many decimals, halves away from zero."""
    scale = 10**decimals
    whole = (2 * abs(value) * scale + 1) // 2
    return Fraction(whole if value >= 0 else -whole, scale)


def check_pointing(
    page: Page, nth: int, trace: Trace, frames: Sequence[Shown], *, batch: int = 0, head: int = 0, decimals: int = 3,
    labels: Sequence[str] = (),
) -> int:
    """Point at every cell of the nth equation and compare with the core; returns how many cells there were."""
    wanted = expectations(trace, frames, batch, head, decimals, labels)
    used = users(wanted)
    settled(page)
    said: list[dict[str, Any]] = page.evaluate(SWEEP, nth)
    assert [tuple(cell["at"]) for cell in said] == list(wanted)
    for seen in said:
        place = tuple(seen["at"])
        want = wanted[place]
        lit, feeds = ({tuple(other) for other in seen[kind]} for kind in ("lit", "feeds"))
        assert seen["on"] == [seen["at"]]
        assert seen["main"] == want.text
        assert lit == want.sources, place
        assert feeds == (set() if want.sources else used[place]), place
        assert (STRINGS["rounded"] in seen["notes"]) == want.rounded, seen["main"]
        frame = next(frame for frame in frames if frame.name == place[0])
        index = place[1:] if not frame.transposed else place[:0:-1]
        column = index[1]
        value = float(derive.slice_of(trace, frame.name, batch, head)[index[0], column])
        assert seen["label"] == STRINGS["cell"].format(
            symbol=frame.symbol, i=place[1] + 1, j=place[2] + 1, value=full_value(value))
        assert STRINGS["full"].format(value=re.sub("^-", "−", full_value(value))) in seen["notes"]
    return len(said)


def swept(page: Page, nth: int = 0) -> list[dict[str, Any]]:
    """What pointing at each cell of the nth equation says and lights."""
    settled(page)
    found: list[dict[str, Any]] = page.evaluate(SWEEP, nth)
    return found


def places(cells: list[list[Any]]) -> set[tuple[Any, ...]]:
    """Cells (frame, row, column) that were lit."""
    return {tuple(place) for place in cells}
