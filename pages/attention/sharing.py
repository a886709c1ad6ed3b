"""Sharing: MHA, GQA, MQA. Who reads whose keys and values, and what that costs and saves."""

from ui.furniture.page import Page, Section, show
from ui.shell.i18n import N_
from ui.stages import sharing

PAGE = Page(
    "sharing", sharing.subject, sharing.draw, controls=sharing.controls, formula=sharing.formula,
    predict=sharing.predict, look_for=sharing.look_for, checks=sharing.checks, sizes=sharing.sizes, sections=(
        Section("weights", N_("One K does not make heads equal: their weights"), sharing.weights),
        Section("choices", N_("All possible numbers of KV heads on this input"), sharing.choices),
        Section("sizes", N_("The document's model as MHA, GQA and MQA"), sharing.document_sizes),
        Section("wrong", N_("Common mistake: the wrong order of copies"), sharing.mistakes),
        Section("code", N_("PyTorch"), sharing.program),
        Section("share", N_("Share and save"), sharing.save),
    ))

if __name__ == "__main__":
    show(PAGE)
