"""What is on the bench: the source, the sizes, the place looked at, the edits. One typed object.

This is the only reader of session state and of the address. Plain widget values are bound to the address by Streamlit;
what Streamlit cannot bind (choices whose labels are translated, the typed text, edits, the pinned cell) is kept here:
read from the address when it holds something that this app did not write itself (a link, Back, Forward), and written
back after each run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core import derive, masks, notation, rotation
from core.live import registry
from core.toy import LIMITS, ToySizes
from core.trace import Index, Trace
from ui import address, i18n
from ui.equation import MAX_SIDE, Edits, Frame, Pin, read_edits, read_pin, read_window
from ui.permutation import pack_order, read_order, unpack_order

# Sizes on the map, where nothing is computed; Dh = 0 stands for D ÷ H.
MAP_LIMITS = {"B": (1, 4096), "T": (1, 1_000_000), "D": (1, 65_536), "H": (1, 1024), "Hkv": (1, 1024),
              "Dh": (0, 4096), "F": (1, 1_000_000), "V": (1, 1_000_000), "L": (1, 1000)}
SOURCES = ("worked", "toy", "live")
EXAMPLES = ("single_head", "block", "block_shared", "d3_lab", "rope_pairs", "word_order")
SIZE_LETTERS = {"B": "batch", "T": "tokens", "D": "width", "H": "heads", "Hkv": "kv_heads", "F": "ffn_width",
                "V": "vocab", "L": "layers"}
DEFAULT_SIZES = ToySizes()
DEFAULT_TEXT = "The cat sat on the mat because it was tired."
DECIMALS = (2, 3, 4, 5, 6)
DEFAULT_DECIMALS = 3
LONGEST_LINKED_TEXT = 3000  # characters of typed text that an address carries
LONGEST_ADDRESS = 8000
UNPINNED = "none"  # in the address: the learner let go of the cell that the page opens with

CHOICES: dict[str, tuple[Sequence[str], str]] = {
    "lang": (tuple(i18n.languages()), i18n.DEFAULT), "source": (SOURCES, SOURCES[0]), "example": (EXAMPLES, ""),
    "bias": (("on",), ""), "mask": (masks.KINDS, ""), "notation": (tuple(notation.NOTATIONS), notation.DEFAULT),
}
# What Streamlit binds to the address itself, where it drops without a word what it cannot read. How many layers there
# are depends on the source, so of these only what no source has is unsound.
_MANY = 1000
NUMBERS = {**{letter: LIMITS[name] for letter, name in SIZE_LETTERS.items()}, "seed": LIMITS["seed"],
            "draw": LIMITS["seed"], "decimals": (DECIMALS[0], DECIMALS[-1]),
            "row": (1, _MANY), "hidden": (1, _MANY), "shift": (0, _MANY),
            "new": (1, _MANY), "chunk": (0, _MANY), "requests": (1, MAP_LIMITS["B"][1]),
            "length": (1, MAP_LIMITS["T"][1]), "window_of": (0, MAP_LIMITS["T"][1]), "top_k": (0, MAP_LIMITS["V"][1]),
            "moved": (0, rotation.FARTHEST), "asking": (1, _MANY), "answering": (1, _MANY), "together": (0, _MANY),
            "cB": (1, MAP_LIMITS["B"][1]), "cT": (1, MAP_LIMITS["T"][1]),
            **{f"m{letter}": limits for letter, limits in MAP_LIMITS.items()},
            "layer": (1, _MANY), "head": (1, _MANY), "b": (1, _MANY)}
FRACTIONS = {"temperature": (0.0, 5.0), "top_p": (0.0, 1.0), "min_p": (0.0, 1.0)}
# The choices that the numbers on screen depend on; a state file carries them.
SAVED = ("source", "example", "text", "bias", "mask", "hidden", *SIZE_LETTERS, "seed", "layer", "head", "b")
_SWITCHES = ("presenter", "transpose", "scale", "cache", "chat")


@dataclass(frozen=True)
class Bench:
    """The state that every page shares. `layer`, `head` and `batch` count from 0; `edits` are those of the scope
    (the worked example, or the toy) that is on screen; `example` is empty until the learner chooses one; `bias` is the
    toy's; `chat` puts the typed text into the live model's chat template; `mask` is the kind of mask ("" for the
    source's own), with its number `hidden`."""

    language: str = i18n.DEFAULT
    source: str = SOURCES[0]
    example: str = ""
    text: str = DEFAULT_TEXT
    seed: int = 0
    sizes: ToySizes = DEFAULT_SIZES
    bias: bool = False
    mask: str = ""
    hidden: int = 1
    layer: int = 0
    head: int = 0
    batch: int = 0
    decimals: int = DEFAULT_DECIMALS
    presenter: bool = False
    chat: bool = False
    edits: Mapping[str, Mapping[Index, float]] = field(default_factory=dict)

    @property
    def scope(self) -> str | None:
        """Where edits belong: the worked example or the toy; None on the live model, which is not edited."""
        return {"worked": self.example, "toy": "toy"}.get(self.source)


# The run: begin before the first widget, finish after the last.


def begin(locale: str | None) -> list[str]:
    """Take over what the address says that we did not write; returns notices (codes) about what was dropped."""
    notices: list[str] = []
    for key, (known, default) in CHOICES.items():
        if _arrived(key):
            value = st.query_params.get(key, "")
            if value and value not in known:
                notices.append("unknown_choice")
            fallback = i18n.from_locale(locale) if key == "lang" else default
            st.session_state[key] = value if value in known else fallback
    if _arrived("text"):
        st.session_state["text"] = st.query_params.get("text") or DEFAULT_TEXT
    if _arrived("edits"):
        found = address.unpack_edits(st.query_params.get("edits", ""))
        st.session_state["_edits"] = found.edits
        _replaced()
        if found.dropped:
            notices.append("edits_dropped")
    if _arrived("pin"):
        raw = st.query_params.get("pin", "")
        st.session_state["_pin"] = UNPINNED if raw == UNPINNED else address.unpack_pin(raw)
        _replaced()
        if raw and raw != UNPINNED and st.session_state["_pin"] is None:
            notices.append("pin_dropped")
    if _arrived("window"):
        st.session_state["_window"] = address.unpack_window(st.query_params.get("window", ""))
    if _arrived("order"):
        raw = st.query_params.get("order", "")
        st.session_state["_order"] = unpack_order(raw)
        if raw and st.session_state["_order"] is None:
            notices.append("unknown_choice")
    unsound = [key for key in (*NUMBERS, *FRACTIONS, *_SWITCHES) if _arrived(key) and not _sound(key)]
    if unsound:
        _drop(unsound)
        notices.append("unknown_choice")
    if opened := recall("opened"):
        st.session_state.update(opened)
        _announce({key: value for key, value in opened.items() if key in NUMBERS})
        remember("opened", None)
    i18n.use(st.session_state["lang"], st.session_state["notation"])
    return notices


def finish() -> None:
    """Write the address: what a copied link needs, and nothing that is at its default."""
    pin = st.session_state.get("_pin")
    text = st.session_state.get("text", DEFAULT_TEXT)
    packed = address.pack_edits(all_edits())
    _write({
        "lang": st.session_state["lang"],
        "source": st.session_state["source"] if st.session_state["source"] != SOURCES[0] else "",
        "example": st.session_state["example"],
        "bias": st.session_state["bias"],
        "mask": st.session_state["mask"],
        "notation": st.session_state["notation"] if st.session_state["notation"] != notation.DEFAULT else "",
        "text": text if text != DEFAULT_TEXT and len(text) <= LONGEST_LINKED_TEXT else "",
        "edits": packed if len(packed) <= address.LONGEST_PARAMETER else "",
        "pin": address.pack_pin(pin) if isinstance(pin, dict) else pin or "",
        "order": pack_order(st.session_state.get("_order") or ()),
        "window": address.pack_window(st.session_state.get("_window", {})),
    })


def current(example: str = EXAMPLES[0], mask: str = "") -> Bench:
    """The bench as it stands; `example` and `mask` are what the page opens with while the learner has not chosen."""
    state = st.session_state
    chosen = state.get("example") or example
    source = state.get("source", SOURCES[0])
    scope = {"worked": chosen, "toy": "toy"}.get(source, "")
    sizes = ToySizes(**{name: int(state.get(letter, getattr(DEFAULT_SIZES, name)))
                        for letter, name in SIZE_LETTERS.items()})
    return Bench(
        language=state.get("lang", i18n.DEFAULT), source=source, example=chosen,
        text=state.get("text", DEFAULT_TEXT), seed=int(state.get("seed", 0)), sizes=sizes,
        bias=state.get("bias") == "on", mask=state.get("mask") or mask, hidden=_early("hidden", 1),
        layer=int(state.get("layer", 1)) - 1, head=int(state.get("head", 1)) - 1, batch=int(state.get("b", 1)) - 1,
        decimals=int(state.get("decimals", DEFAULT_DECIMALS)), presenter=bool(state.get("presenter", False)),
        chat=bool(held("chat", False)),
        edits=dict(sorted(all_edits().get(scope, {}).items())))


def chosen() -> dict[str, str | int]:
    """What is chosen now of `SAVED`, defaults included."""
    bench = current("")
    sizes = {letter: getattr(bench.sizes, name) for letter, name in SIZE_LETTERS.items()}
    found = {"source": bench.source, "example": bench.example, "text": bench.text, "bias": "on" if bench.bias else "",
             "mask": bench.mask, "hidden": bench.hidden, **sizes, "seed": bench.seed, "layer": bench.layer + 1,
             "head": bench.head + 1, "b": bench.batch + 1}
    return {key: found[key] for key in SAVED}


def choose(choices: Mapping[str, str | int]) -> None:
    """Take over sound choices in the next run, before the widgets that show them are drawn."""
    remember("opened", dict(choices))


def _early(key: str, default: int) -> int:
    """A bound number whose field is drawn after it is needed: on a first run it still stands in the address only."""
    if key in st.session_state:
        return int(st.session_state[key])
    raw = st.query_params.get(key, "")
    low, high = NUMBERS[key]
    return int(raw) if raw.isascii() and raw.isdecimal() and low <= int(raw) <= high else default


def held(key: str, default: Any) -> Any:
    """The value of a bound switch or number before its widget is drawn."""
    if key in st.session_state:
        return st.session_state[key]
    raw = st.query_params.get(key, "")
    if not raw or not _sound(key):
        return default
    number = read_number(raw)
    if number is None:
        return raw.lower() == "true"
    return number if key in FRACTIONS else int(number)


def model_name() -> str:
    """The live model that was chosen: the registered one, or an own checkpoint by its name."""
    return str(st.session_state.get("model") or registry.DEFAULT)


def model_choice(label: str, labels: Mapping[str, str]) -> None:
    """The live model; a name that is not among `labels` falls back to the first of them."""
    choice(st.selectbox, label, labels, key="model", default=next(iter(labels)), persist_state="session")


# Edits.


def all_edits() -> address.ScopedEdits:
    """The edits of every scope."""
    edits: address.ScopedEdits = st.session_state.setdefault("_edits", {})
    return edits


def replace_edits(edits: address.ScopedEdits) -> None:
    """Put other edits in the place of all that there are."""
    st.session_state["_edits"] = edits
    _replaced()


def discard_edits(scope: str, name: str | None = None) -> None:
    """Take back the edits of a scope, or of one tensor in it."""
    edits = all_edits()
    if name is None:
        edits.pop(scope, None)
    else:
        edits.get(scope, {}).pop(name, None)
    _replaced()


def fitting(
    trace: Trace, edits: Mapping[str, Mapping[Index, float]],
) -> tuple[dict[str, dict[Index, float]], list[str]]:
    """Split edits into those of an existing real number in the trace, and labels of the others ("name[1,2]")."""
    fit: dict[str, dict[Index, float]] = {}
    rest: list[str] = []
    for name, cells in edits.items():
        real = name in trace and trace[name].is_floating_point()
        shape = tuple(trace[name].shape) if real else ()
        for index, value in cells.items():
            if len(index) == len(shape) and all(i < n for i, n in zip(index, shape, strict=True)):
                fit.setdefault(name, {})[index] = value
            else:
                rest.append(f"{name}[{','.join(str(i + 1) for i in index)}]")
    return fit, rest


def edits_shown(
    trace: Trace, edits: Mapping[str, Mapping[Index, float]], frames: Sequence[Frame], place: tuple[int, int],
) -> dict[str, dict[str, float]]:
    """Edits as the equation keys them: trace name -> "row,column" of the slice at (batch, head) -> value."""
    shown: dict[str, dict[str, float]] = {}
    for name in {frame.name for frame in frames}:
        for index, value in edits.get(name, {}).items():
            row = index[-2] if len(trace.axes(name)) > 1 else 0
            if derive.full_index(trace, name, *place, row, index[-1]) == index:
                shown.setdefault(name, {})[f"{row},{index[-1]}"] = value
    return shown


def edits_taker(
    key: str, scope: str | None, trace: Trace, frames: Sequence[Frame], place: tuple[int, int],
) -> Callable[[], None]:
    """A callback that takes what the equation `key` says was edited, for the slice (batch, head) that it showed."""

    def take() -> None:
        found = read_edits(st.session_state[key].get("edits"), frames)
        if scope is None or found is None or found.rev != st.session_state.get("_rev", 0):
            return
        st.session_state[f"_seq:{key}"] = found.seq
        _merge(scope, trace, frames, place, found)

    return take


def _merge(scope: str, trace: Trace, frames: Sequence[Frame], place: tuple[int, int], found: Edits) -> None:
    """The component always sends its whole map, so what it does not name was taken back."""
    names = all_edits().setdefault(scope, {})
    shown = edits_shown(trace, names, frames, place)
    for name in {frame.name for frame in frames if frame.editable}:
        cells = names.setdefault(name, {})
        for cell in shown.get(name, {}):
            cells.pop(_full(trace, name, place, cell), None)
        for cell, value in found.map.get(name, {}).items():
            cells[_full(trace, name, place, cell)] = value
        if not cells:
            del names[name]


def _full(trace: Trace, name: str, place: tuple[int, int], cell: str) -> Index:
    row, column = (int(part) for part in cell.split(","))
    return derive.full_index(trace, name, *place, row, column)


# The pinned cell.


def pin_for(frames: Sequence[Frame], telling: Pin | None) -> Pin | None:
    """The pinned cell if it is on this page, else the cell that the page opens with; None once it was let go."""
    raw = st.session_state.get("_pin")
    if raw == UNPINNED:
        return None
    return read_pin(raw, frames) or telling


def place_for(id: str, sizes: Sequence[int], telling: tuple[int, int] | None) -> tuple[int, int] | None:
    """The place (row, column) pinned in the view `id`, which is no equation: row r has the columns 0 to sizes[r]; else
    the place that the page opens with; None once it was let go."""
    raw = st.session_state.get("_pin")
    if raw == UNPINNED:
        return None
    if isinstance(raw, dict) and raw["id"] == id and raw["row"] < len(sizes) and raw["col"] <= sizes[raw["row"]]:
        return raw["row"], raw["col"]
    return telling


def place_taker(key: str, id: str, sizes: Sequence[int]) -> Callable[[], None]:
    """A callback that takes the place pinned in the view `key`, a pair or None."""

    def take() -> None:
        raw = st.session_state[key].get("place")
        pair = raw if isinstance(raw, list) and [type(part) for part in raw] == [int, int] else []
        sound = bool(pair) and 0 <= pair[0] < len(sizes) and 0 <= pair[1] <= sizes[pair[0]]
        st.session_state["_pin"] = {"id": id, "row": pair[0], "col": pair[1]} if sound else UNPINNED

    return take


def put(texts: Mapping[str, str]) -> None:
    """Put texts into bound fields, by key, before these are drawn."""
    st.session_state.update(texts)


def set_text(text: str) -> None:
    """Make this the text that the live model reads, before its field is drawn."""
    st.session_state["text"] = text


def pin_taker(key: str, frames: Sequence[Frame]) -> Callable[[], None]:
    """A callback that takes the cell pinned in the equation `key`."""

    def take() -> None:
        pin = read_pin(st.session_state[key].get("pin"), frames)
        st.session_state["_pin"] = {"id": pin.id, "row": pin.row, "col": pin.col} if pin else UNPINNED

    return take


# The windows on axes that are too long to be sent whole.


def window(letter: str, total: int, first: int = 0, most: int = MAX_SIDE) -> tuple[int, int] | None:
    """(first, count) of the part of an axis of `total` entries that is sent, at most `most`; None where all of it is.
    It begins at `first` until it is moved."""
    most = min(most, MAX_SIDE)
    if total <= most:
        return None
    return min(st.session_state.get("_window", {}).get(letter, first), total - most), most


def window_taker(key: str, frames: Sequence[Frame]) -> Callable[[], None]:
    """A callback that takes the windows that the equation `key` asks for."""

    def take() -> None:
        found = read_window(st.session_state[key].get("window"), frames)
        st.session_state["_window"] = st.session_state.get("_window", {}) | (found or {})

    return take


# The order of the tokens.


def order(opening: Sequence[int]) -> tuple[int, ...]:
    """The order that the learner chose, if it is one of that many tokens; else the one that the page opens with."""
    held = st.session_state.get("_order")
    return held if held is not None and len(held) == len(opening) else tuple(opening)


def order_taker(key: str, count: int) -> Callable[[], None]:
    """A callback that takes the order chosen in the component `key`."""

    def take() -> None:
        found = read_order(st.session_state[key].get("order"), count)
        if found is not None:
            st.session_state["_order"] = found

    return take


def revision(key: str, *context: object) -> tuple[int, int]:
    """(rev, seq) for an equation: rev grows when edits were replaced here or another slice is on screen."""
    if st.session_state.setdefault(f"_context:{key}", context) != context:
        st.session_state[f"_context:{key}"] = context
        _replaced()
    return st.session_state.get("_rev", 0), st.session_state.get(f"_seq:{key}", 0)


def _replaced() -> None:
    st.session_state["_rev"] = st.session_state.get("_rev", 0) + 1


# Widgets and small memory.


def choice(
    widget: Callable[..., Any], label: str, labels: Mapping[str, str], *, key: str, default: str, **more: Any,
) -> str:
    """A choice whose address value is a language-neutral code while its labels are translated."""
    codes = list(labels)
    if _arrived(key):
        value = st.query_params.get(key, "")
        st.session_state[key] = value if value in codes else default
    if st.session_state.get(key) not in codes:
        st.session_state[key] = default
    chosen = widget(label, codes, format_func=dict(labels).get, key=key, **more)
    chosen = chosen if chosen in codes else default
    if key not in CHOICES:
        _write({key: "" if chosen == default else chosen})
    return str(chosen)


def own_choice(
    widget: Callable[..., Any], label: str, labels: Mapping[str, str], *, key: str, own: str, **more: Any,
) -> str:
    """As `choice`, for something of which every source has its `own`: until another is picked, that of the source."""
    codes = {"own" if code == own else code: text for code, text in labels.items()}
    chosen = choice(widget, label, codes, key=key, default="own", **more)
    return own if chosen == "own" else chosen


def example_choice(label: str, labels: Mapping[str, str], *, default: str) -> None:
    """The worked example: the page's own until the learner picks one, which then holds on every page."""
    st.session_state["_example"] = st.session_state.get("example") or default

    def take() -> None:
        st.session_state["example"] = st.session_state["_example"]

    st.selectbox(label, list(labels), format_func=dict(labels).get, key="_example", on_change=take)


def mask_choice(label: str, labels: Mapping[str, str], *, default: str) -> str:
    """The kind of mask, which then holds on every page; `default` is what the source has by itself."""
    st.session_state["_mask"] = st.session_state.get("mask") or default

    def take() -> None:
        st.session_state["mask"] = st.session_state["_mask"]

    st.selectbox(label, list(labels), format_func=dict(labels).get, key="_mask", on_change=take)
    return str(st.session_state["_mask"])


def pick(label: str, labels: Mapping[str, str], current: str, take: Callable[[str], None], *, key: str) -> None:
    """A choice that shows `current` and, when another is picked, hands that to `take` before the next run."""
    st.session_state[f"_{key}"] = current
    st.selectbox(label, list(labels), format_func=dict(labels).get, key=f"_{key}",
                 on_change=lambda: take(st.session_state[f"_{key}"]))


def bias_switch(label: str) -> None:
    """Whether the toy's projections add a bias; holds on every page, though only one shows the switch."""
    st.session_state["_bias"] = st.session_state.get("bias") == "on"

    def take() -> None:
        st.session_state["bias"] = "on" if st.session_state["_bias"] else ""

    st.toggle(label, key="_bias", on_change=take)


def whole_number(label: str, letter: str, low: int, high: int, default: int, *, where: Any = st, **more: Any) -> int:
    """A number field bound to the address under `letter`, kept within its range when the range shrinks."""
    held = st.session_state.get(letter)
    if held is not None and not low <= held <= high:
        st.session_state[letter] = min(max(int(held), low), high)
    # Always the same default: what differs from it is what Streamlit writes into the address.
    value = where.number_input(label, min_value=low, max_value=high, value=min(max(default, low), high), step=1,
                               key=letter, bind="query-params", persist_state="session", **more)
    return int(value if value is not None else default)


def fraction(label: str, key: str, default: float, *, step: float, where: Any = st, **more: Any) -> float:
    """A number field for a real number, bound to the address; its range is that of `FRACTIONS`."""
    low, high = FRACTIONS[key]
    value = where.number_input(label, min_value=low, max_value=high, value=default, step=step, key=key,
                               bind="query-params", persist_state="session", **more)
    return float(value if value is not None else default)


def switch(label: str, key: str, *, on: bool, where: Any = st, **more: Any) -> bool:
    """A toggle bound to the address; `on` is its default."""
    return bool(where.toggle(label, value=on, key=key, bind="query-params", persist_state="session", **more))


def place_of(label: str, count: int, *, newest: bool) -> int:
    """Which of `count` things done so far is looked at, from 0: a slider that jumps to the last when `newest`."""
    held = st.session_state.get("_place", count)
    if newest or not 1 <= held <= count:
        held = count
    st.session_state["_place"] = held
    if count > 1:
        held = st.slider(label, min_value=1, max_value=count, step=1, key="_place", label_visibility="collapsed")
    return int(held) - 1


def typed(label: str, key: str, default: str, *, longest: int, where: Any = st, **more: Any) -> str:
    """A short text bound to the address under `key`; emptied, or longer than `longest` characters, it is `default`."""
    held = st.session_state.get(key, st.query_params.get(key, ""))
    if not isinstance(held, str) or len(held) > longest:
        st.session_state[key] = default
    return where.text_input(label, value=default, key=key, bind="query-params", persist_state="session", **more) \
        or default
def slider(label: str, key: str, *, step: int = 1, **more: Any) -> int:
    """A slider bound to the address, over the whole range of `key`, from its lowest number."""
    low, high = NUMBERS[key]
    return int(st.slider(label, min_value=low, max_value=high, value=low, step=step, key=key, bind="query-params",
                         persist_state="session", **more))


def notch(label: str, key: str, options: Sequence[int], default: int, **more: Any) -> int:
    """A slider over a few whole numbers, bound to the address under `key`."""
    return int(st.select_slider(label, options, value=default, key=key, bind="query-params", persist_state="session",
                                **more))


def size_range(letter: str) -> tuple[int, int, int]:
    """Lowest, highest and default value of a toy size."""
    name = SIZE_LETTERS[letter]
    return (*LIMITS[name], getattr(DEFAULT_SIZES, name))


def map_size(letter: str, label: str, default: int, *, where: Any = st, **more: Any) -> int:
    """The field of one of the map's sizes."""
    return whole_number(label, f"m{letter}", *MAP_LIMITS[letter], default, where=where, **more)


def map_held(letter: str, default: int) -> int:
    """One of the map's sizes before its field is drawn."""
    return _early(f"m{letter}", default)


def set_map_sizes(sizes: Mapping[str, int]) -> None:
    """Put sizes (axis letter → size) into the map's fields, before these are drawn; each is kept within its limits."""
    for letter, (low, high) in MAP_LIMITS.items():
        if letter in sizes:
            st.session_state[f"m{letter}"] = min(max(sizes[letter], low), high)


def set_toy(sizes: Mapping[str, int]) -> None:
    """Make these sizes (axis letter → size) the toy's, and the toy the source."""
    for letter in SIZE_LETTERS:
        st.session_state[letter] = sizes[letter]
    st.session_state["source"] = "toy"


def fits_toy(sizes: Mapping[str, int]) -> bool:
    """Whether the toy can be made with these sizes: within its limits, and with heads of width D ÷ H."""
    within = all(low <= sizes[letter] <= high
                 for letter, (low, high) in ((letter, LIMITS[name]) for letter, name in SIZE_LETTERS.items()))
    return within and sizes["D"] == sizes["H"] * sizes["Dh"] and sizes["H"] % sizes["Hkv"] == 0


def seed_range() -> tuple[int, int, int]:
    """Lowest, highest and default seed."""
    return (*LIMITS["seed"], 0)


def remember(key: str, value: Any) -> None:
    """Keep something small for this session under `key`."""
    st.session_state[f"_memory:{key}"] = value


def recall(key: str, default: Any = None) -> Any:
    """What was remembered under `key`."""
    return st.session_state.get(f"_memory:{key}", default)


def share_link() -> str:
    """The address of this page as it now stands, or "" when it would be too long for a link."""
    base = (st.context.url or "").split("?")[0]
    link = f"{base}?{urlencode(st.query_params.to_dict())}"
    too_long = len(link) > LONGEST_ADDRESS or len(address.pack_edits(all_edits())) > address.LONGEST_PARAMETER
    return "" if too_long else link


def _arrived(key: str) -> bool:
    """Whether the address holds another value of `key` than we last wrote: a link was opened, or Back was pressed.

    A link of the menu takes what we wrote out of the address, the language included; such an address says nothing.
    """
    written = st.session_state.setdefault("_written", {})
    value = st.query_params.get(key, "")
    if key in written and (written[key] == value or "lang" not in st.query_params):
        return False
    written[key] = value
    return True


def _sound(key: str) -> bool:
    """Whether the address holds nothing for a bound widget, or something that the widget can take."""
    value = st.query_params.get(key, "")
    if not value:
        return True
    if key in _SWITCHES:
        return value.lower() in ("true", "false")
    number, (low, high) = read_number(value), FRACTIONS.get(key) or NUMBERS[key]
    return number is not None and (key in FRACTIONS or number.is_integer()) and low <= number <= high


def _drop(keys: Sequence[str]) -> None:
    """Take parameters out of the address before a bound widget reads them: some, 1e400 among them, Streamlit would fail
    on. Its public interface has no way to do so."""
    context = get_script_run_ctx()
    assert context is not None
    with context.session_state.query_params() as parameters:
        for key in keys:
            parameters.remove_param(key)
        parameters.set_initial_query_params_from_current()


def _announce(numbers: Mapping[str, int]) -> None:
    """Put numbers of bound widgets into the address; Streamlit does so only for a widget that was drawn before. They
    reach the browser with the next write."""
    context = get_script_run_ctx()
    assert context is not None
    with context.session_state.query_params() as parameters:
        for key, value in numbers.items():
            parameters.set_with_no_forward_msg(key, str(value))
        parameters.set_initial_query_params_from_current()


def _write(wanted: Mapping[str, str]) -> None:
    """Put values into the address, in one step of the browser's history; an empty one takes its key out."""
    st.session_state.setdefault("_written", {}).update(wanted)
    for key in wanted:
        if not wanted[key] and key in st.query_params:
            del st.query_params[key]
    changed = {key: value for key, value in wanted.items() if value and st.query_params.get(key) != value}
    if changed:
        st.query_params.update(changed)


def read_number(text: str) -> float | None:
    """A typed number, with a hyphen or a minus sign; None for anything that is no finite number."""
    try:
        value = float(text.strip().replace("\u2212", "-"))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
