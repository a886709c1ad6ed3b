"""The examples in words: what a menu calls them, and where their numbers come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from core import worked
from ui.bench import examples
from ui.shell.i18n import _

_TITLES: Mapping[str, Callable[[], str]] = {
    "single_head": lambda: _("One head, by hand"),
    "block": lambda: _("One block, end to end"),
    "block_shared": lambda: _("The same block, one KV head"),
    "d3_lab": lambda: _("Three tokens, from S on: {tokens}").format(tokens=" ".join(worked.D3_TOKENS)),
    "rope_pairs": lambda: _("Four pairs that turn, positions {positions}").format(
        positions=" ".join(map(str, worked.ROPE_POSITIONS))),
    "word_order": lambda: _("Three words in any order: {tokens}").format(tokens=" ".join(worked.WORD_ORDER)),
    "grouped": lambda: _("Four query heads"),
}


def title(name: str) -> str:
    """What a menu calls the example; one that the learner brought goes by its name."""
    return _TITLES[name]() if name in worked.EXAMPLES else name


def origin(name: str) -> str:
    """Where the numbers of the example come from: the document's section and what is ours all the same, or this app."""
    example = examples()[name]
    if not example.section:
        return _("this app")
    return {
        "": "{section}",
        "rows": _("{section}, one row; the others are ours"),
        "vectors": _("{section}; Q, K and V are ours"),
        "numbers": _("{section}; the numbers are ours"),
    }[example.ours].format(section=example.section)
