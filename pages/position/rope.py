"""RoPE: each pair of dimensions is a clock hand, turned by position times its own speed."""

from ui.furniture.page import Page, Section, show
from ui.shell.i18n import N_
from ui.stages import rope
from ui.stages.rope import sections

PAGE = Page(
    "rope", rope.subject, rope.draw, controls=rope.controls, formula=rope.formula, predict=rope.predict,
    look_for=rope.look_for, checks=rope.checks, sections=(
        Section("speeds", N_("Every pair's speed: θ and wavelengths"), sections.speeds),
        Section("distance", N_("Only the distance counts, and the content still does"), sections.distance),
        Section("pairings", N_("Two ways to pair, and the permutation between them"), sections.pairings),
        Section("cache", N_("With a cache the position goes on"), sections.cache),
        Section("wrong", N_("Common mistakes"), sections.mistakes),
        Section("code", N_("PyTorch"), rope.program),
        Section("share", N_("Share and save"), rope.save),
    ))

if __name__ == "__main__":
    show(PAGE)
