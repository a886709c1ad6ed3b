"""What a session holds besides its widgets: one typed object under one key.

Streamlit keeps the value of each widget under that widget's key; everything else is here. What belongs to a room that
this package does not know (the run of a generation, the shapes of a product) is a dataclass of that room, asked for by
its type with `Session.part`.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.trace import Index, Trace
from core.worked import EXAMPLES, Example

KEY = "_session"
MOST_EXAMPLES = 8  # that a learner brought
MOST_TRACES = 4  # with a mask or edits of the session's own

T = TypeVar("T")
ScopedEdits = dict[str, dict[str, dict[Index, float]]]  # scope -> trace name -> full index -> value


class MaskChoice(NamedTuple):
    """A kind of mask ("" for the source's own) with its number: padding tokens at the end, or keys in reach of a window
    or prefix; 1 where the kind has none."""

    kind: str = ""
    number: int = 1


class Cell(NamedTuple):
    """A pinned cell: the view, and the row and column in it, from 0; not checked against what is on screen."""

    id: str
    row: int
    col: int


class Slice(NamedTuple):
    """What an equation showed from the revision `since` on. `lead` has for each editable tensor the index before row
    and column, `sizes` its rows and columns; a vector is one row, which is no part of its index."""

    since: int
    scope: str | None
    lead: Mapping[str, Index]
    sizes: Mapping[str, tuple[int, int]]
    vectors: frozenset[str]


class Shown(NamedTuple):
    """A trace without its edits that was on screen: the kind of its source, the scope of its edits, itself, and what
    it was made from."""

    source: str
    scope: str | None
    trace: Trace
    made_from: tuple[object, ...]


@dataclass
class Setting:
    """One bench: the edits of every scope, the pinned cell (None before one was chosen), whether it was let go, the
    first place of the window on each axis, the order of the tokens (None for the opening one), and what was last good
    on screen."""

    edits: ScopedEdits = field(default_factory=dict)
    pin: Cell | None = None
    unpinned: bool = False
    windows: dict[str, int] = field(default_factory=dict)
    order: tuple[int, ...] | None = None
    good: Shown | None = None


@dataclass
class Drawn:
    """An equation's dealings with the browser: what it showed last, since which revision, the last change and the last
    thrown switch taken over, and the slices that a change on its way may have been typed on."""

    context: tuple[object, ...] | None = None
    since: int = 0
    seq: int = 0
    flipped: int = 0
    slices: list[Slice] = field(default_factory=list)


@dataclass
class Asking:
    """A series of questions: where the open one was asked (None: none is open), its number, and what was said of the
    last."""

    place: tuple[object, ...] | None = None
    number: int = 0
    verdict: str = ""


@dataclass
class Written:
    """The address as this session knows it: what it wrote last, what it wrote before that and the browser may still
    hold, the values that the widgets had then, what was checked, and whether something was done in this run."""

    last: dict[str, str] = field(default_factory=dict)
    before: dict[str, list[str]] = field(default_factory=dict)
    widgets: dict[str, Any] = field(default_factory=dict)
    checked: dict[str, str] = field(default_factory=dict)
    acted: bool = False


@dataclass(frozen=True)
class Moment:
    """What can be undone: the edits, the choices that numbers depend on (key -> value), the order of the tokens."""

    edits: ScopedEdits
    choices: dict[str, str | int]
    order: tuple[int, ...] | None


@dataclass
class History:
    """The moments before the present one, the oldest first, and those that were undone, the next one last."""

    now: Moment | None = None
    past: list[Moment] = field(default_factory=list)
    future: list[Moment] = field(default_factory=list)


@dataclass
class Session:
    """The whole. `settings` are the benches, of which `bench` is the one in hand; `rev` grows when edits or the pin are
    replaced here, and `replacing` is true until what replaced them was drawn. `opening` are choices of a state file
    that are taken over in the next run, `notices` what it tells then, `file` the file they came from. `made` and `at`
    are what an address says of a run that is yet to be opened: how many steps are made, and which is looked at. `old`
    is whether an address or a state file has come that leaves unsaid what version 0.2.0 opened with."""

    settings: dict[str, Setting] = field(default_factory=lambda: {"a": Setting()})
    in_hand: str = "a"
    rev: int = 0
    replacing: bool = False
    equations: dict[str, Drawn] = field(default_factory=dict)
    questions: dict[str, Asking] = field(default_factory=dict)
    options: dict[str, list[str]] = field(default_factory=dict)  # of each choice, as the browser knows them
    address: Written = field(default_factory=Written)
    opening: dict[str, str | int] = field(default_factory=dict)
    history: History = field(default_factory=History)
    notices: list[str] = field(default_factory=list)
    file: str = ""
    made: int | None = None
    at: int | None = None
    old: bool = False
    examples: dict[str, Example] = field(default_factory=dict)  # brought by the learner
    traces: Kept = field(default_factory=lambda: Kept(MOST_TRACES))
    parts: dict[type, Any] = field(default_factory=dict)

    @property
    def bench(self) -> Setting:
        """The bench in hand."""
        return self.settings[self.in_hand]

    def equation(self, key: str) -> Drawn:
        """The dealings of the equation `key`."""
        return self.equations.setdefault(key, Drawn())

    def asking(self, key: str) -> Asking:
        """The questions of the exercise `key`."""
        return self.questions.setdefault(key, Asking())

    def part(self, kind: type[T]) -> T:
        """What a room keeps: one object of its class `kind`, made when it is first asked for."""
        found: T = self.parts[kind] if kind in self.parts else self.parts.setdefault(kind, kind())
        return found

    def replaced(self) -> None:
        """Note that edits or pin were replaced here, so that the browser takes over what it is sent."""
        self.rev += 1
        self.replacing = True

    def bring(self, example: Example) -> None:
        """Take in an example of the learner's own, in place of the oldest where there are many. Raises ValueError for
        the name of a worked example."""
        if example.name in EXAMPLES:
            raise ValueError(f"there is a worked example {example.name!r}")
        self.examples.pop(example.name, None)
        self.examples[example.name] = example
        while len(self.examples) > MOST_EXAMPLES:
            del self.examples[next(iter(self.examples))]


class Kept:
    """The last few traces by what they were made from."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[tuple[object, ...], Trace] = {}

    def get(self, key: tuple[object, ...]) -> Trace | None:
        """The trace that was made from that, now the newest."""
        found = self._kept.pop(key, None)
        if found is not None:
            self._kept[key] = found
        return found

    def put(self, key: tuple[object, ...], trace: Trace) -> Trace:
        """Keep a trace, in place of the one that was used longest ago."""
        self._kept[key] = trace
        while len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]
        return trace


_run = threading.local()  # the session of this thread's run


def session() -> Session:
    """The object of this session; looked up once in a run, which asks for it some thirty times."""
    context = get_script_run_ctx(suppress_warning=True)
    held: tuple[object, Session] | None = getattr(_run, "held", None)
    if held is not None and held[0] is context and context is not None:
        return held[1]
    try:
        found: Session = st.session_state[KEY]
    except KeyError:
        found = st.session_state[KEY] = Session()
    _run.held = context, found
    return found


def examples() -> Mapping[str, Example]:
    """The examples of this session: the worked ones, and those that the learner brought."""
    return {**EXAMPLES, **session().examples}
