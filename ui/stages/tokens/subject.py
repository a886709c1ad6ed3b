"""The text on screen as tokens: of the live model by its own merges, else by characters or words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import streamlit as st

from core.live.merges import Merger, PreToken
from core.live.tokenizer import TableTokenizer, Vocabulary, readable
from core.stages.tokens.texts import Merged, Plain, Text
from core.tokenizers import KINDS, Kind, ToyTokenizer
from core.trace import Trace
from ui import sources
from ui.bench import Bench, examples
from ui.bench.choices import TYPED
from ui.bench.limits import DEFAULT_EXAMPLE
from ui.furniture.page import Subject, on_bench
from ui.shell.i18n import _
from ui.sources import Resolved
from ui.stages.tokens import choices


@st.cache_resource(show_spinner=False, max_entries=4)
def _merger(_vocabulary: Vocabulary, fingerprint: str) -> Merger:
    return Merger.of(_vocabulary)


@dataclass
class Tokens(Subject):
    """The text on screen, merged or plain; `place` (part, step) is what is spoken of."""

    text: Text = field(init=False)
    place: tuple[int, int] | None = None

    @property
    def is_merged(self) -> bool:
        """Whether the tokens are those of a model, made by merges."""
        return isinstance(self.text, Merged)


def subject() -> Tokens:
    """The bench; the text is the live model's, or typed on the page."""
    return on_bench(Tokens)


def read(bench: Bench, resolved: Resolved) -> Text:
    """What the page shows; draws the controls that Worked and Toy need. Where the live text was refused it is the
    text of the trace that is still on screen."""
    model = sources.loader().model() if resolved.source == "live" else None
    if model is None or not isinstance(model.tokenizer, TableTokenizer):  # only of those the merges are known
        return _plain({"worked": bench.example, "toy": ""}.get(resolved.source, DEFAULT_EXAMPLE))
    return _merged(resolved.trace, model.tokenizer, model.fingerprint)


def _merged(trace: Trace, tokenizer: TableTokenizer, fingerprint: str) -> Merged:
    text = tokenizer.decode(trace["tokens"][0].tolist())
    return Merged(text, _merger(tokenizer.vocabulary, fingerprint).pre_tokens(text), tokenizer)


def _plain(example: str) -> Plain:
    """The typed text, else the example's own; "" is the toy."""
    labels = {"words": _("words"), "characters": _("characters")}
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        text = TYPED.field(_("Text to cut"), own=examples()[example or DEFAULT_EXAMPLE].text)
        kind = choices.CUT.draw(st.segmented_control, _("Cut into"), labels, required=True)
    known = next(known for known in KINDS if known == kind)
    tokenizer = _tokenizer(known, examples()[example].words) if example else ToyTokenizer.of(known, text)
    return Plain(text, tokenizer.encode(text), tokenizer)


def _tokenizer(kind: Kind, words: Sequence[str]) -> ToyTokenizer:
    """The words of an example in the order of its table, or the characters of its words."""
    return ToyTokenizer("words", tuple(words)) if kind == "words" else ToyTokenizer.of("characters", " ".join(words))


def sizes(shown: Tokens) -> dict[str, int]:
    """The sizes of the trace, with the number of tokens on screen; of a vocabulary that E has no rows for only its own
    sizes: it is no part of the model."""
    own, text = dict(shown.resolved.trace.sizes), shown.text
    if isinstance(text, Merged):
        return own
    ids = {"B": 1, "T": len(text.cut)}
    return own | ids if feeds(text, shown.resolved) else ids | {"V": text.tokenizer.size}


def feeds(text: Plain, resolved: Resolved) -> bool:
    """Whether the table E of the trace has a row for each piece of the vocabulary: for the words of an example."""
    return resolved.source == "worked" and len(text.tokenizer.vocabulary) == resolved.trace.config.vocab


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
