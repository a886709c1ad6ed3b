"""The mask: S, + M, softmax, as three frames that never merge."""

from ui.furniture.page import Page, Section, show
from ui.shell.i18n import N_
from ui.stages import mask

PAGE = Page(
    "mask", mask.subject, mask.draw, controls=mask.controls, formula=mask.formula, predict=mask.predict,
    look_for=mask.look_for, checks=mask.checks, sections=(
        Section("softmax", N_("The softmax, opened"), mask.softmax),
        Section("overflow", N_("Why the maximum is subtracted"), mask.overflow),
        Section("broadcast", N_("How the mask is broadcast"), mask.broadcast),
        Section("code", N_("PyTorch"), mask.program),
        Section("share", N_("Share and save"), mask.shared),
    ))

if __name__ == "__main__":
    show(PAGE)
