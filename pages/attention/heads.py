"""Heads: which columns go to which head, how each attends by itself, and how WO brings them together."""

from ui.furniture.page import Page, Section, show
from ui.shell.i18n import N_
from ui.stages import heads

PAGE = Page(
    "heads", heads.subject, heads.draw, formula=heads.formula, predict=heads.predict,
    look_for=heads.look_for, checks=heads.checks, tail=heads.parity, sections=(
        Section("maps", N_("Each head's own weights, and one wide head in their place"), heads.maps),
        Section("columns", N_("Each head's own columns of WQ"), heads.columns),
        Section("added", N_("What each head adds to the output"), heads.parts),
        Section("memory", N_("In memory: strides, contiguous or not"), heads.memory),
        Section("sizes", N_("The same steps at the documents' sizes"), heads.document_sizes),
        Section("promise", N_("What several heads do not promise"), heads.promises),
        Section("wrong", N_("Common mistakes"), heads.mistakes, waits=True),
        Section("code", N_("PyTorch"), heads.program),
        Section("share", N_("Share and save"), heads.save),
    ))

if __name__ == "__main__":
    show(PAGE)
