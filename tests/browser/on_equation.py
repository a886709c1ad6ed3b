"""What the tests of the equation component share: opening a case, finding cells, reading the dock and Python's side."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
from playwright.sync_api import Locator, Page

from tests.browser.on_page import settles

Q = np.array([[1, 0], [0, 1], [1, 1]])
KT = np.array([[1, 1, 2], [0, 1, 1]])
SQRT2 = "1.414"


def load(page: Page, address: str, case: str, more: str = "") -> Page:
    """Open the bench at that case and wait until its numbers stand."""
    page.goto(f"{address}/?case={case}{more}")
    page.locator("[role=gridcell]").first.wait_for()
    page.locator("#said").wait_for()
    return page


def cell(page: Page, symbol: str, row: int, col: int) -> Locator:
    """The cell in that row and column, counted from 1 as on screen."""
    return page.get_by_role("gridcell", name=re.compile(rf"^{re.escape(symbol)} row {row} column {col}: "))


def glowing(page: Page, kind: str) -> set[str]:
    """The cells with that mark, as "symbol row i column j"."""
    script = """(kind) => [...document.querySelectorAll("*")].filter((n) => n.shadowRoot)
        .flatMap((n) => [...n.shadowRoot.querySelectorAll(".cell." + kind)]).map((n) => n.ariaLabel)"""
    found: list[str] = page.evaluate(script, kind)
    return {label.split(":")[0] for label in found}


def main_line(page: Page) -> str:
    """What the dock writes."""
    return page.locator(".dock .main").text_content() or ""


def notes(page: Page) -> str:
    """What the dock adds in small type."""
    return page.locator(".dock .notes").text_content() or ""


def said(page: Page) -> dict[str, Any]:
    """What Python holds: the edits and the pin."""
    return json.loads(page.locator("#said").text_content() or "{}")


def eventually(page: Page, part: str, wanted: object) -> None:
    """Wait until Python holds `wanted`; fail with what it holds instead."""
    settles(page, lambda: said(page)[part], wanted)


def brackets(number: int) -> str:
    """A factor as it is written in a product."""
    return f"(−{-number})" if number < 0 else str(number)
