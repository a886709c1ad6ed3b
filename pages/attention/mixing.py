"""Mixing: A × V. Each output row is a blend of the values, in the proportions of one row of weights."""

from ui.furniture.page import Page, Section, show
from ui.shell.i18n import N_
from ui.stages import mixing

PAGE = Page(
    "mixing", mixing.subject, mixing.draw, formula=mixing.formula, predict=mixing.predict, look_for=mixing.look_for,
    checks=mixing.checks, sections=(
        Section("blend", N_("Choose the weights of a row yourself"), mixing.chosen_weights, waits=True),
        Section("chain", N_("The whole chain, from X to the output"), mixing.chain, waits=True),
        Section("wrong", N_("Common mistakes"), mixing.mistakes, waits=True),
        Section("code", N_("PyTorch"), mixing.program),
        Section("share", N_("Share and save"), mixing.shared),
    ))

if __name__ == "__main__":
    show(PAGE)
