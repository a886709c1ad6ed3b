"""Pointing at any cell of the page on scores: what the browser's modules light and write is what the core says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from core import toy, worked
from core.toy import ToySizes
from core.trace import Trace
from tests.browser.on_page import STRINGS, Shown, expectations, projection_frames, scores_frames, users
from tests.ui.on_page import SCORES, opened, payloads
from tests.ui.test_operations import deno

LONG = toy.toy(ToySizes(tokens=3, width=10, heads=1, kv_heads=1))
EXAMPLES: dict[str, tuple[dict[str, str], Callable[[], Trace], int, int]] = {
    "three tokens": ({"example": "single_head"}, worked.single_head, 0, 3),
    "a block": ({"example": "block"}, worked.block, 0, 3),
    "its second head, two decimals": ({"example": "block", "head": "2", "decimals": "2"}, worked.block, 1, 2),
    "one KV head": ({"example": "block_shared"}, lambda: worked.block(kv_heads=1), 0, 3),
    "one KV head, read by the second": (
        {"example": "block_shared", "head": "2", "decimals": "4"}, lambda: worked.block(kv_heads=1), 1, 4),
    "long sums": ({"source": "toy", "T": "3", "D": "10", "H": "1", "Hkv": "1"}, lambda: LONG, 0, 3),
}


def pointed_at(sent: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    run = deno("run", "--no-check", "tests/js/pointing.js", given=json.dumps(sent))
    assert run.returncode == 0, run.stderr
    found: list[list[dict[str, Any]]] = json.loads(run.stdout)
    return found


def compare(
    said: list[dict[str, Any]], sent: dict[str, Any], trace: Trace, frames: list[Shown], head: int, decimals: int,
    labels: list[str],
) -> int:
    """Every cell of an equation; returns how many there were."""
    names = {frame["id"]: frame["name"] for frame in sent["frames"]}
    wanted = expectations(trace, frames, 0, head, decimals, labels)
    used = users(wanted)
    assert [(names[cell["at"][0]], *cell["at"][1:]) for cell in said] == list(wanted)
    for cell, (place, want) in zip(said, wanted.items(), strict=True):
        lit = {(names[id], row, col) for id, row, col in cell["lit"]}
        assert cell["main"] == want.text
        assert lit == (want.sources if cell["backwards"] else used[place]), place
        assert cell["backwards"] == bool(want.sources)
        assert (STRINGS["rounded"] in cell["notes"]) == want.rounded, cell["main"]
    return len(said)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_pointing_at_any_cell_lights_what_it_was_made_from_and_writes_its_arithmetic(kind: str) -> None:
    address, make, head, decimals = EXAMPLES[kind]
    trace = make()
    labels = [] if trace.source == "single_head" else list(trace.tokens)
    at = opened(SCORES, lang="en", **address)
    at.session_state["open-from"] = True
    sent = payloads(at.run())
    made = [scores_frames(trace), *(projection_frames(trace, letter) for letter in "qk")]
    counts = [compare(said, payload, trace, frames, head, decimals, labels if number == 0 else [])
              for number, (said, payload, frames) in enumerate(zip(pointed_at(sent), sent, made, strict=True))]
    assert min(counts) > 0
