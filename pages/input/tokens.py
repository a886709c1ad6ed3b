"""Tokens: from a text to a row of ids, one merge after the other."""

from ui.furniture.page import Page, Section, show
from ui.shell.i18n import N_
from ui.stages import tokens
from ui.stages.tokens import sections
from ui.stages.tokens.subject import Tokens, sizes, subject


def merged(shown: Tokens) -> bool:
    """Whether the tokens are those of a model."""
    return shown.is_merged


def plain(shown: Tokens) -> bool:
    """Whether the text is cut into characters or words."""
    return not shown.is_merged


PAGE = Page(
    "tokens", subject, tokens.draw, controls=tokens.controls, formula=tokens.formula, predict=tokens.predict,
    look_for=tokens.look_for, sizes=sizes, tail=tokens.check, edits=False, sections=(
        Section("meaning", N_("A number without a meaning"), sections.meaning, when=merged),
        Section("lengths", N_("Characters, words, or something between"), sections.lengths, when=merged),
        Section("vocabulary", N_("The vocabulary"), sections.vocabulary, when=plain),
        Section("wrong", N_("Common mistakes"), sections.mistakes),
        Section("code", N_("The program"), tokens.program),
        Section("share", N_("Share and save"), tokens.shared),
    ))

if __name__ == "__main__":
    show(PAGE)
