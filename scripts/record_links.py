"""Record what a released version shows at old addresses, for tests/ui/test_old_links.py to hold later ones to.

Run as `python -m scripts.record_links` in a checkout whose app is that of the commit named in tests/links. It writes,
for every address and state file listed there, the numbers of every equation with all sections open and, on pages that
show numbers in texts and tables, the numbers printed there. Where a page fails, the script stops and writes nothing.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from itertools import product
from typing import Any

from tests.links import old
from tests.links.old import Shown
from ui import sources

WHOLE = 64  # cells up to which a matrix is recorded whole
SPREAD = 32  # cells that are recorded of a larger one, evenly spread over it
MEASURED = re.compile(r"[\d.e+-]+ m?s\b")  # on the page of generation, where a caption comes and goes with it as well


def main() -> None:
    """Write the numbers of every listed address and state file, a file for each page."""
    listed = json.loads(old.LIST.read_text("utf-8"))
    app = ["app.py", "core", "locale", "pages", "ui"]
    subprocess.run(["git", "diff", "--exit-code", "--stat", listed["commit"], "--", *app], cwd=old.ROOT, check=True)
    while sources.loader().model() is None:
        time.sleep(0.1)
    files: dict[str, dict[str, Any]] = {}
    links = {address: (address, "") for address in listed["addresses"]}
    links |= {state: (address, state) for state, address in listed["states"].items()}
    for entry, (address, state) in links.items():
        page = files.setdefault(old.numbers_file(address).name, {
            "version": listed["version"], "commit": listed["commit"], "sections": [], "shown": {}})
        page["shown"][entry] = _recorded(address, state, page["sections"])
    old.NUMBERS.mkdir(exist_ok=True)
    for name, page in files.items():
        (old.NUMBERS / name).write_text(_lines(page), "utf-8")


def _recorded(address: str, state: str, sections: list[str]) -> dict[str, Any]:
    """What the page shows; its sections are added to `sections`."""
    at = old.opened(address, sections, state)
    if at.exception:
        raise SystemExit(f"{address} {state}: {at.exception[0].message}")
    sections += [key for key in old.sections_of(at) if key not in sections]
    frames = [_frame(found) for found in old.matrices(at)]
    found: dict[str, Any] = {"notices": len(old.notices(at))}
    found["frames"] = [frame for place, frame in enumerate(frames) if frame not in frames[:place]]
    if (slug := old.slug_of(address)) in old.TEXT_PAGES:
        timed = slug == "generation"
        texts = [MEASURED.sub(" ", text) if timed else text for text in old.printed(at, captions=not timed)]
        found["printed"] = " ".join(sorted(_numbers(texts)))
    return found


def _frame(found: Shown) -> dict[str, Any]:
    """A matrix in six digits: rows and columns as first place, count and total; of a large one, or one whose places do
    not follow one another, the places of the cells that are kept, row.column."""
    rows, cols = (places == list(range(places[0], places[0] + len(places))) for places in (found.rows, found.cols))
    cells = list(product(range(len(found.rows)), range(len(found.cols))))
    frame: dict[str, Any] = {
        "name": found.name, "id": found.id, "rows": [found.rows[0], len(found.rows), found.total[0]],
        "cols": [found.cols[0], len(found.cols), found.total[1]]}
    if len(cells) > WHOLE:
        cells = [cells[place * (len(cells) - 1) // (SPREAD - 1)] for place in range(SPREAD)]
    if len(cells) < found.values.size or not (rows and cols):
        frame["at"] = " ".join(f"{found.rows[row]}.{found.cols[col]}" for row, col in cells)
    return frame | {"values": " ".join(f"{found.values[cell]:.6g}" for cell in cells)}


def _numbers(texts: list[str]) -> set[str]:
    """The numbers printed in texts, without rounding errors (zero, or very small), which differ between machines."""
    found = {number for text in texts for number in old.PRINTED.findall(text)}
    return {number for number in found if "e-" not in number and float(number.replace(",", ""))}


def _lines(page: dict[str, Any]) -> str:
    """A page's record as JSON, an address on each line."""
    head = json.dumps({key: value for key, value in page.items() if key != "shown"}, separators=(",", ":"))
    shown = ",\n".join(f"{json.dumps(entry)}:{json.dumps(found, separators=(',', ':'))}"
                       for entry, found in page["shown"].items())
    return f'{head[:-1]},"shown":{{\n{shown}\n}}}}\n'


if __name__ == "__main__":
    main()
