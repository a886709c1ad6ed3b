"""The KV cache: what it holds after each step, and how it grows."""

from ui.furniture import generation_run
from ui.furniture.page import Page, Section, show
from ui.shell.i18n import N_
from ui.stages import kv_cache
from ui.stages.kv_cache import Cached, growth, times


def has_rows(shown: Cached) -> bool:
    """Whether there is a cache whose rows are known."""
    return shown.has_rows


PAGE = Page(
    "kv_cache", kv_cache.subject, kv_cache.draw, controls=kv_cache.controls, formula=kv_cache.formula,
    predict=kv_cache.predict, look_for=kv_cache.look_for, complete=has_rows, shapes=generation_run.step_shapes,
    fragment=generation_run.fragment, tail=kv_cache.check, sections=(
        Section("append", N_("Where each row comes from"), kv_cache.appended),
        Section("wrong", N_("Common mistakes"), kv_cache.mistakes, waits=True),
        Section("code", N_("PyTorch"), kv_cache.program),
        Section("share", N_("Share and save"), kv_cache.shared),
    ), apart=(
        Section("growth", N_("How it grows, and what a GPU holds"), growth.curves),
        Section("times", N_("What one step costs, measured"), times.times),
        Section("left-out", N_("What the formula leaves out"), kv_cache.left_out),
    ))

if __name__ == "__main__":
    show(PAGE)
