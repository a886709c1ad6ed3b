"""Every operation of the equation: what the browser lights and writes for a cell is what `core.derive` says.

The browser's own modules run in deno, without a browser. An operation that lacks its file in Python or in the browser,
or its case here, fails.
"""

from __future__ import annotations

import json
import math
import subprocess
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from core import derive, worked
from core.cache import KVCache
from core.stages.rope import rotation
from core.toy import ToySizes, toy
from core.trace import Index, Trace
from tests.core.test_model import SIZES, random_decoder, random_ids
from ui.equation import (
    Append,
    Axis,
    Difference,
    Divide,
    Exp,
    Frame,
    Grouped,
    Lookup,
    Matmul,
    Move,
    RowMax,
    RowSum,
    Rule,
    Transpose,
    build_payload,
    default_strings,
)
from ui.equation.ops import DRAWING, OPERATIONS, UnknownOperation, drawn
from ui.equation.rule import Naming
from ui.equation.views import View
from ui.shell.numbers import format_number
from ui.stages.rope import frames as rope_frames

ROOT = Path(__file__).parents[2]
DENO = Path(sysconfig.get_path("scripts")) / "deno"
SCRIPTS = ROOT / "ui/equation/js"
DECIMALS = 3

HEAD = worked.single_head("causal")
TOY = toy(ToySizes(batch=1, tokens=3, width=8, heads=4, kv_heads=2, ffn_width=3, vocab=7, layers=1), 3)
Place = tuple[str, int, int]  # frame id, row, column
Made = tuple[set[Place], str]  # the cells behind a cell, and its arithmetic without name and result


class Case(NamedTuple):
    """An equation, and for each cell of the frame `out` what it is made from and how that is written."""

    frames: Sequence[Frame]
    rules: Sequence[Rule]
    out: str
    made: Callable[[int, int], Made]


def show(x: float) -> str:
    return format_number(x, DECIMALS)


def bracketed(x: float) -> str:
    return f"({show(x)})" if x < 0 else show(x)


def matrix(id: str, values: np.ndarray) -> Frame:
    """A frame of numbers without names for its places."""
    return Frame(id, id, id.upper(), "score", np.asarray(values, np.float32), Axis("T"), Axis("T"))


def view(trace: Trace) -> View:
    return View(trace, layer=0, batch=0, head=0, editable=True)


def derived(
    trace: Trace, names: Mapping[str, str], write: Callable[[derive.Cell], str], transposed: Sequence[str] = (),
) -> Case:
    """A step of the core, drawn by the rule that draws it: `names` are frame ids by trace name, the result last."""
    here = view(trace)
    frames = [here.frame(id, name, transposed=id in transposed) for name, id in names.items()]
    out = list(names)[-1]

    def made(row: int, col: int) -> Made:
        cell = derive.cell(trace, out, here.index(out, row, col))
        found = {(names[f.name], *place_of(f.index, names[f.name] in transposed)) for term in cell.terms for f in term}
        return found, write(cell)

    return Case(frames, [here.rule(out, dict(names))], names[out], made)


def place_of(index: Index, transposed: bool) -> tuple[int, int]:
    row, col = (0, *index)[-2:]
    return (col, row) if transposed else (row, col)


def products(cell: derive.Cell) -> str:
    return " + ".join("×".join(bracketed(factor.value) for factor in term) for term in cell.terms)


def pair(sign: str) -> Callable[[derive.Cell], str]:
    def write(cell: derive.Cell) -> str:
        a, b = (factor.value for term in cell.terms for factor in term)
        return f"{show(a)} {sign} {bracketed(b)}"
    return write


def softmax(cell: derive.Cell) -> str:
    row = [term[0].value for term in cell.terms]
    top = max(row)

    def power(x: float) -> str:
        return f"e^({show(x)} − {bracketed(top)})"

    own, total = math.exp(row[cell.index[-1]] - top), math.fsum(math.exp(x - top) for x in row)
    return f"{power(row[cell.index[-1]])} ÷ ({' + '.join(map(power, row))}) = {show(own)} ÷ {show(total)}"


def by_hand(rule: Rule, operands: Mapping[str, np.ndarray], result: np.ndarray,
            made: Callable[[int, int], Made]) -> Case:
    """An operation that is no step of the core, on numbers of one."""
    frames = [matrix(id, values) for id, values in {**operands, rule.out: result}.items()]
    return Case(frames, [rule], rule.out, made)


