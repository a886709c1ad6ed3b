"""How long a control takes: until the equation shows the change, and until the page is at rest, in Chromium.

Every figure is divided by the same figure of an empty Streamlit page, measured in the same run on the same server
settings. Pointing, which never leaves the browser, is measured at 32×32 under 4× CPU throttling, as is the same on the
empty page: a frame in which nothing is to be done.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page, sync_playwright

from benchmarks.report import Result, median

ROOT = Path(__file__).resolve().parents[1]
CLOCK = (Path(__file__).parent / "clock.js").read_text("utf-8")
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync"]
WARM_UP, REPEATS = 3, 20
QUIET_MS = 250
THROTTLE = 4
READY = '[role="gridcell"], .chip, .ledger td'

Action = Callable[[Page, int], None]


def run() -> Result:
    """Measure each main control of each page."""
    with server("benchmarks/empty_app.py") as empty, server("serve.py") as app, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        shown0, rest0 = _measure(page, empty, _toggle("switch"), ready='[data-testid="stText"]')
        rows: dict[str, list[float | str]] = {"empty page: toggle": [shown0, rest0, 1.0, 1.0]}
        for label, (path, action) in CONTROLS.items():
            try:
                shown, rest = _measure(page, app + path, action)
            except PlaywrightError as error:
                error.add_note(f"while pressing {label}")
                raise
            rows[label] = [shown, rest, shown / shown0, rest / rest0]
        controls = [row for label, row in rows.items() if not label.startswith("empty")]
        rows["median of the controls"] = [median([float(row[place]) for row in controls]) for place in range(4)]
        still = _pointing(page, empty, '[data-testid="stText"]')
        pointing = _pointing(page, f"{app}/scores?source=toy&T=32&D=64&H=2", _CELLS)
        rows[f"pointing, 32×32, {THROTTLE}× throttled"] = [pointing, "", pointing / still, ""]
        browser.close()
    return Result(["shown, ms", "at rest, ms", "shown, ratio", "at rest, ratio"], rows, [
        f"Medians of {REPEATS} after {WARM_UP} warm-ups. Aims: shown 2.5×, at rest 4× the empty page; pointing 1.5×."])


@contextmanager
def server(script: str) -> Iterator[str]:
    """A Streamlit server for a script of this repository, on a free port; yields its address."""
    with process(script) as (address, _pid):
        yield address


@contextmanager
def process(script: str, *options: str) -> Iterator[tuple[str, int]]:
    """As `server`, with further options of Streamlit's; yields the address and the server's process id."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    started = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", script, "--server.port", str(port), "--server.headless", "true",
         *options], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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


def _measure(page: Page, address: str, action: Action, ready: str = READY) -> tuple[float, float]:
    """Median milliseconds from the key or pointer press to the changed equation, and to a page at rest."""
    page.goto(address)
    page.wait_for_selector(ready)
    page.wait_for_timeout(1500)
    page.evaluate(CLOCK)
    times = []
    for turn in range(WARM_UP + REPEATS):
        page.evaluate("window.__clock.start()")
        action(page, turn)
        page.wait_for_function(f"window.__clock.quiet({QUIET_MS})", timeout=15_000)
        times.append(page.evaluate("window.__clock.read()"))
    kept = times[WARM_UP:]
    return median([shown for shown, _ in kept]), median([rest for _, rest in kept])


def _toggle(key: str) -> Action:
    return lambda page, turn: page.locator(f".st-key-{key} label").first.click()


def _step(key: str) -> Action:
    """Plus and minus in turn on a number field."""
    def press(page: Page, turn: int) -> None:
        page.locator(f".st-key-{key} button").nth(1 - turn % 2).click()
    return press


def _choose(key: str, *places: int) -> Action:
    """Of two segments of a choice the one that is not chosen."""
    def press(page: Page, turn: int) -> None:
        segments = [page.locator(f".st-key-{key} button").nth(place) for place in places]
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
