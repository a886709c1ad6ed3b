"""The examples in words: what a menu calls them, and where their numbers come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from core import worked
from ui.bench import examples
from ui.shell import documents, i18n
from ui.shell.i18n import _

_TITLES: Mapping[str, Callable[[], str]] = {
    "single_head": lambda: _("one head, by hand"),
    "matrices": lambda: documents.named("D0 §6"),
    "block": lambda: worked.EXAMPLES["block"].text,
    "block_shared": lambda: _("one KV head"),
    "d3_lab": lambda: " ".join(worked.D3_TOKENS),
    "rope_pairs": lambda: _("positions {positions}").format(positions=" ".join(map(str, worked.ROPE_POSITIONS))),
    "word_order": lambda: " ".join(worked.WORD_ORDER),
    "grouped": lambda: _("four query heads"),
}


def title(name: str) -> str:
    """What a menu calls the example; one that the learner brought goes by its name."""
    return _TITLES[name]() if name in worked.EXAMPLES else name


def origin(name: str) -> str:
    """Where the numbers of the example come from: the document's section and what is ours all the same, or this app."""
    example = examples()[name]
    if not example.section:
        return _("The numbers are this app's own.")
    return {
        "": _("The numbers come from {section}."),
        "rows": _("One row comes from {section}; the others are this app's own."),
        "vectors": _("The positions come from {section}; Q, K and V are this app's own."),
        "numbers": _("The words come from {section}; the numbers are this app's own."),
        "beyond": _("X to AV come from {section}; what stands before and after is this app's own."),
    }[example.ours].format(section=documents.named(example.section))


def glosses(name: str, tokens: Sequence[str]) -> str:
    """What the tokens mean, where they are words of the other language; "" where they are of the reader's own."""
    example = examples()[name]
    meant = dict(zip(example.words, example.glosses, strict=False))
    if not meant or all(word.isascii() for word in example.words) == (i18n.current() == "en"):
        return ""
    return i18n.listed(f"`{token}` {meant[token]}" for token in dict.fromkeys(tokens) if token in meant)


def mask(kind: str) -> str:
    """What a kind of mask is called."""
    return {"none": _("none"), "causal": _("causal"), "padding": _("padding"), "both": _("causal and padding"),
            "window": _("sliding window"), "prefix": _("prefix")}[kind]