def row_of(id: str, values: np.ndarray, row: int) -> set[Place]:
    return {(id, row, col) for col in range(values.shape[1])}


SCALED = derive.slice_of(HEAD, "blocks.0.scaled", 0, 0).numpy()
TOP = SCALED.max(axis=1, keepdims=True)
POWERS = np.exp(SCALED - TOP)
SUMS = POWERS.sum(axis=1, keepdims=True)


def a_copy() -> Case:
    k = derive.slice_of(HEAD, "blocks.0.k", 0, 0).numpy()
    return by_hand(Transpose("turned", "k"), {"k": k}, k.T, lambda i, j: ({("k", j, i)}, f"K[{j + 1},{i + 1}]"))


def a_turn(out: str) -> Case:
    """Q turned by its positions, or one of the angles' functions."""
    trace = worked.rope_pairs()
    here = view(trace)
    frames, rules = rope_frames.rotated(here, "q")
    before, after = rope_frames.names(here, "q")
    ids = {before: "before", "cos": "cos", "sin": "sin"}
    angles = rotation.angles(trace, 0)

    def turned(row: int, col: int) -> Made:
        cell = derive.cell(trace, after, here.index(after, row, col))
        found = {(ids[f.name], *f.index[-2:]) for term in cell.terms for f in term}
        (x, c), (y, s) = ([factor.value for factor in term] for term in cell.terms)
        if "sin" in [f.name for f in cell.terms[0]]:
            (x, c), (y, s) = (y, s), (x, c)
        second = any(col == one.second for one in rotation.pairs(rotation.settings(trace.config)))
        sine = s if second else -s  # the core gives the sign to the sine, the dock writes it before the term
        return found, f"{bracketed(x)}×{bracketed(c)} {'+' if second else '−'} {bracketed(y)}×{bracketed(sine)}"

    def angle(row: int, col: int) -> Made:
        position, theta = float(angles.positions[row]), float(angles.theta[col])
        return set(), f"{out}({small(position)} × {small(theta)}) = {out}({small(position * theta)})"

    return Case(frames, rules, out, turned if out == "after" else angle)


def small(x: float) -> str:
    text = show(x)
    if text != "≈0":
        return text
    return f"{x:.2e}".replace("e-0", "e−") if abs(x) < 1e-4 else str(float(f"{x:.3g}"))


def a_cache() -> Case:
    decoder, ids = random_decoder(**{**SIZES, "layers": 1, "vocab": 7, "ffn_width": 3}), random_ids(1, 5) % 7
    cache_, trace = KVCache(decoder.config, 1, 5), Trace()
    decoder(ids[:, :3], cache=cache_)
    decoder(ids[:, 3:], cache=cache_, trace=trace)
    new = trace.steps["blocks.0.k_all"].reads[1]
    labels = {"past": view(trace).frame("past", "blocks.0.k_past").label, "new": view(trace).frame("new", new).label}

    def write(cell: derive.Cell) -> str:
        ((factor,),) = cell.terms
        row, col = factor.index[-2:]
        return f"{labels['past' if factor.name.endswith('past') else 'new']}[{row + 1},{col + 1}]"

    return derived(trace, {"blocks.0.k_past": "past", new: "new", "blocks.0.k_all": "all"}, write)


def a_lookup() -> Case:
    table, ids = TOY["embedding"].numpy(), TOY["tokens"][0].numpy()
    frames = [Frame("ids", "tokens", "ids", "token", ids[:, None].astype(np.float32), Axis("T"), Axis("1"), whole=True),
              matrix("table", table), matrix("rows", table[ids])]

    def made(row: int, col: int) -> Made:
        ((factor,),) = derive.cell(TOY, "embed", (0, row, col)).terms
        at = factor.index
        return {("ids", row, 0), ("table", *at)}, f"TABLE[{at[0] + 1},{at[1] + 1}]"

    return Case(frames, [Lookup("rows", "ids", "table")], "rows", made)


