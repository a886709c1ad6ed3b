"""How a generation is made, as the learner sets it."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from core.live.model import MAX_TRACE_TOKENS
from ui.bench.choices import CHAT, DRAW
from ui.bench.limits import MAP_LIMITS
from ui.bench.parameters import MANY, Real, Switch, Whole
from ui.shell.i18n import _

MOST_NEW = 256  # tokens that a run may add
DEFAULT_NEW = 20
HOTTEST = 5.0

NEW = Whole("new", DEFAULT_NEW, low=1, high=MOST_NEW)
CHUNK = Whole("chunk", 0, low=0, high=MANY)
CACHE = Switch("cache", True)
TEMPERATURE = Real("temperature", 0.0, low=0.0, high=HOTTEST)
TOP_K = Whole("top_k", 0, low=0, high=MAP_LIMITS["V"][1])
TOP_P = Real("top_p", 1.0, low=0.0, high=1.0)
MIN_P = Real("min_p", 0.0, low=0.0, high=1.0)


class Settings(NamedTuple):
    """How a run is made: up to `new` tokens more, the prompt in pieces of `chunk` (0: at once), with or without a
    cache, and how the next token is drawn."""

    new: int = NEW.default
    chunk: int = CHUNK.default
    cache: bool = CACHE.default
    temperature: float = TEMPERATURE.default
    top_k: int = TOP_K.default
    top_p: float = TOP_P.default
    min_p: float = MIN_P.default
    draw: int = DRAW.default


def chosen() -> Settings:
    """The settings as they stand, drawn or not."""
    return Settings(NEW.value(), CHUNK.value(), CACHE.value(), TEMPERATURE.value(), TOP_K.value(), TOP_P.value(),
                    MIN_P.value(), DRAW.value())


def controls(*, live: bool) -> None:
    """The settings, with which the steps are made again; the chat template belongs to the prompt and begins a run."""
    if live:
        CHAT.draw(_("Chat template"), help=_(
            "Your sentence becomes what a user says, in the form in which the model was trained to answer."))
    left, right = st.columns(2)
    NEW.draw(_("New tokens"), where=left)
    CHUNK.draw(
        _("Prompt in pieces of"), high=MAX_TRACE_TOKENS, where=right,
        help=_("How many tokens of the prompt are read in one pass; zero means all, up to {limit} at once.").format(
            limit=MAX_TRACE_TOKENS))
    CACHE.draw(_("Use the cache"), help=_(
        "Without the cache every step reads the whole text again: it chooses the same tokens, only later."))
    left, right = st.columns(2)
    TEMPERATURE.draw(_("Temperature"), step=0.1, where=left, help=_("At zero the likeliest token is taken."))
    TOP_K.draw(_("Top-k"), where=right, help=_("Zero keeps all tokens."))
    TOP_P.draw(_("Top-p"), step=0.05, where=left)
    MIN_P.draw(_("Min-p"), step=0.01, where=right)
    DRAW.draw(_("Seed of the draw"))
