"""A page with one equation, chosen by `?case=`: what the browser tests of the component run against."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import streamlit as st

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.browser.large import large
from ui.equation import (
    MAX_SIDE,
    Add,
    Append,
    Axis,
    Difference,
    Frame,
    Lookup,
    Matmul,
    Pin,
    Rule,
    Scale,
    Softmax,
    Transpose,
    equation,
    send_program,
)
from ui.equation.views import View, projected

Q = np.array([[1, 0], [0, 1], [1, 1]], np.float32)
K = np.array([[1, 0], [1, 1], [2, 1]], np.float32)
HOSTILE = ["<script>window.hit=1</script>", "🦊 fox", "שלום"]


def softmax(x: np.ndarray) -> np.ndarray:
    """Along the rows; in float64, so that it is not the component's own arithmetic."""
    power = np.exp(x.astype(np.float64) - x.max(axis=-1, keepdims=True))
    return (power / power.sum(axis=-1, keepdims=True)).astype(np.float32)


def edited(values: np.ndarray, name: str, edits: dict[str, dict[str, float]]) -> np.ndarray:
    """The values with the edits of that name put in."""
    values = values.copy()
    for cell, number in edits.get(name, {}).items():
        row, col = map(int, cell.split(","))
        values[row, col] = number
    return values


def single_head(
    q: np.ndarray,
    k: np.ndarray,
    *,
    labels: list[str] | None = None,
    upto: str = "scaled",
    hidden: tuple[tuple[int, int], ...] = (),
    edits: dict[str, dict[str, float]] | None = None,
) -> tuple[list[Frame], list[Rule]]:
    """Q × Kᵀ = QKᵀ (some of it edited), ÷ √Dh = S, and on request + M and softmax."""
    tokens = tuple(labels or ())
    rows, cols = Axis("T", "query: reads ↓", tokens), Axis("T", "key: is read →", tokens)
    raw, cut = edited(q @ k.T, "blocks.0.scores", edits or {}), "blocks.0.scores" in (edits or {})
    scaled = (raw / np.float32(np.sqrt(q.shape[1]))).astype(np.float32)
    frames = [
        Frame("q", "blocks.0.q", "Q", "query", q, Axis("T", "", tokens), Axis("Dh"), editable=True),
        Frame(
            "k",
            "blocks.0.k",
            "Kᵀ",
            "key",
            k.T,
            Axis("Dh"),
            Axis("T", "", tokens),
            sign="×",
            transposed=True,
            editable=True,
        ),
        Frame("raw", "blocks.0.scores", "QKᵀ", "score", raw, rows, cols, sign="=", cut=cut),
        Frame("s", "blocks.0.scaled", "S", "score", scaled, rows, cols, sign=f"÷ √{q.shape[1]} =", hidden=hidden),
    ]
    rules: list[Rule] = [
        Matmul("raw", "q", "k", "Dh"),
        Scale("s", "raw", float(np.sqrt(q.shape[1])), f"√{q.shape[1]}"),
    ]
    if upto == "weights":
        mask = np.triu(np.full(scaled.shape, -np.inf, np.float32), 1)
        masked = scaled + mask
        frames = [
            frames[3].__class__(**{**vars(frames[3]), "sign": ""}),
            Frame("m", "mask", "M", "mask", mask, Axis("T"), Axis("T"), sign="+", compact=True),
            Frame("sm", "blocks.0.masked", "S+M", "score", masked, rows, cols, sign="="),
            Frame(
                "a",
                "blocks.0.weights",
                "A",
                "weight",
                softmax(masked),
                rows,
                cols,
                sign="softmax →",
                row_sums=True,
                shade=(0, 1),
            ),
        ]
        rules = [Add("sm", "s", "m"), Softmax("a", "sm")]
    return frames, rules


def with_bias() -> tuple[list[Frame], list[Rule]]:
    """X × W + b = Y with a head's own block of W, and what leaving b out changes."""
    b = np.array([[0.5, -2, 0]], np.float32)
    y, plain = Q @ K.T + b, Q @ K.T
    axes = Axis("T"), Axis("Dh")
    frames = [
        Frame("x", "blocks.0.norm1", "X", "residual", Q, Axis("T"), Axis("D")),
        Frame("w", "blocks.0.wq", "WQ", "parameter", K.T, Axis("D"), Axis("Dh", offset=3, total=6), sign="×"),
        Frame(
            "b", "blocks.0.bq", "bQ", "parameter", b, Axis("B"), Axis("Dh", offset=3, total=6), sign="+", compact=True
        ),
        Frame("y", "blocks.0.q_proj", "Y", "query", y, *axes, sign="="),
        Frame("p", "plain", "P", "query", plain, *axes, sign="−"),
        Frame("d", "difference", "Δ", "query", y - plain, *axes, sign="="),
    ]
    return frames, [Matmul("y", "x", "w", "D", bias="b"), Difference("d", "y", "p")]


