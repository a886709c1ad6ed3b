"""Generation: prefill and decode, step by step, and what the cache spares."""

from ui.furniture import generation_run
from ui.furniture.page import Page, Section, show
from ui.shell.i18n import N_
from ui.stages import generation
from ui.stages.generation import Step, mistakes, sections


def has_step(shown: Step) -> bool:
    """Whether a step has been made at all."""
    return shown.place is not None


def has_tensors(shown: Step) -> bool:
    """Whether the tensors of the step are few enough to be shown."""
    return shown.has_tensors


PAGE = Page(
    "generation", generation.subject, generation.draw, controls=generation.controls, formula=generation.formula,
    predict=generation.predict, look_for=generation.look_for, checks=generation.checks, complete=has_step,
    shapes=generation_run.step_shapes, fragment=generation_run.fragment, tail=generation_run.tick, sections=(
        Section("why", N_("Why this token"), sections.why),
        Section("carried", N_("Why K and V are kept, and Q is not"), sections.carried, when=has_tensors),
        Section("table", N_("All steps in numbers"), sections.table),
        Section("compare", N_("With the cache and without"), sections.compare),
        Section("phases", N_("Training, prefill, decode"), sections.phases),
        Section("wrong", N_("Common mistakes"), mistakes.mistake, waits=True, when=has_tensors),
        Section("code", N_("PyTorch"), generation.program, when=has_tensors),
        Section("share", N_("Share and save"), generation.shared, when=has_tensors),
    ))

if __name__ == "__main__":
    show(PAGE)