def a_move() -> Case:
    """Q of all heads side by side, as one head below another."""
    tokens, heads, width = 3, TOY.config.heads, TOY.config.head_dim
    split = TOY["blocks.0.q"][0].numpy()  # (H, T, Dh)
    frames = [matrix("wide", TOY["blocks.0.q_proj"][0].numpy()), matrix("split", split.reshape(heads * tokens, width))]

    def made(row: int, col: int) -> Made:
        ((factor,),) = derive.cell(TOY, "blocks.0.q", (0, row // tokens, row % tokens, col)).terms
        at = factor.index[-2:]
        return {("wide", *at)}, f"WIDE[{at[0] + 1},{at[1] + 1}]"

    return Case(frames, [Move("split", "wide", (tokens, heads, width))], "split", made)


def a_product_for_each_head() -> Case:
    """The scores of all heads, stacked; two of them read each K."""
    tokens, width = 3, TOY.config.head_dim
    q, k, scores = (TOY[f"blocks.0.{name}"][0].numpy() for name in ("q", "k", "scores"))
    q_name, k_name = TOY.steps["blocks.0.scores"].reads
    q, k = TOY[q_name][0].numpy(), TOY[k_name][0].numpy()
    frames = [matrix("q", q.reshape(-1, width)), matrix("k", k.transpose(0, 2, 1).reshape(-1, tokens)),
              matrix("out", scores.reshape(-1, tokens))]

    def made(row: int, col: int) -> Made:
        cell = derive.cell(TOY, "blocks.0.scores", (0, row // tokens, row % tokens, col))
        found: set[Place] = set()
        for left, right in cell.terms:
            _batch, head, token, d = left.index
            found |= {("q", head * tokens + token, d), ("k", right.index[1] * width + d, right.index[2])}
        return found, products(cell)

    return Case(frames, [Grouped("out", "q", "k", tokens, TOY.config.group)], "out", made)


CASES: dict[str, Callable[[], Case]] = {
    "matmul": lambda: derived(HEAD, {"blocks.0.q": "q", "blocks.0.k": "k", "blocks.0.scores": "out"}, products, ["k"]),
    "scale": lambda: derived(HEAD, {"blocks.0.scores": "raw", "blocks.0.scaled": "out"}, lambda cell: (
        f"{show(cell.terms[0][0].value)} ÷ {show(cell.rule.constants['divisor'])}")),
    "add": lambda: derived(HEAD, {"blocks.0.scaled": "s", "mask": "m", "blocks.0.masked": "out"}, pair("+")),
    "softmax": lambda: derived(HEAD, {"blocks.0.masked": "s", "blocks.0.weights": "out"}, softmax),
    "multiply": lambda: derived(
        TOY, {"blocks.0.activated": "a", "blocks.0.up": "b", "blocks.0.hidden": "out"}, pair("×")),
    "append": a_cache,
    "lookup": a_lookup,
    "transpose": a_copy,
    "move": a_move,
    "grouped": a_product_for_each_head,
    "rotate": lambda: a_turn("after"),
    "cos": lambda: a_turn("cos"),
    "sin": lambda: a_turn("sin"),
    "rowmax": lambda: by_hand(RowMax("top", "s"), {"s": SCALED}, TOP, lambda i, j: (
        row_of("s", SCALED, i), f"max({'; '.join(map(show, SCALED[i]))})")),
    "difference": lambda: by_hand(Difference("gap", "s", "top"), {"s": SCALED, "top": TOP}, SCALED - TOP, lambda i, j: (
        {("s", i, j), ("top", i, 0)}, f"{show(SCALED[i, j])} − {bracketed(TOP[i, 0])}")),
    "exp": lambda: by_hand(Exp("powers", "gap"), {"gap": SCALED - TOP}, POWERS, lambda i, j: (
        {("gap", i, j)}, f"e^({show((SCALED - TOP)[i, j])})")),
    "rowsum": lambda: by_hand(RowSum("sums", "powers"), {"powers": POWERS}, SUMS, lambda i, j: (
        row_of("powers", POWERS, i), " + ".join(map(show, POWERS[i])))),
    "divide": lambda: by_hand(Divide("out", "powers", "sums"), {"powers": POWERS, "sums": SUMS}, POWERS / SUMS,
                              lambda i, j: ({("powers", i, j), ("sums", i, 0)},
                                            f"{show(POWERS[i, j])} ÷ {show(SUMS[i, 0])}")),
}


def payload(case: Case) -> dict[str, Any]:
    return build_payload(case.frames, case.rules, decimals=DECIMALS, strings=default_strings(str), pin=None, edits={},
                         rev=0, seq=0, hidden_note="")


def deno(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([DENO, *arguments], input=given, capture_output=True, text=True, cwd=ROOT, timeout=120,
                          check=False)


def evaluated(expression: str) -> str:
    """A JavaScript expression as text."""
    run = deno("eval", "--no-check", f"console.log(String({expression}))")
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@cache
def pointed_at() -> dict[str, list[dict[str, Any]]]:
    """What the browser's modules light and write, for every cell of every case."""
    sent = json.dumps([payload(make()) for make in CASES.values()], allow_nan=False)
    run = deno("run", "--no-check", "tests/js/pointing.js", given=sent)
    assert run.returncode == 0, run.stderr
    return dict(zip(CASES, json.loads(run.stdout), strict=True))


def stems(folder: Path, suffix: str) -> set[str]:
    return {path.stem for path in folder.glob(f"*{suffix}") if path.stem != "__init__"}


def test_each_operation_has_a_rule_a_file_for_the_browser_and_a_case() -> None:
    registry = json.dumps((SCRIPTS / "operations.js").as_uri())
    registered = evaluated(f"Object.keys((await import({registry})).OPERATIONS)")
    places = {
        "ui/equation/ops/__init__.py": set(OPERATIONS), "ui/equation/ops/": stems(ROOT / "ui/equation/ops", ".py"),
        "ui/equation/js/operations.js": set(registered.split(",")),
        "ui/equation/js/ops/": stems(SCRIPTS / "ops", ".js"), "tests/ui/test_operations.py": set(CASES),
    }
    every = set().union(*places.values())
    assert {place: every - found for place, found in places.items() if found != every} == {}  # what each place lacks


@pytest.mark.parametrize("op", sorted(CASES))
def test_what_a_cell_was_made_from_lights_up_and_its_arithmetic_is_that_of_the_core(op: str) -> None:
    case = CASES[op]()
    out = next(frame for frame in case.frames if frame.id == case.out)
    cells = [cell for cell in pointed_at()[op] if cell["at"][0] == case.out]
    assert len(cells) == out.values.size
    for cell in cells:
        _id, row, col = cell["at"]
        found, text = case.made(row, col)
        assert {tuple(place) for place in cell["lit"] if cell["backwards"]} >= found
        assert cell["main"].endswith(f" = {text} = {show(float(out.values[row, col]))}"), (cell["main"], text)
        deeper = {tuple(place) for place in cell["lit"]} - found if cell["backwards"] else set()
        assert {id for id, _row, _col in deeper}.isdisjoint({id for id, _row, _col in found} | {case.out})


@pytest.mark.parametrize("op", sorted(CASES))
def test_what_is_made_from_a_cell_is_the_reverse_of_what_a_cell_was_made_from(op: str) -> None:
    cells = pointed_at()[op]
    made = {tuple(cell["at"]): {tuple(place) for place in cell["lit"]} for cell in cells if cell["backwards"]}
    for cell in cells:
        if not cell["backwards"]:
            at = tuple(cell["at"])
            assert {tuple(place) for place in cell["lit"]} == {out for out, sources in made.items() if at in sources}


def test_an_operation_that_is_not_known_is_refused_on_both_sides() -> None:
    class Curl(Transpose):
        op: ClassVar[str] = "curl"

    frames = [matrix("a", SCALED), matrix("b", SCALED)]
    with pytest.raises(UnknownOperation, match="curl"):
        payload(Case(frames, [Curl("b", "a")], "b", lambda i, j: (set(), "")))
    sent = payload(Case(frames, [Transpose("b", "a")], "b", lambda i, j: (set(), "")))
    sent["rules"][0]["op"] = "curl"
    run = deno("run", "--no-check", "tests/js/pointing.js", given=json.dumps([sent]))
    assert run.returncode != 0
    assert 'no operation "curl"' in run.stderr


def test_an_operation_of_the_core_that_no_rule_draws_is_refused_rather_than_drawn_as_another() -> None:
    assert set(DRAWING) <= set(derive.OPERATIONS)
    for op in set(derive.OPERATIONS) - set(DRAWING):
        with pytest.raises(UnknownOperation, match=op):
            drawn(derive.Rule("a", op, ("b",), None, {}), Naming({"a": "a", "b": "b"}, str, ""))


def test_rules_of_the_core_name_their_operands_in_the_browsers_order() -> None:
    names = Naming({"all": "out", "past": "a", "now": "b"}, str, "√2")
    assert drawn(derive.Rule("all", "append", ("past", "now"), None, {"past": 1.0}), names) == Append("out", "a", "b")
    assert drawn(derive.Rule("all", "lookup", ("past", "now"), None, {}), names) == Lookup("out", "b", "a")
    assert drawn(derive.Rule("all", "mix", ("past", "now"), "Tk", {}), names) == Matmul("out", "a", "b", "Tk")
