"""Order: attention cannot see it. Attn(P·X) beside P·Attn(X), and what breaks their being equal."""

from ui.furniture.page import Page, Section, show
from ui.shell.i18n import N_
from ui.stages import order

PAGE = Page(
    "order", order.subject, order.draw, controls=order.controls, formula=order.formula, predict=order.predict,
    look_for=order.look_for, checks=order.checks, sections=(
        Section("wrong", N_("Common mistakes"), order.mistakes, waits=True),
        Section("code", N_("PyTorch"), order.program),
        Section("share", N_("Share and save"), order.shared),
    ))

if __name__ == "__main__":
    show(PAGE)