def projection(edits: dict[str, dict[str, float]]) -> tuple[list[Frame], list[Rule]]:
    """X × WQ = Q with the second head's block of WQ; Q can only be read."""
    w = np.array([[1, 2], [0, 1]], np.float32)
    frames = [
        Frame("x", "blocks.0.norm1", "X", "residual", Q, Axis("T"), Axis("D")),
        Frame("w", "blocks.0.wq", "WQ", "parameter", w, Axis("D"), Axis("H·Dh", offset=2, total=4), sign="×"),
        Frame("q", "blocks.0.q", "Q", "query", edited(Q @ w, "blocks.0.q", edits), Axis("T"), Axis("Dh"), sign="="),
    ]
    return frames, [Matmul("q", "x", "w", "D")]


def phrases() -> tuple[list[Frame], list[Rule]]:
    """Matrices with signs that are phrases between them."""
    axes = Axis("T"), Axis("T")
    frames = [
        Frame("a", "a", "A", "score", Q @ K.T, *axes),
        Frame("b", "b", "B", "score", (Q @ K.T).astype(np.float32), *axes, sign="÷ 1 ="),
        Frame("c", "c", "C", "score", (Q @ K.T / 2).astype(np.float32), *axes, sign="but ÷ √2 ="),
        Frame("d", "d", "Δ", "score", (Q @ K.T / 2).astype(np.float32), *axes, sign="wrong − right ="),
    ]
    return frames, [Scale("b", "a", 1.0, "1"), Scale("c", "a", 2.0, "√2"), Difference("d", "b", "c")]


def beyond_the_window() -> tuple[list[Frame], list[Rule]]:
    """A product of which only the first two of five terms were sent."""
    frames, rules = single_head(Q, K)
    q = Frame("q", "blocks.0.q", "Q", "query", Q, Axis("T"), Axis("Dh", total=5))
    return [q, *frames[1:]], rules


def wide(tokens: int) -> tuple[list[Frame], list[Rule]]:
    """X × WQ of the large decoder's fifth head, of whose 576 terms a window is sent."""
    first = st.session_state.get("first", 0)
    view = View(large(tokens), layer=0, batch=0, head=4, editable=False)
    return projected(view, "q", (first, MAX_SIDE))


def turned() -> tuple[list[Frame], list[Rule]]:
    """K and its transpose."""
    frames = [Frame("k", "blocks.0.k", "K", "key", K, Axis("T"), Axis("Dh")),
              Frame("kt", "kt", "Kᵀ", "key", K.T, Axis("Dh"), Axis("T"), sign="→")]
    return frames, [Transpose("kt", "k")]


def attention(tokens: int) -> tuple[list[Frame], list[Rule]]:
    """From Q and K of the large decoder to its weights."""
    view = View(large(tokens), layer=0, batch=0, head=4, editable=False)
    names = [*view.trace.steps["blocks.0.scores"].reads, "blocks.0.scores", "blocks.0.scaled", "mask",
             "blocks.0.masked", "blocks.0.weights"]
    signs = ["", "×", "=", "÷ √64 =", "+", "=", "softmax →"]
    frames = [view.frame(id, name, sign=sign, transposed=id == "k", row_sums=id == "a")
              for id, name, sign in zip(("q", "k", "raw", "s", "m", "sm", "a"), names, signs, strict=True)]
    ids = {frame.name: frame.id for frame in frames}
    return frames, [view.rule(made, ids) for made in (*names[2:4], *names[5:])]


def appended() -> tuple[list[Frame], list[Rule]]:
    """A cache of two rows, one new row, and all three."""
    d = Axis("Dh")
    frames = [Frame("old", "old", "Kcache", "cache", K[:2], Axis("T"), d),
              Frame("new", "new", "Knew", "key", K[2:], Axis("T"), d, sign="+"),
              Frame("all", "all", "K", "key", K, Axis("T"), d, sign="=")]
    return frames, [Append("all", "old", "new")]


