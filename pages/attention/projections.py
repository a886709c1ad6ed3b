"""Projections: one X, three roles. Parameters stay, activations follow the input."""

from ui.furniture.page import Page, Section, show
from ui.shell.i18n import N_
from ui.stages import projections

PAGE = Page(
    "projections", projections.subject, projections.draw, controls=projections.controls, formula=projections.formula,
    predict=projections.predict, look_for=projections.look_for, checks=projections.checks, sections=(
        Section("moved", N_("Parameters stay, activations follow: change X"), projections.moved),
        Section("layouts", N_("Separate, merged, fused: the same Q, K and V"), projections.layouts),
        Section("wrong", N_("Common mistakes"), projections.mistakes, waits=True),
        Section("code", N_("PyTorch"), projections.program),
        Section("share", N_("Share and save"), projections.shared),
    ))

if __name__ == "__main__":
    show(PAGE)
