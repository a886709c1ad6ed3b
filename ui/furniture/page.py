"""A page as a declaration: what is shown, in what order. `show` draws it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.check import Check
from core.questions import Question
from core.stage import At
from ui import bench as bench_module
from ui.bench import Bench
from ui.bench.parts import part
from ui.equation.views import View
from ui.furniture import checks, example_chips, header, notices, prose, stepper, undoing
from ui.furniture.exercise import Exercise, held_back
from ui.furniture.sections import folded
from ui.shell import frame
from ui.shell.i18n import N_, _
from ui.sources import Resolved


@dataclass
class Subject:
    """What a page is about in this run: the bench, the trace that it selects, the slice on screen, the open question.
    Pages with choices of their own extend it; their controls fill in what was chosen."""

    bench: Bench
    resolved: Resolved
    view: View
    exercise: Exercise | None = None

    @property
    def at(self) -> At:
        """What is looked at, as the stages of the core take it."""
        return At(self.view.trace, self.view.layer, *self.view.place)

    @property
    def asked(self) -> Question | None:
        """The open question, whose answer must not be on screen."""
        return self.exercise.question if self.exercise else None


S = TypeVar("S", bound=Subject)
Takes = TypeVar("Takes", bound=Subject, contravariant=True)


def on_bench(kind: Callable[[Bench, Resolved, View], S]) -> S:
    """The subject that the bench selects, at its layer, batch entry and head."""
    bench, resolved = frame.look()
    view = View(resolved.trace, layer=bench.layer, batch=bench.batch, head=bench.head,
                editable=resolved.scope is not None)
    return kind(bench, resolved, view)


@dataclass(frozen=True)
class Section(Generic[Takes]):
    """A folded part of a page: its key in the session and for tests, its title (English, for `_()`), what it draws once
    it is opened. One that `waits` shows right numbers, and does so only when no question is open; `when` says whether
    the page has it at all with what is on screen."""

    key: str
    title: str
    body: Callable[[Takes], None]
    waits: bool = False
    when: Callable[[Takes], bool] | None = None

    def draw(self, subject: Takes) -> None:
        """Draw the folded section, and what is in it if it is open."""
        if self.when is None or self.when(subject):
            hold = self.waits and subject.asked is not None
            folded(_(self.title), self.key, held_back if hold else lambda: self.body(subject))


@dataclass(frozen=True)
class Page(Generic[S]):
    """What a page shows, from top to bottom. `subject` reads the bench; then come, each if the page has it:

    `controls` (which fill in the subject), `equation`, which draws the matrices, `formula`, which stands above both
    and is drawn when they are known (on a page that runs by itself below the controls), `predict` (the question),
    `look_for` (sentences), `sections`, `checks`, and `tail`, when the address has been written. Where `complete`
    says no, there is nothing to ask and to say, and only the equation, the checks and the tail are drawn.

    `sizes` are those told above where they are not the trace's; `shapes` tells them where they do not say all. A page
    that shows no number of the trace says nothing of `edits` and offers no `examples`. `fragment` runs the interactive
    part, by default as one fragment; `apart` are sections with controls of their own, each a fragment, below it.
    """

    slug: str
    subject: Callable[[], S]
    equation: Callable[[S], None]
    controls: Callable[[S], None] | None = None
    formula: Callable[[S], None] | None = None
    predict: Callable[[S], None] | None = None
    look_for: Callable[[S], Sequence[str]] | None = None
    sections: Sequence[Section[S]] = ()
    checks: Callable[[S], Iterable[Check | None]] | None = None
    tail: Callable[[S], None] | None = None
    complete: Callable[[S], bool] | None = None
    sizes: Callable[[S], Any] | None = None
    shapes: Callable[[str, S], None] | None = None
    header: Callable[[], None] | None = None
    fragment: Callable[[Callable[[], None]], None] | None = None
    apart: Sequence[Section[S]] = ()
    edits: bool = True
    examples: bool = True


PREDICT = N_("Predict, then reveal")


def show(page: Page[Any]) -> None:
    """Draw a page."""
    subject = page.subject()
    place = frame.here()
    model = subject.resolved.trace.config
    shapes_at = None
    if page.header is None:
        with st.container(horizontal=True, vertical_alignment="center", key="stepper"):
            stepper.stages(page.slug, place.built, model)
            shapes_at = st.container(width="content", key="shapes")
    (page.header or (lambda: header.page_header(page.slug, place.built, model)))()
    notices.notices(subject.resolved, place.dropped, words=page.examples)
    if page.examples:
        example_chips.chips(frame.here().stage, subject.bench, subject.resolved)
    if shapes_at is not None and page.sizes is None and page.shapes is None:
        with shapes_at:
            stepper.shapes(page.slug, subject.resolved.trace)
    if page.fragment is None:
        part("lab", _draw, page, shapes_at)
    else:
        page.fragment(lambda: _draw(page, shapes_at))
    for section in page.apart:
        part(f"apart-{section.key}", _apart, page, section)
    header.foot(page.slug, place.built, model)


def _draw(page: Page[Any], shapes_at: DeltaGenerator | None) -> None:
    """Everything that changes with an edit, a pin or a switch of the page; the shapes, where they do, `shapes_at`."""
    subject = page.subject()
    own_shapes = page.shapes or (_of_sizes(page) if page.sizes else None)
    formula_at = st.container() if page.formula is not None and page.fragment is None else None
    if page.controls is not None:
        page.controls(subject)
    if page.formula is not None and page.fragment is not None:
        formula_at = st.container()  # its height changes as a run goes on, whose buttons must stay where they are
    if shapes_at is not None and own_shapes is not None:
        with shapes_at:
            own_shapes(page.slug, subject)
    page.equation(subject)
    if formula_at is not None and page.formula is not None:
        with formula_at:
            page.formula(subject)
    if page.complete is None or page.complete(subject):
        _below(page, subject)
    for check in page.checks(subject) if page.checks is not None else ():
        checks.check_line(check)
    bench_module.finish()
    if page.tail is not None:
        page.tail(subject)


def _of_sizes(page: Page[Any]) -> Callable[[str, Any], None]:
    return lambda slug, subject: stepper.shapes(slug, page.sizes(subject) if page.sizes else {})


def _below(page: Page[Any], subject: Subject) -> None:
    """What stands under the equation, but for the checks."""
    if page.predict is not None and subject.exercise is not None:
        folded(_(PREDICT), "predict", lambda: page.predict and page.predict(subject))
    if page.examples:
        undoing.buttons(subject.bench, subject.resolved.scope)
    if page.edits:
        notices.edit_notices(subject.resolved)
    sentences = page.look_for(subject) if page.look_for is not None else ()
    if sentences:
        prose.look_for(sentences)
    for section in page.sections:
        section.draw(subject)


def _apart(page: Page[Any], section: Section[Any]) -> None:
    section.draw(page.subject())
    bench_module.finish()