def looked_up() -> tuple[list[Frame], list[Rule]]:
    """Rows of a table of which only the last four are sent, picked by ids."""
    table = np.arange(20, dtype=np.float32).reshape(10, 2) / 4
    ids = [8, 6, 8, 1]
    column = np.array(ids, np.float32)[:, None]
    frames = [Frame("ids", "tokens", "ids", "token", column, Axis("T"), Axis("1"), whole=True),
              Frame("e", "embedding", "E", "parameter", table[6:], Axis("V", "", (), 6, 10), Axis("D")),
              Frame("x", "embed", "X", "residual", table[ids], Axis("T"), Axis("D"), sign="→")]
    return frames, [Lookup("x", "ids", "e")]


def random_head(t: int, d: int, edits: dict[str, dict[str, float]]) -> tuple[list[Frame], list[Rule]]:
    """A head of that size with seeded normal numbers."""
    rng = np.random.default_rng(0)
    q, k = (rng.normal(size=(t, d)).astype(np.float32) for _ in range(2))
    return single_head(edited(q, "blocks.0.q", edits), edited(k, "blocks.0.k", edits))


case = st.query_params.get("case", "d0")
st.set_page_config(layout="wide")
if st.query_params.get("sidebar"):
    st.sidebar.write("sidebar")
BY_HAND = {"cut": {"blocks.0.scores": {"1,2": 5.0}}, "projection": {"blocks.0.q": {"0,1": 7.0}}}
edits_now = st.session_state.setdefault("edits", BY_HAND.get(case, {}))
seq = st.session_state.setdefault("seq", 0)
rev = st.session_state.setdefault("rev", 0)
q, k = edited(Q, "blocks.0.q", edits_now), edited(K, "blocks.0.k", edits_now)
runs = st.session_state.runs = st.session_state.get("runs", 0) + 1
hidden_note = ""
pin = None
decimals = 3
if case == "d0":
    frames, rules = single_head(q, k)
elif case == "pin":
    frames, rules = single_head(q, k)
    pin = Pin("s", "blocks.0.scaled", 1, 2)
elif case == "labels":
    frames, rules = single_head(q, k, labels=HOSTILE)
elif case == "repeat":
    frames, rules = single_head(q, k, labels=["the", "cat", "the"])
elif case == "weights":
    frames, rules = single_head(q, k, upto="weights", labels=["猫", "追", "球"])
elif case == "hidden":
    frames, rules = single_head(q, k, hidden=((1, 2),))
    hidden_note = "Answer the question to see it."
elif case == "cut":
    frames, rules = single_head(q, k, edits=edits_now)
elif case == "projection":
    frames, rules = projection(edits_now)
elif case == "phrases":
    frames, rules = phrases()
elif case == "bias":
    frames, rules = with_bias()
elif case.startswith("wide"):
    frames, rules = wide(int(case.removeprefix("wide")))
elif case == "turned":
    frames, rules = turned()
elif case == "append":
    frames, rules = appended()
elif case == "lookup":
    frames, rules = looked_up()
elif case.startswith("map"):
    frames, rules = attention(int(case.removeprefix("map")))
    if st.query_params.get("hide"):
        frames[-1] = replace(frames[-1], hidden=[(2, col) for col in range(frames[-1].shape[1])])
    pin = Pin("a", "blocks.0.weights", 1, 0)
elif case == "partial":
    frames, rules = beyond_the_window()
else:
    rows, cols = map(int, case.split("x"))
    frames, rules = random_head(rows, cols, edits_now)
    if st.query_params.get("pin"):
        pin = Pin("s", "blocks.0.scaled", rows - 1, rows - 1)

send_program()
state = equation(
    frames, rules, key="eq", decimals=decimals, pin=pin, edits=edits_now, rev=rev, seq=seq, hidden_note=hidden_note
)
if state.window and state.window["D"] != st.session_state.get("first", 0):
    st.session_state.first = state.window["D"]
    st.rerun()
typed = [change for change in state.edits or [] if change.seq > seq]
for change in typed:
    cells = edits_now.setdefault(change.name, {})
    cells.pop(f"{change.row},{change.col}", None)
    if change.value is not None:
        cells[f"{change.row},{change.col}"] = change.value
    if not cells:
        del edits_now[change.name]
    st.session_state.seq = change.seq
if typed:
    st.rerun()


def reset() -> None:
    """Drop every edit, as the application does when the address changes."""
    st.session_state.edits = {}
    st.session_state.rev += 1


st.button("Reset", on_click=reset)
st.html(f"<pre id='said'>{json.dumps({'edits': edits_now, 'pin': state.pin and vars(state.pin), 'runs': runs})}</pre>")
