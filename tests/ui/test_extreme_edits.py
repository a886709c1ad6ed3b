"""Numbers at the end of float32 typed on every page, all sections open: it draws, and no figure of it is no number."""

from __future__ import annotations

import re

import pytest

from tests.core.test_extreme_edits import EXTREMES
from tests.ui.on_page import PAGES, everything, opened, payloads, unfold
from ui.bench import address
from ui.bench.limits import DEFAULT_EXAMPLE
from ui.shell.syllabus import STAGES

WARNED = "gives zeros, where plain softmax gives NaN"
EXAMPLES = {entry.page: entry.own or DEFAULT_EXAMPLE for entry in STAGES}


def places(page: str, example: str) -> dict[str, tuple[int, ...]]:
    """The tensors that can be edited on a page with everything open, each with the place of its first cell."""
    at = opened(page, lang="en", example=example)
    unfold(at)
    found = {}
    for payload in payloads(at):
        for frame in payload["frames"]:
            if frame["editable"] and frame["name"].startswith("blocks."):
                short = frame["name"].rpartition(".")[2]
                lead = () if short.startswith("w") else (0,) if short == "in" else (0, 0)
                found[frame["name"]] = (*lead, 0, 0)
    return found


@pytest.mark.parametrize("value", EXTREMES)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_stands_with_the_end_of_float32_in_its_cells(page: str, value: float) -> None:
    example = EXAMPLES[page]
    cells = places(page, example)
    plain = opened(page, lang="en", example=example)
    unfold(plain)
    known = set(everything(plain).splitlines())  # some of the words are about NaN
    for edited in ([*cells], *([name] for name in cells)):
        edits = address.pack_edits({example: {name: {cells[name]: value} for name in edited}})
        at = opened(page, lang="en", example=example, edits=edits)
        assert not at.exception, (page, edited)
        unfold(at)
        said = [line for line in everything(at).splitlines() if line not in known]
        assert [line for line in said if re.search(r"(?i)\bnan\b", line.replace(WARNED, ""))] == [], edited
