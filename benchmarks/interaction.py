"""What a control costs: the server's time of processor, the browser's main thread, and how long it takes until the
equation shows the change and until the page is at rest, in Chromium.

Every figure is that of one change. Beside each stands how many times it is the same figure of an empty Streamlit page,
measured in the same run on the same server settings. With the folder of another version, `--against`, each control is
measured on both in turn, a few changes here and a few there, and the ratios are those to that version. Pointing, which
never leaves the browser, is measured at 32×32 under 4× CPU throttling, as is the same on the empty page: a frame in
which nothing is to be done.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from playwright.sync_api import CDPSession, Page, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from benchmarks.browser import ARGUMENTS, chromium
from benchmarks.report import Result, median

ROOT = Path(__file__).resolve().parents[1]
CLOCK = (Path(__file__).parent / "clock.js").read_text("utf-8")
ROUNDS, WARM_UP, REPEATS = 2, 3, 10
QUIET_MS, POLLING = 250, 50
THROTTLE = 4
READY = '[role="gridcell"], .chip, .ledger td'

Action = Callable[[Page, int], None]
Side = tuple[tuple[str, int], str, Action, str]  # address and process of a server, path, what to do, what to wait for


class Costs(NamedTuple):
    """Milliseconds of a change: processor of the server, main thread of the browser, until it shows, until rest."""

    server: float
    thread: float
    shown: float
    rest: float


def run(against: Path | None = None) -> Result:
    """Measure each main control of each page; with another version beside it."""
    with ExitStack() as stack:
        empty = stack.enter_context(process("benchmarks/empty_app.py"))
        here = stack.enter_context(process("serve.py"))
        there = stack.enter_context(process("serve.py", root=against)) if against else None
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        nothing = _measured(page, [(empty, "", _toggle("switch"), '[data-testid="stText"]')])[0]
        rows: dict[str, list[float | str]] = {} if there else {"empty page: toggle": [*nothing, *[1.0] * len(nothing)]}
        for label, (path, action) in CONTROLS.items():
            sides = [(place, path, action, READY) for place in (here, there) if place is not None]
            try:
                costs, *beside = _measured(page, sides)
            except PlaywrightError as error:
                error.add_note(f"while pressing {label}")
                raise
            rows[label] = [*costs, *_ratios(costs, beside[0] if beside else nothing)]
        controls = [row for label, row in rows.items() if not label.startswith("empty")]
        rows["median of the controls"] = [
            median([float(row[place]) for row in controls]) for place in range(2 * len(nothing))]
        still = _pointing(page, empty[0] if there is None else there[0] + _LARGE,
                          '[data-testid="stText"]' if there is None else _CELLS)
        pointing = _pointing(page, here[0] + _LARGE, _CELLS)
        rows[f"pointing, 32×32, {THROTTLE}× throttled"] = ["", "", pointing, "", "", "", pointing / still, ""]
        browser.close()
    beside = "before" if against else "empty"
    figures = ("server", "main thread", "shown", "at rest")
    return Result([f"{what}, ms" for what in figures] + [f"{what} / {beside}" for what in figures], rows, [
        f"{ROUNDS} × {REPEATS} changes, {WARM_UP} before each {REPEATS} to warm up; means of what they cost, medians "
        "of the times.",
        f"Against {against.name}, measured in turn with it." if against else
        "Aims: shown 2.5×, at rest 4× the empty page; pointing 1.5×."])


def _ratios(costs: Costs, others: Costs) -> list[float]:
    return [mine / other if other else float("nan") for mine, other in zip(costs, others, strict=True)]


@contextmanager
def server(script: str) -> Iterator[str]:
    """A Streamlit server for a script of this repository, on a free port; yields its address."""
    with process(script) as (address, _pid):
        yield address


@contextmanager
def process(script: str, *options: str, root: Path = ROOT) -> Iterator[tuple[str, int]]:
    """As `server`, with further options of Streamlit's, of the version in the folder `root`; yields the address and the
    server's process id."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    started = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", script, "--server.port", str(port), "--server.headless", "true",
         *options], cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{address}/_stcore/health", timeout=1)
                break
            except OSError:
                time.sleep(0.25)
        yield address, started.pid
    finally:
        started.terminate()
        started.wait(timeout=10)


def _measured(page: Page, sides: Sequence[Side]) -> list[Costs]:
    """What a change costs on each side, of all rounds together; the sides take turns."""
    found: list[list[Costs]] = [[] for _ in sides]
    for _round in range(ROUNDS):
        for costs, (place, path, action, ready) in zip(found, sides, strict=True):
            costs += _changes(page, place, path, action, ready)
    return [Costs(mean([one.server for one in costs]), mean([one.thread for one in costs]),
                  median([one.shown for one in costs]), median([one.rest for one in costs])) for costs in found]


