"""Scores: Q Kᵀ and the scale. Rows ask, columns answer."""

from ui.furniture.page import Page, Section, show
from ui.shell.i18n import N_
from ui.stages import scores
from ui.stages.scores import Scores


def transposed(shown: Scores) -> bool:
    """Whether there are scores at all."""
    return shown.transpose


PAGE = Page(
    "scores", scores.subject, scores.draw, formula=scores.formula, predict=scores.predict,
    look_for=scores.look_for, checks=scores.checks, complete=transposed, sections=(
        Section("from", N_("Where Q and K come from"), scores.origin),
        Section("wrong", N_("Common mistakes"), scores.mistakes, waits=True),
        Section("experiment", N_("Why √Dh? Draw and measure"), scores.scale_experiment),
        Section("code", N_("PyTorch"), scores.program),
        Section("share", N_("Share and save"), scores.shared),
    ))

if __name__ == "__main__":
    show(PAGE)
