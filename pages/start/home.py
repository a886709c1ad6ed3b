"""The map: every stage with its shape, the sizes of any model, the letters and their clashes, the whole way."""

from ui.furniture.page import Page, Section, show
from ui.shell.i18n import N_
from ui.stages import home

PAGE = Page(
    "home", home.subject, home.draw, controls=home.controls, header=home.header, tail=home.symbols, edits=False,
    examples=False, apart=(
        Section("reading", N_("Sources and further reading"), home.sources),
    ))

if __name__ == "__main__":
    show(PAGE)
