"""The text on screen as tokens: of the live model by its own merges, else by characters or words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from core import live, worked
from core.live.merges import Merger, PreToken
from core.live.tokenizer import Vocabulary, readable
from core.stages.tokens.tokenizers import KINDS, Cut, ToyTokenizer
from core.trace import Trace
from ui import sources
from ui.bench.parameters import Choice, Text
from ui.shell.i18n import _
from ui.sources import Resolved

LONGEST = 300  # characters of a text that is cut into characters or words
DEFAULT_TEXT = " ".join(worked.BLOCK_VOCABULARY[token] for token in worked.BLOCK_PROMPT)
SAMPLE = Text("sample", DEFAULT_TEXT, longest=LONGEST, stage="tokens")
CUT = Choice("cut", "words", codes=KINDS, stage="tokens")
SLIP = Choice("slip", "space", codes=("space", "decode"), stage="tokens")


@st.cache_resource(show_spinner=False, max_entries=4)
def _merger(_vocabulary: Vocabulary, fingerprint: str) -> Merger:
    return Merger.of(_vocabulary)


@dataclass(frozen=True)
class Merged:
    """A text of the live model, the parts that its tokenizer cut, and the model."""

    text: str
    pre_tokens: tuple[PreToken, ...]
    model: live.Live


@dataclass(frozen=True)
class Plain:
    """A text, how it was cut, and by what."""

    text: str
    cut: Cut
    tokenizer: ToyTokenizer


def read(resolved: Resolved) -> Merged | Plain:
    """What the page shows; draws the controls that Worked and Toy need. Where the live text was refused it is the
    text of the trace that is still on screen."""
    model = sources.loader().model() if resolved.source == "live" else None
    return _plain(resolved.source) if model is None else _merged(resolved.trace, model)


def _merged(trace: Trace, model: live.Live) -> Merged:
    text = model.tokenizer.decode(trace["tokens"][0].tolist())
    return Merged(text, _merger(model.tokenizer.vocabulary, model.fingerprint).pre_tokens(text), model)


def _plain(source: str) -> Plain:
    labels = {"words": _("words"), "characters": _("characters")}
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        text = SAMPLE.draw(_("Text to cut"))
        kind = CUT.draw(st.segmented_control, _("Cut into"), labels, required=True)
    known = next(known for known in KINDS if known == kind)
    tokenizer = ToyTokenizer.of(known, text) if source == "toy" else _worked(known)
    return Plain(text, tokenizer.encode(text), tokenizer)


def _worked(kind: str) -> ToyTokenizer:
    """The words of the worked block in the order of its table, or the characters of its words."""
    if kind == "words":
        return ToyTokenizer("words", tuple(worked.BLOCK_VOCABULARY))
    return ToyTokenizer.of("characters", " ".join(worked.BLOCK_VOCABULARY))


def sizes(shown: Merged | Plain, resolved: Resolved) -> dict[str, int]:
    """The sizes of the trace, with those of the ids on screen: characters and words are of one text, typed here, and of
    a vocabulary of their own, unless it is the one that E has its rows for."""
    own = dict(resolved.trace.sizes)
    if isinstance(shown, Merged):
        return own
    return own | {"B": 1, "T": len(shown.cut)} | ({} if feeds(shown, resolved) else {"V": shown.tokenizer.size})


def feeds(shown: Plain, resolved: Resolved) -> bool:
    """Whether the table E of the trace has a row for each piece of the vocabulary: that of the worked block has."""
    return resolved.source == "worked" and len(shown.tokenizer.vocabulary) == resolved.trace.config.vocab


def given_back(shown: Plain) -> list[tuple[str, str]]:
    """The text, and what its ids give back; where that is the same, also for the text with words after it that the
    vocabulary lacks."""
    longer = f"{shown.text}  {worked.TEXTS['d1']}"
    texts = [shown.text] if _again(shown, shown.text) != shown.text else [shown.text, longer]
    return [(text, _again(shown, text)) for text in texts]


def _again(shown: Plain, text: str) -> str:
    return shown.tokenizer.decode(shown.tokenizer.encode(text).ids)


def visible(text: str) -> str:
    """A text with its spaces and line breaks made visible."""
    return readable(text.encode())


def telling(pre_tokens: Sequence[PreToken]) -> int:
    """The part that the page opens with: of those that fit on the screen one whose tokens share a character, else the
    first of the most merges."""
    short = [part for part in pre_tokens if len(part.merges) <= _FIRST_VIEW]
    most = max(short or pre_tokens, key=lambda part: (not all(piece.whole for piece in part.pieces), len(part.merges)))
    return pre_tokens.index(most)


_FIRST_VIEW = 8  # merges
