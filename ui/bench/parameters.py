"""What the learner can choose, each declared once: key, kind, range or codes, default, and where it is kept.

Declaring a parameter registers it. The check of what an address holds, the state file and the share link are loops over
the registry; the widgets take key, range and default from the declaration. A key without a stage belongs to the bench
and means the same on every page; a stage's own keys are declared in its module under `ui/stages`, and two stages may
give the same key codes of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit as st

from ui.bench.location import arrived, in_fragment, read_number, write
from ui.bench.session import session

T = TypeVar("T")
Widget = Callable[..., Any]
_DECLARED: dict[tuple[str, str], Parameter[Any]] = {}  # by stage ("" for the bench) and key
MANY = 1000  # of what depends on the source, tokens or layers: only what no source has is unsound


def declared(stage: str | None = None) -> Iterator[Parameter[Any]]:
    """The parameters in the order of their declaration: all, those of a stage, or with "" those of the bench."""
    return (one for (owner, _key), one in _DECLARED.items() if stage is None or owner == stage)


def meaning(key: str, stage: str) -> Parameter[Any] | None:
    """What the key means on the page of that stage; None where it means nothing there."""
    return _DECLARED.get((stage, key)) or _DECLARED.get(("", key))


def _register(parameter: Parameter[Any]) -> None:
    """Raises ValueError where the key means something else already."""
    known = _DECLARED.setdefault((parameter.stage, parameter.key), parameter)
    shared = any(key == parameter.key and (owner == "") != (parameter.stage == "") for owner, key in _DECLARED)
    if known != parameter or shared:
        raise ValueError(f"the key {parameter.key!r} is declared twice")


@dataclass(frozen=True)
class Parameter(Generic[T]):
    """A parameter of the kind that the subclass is. `default` is what a missing key means; `stage` the page that it
    belongs to, "" where it holds on all; `saved` ones are in the state file, as the numbers on screen depend on them.
    `persists` is whether it outlives a visit of another page. A `standing` one is taken over when it arrives and
    written after each run, whether its widget is drawn or not."""

    key: str
    default: T
    stage: str = ""
    saved: bool = False
    persists: bool = True
    standing: bool = False

    def __post_init__(self) -> None:
        _register(self)

    def read(self, raw: str) -> T | None:
        """What a text in the address means; None for what is unsound."""
        raise NotImplementedError

    def accepts(self, value: object) -> bool:
        """Whether it can have this value of a state file."""
        return type(value) is type(self.default) and (value == self.default or self.read(str(value)) == value)

    def value(self) -> T:
        """Its value, whether its widget was drawn before or not: on a first run it stands in the address only."""
        try:
            held: T | None = st.session_state[self.key]  # one look: a page asks for some fifty values
        except KeyError:
            held = None
        return self.addressed() if held is None else held

    def addressed(self) -> T:
        """What the address says; the default where that is unsound or nothing."""
        found = self.read(st.query_params.get(self.key, ""))
        return self.default if found is None else found

    def code(self, value: T) -> str:
        """The value as text for the address."""
        return str(value)

    def kept(self, among: Container[T] | None = None) -> T:
        """Its value, where the equation holds its control and no widget binds it to the address: taken over when one
        has come, the default where it is not `among` those that are there, and written."""
        if not self.is_held or (not in_fragment() and arrived(self.key)):
            self.put(self.addressed())
        if among is not None and self.value() not in among:
            self.put(self.default)
        value = self.value()
        write({self.key: "" if value == self.default else self.code(value)})
        return value

    @property
    def is_held(self) -> bool:
        """Whether the session has it already, from its widget or put there."""
        return self.key in st.session_state

    def put(self, value: T) -> None:
        """Give it a value, before its widget is drawn."""
        st.session_state[self.key] = value

    @property
    def _binding(self) -> dict[str, Any]:
        kept = {"persist_state": "session"} if self.persists else {}
        return {"key": self.key, **({} if self.standing else {"bind": "query-params"}), **kept}


@dataclass(frozen=True)
class Switch(Parameter[bool]):
    """On or off."""

    def read(self, raw: str) -> bool | None:
        """The words true and false, as Streamlit writes them."""
        return {"true": True, "false": False}.get(raw.lower())

    def code(self, value: bool) -> str:
        """The words that `read` takes."""
        return "true" if value else "false"

    def draw(self, label: str, *, where: Any = st, **more: Any) -> bool:
        """A toggle."""
        return bool(where.toggle(label, value=self.default, **self._binding, **more))


@dataclass(frozen=True, kw_only=True)
class Whole(Parameter[int]):
    """A whole number from `low` to `high`."""

    low: int
    high: int

    def read(self, raw: str) -> int | None:
        """A whole number in the range."""
        number = read_number(raw)
        return int(number) if number is not None and number.is_integer() and self.low <= number <= self.high else None

    def put_within(self, value: int) -> None:
        """Give it the nearest value in its range, before its widget is drawn."""
        self.put(min(max(value, self.low), self.high))

    def draw(
        self, label: str, *, low: int | None = None, high: int | None = None, where: Any = st, **more: Any,
    ) -> int:
        """A number field; where what is on screen allows less, `low` and `high` say so, and the value is kept within
        them."""
        low, high = self.low if low is None else low, self.high if high is None else high
        held = st.session_state.get(self.key)
        if held is not None and not low <= held <= high:
            st.session_state[self.key] = min(max(int(held), low), high)
        # Always the same default: what differs from it is what Streamlit writes into the address.
        opening = min(max(self.default, low), high)
        value = where.number_input(label, min_value=low, max_value=high, value=opening, step=1, **self._binding, **more)
        return int(value if value is not None else self.default)

    def notch(self, label: str, options: Sequence[int], **more: Any) -> int:
        """A slider over a few of its numbers."""
        return int(st.select_slider(label, options, value=self.default, **self._binding, **more))


@dataclass(frozen=True, kw_only=True)
class Real(Parameter[float]):
    """A real number from `low` to `high`."""

    low: float
    high: float

    def read(self, raw: str) -> float | None:
        """A number in the range."""
        number = read_number(raw)
        return number if number is not None and self.low <= number <= self.high else None

    def draw(self, label: str, *, step: float, where: Any = st, **more: Any) -> float:
        """A number field."""
        value = where.number_input(label, min_value=self.low, max_value=self.high, value=self.default, step=step,
                                   **self._binding, **more)
        return float(value if value is not None else self.default)


@dataclass(frozen=True, kw_only=True)
class Text(Parameter[str]):
    """A text of at most `longest` characters; empty means the default."""

    longest: int

    def read(self, raw: str) -> str | None:
        """A text that is not empty and short enough."""
        return raw if 0 < len(raw) <= self.longest else None

    def accepts(self, value: object) -> bool:
        """Whether it is a text that is short enough; an empty one is a text too."""
        return isinstance(value, str) and len(value) <= self.longest and _is_unicode(value)

    def draw(self, label: str, *, where: Any = st, **more: Any) -> str:
        """A field of one line."""
        held = st.session_state.get(self.key, st.query_params.get(self.key, ""))
        if not isinstance(held, str) or len(held) > self.longest:
            st.session_state[self.key] = self.default
        return where.text_input(label, value=self.default, max_chars=self.longest, **self._binding, **more) \
            or self.default

    def field(self, label: str, *, own: str) -> str:
        """A field of one line for a standing text: until something is typed it holds the `own` one of what is on
        screen."""
        shown = f"_{self.key}"
        st.session_state[shown] = self.value() or own
        st.text_input(label, max_chars=self.longest, key=shown,
                      on_change=lambda: self.put("" if st.session_state[shown] == own else st.session_state[shown]))
        return str(st.session_state[shown])


@dataclass(frozen=True, kw_only=True)
class Choice(Parameter[str]):
    """One of `codes`, neutral of language, while the labels on screen are translated. Which of them there are, and with
    `default` "" which one a missing key means, may depend on what is on screen."""

    codes: Container[str]

    def read(self, raw: str) -> str | None:
        """One of the codes."""
        return raw if raw and self.has(raw) else None

    def has(self, value: object) -> bool:
        """Whether it can have this value. What a browser says may be a label in the language that was left."""
        return value == self.default or (isinstance(value, str) and value in self.codes)

    def draw(
        self, widget: Widget, label: str, labels: Mapping[str, str], *, default: str | None = None, **more: Any,
    ) -> str:
        """The `widget` over the codes in `labels`; `default` where it depends on what is on screen."""
        assert all(code in self.codes or code == self.default for code in labels), (self.key, list(labels))
        codes, default = list(labels), self.default if default is None else default
        if arrived(self.key) or st.session_state.get(self.key) not in codes:
            st.session_state[self.key] = st.query_params.get(self.key, "")
        if st.session_state[self.key] not in codes:
            st.session_state[self.key] = default
        options = session().options
        if options.get(self.key) != codes:
            # The browser knows what is chosen by its place among the options; these are others now.
            st.session_state[self.key] = st.session_state[self.key]
            options[self.key] = codes
        chosen = widget(label, codes, format_func=dict(labels).get, key=self.key, **more)
        chosen = chosen if chosen in codes else default
        if not self.standing:
            write({self.key: "" if chosen == default else chosen})
        return str(chosen)

    def draw_own(self, widget: Widget, label: str, labels: Mapping[str, str], *, own: str, **more: Any) -> str:
        """As `draw`, for something of which every source has its `own`: until another is picked, that of the source."""
        chosen = self.draw(widget, label, {"own" if code == own else code: text for code, text in labels.items()},
                           default="own", **more)
        return own if chosen == "own" else chosen

    def toggle(self, label: str, *, on: str) -> None:
        """A toggle between the code `on` and the default, which then holds on every page."""
        shown = f"_{self.key}"
        st.session_state[shown] = st.session_state.get(self.key) == on
        st.toggle(label, key=shown, on_change=lambda: self.put(on if st.session_state[shown] else self.default))


@dataclass(frozen=True)
class Decimals(Container[str]):
    """Codes that are whole numbers from `low` to `high` in plain digits, where which of them there are depends on what
    is on screen."""

    low: int
    high: int

    def __contains__(self, code: object) -> bool:
        return isinstance(code, str) and code.isascii() and code.isdecimal() and len(code) <= len(str(self.high)) \
            and self.low <= int(code) <= self.high


def _is_unicode(text: str) -> bool:
    """Whether it can be written down: JSON lets half a surrogate pair through."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
