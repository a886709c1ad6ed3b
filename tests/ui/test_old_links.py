"""Old links stay true: what an address or a state file of a released version showed, it shows in this one.

The numbers are those that version 0.2.0 itself gave (scripts/record_links.py), on purpose: the demand is that they do
not change. Whether they are right is for the tests against independent references to say.
"""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import product
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from core import live
from tests.links.old import (
    LIST,
    PRINTED,
    STATES,
    Shown,
    matrices,
    notices,
    numbers_file,
    opened,
    printed,
    slug_of,
)

LISTED = json.loads(LIST.read_text("utf-8"))
# What is asked of each entry: its address, and the state file opened there, if any.
LINKS: dict[str, tuple[str, str]] = {
    **{address: (address, "") for address in LISTED["addresses"]},
    **{state: (address, state) for state, address in LISTED["states"].items()}}
SLACK = {"toy": 1e-5, "live": 1e-4}
# What is another number now, on purpose, with the fault of 0.2.0 that it had.
CORRECTED = {
    "/tokens?lang=en&source=toy&cut=characters&sample=abcab": "sizes of a model for a text that it does not read",
    "/tokens?lang=en&source=toy&sample=one+two+one+three+two+one&seed=3": "the same",
    "/scores?lang=en&example=d3_lab&decimals=4&edits=eNqrVkoxjs9JTFKyqlZKyslPzi7WM9ArTk7MSU0BCRnoGOgY6hgoWeka6hnU1tYC"
    "AGGuDf8": "edits of one example carried out on another",
    "/mask?lang=zh&mask=causal&where=none": "the softmax opened stayed masked",
    "/mask?lang=en&where=after&shift=90": "the same",
    "/mask?lang=en&where=renormalised&shift=0&example=block": "the same",
    "/mask?lang=en&mask=both&hidden=1&example=block&head=2&where=after": "the same",
    "/mask?lang=en&mask=window&reach=4&where=after&source=toy&B=1&T=8&D=16&H=4&Hkv=2&F=16&V=20&L=2&seed=123456":
        "the same",
    "/mask?lang=en&source=live&where=none&layer=20&head=8": "the same",
    "/cost?lang=en&cost_of=d0&slip=training&cT=1": "a gated feed-forward, where D0 has two matrices",
}
# Addresses that say nothing but the language open as the page now does.
BARE = {f"/{page}?lang=en" for page in ("projections", "scores", "mask", "mixing")}
PAGES = {"home", "tokens", "embedding", "matmul", "projections", "scores", "mask", "mixing", "heads", "sharing",
         "order", "rope", "generation", "kv_cache", "cost"}


@cache
def recorded(page: str) -> dict[str, Any]:
    """All that was recorded of a page."""
    found: dict[str, Any] = json.loads(numbers_file(f"/{page}").read_text("utf-8"))
    return found


def slack(entry: str) -> float:
    """By what part of the largest number of a matrix its cells may differ: what many layers make of rounding differs
    between processors."""
    address, state = LINKS[entry]
    said = urlsplit(address).query + (STATES / state).read_text("utf-8") if state else urlsplit(address).query
    return next((part for source, part in SLACK.items() if re.search(rf'source(=|": "){source}', said)), 0.0)


@pytest.mark.parametrize("entry", LINKS, ids=lambda entry: f"{slug_of(LINKS[entry][0])}-{list(LINKS).index(entry)}")
def test_an_old_link_shows_its_numbers(entry: str, model: live.Live) -> None:
    address, state = LINKS[entry]
    page = recorded(slug_of(address))
    then = page["shown"][entry]
    at = opened(address, page["sections"], state)
    assert not at.exception, address
    assert len(notices(at)) <= then["notices"], notices(at)
    if address in BARE and not state:
        assert "example" not in at.query_params
        return
    now = matrices(at)
    missing = [f"{frame['name']} ({frame['id']})" for frame in then["frames"]
               if not any(still_there(frame, found, slack(entry)) for found in now)]
    gone = still_printed(then.get("printed", "").split(), printed(at))
    assert bool(missing or gone) == (address in CORRECTED), f"{address}: {missing} {gone}"


def still_there(frame: dict[str, Any], found: Shown, part: float) -> bool:
    """Whether the matrix on the page is the recorded one and shows at least its cells, wherever its window now is;
    each to 1e-5 of itself and 1e-6, or to that `part` of the largest."""
    (top, height, rows), (left, width, cols) = frame["rows"], frame["cols"]
    if (frame["name"], (rows, cols)) != (found.name, found.total):
        return False
    places = ([tuple(map(int, place.split("."))) for place in frame["at"].split()] if "at" in frame else
              product(range(top, top + height), range(left, left + width)))
    then = np.array(frame["values"].split(), dtype=float)
    row_of, col_of = ({place: n for n, place in enumerate(axis)} for axis in (found.rows, found.cols))
    cells = [(row_of.get(row), col_of.get(col)) for row, col in places]
    if any(None in cell for cell in cells):
        return False
    now = np.array([found.values[cell] for cell in cells], dtype=float)
    largest = np.abs(then[np.isfinite(then)]).max(initial=0.1)
    return np.allclose(now, then, rtol=1e-5, atol=max(1e-6, part * largest), equal_nan=True)


def still_printed(then: list[str], texts: list[str]) -> list[str]:
    """The recorded numbers that are printed nowhere on the page any more; the last of several decimals may differ by
    one, since it may have been rounded the other way. A text may be worded anew, but it keeps its numbers."""
    numbers = {number for text in texts for number in PRINTED.findall(text)}
    now = np.array([read(number) for number in numbers])
    return [number for number in then
            if number not in numbers and not (np.abs(now - read(number)) <= last_place(number)).any()]


def read(number: str) -> float:
    """A printed number as a float."""
    return float(number.replace(",", ""))


def last_place(number: str) -> float:
    """One unit in the last place of a printed number with decimals; 0 of a whole one."""
    mantissa, _e, exponent = number.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 1.0001 * 10.0 ** (int(exponent or 0) - decimals) if decimals else 0.0


def test_the_old_links_cover_every_page_and_every_entry_has_its_numbers() -> None:
    assert len(LISTED["addresses"]) >= 150
    assert len(LISTED["states"]) >= 20
    assert {slug_of(address) for address in LISTED["addresses"]} == PAGES
    assert {path.name for path in STATES.glob("*.json")} == set(LISTED["states"])
    for page in PAGES:
        found = recorded(page)
        assert (found["version"], found["commit"]) == (LISTED["version"], LISTED["commit"])
        assert set(found["shown"]) == {entry for entry, (address, _state) in LINKS.items() if slug_of(address) == page}
