"""An old address or state file opened as a reader opens it, and the numbers that the page then shows.

Only what leaves the app is read: the JSON that each equation is sent and the printed texts. Nothing here knows how the
app is built, but where its page files stand and that a folded section has a key.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import numpy.typing as npt
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
LIST = HERE / "links_0_2_0.json"
STATES = HERE / "states_0_2_0"
NUMBERS = HERE / "numbers_0_2_0"
# Pages that show numbers in texts and tables, not only in equations.
TEXT_PAGES = ("home", "tokens", "matmul", "generation", "kv_cache", "cost")
# 12 · 1,234.5 · 1.23e4 · 6.0e-8; not the 2 of "D2" or of "x_2", and no sign, which may be written in several ways.
PRINTED = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:e-?\d+)?")


class Shown(NamedTuple):
    """A matrix on the page as its tensor has it, whichever way round it is drawn: `values` at the places `rows` ×
    `cols` (from 0) of a tensor's slice of `total` rows and columns."""

    name: str
    id: str
    total: tuple[int, int]
    rows: list[int]
    cols: list[int]
    values: npt.NDArray[np.float32]


def slug_of(address: str) -> str:
    """The page that an address leads to: "scores" of "/scores?lang=en"."""
    return urlsplit(address).path.strip("/") or "home"


def numbers_file(address: str) -> Path:
    """Where the numbers of the page that an address leads to are kept."""
    return NUMBERS / f"{slug_of(address)}.json"


def opened(address: str, sections: list[str], state: str = "") -> AppTest:
    """The page at that address with all its folded sections open, those in `sections` from the start; with the state
    file of that name taken over, if there is one."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for key, value in parse_qsl(urlsplit(address).query):
        at.query_params[key] = value
    slug = slug_of(address)
    if slug != "home":
        (page,) = (ROOT / "pages").rglob(f"{slug}.py")
        at.switch_page(str(page.relative_to(ROOT)))
    for key in sections:
        at.session_state[key] = True
    at.run()
    _open_all(at)
    if state:
        at.file_uploader[0].set_value((state, (STATES / state).read_bytes(), "application/json"))
        at.run()
        _open_all(at)
    return at


def sections_of(at: AppTest, *, closed: bool = False) -> list[str]:
    """The keys of the folded sections, or only of those that are closed."""
    return [re.sub(r"^\$\$ID-[0-9a-f]+-", "", section.proto.id) for section in at.expander
            if not (closed and section.proto.expanded)]


def _open_all(at: AppTest) -> None:
    """Open what is still closed; a section may hold others."""
    tried: set[str] = set()
    while not at.exception and (fresh := set(sections_of(at, closed=True)) - tried):
        for key in fresh:
            at.session_state[key] = True
        at.run()
        tried |= fresh


def notices(at: AppTest) -> list[str]:
    """Everything that tells of a problem."""
    return [element.value for element in (*at.error, *at.warning, *at.info)]


def matrices(at: AppTest) -> list[Shown]:
    """Every matrix of every equation on the page."""
    sent = [json.loads(component.proto.json) for component in at.get("bidi_component")]
    payloads = [one[0] if isinstance(one, list) else one for one in sent]  # version 0.2.0 sent it by itself
    return [_matrix(frame) for payload in payloads for frame in payload.get("frames", [])]


def _matrix(frame: dict[str, Any]) -> Shown:
    axes = (frame["rows"], frame["cols"])
    values = np.frombuffer(base64.b64decode(frame["values"]), "<f4").reshape([axis["size"] for axis in axes])
    if frame["transposed"]:
        axes, values = axes[::-1], values.T
    rows, cols = (axis["places"] or list(range(axis["offset"], axis["offset"] + axis["size"])) for axis in axes)
    total = (max(axes[0]["full"], axes[0]["total"]), max(axes[1]["full"], axes[1]["total"]))
    return Shown(frame["name"], frame["id"], total, rows, cols, values)


def printed(at: AppTest, *, captions: bool = True) -> list[str]:
    """The texts of the page in which numbers are printed, tables and drawings among them; programs and the addresses
    of other sites are none."""
    told = (*at.markdown, *at.caption) if captions else at.markdown
    texts = [re.sub(r"https?://\S+", " ", element.value) for element in told]
    drawn = [re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", element.value, flags=re.DOTALL)
             for element in at.get("html")]
    return texts + drawn
