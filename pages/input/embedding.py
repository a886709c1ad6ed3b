"""Embedding: an id is the number of a row, and the row is looked up."""

from ui.furniture.page import Page, Section, show
from ui.shell.i18n import N_
from ui.stages import embedding
from ui.stages.embedding import contexts, sections
from ui.stages.embedding.subject import subject

PAGE = Page(
    "embedding", subject, embedding.draw, controls=embedding.controls, formula=embedding.formula,
    predict=embedding.predict, look_for=embedding.look_for, checks=embedding.checks, sections=(
        Section("one-hot", N_("The same as one-hot × E, and why nobody multiplies"), sections.one_hot),
        Section("repeats", N_("Equal tokens get equal rows"), sections.repeats),
        Section("positions", N_("Where positions come in"), sections.positions),
        Section("sizes", N_("How large the table is"), sections.sizes),
        Section("wrong", N_("Common mistakes"), sections.mistakes, waits=True),
        Section("code", N_("PyTorch"), embedding.program),
        Section("share", N_("Share and save"), embedding.shared),
    ), apart=(
        Section("context", N_("What changes with the context"), contexts.two_sentences),
    ))

if __name__ == "__main__":
    show(PAGE)
