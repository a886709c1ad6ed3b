"""The matrix product: which shapes may be multiplied, and what each number of the result is made of."""

from ui.furniture.page import Page, Section, show
from ui.shell.i18n import N_
from ui.stages import matmul

PAGE = Page(
    "matmul", matmul.subject, matmul.draw, controls=matmul.controls, formula=matmul.formula, predict=matmul.predict,
    look_for=matmul.look_for, tail=matmul.check, edits=False, examples=False, sections=(
        Section("ways", N_("What PyTorch and NumPy do to the same shapes"), matmul.ways),
        Section("wrong", N_("Common mistakes"), matmul.mistakes),
        Section("code", N_("PyTorch"), matmul.program),
        Section("share", N_("Share and save"), matmul.shared),
    ))

if __name__ == "__main__":
    show(PAGE)
