"""The language and the notation of the session, and the lookup of its texts.

English stands in the code: `_("Nothing is masked")`, `_("Row {row} reads {n} keys").format(row=…, n=…)`. The
Chinese catalogue is `locale/zh_CN/LC_MESSAGES/messages.po`; it is read as it is, so no compiled file is kept.
A message without a translation shows in English, and `scripts/translations.py check` fails on it.

Texts are written in the default letters (`core.notation`); `_()` rewrites them into the notation in use, before values
are put in. `app.py` calls `use()` at the start of each run. Functions under `st.cache_data` and `st.cache_resource`
outlive the run and the session: they return values, never texts, or take the language as an argument.
"""

from __future__ import annotations

import gettext as _gettext
import threading
from collections.abc import Iterable
from contextvars import ContextVar
from functools import lru_cache, reduce
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import streamlit as st
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core import notation as letters

LOCALE_DIR = Path(__file__).parents[2] / "locale"
_SESSION_KEY = "_language"
_NOTATION_KEY = "_letters"


class Language(NamedTuple):
    """Its own name, the value of `<html lang>`, and its folder under `locale/` ("" for English)."""

    name: str
    html: str
    folder: str


_LANGUAGES = MappingProxyType(
    {
        "en": Language("English", "en", ""),
        "zh": Language("中文", "zh-CN", "zh_CN"),
    }
)
DEFAULT = "en"

# Outside a session (a script, a unit test) they are kept here.
_outside: ContextVar[tuple[str, str]] = ContextVar("language, notation", default=(DEFAULT, letters.DEFAULT))
_run = threading.local()  # what the session of this thread's run uses


def languages() -> dict[str, str]:
    """Code as in `?lang=` to the language's own name, in the order in which the switch lists them."""
    return {code: language.name for code, language in _LANGUAGES.items()}


def from_locale(locale: str | None) -> str:
    """The language for a first visit, from the browser's locale: "zh-TW" gives "zh", unknown ones English."""
    code = (locale or "").replace("_", "-").split("-")[0].lower()
    return code if code in _LANGUAGES else DEFAULT


def use(lang: str, notation: str = letters.DEFAULT) -> None:
    """Set language and notation of this session (outside one, of this context). ValueError for an unknown code."""
    if lang not in _LANGUAGES or notation not in letters.NOTATIONS:
        raise ValueError(f"unknown language {lang!r} or notation {notation!r}")
    context = get_script_run_ctx(suppress_warning=True)
    if context is None:
        _outside.set((lang, notation))
    else:
        # In the session, not in a context variable: a fragment's rerun has its own thread and skips app.py.
        st.session_state[_SESSION_KEY] = lang
        st.session_state[_NOTATION_KEY] = notation
        _run.held = context, (lang, notation)


def _in_use() -> tuple[str, str]:
    """Language and notation; read from the session once for each thread, since a page asks for them hundreds of times
    and a thread runs scripts of one session only."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None:
        return _outside.get()
    held: tuple[object, tuple[str, str]] | None = getattr(_run, "held", None)
    if held is None or held[0] is not context:
        state = st.session_state
        held = context, (str(state.get(_SESSION_KEY, DEFAULT)), str(state.get(_NOTATION_KEY, letters.DEFAULT)))
        _run.held = held
    return held[1]


def current() -> str:
    """The code of the language in use."""
    return _in_use()[0]


def notation() -> str:
    """The code of the notation in use."""
    return _in_use()[1]


def symbol(name: str, *, transposed: bool = False) -> str:
    """The symbol of a trace name in the notation in use."""
    return letters.symbol(name, notation(), transposed=transposed)


def axis(letter: str) -> str:
    """An axis letter in the notation in use."""
    return letters.axis(letter, notation())


def in_latex(formula: str) -> str:
    """A LaTeX formula in the notation in use."""
    return letters.relabel_latex(formula, notation())


def in_letters(text: str) -> str:
    """A text that needs no translation, "√Dh", in the notation in use."""
    return letters.relabel(text, notation())


@lru_cache(maxsize=len(_LANGUAGES))
def _catalogue(lang: str) -> _gettext.NullTranslations:
    folder = _LANGUAGES[lang].folder
    if not folder:
        return _gettext.NullTranslations()
    with (LOCALE_DIR / folder / "LC_MESSAGES" / "messages.po").open("rb") as po:
        catalogue = read_po(po, locale=folder)
    compiled = BytesIO()
    write_mo(compiled, catalogue)
    compiled.seek(0)
    return _gettext.GNUTranslations(compiled)


def _(message: str) -> str:
    """The message in the language of the session. Takes a literal, or a name that was marked with `N_`."""
    return _said(message, *_in_use())


@lru_cache(maxsize=2**14)
def _said(message: str, lang: str, notation: str) -> str:
    return letters.relabel(_catalogue(lang).gettext(message), notation)


def listed(items: Iterable[str]) -> str:
    """Items one after the other, with the comma of the language; "" for none."""
    found = list(items)
    return reduce(lambda before, item: _("{before}, {item}").format(before=before, item=item), found) if found else ""


def verbatim(message: str) -> str:
    """As `_`, for a text about letters, whose letters must stay as they are. Takes what was marked with `N_`."""
    return _catalogue(current()).gettext(message)


def ngettext(singular: str, plural: str, n: int) -> str:
    """The form of the message that goes with n. Both forms name the number as a placeholder."""
    return in_letters(_catalogue(current()).ngettext(singular, plural, n))


def N_(message: str) -> str:
    """Marks a text for translation where it is defined; `_()` looks it up where it is shown."""
    return message


def html_lang() -> None:
    """Set `<html lang>`, so that screen readers pronounce and fonts draw the language that is shown."""
    lang = _LANGUAGES[current()].html
    st.html(f"<script>document.documentElement.lang='{lang}'</script>", unsafe_allow_javascript=True)