def _changes(page: Page, place: tuple[str, int], path: str, action: Action, ready: str) -> list[Costs]:
    """A visit of a page, and changes on it; those that warm it up are left out."""
    address, pid = place
    page.goto(address + path)
    page.wait_for_selector(ready)
    page.wait_for_timeout(1500)
    page.evaluate(CLOCK)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    kept = []
    for turn in range(WARM_UP + REPEATS):
        used, busy = processor(pid), _busy(session)
        page.evaluate("window.__clock.start()")
        action(page, turn)
        page.wait_for_function(f"window.__clock.quiet({QUIET_MS})", timeout=15_000, polling=POLLING)
        shown, rest = page.evaluate("window.__clock.read()")
        kept.append(Costs(1000 * (processor(pid) - used), 1000 * (_busy(session) - busy), shown, rest))
    session.detach()
    return kept[WARM_UP:]


def _busy(session: CDPSession) -> float:
    """Seconds that the page's main thread has worked so far."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))


def processor(pid: int) -> float:
    """Seconds of processor that a process has used so far, its own and the system's for it, as Linux says."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _toggle(key: str) -> Action:
    return lambda page, turn: page.locator(f".st-key-{key} label, [role=switch][data-key='{key}']").first.click()


def _step(key: str) -> Action:
    """Plus and minus in turn on a number field."""
    def press(page: Page, turn: int) -> None:
        page.locator(f".st-key-{key} button").nth(1 - turn % 2).click()
    return press


def _choose(key: str, *places: int) -> Action:
    """Of two segments of a choice the one that is not chosen."""
    def press(page: Page, turn: int) -> None:
        segments = [page.locator(f".st-key-{key} button, [data-key='{key}'] button").nth(place) for place in places]
        next(one for one in segments if one.get_attribute("aria-checked") != "true").click()
    return press


def _press(*keys: str) -> Action:
    """Buttons in turn."""
    return lambda page, turn: page.locator(f".st-key-{keys[turn % len(keys)]} button").click()


def _slide(page: Page, turn: int) -> None:
    page.locator('.st-key-decimals [role="slider"], .st-key-decimals input').first.press(
        "ArrowLeft" if turn % 2 else "ArrowRight")


def _edit(page: Page, turn: int) -> None:
    cell = page.locator('[data-name="blocks.0.q"] [role="gridcell"]').first
    cell.dblclick()
    page.keyboard.type(str(turn + 2))
    page.evaluate("window.__clock.start()")
    page.keyboard.press("Enter")


def _pin(page: Page, turn: int) -> None:
    page.locator('[data-name="blocks.0.scaled"] [role="gridcell"]').nth(turn % 9).click()


CONTROLS: dict[str, tuple[str, Action]] = {
    "scores: divide by √Dh": ("/scores", _toggle("scale")),
    "scores: transpose": ("/scores", _toggle("transpose")),
    "scores: decimals": ("/scores", _slide),
    "scores: head (block)": ("/scores?example=block", _step("head")),
    "scores: seed (toy)": ("/scores?source=toy", _step("seed")),
    "scores: edit a number": ("/scores", _edit),
    "scores: pin a cell": ("/scores", _pin),
    "mask: where the mask is put": ("/mask", _choose("where", 0, 1)),
    "mask: head (block)": ("/mask?example=block", _step("head")),
    "projections: role (block)": ("/projections?example=block", _choose("role", 0, 1)),
    "projections: head (block)": ("/projections?example=block", _step("head")),
    "mixing: head (block)": ("/mixing?example=block", _step("head")),
    "heads: way": ("/heads", _choose("way", 0, 1)),
    "sharing: number of KV heads": ("/sharing", _choose("kvheads", 0, 1)),
    "order: mask": ("/order", _choose("sight", 0, 1)),
    "rope: Q or K": ("/rope", _choose("letter", 0, 1)),
    "matmul: shapes": ("/matmul", _press("try-heads", "try-fits")),
    "tokens: text": ("/tokens?source=live", _press("try-emoji", "try-spaces")),
    "embedding: positions": ("/embedding", _choose("positions", 0, 1)),
    "generation: step": ("/generation", _press("run-step", "run-over")),
    "kv_cache: step": ("/kv_cache", _press("run-step", "run-over")),
    "cost: heads of K and V": ("/cost", _choose("shared", 2, 3)),
}


_CELLS = '[data-name="blocks.0.scaled"] [role="gridcell"]'


_LARGE = "/scores?source=toy&T=32&D=64&H=2"


def _pointing(page: Page, address: str, cells: str) -> float:
    """Median milliseconds from a pointer event on one of `cells` to the frame in which its operands are lit."""
    page.goto(address)
    page.wait_for_selector(cells)
    page.wait_for_timeout(2000)
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": THROTTLE})
    times = page.evaluate("""async (path) => {
      const roots = [document, ...[...document.querySelectorAll("*")].map((e) => e.shadowRoot).filter(Boolean)];
      const cells = roots.map((root) => [...root.querySelectorAll(path)]).find((found) => found.length);
      const times = [];
      for (let n = 0; n < 60; n++) {
        const cell = cells[(n * 37) % cells.length];
        const began = performance.now();
        for (const kind of ["pointerover", "pointerenter", "pointermove", "mouseover", "mouseenter", "mousemove"])
          cell.dispatchEvent(new PointerEvent(kind, { bubbles: true, composed: true }));
        await new Promise((done) => requestAnimationFrame(() => { document.body.offsetHeight; done(); }));
        times.push(performance.now() - began);
      }
      return times;
    }""", cells)
    session.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    return median(times)
