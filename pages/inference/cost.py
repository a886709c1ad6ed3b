"""Cost: where computation and memory go, for a prefill and for a decode step."""

from ui.furniture.page import Page, Section, show
from ui.shell.i18n import N_
from ui.stages import cost
from ui.stages.cost import comparisons, measured

PAGE = Page(
    "cost", cost.subject, cost.draw, controls=cost.controls, sizes=cost.shape_sizes, tail=cost.check, edits=False,
    examples=False, sections=(
        Section("crossover", N_("When attention overtakes the feed-forward network"), comparisons.crossover),
        Section("sharing", N_("MHA, GQA and MQA beside each other"), comparisons.sharing),
        Section("fused", N_("FlashAttention: the same result, fewer bytes"), comparisons.fused),
        Section("savings", N_("What each optimisation reduces"), comparisons.savings),
        Section("machine", N_("Predicted and measured, on this machine"), measured.section),
        Section("wrong", N_("Common mistakes"), comparisons.mistakes),
        Section("code", N_("PyTorch"), cost.program),
        Section("share", N_("Share and save"), cost.shared),
    ))

if __name__ == "__main__":
    show(PAGE)
