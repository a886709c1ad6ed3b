"""Whatever the order in which Streamlit calls a component, the newest data stands on screen, cell for cell."""

from __future__ import annotations

import base64
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from ui.equation import Axis, Frame, Transpose, build_payload, default_strings
from ui.shell import bundle

SCRIPTS = Path(__file__).parents[2] / "ui/equation/js"
# Calls the component for each of `sent` in the given order, with the program coming `late` or first. All calls but that
# of the newest data are ended at once, as Streamlit does where newer data came before a component's module was there.
CALLS = """async ([program, mount, sent, order, late]) => {
    globalThis.equationProgram = undefined;
    const load = (source, number) => import(`data:text/javascript;base64,${source}#${number}`);
    const turn = globalThis.turn = (globalThis.turn ?? 0) + 1;
    document.body.innerHTML = "<div></div>";
    const parentElement = document.body.firstChild.attachShadow({ mode: "open" });
    parentElement.innerHTML = "<div class='equation'></div>";
    const component = await load(mount, turn), ends = [];
    if (!late) await load(program, turn);
    for (const k of order) ends.push([k, component.default({ data: [sent[k]], parentElement, setStateValue() {} })]);
    if (late) await load(program, turn);
    for (const [k, end] of ends) if (k !== sent.length - 1) (await end)();
    return [...parentElement.querySelectorAll("[role=grid]")].map((grid) =>
        [...grid.querySelectorAll("[role=gridcell]")].map((cell) => cell.textContent));
}"""


def sent(rows: int) -> dict[str, Any]:
    """K of so many rows, and Kᵀ."""
    values = np.arange(2 * rows, dtype=np.float32).reshape(rows, 2) + rows * 100
    frames = [Frame("k", "blocks.0.k", "K", "key", values, Axis("T"), Axis("Dh")),
              Frame("kt", "turned", "Kᵀ", "key", values.T, Axis("Dh"), Axis("T"))]
    return build_payload(frames, [Transpose("kt", "k")], decimals=3, strings=default_strings(str), pin=None, edits={},
                         rev=0, seq=0, hidden_note="")


def sources() -> list[str]:
    """The program and the component, as the browser gets them."""
    return [base64.b64encode(bundle.bundle(SCRIPTS / f"{name}.js").encode()).decode() for name in ("equation", "mount")]


@pytest.mark.parametrize("late", [True, False])
def test_the_newest_data_stands_whatever_the_order_of_the_calls(page: Page, late: bool) -> None:
    page.goto("about:blank")
    steps = [sent(rows) for rows in (2, 3, 5)]
    newest = [[str(500 + n) for n in range(10)], [str(500 + n) for n in (*range(0, 10, 2), *range(1, 10, 2))]]
    for order in permutations(range(3)):
        assert page.evaluate(CALLS, [*sources(), steps, order, late]) == newest, order


# Two equations wait for the program; the first leaves the page before it comes.
LEFT = """async ([program, mount, sent]) => {
    globalThis.equationProgram = undefined;
    const load = (source) => import(`data:text/javascript;base64,${source}#left`);
    document.body.innerHTML = "<div></div><div></div>";
    const [gone, stays] = [...document.body.children].map((host) => host.attachShadow({ mode: "open" }));
    for (const parentElement of [gone, stays]) parentElement.innerHTML = "<div class='equation'></div>";
    const component = await load(mount);
    for (const parentElement of [gone, stays]) component.default({ data: [sent], parentElement, setStateValue() {} });
    gone.host.remove();
    await load(program);
    return [gone, stays].map((parentElement) => parentElement.querySelectorAll("[role=gridcell]").length);
}"""


def test_one_that_has_left_keeps_no_other_from_being_drawn(page: Page) -> None:
    page.goto("about:blank")
    assert page.evaluate(LEFT, [*sources(), sent(3)]) == [0, 12]
