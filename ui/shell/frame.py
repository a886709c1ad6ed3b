"""What stands round every page: its styles, the sidebar, and what the page needs to know about where it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

from core.trace import NAMES, Trace
from ui import bench as bench_module
from ui import sources
from ui.bench import Bench, choices, parts
from ui.bench.limits import DEFAULT_EXAMPLE
from ui.bench.session import session
from ui.shell import sidebar
from ui.shell.syllabus import Stage, stage
from ui.shell.theme import AXES, role_css

_CSS = (Path(__file__).parent / "page.css").read_text("utf-8")
_AXIS_CSS = "".join(f".axis-{axis} {{ color: var(--axis-{axis}); }}\n" for axis in AXES)


class Here(NamedTuple):
    """The page that is shown, the pages that exist by slug, and notices about what the address held."""

    stage: Stage
    built: Mapping[str, Any]
    dropped: Sequence[str]


@dataclass
class _Place:
    here: Here | None = None


def set_up(built: Mapping[str, Any], *, slug: str, dropped: Sequence[str]) -> None:
    """Draw the styles and the sidebar; called by app.py before the page runs."""
    held = session()
    before = held.part(_Place).here
    if before is not None and before.stage.slug != slug:
        bench_module.leave(before.stage.slug)
    bench_module.as_then(slug, lambda name: reached(stage(slug), sources.example(name)))
    found = [*dropped, *bench_module.check(slug), *held.notices]
    held.notices = []
    held.part(_Place).here = Here(stage(slug), built, found)
    parts.forget()
    st.html(f"<style>{role_css(':root')}{_AXIS_CSS}{_CSS}</style>")
    with st.sidebar:
        sidebar.draw(stage(slug), bench_here(stage(slug)))


def here() -> Here:
    """Where the page is."""
    place = session().part(_Place).here
    assert place is not None, "no page is drawn before its frame"
    return place


def look() -> tuple[Bench, sources.Resolved]:
    """The bench and the trace it selects, with edits made since the run began; for pages and their fragments.

    Layer, head and batch entry are kept within what the trace has. What does not reach this stage is left chosen, and
    another example stands in for it.
    """
    bench = bench_here(here().stage)
    resolved = wanted = sources.resolve(bench)
    if not reached(here().stage, wanted.trace):
        bench = bench.showing(here().stage.own or DEFAULT_EXAMPLE)
        waits = wanted.loading or wanted.error is not None  # then what does not reach was itself a stand-in
        resolved = sources.resolve(bench)._replace(
            error=wanted.error, loading=wanted.loading, elsewhere="" if waits else wanted.source)
    return sources.within(bench, sources.extent(resolved.trace)), resolved


def bench_here(page: Stage) -> Bench:
    """The bench; on a page with an example of its own that one, until the learner chooses."""
    bench = bench_module.current()
    own = page.own if bench.source == "worked" and not choices.EXAMPLE.value() else ""
    return bench.showing(own) if own else bench


def reached(page: Stage, trace: Trace) -> bool:
    """Whether a trace has numbers for that stage."""
    return (page.needs if page.needs in NAMES else f"blocks.0.{page.needs}") in trace
