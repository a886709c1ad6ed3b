"""A generation on screen: one run for each session, made step by step, looked back at, kept when a setting changes.

The run holds every step so far. Pages draw `controls`, which makes the next steps and says which one is looked at;
while it runs by itself the page's fragment comes again every `TICK`, and each time makes steps for a moment only, so
that Stop is heard at once and other sessions have their turn between two forwards.
"""

from __future__ import annotations

import html
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import streamlit as st

from core.errors import WorkbenchError
from core.generation import Comparison, GenerationStep, compare, generate
from core.live.model import MAX_TRACE_TOKENS
from core.trace import Trace
from ui import bench as bench_module
from ui import sources
from ui.bench import Bench
from ui.bench.limits import DEFAULT_EXAMPLE
from ui.bench.parts import part
from ui.bench.session import session
from ui.equation.views import View
from ui.furniture import generation_settings, stepper
from ui.furniture.generation_settings import Settings, chosen
from ui.furniture.page import Subject
from ui.shell import errors, i18n
from ui.shell.i18n import _
from ui.sources import Prompt, Resolved

TICK = "0.3s"
MOMENT = 250  # milliseconds in which a tick makes steps
MILLISECONDS = 1000
OPENING = 2  # steps that are made when a page opens without saying how many: the prompt and one token more
MOST_SHOWN = 160  # tokens of the text that are written out


class Run:
    """One generation. `steps` are those made so far; `done` when there is no further one, `error` why it ended. One
    that runs by itself stops at `goal` steps, if that is set; `at` is the step (from 1) to look at when it rests."""

    def __init__(self, prompt: Prompt, settings: Settings) -> None:
        self.prompt, self.settings = prompt, settings
        self.steps: list[GenerationStep] = []
        self.compared: dict[int, Comparison] = {}
        self.running = self.done = False
        self.goal: int | None = None
        self.at: int | None = None
        self.error: WorkbenchError | None = None
        self._again: tuple[int, Trace] | None = None
        self._busy = threading.Lock()  # a page's run may begin while a fragment's is still in the middle of a step
        self._coming: Iterator[GenerationStep] = iter(())
        try:
            self._coming = self._generate()
        except WorkbenchError as problem:
            self.error, self.done = problem, True

    @property
    def room(self) -> int:
        """How many tokens the run adds: as many as were asked for, or fewer where the model has no positions left."""
        return min(self.settings.new, self.prompt.limit - self.prompt.ids.shape[1] + 1)

    def _generate(self) -> Iterator[GenerationStep]:
        chosen, prompt = self.settings, self.prompt
        return generate(
            prompt.decoder, prompt.ids, max_tokens=self.room, use_cache=chosen.cache,
            chunk=min(chosen.chunk or MAX_TRACE_TOKENS, MAX_TRACE_TOKENS, prompt.limit), temperature=chosen.temperature,
            top_k=chosen.top_k or None, top_p=chosen.top_p, min_p=chosen.min_p, seed=chosen.draw,
            stop_ids=prompt.stop_ids, trace=chosen.cache, turn=prompt.turn, label=prompt.label, source=prompt.source)

    def advance(self, milliseconds: int = 0) -> None:
        """Make the next step, and further ones until so much time has passed; nothing while another thread does so."""
        if not self._busy.acquire(blocking=False):
            return
        try:
            self._advance(milliseconds)
        finally:
            self._busy.release()

    def _advance(self, milliseconds: int) -> None:
        until = time.monotonic() + milliseconds / MILLISECONDS
        while not self.done:
            try:
                self.steps.append(next(self._coming))
            except StopIteration:
                self.done = True
            except WorkbenchError as problem:
                self.error, self.done = problem, True
            if len(self.steps) == self.goal:
                self.goal, self.running = None, False
                break
            if time.monotonic() >= until:
                break
        if self.steps:
            last = self.steps[-1]
            longest = self.prompt.ids.shape[1] + self.room - 1  # the last token is chosen and not read any more
            self.done = self.done or last.text.shape[1] == longest or bool(last.done.all())
        self.running = self.running and not self.done

    def trace(self, index: int) -> Trace | None:
        """The tensors of a step, None where they are too many to be shown. A step that read the whole text again keeps
        none: they are computed anew, by the same forward."""
        step = self.steps[index]
        return self.at_once(index) if step.trace is None else step.trace

    def at_once(self, index: int) -> Trace | None:
        """The tensors of reading the whole text of a step at once without a cache; of the last such text they are kept.
        None where they are too many."""
        step = self.steps[index]
        if step.text.shape[1] > MAX_TRACE_TOKENS:
            return None
        if self._again is None or self._again[0] != index:
            trace = Trace(tokens=[self.prompt.label(token) for token in step.text[0].tolist()],
                          source=self.prompt.source)
            with self.prompt.turn():
                self.prompt.decoder.stream(step.text, trace=trace)
            self._again = index, trace
        return self._again[1]

    def knows(self, index: int) -> bool:
        """Whether `at_once` need not compute: with the live model that takes a turn, so pages ask first."""
        return self.prompt.source != "live" or (self._again is not None and self._again[0] == index)

    def ends_with(self, index: int) -> bool:
        """Whether a step is the last one that there will be: what it chose is never read."""
        return self.done and index == len(self.steps) - 1

    def compare(self, index: int) -> Comparison:
        """The logits of a step against those of reading the whole text without a cache; computed once."""
        if index not in self.compared:
            self.compared[index] = compare(self.prompt.decoder, self.steps[index], self.prompt.turn)
        return self.compared[index]


@dataclass
class Generation:
    """The run of a session; whether the step looked at jumps to the newest, and whether the page comes by itself."""

    run: Run | None = None
    newest: bool = False
    ticking: bool = False


def held() -> Generation:
    """The run that this session holds."""
    return session().part(Generation)


class Shown(NamedTuple):
    """What a page shows: the bench within the model, the run, and what to tell about where it comes from."""

    bench: Bench
    run: Run
    resolved: Resolved


def look() -> Shown:
    """The run of this session for what is selected; another model or prompt begins another run, and other settings make
    the same steps again. What cannot be read leaves the last run on screen, and the message says why."""
    error, elsewhere = None, ""
    bench = bench_module.current()
    if bench.source == "worked" and not bench_module.examples()[bench.example].whole:
        bench, elsewhere = bench.showing(DEFAULT_EXAMPLE), "worked"
    run, prompt = held().run, None
    try:
        prompt = sources.prompt(bench)
    except WorkbenchError as problem:
        error = problem
    loading = prompt is None and error is None
    if prompt is not None:
        # What came for a run that stands already means nothing.
        told = session()
        made, at, told.made, told.at = told.made, told.at, None, None
        if run is None or run.prompt.key != prompt.key:
            run = opened(prompt, made, at)
        elif run.settings != chosen():
            run = _again(run)
    elif run is None:
        stand_in = sources.prompt(Bench())
        assert stand_in is not None
        run = opened(stand_in)
    assert run is not None
    config = run.prompt.decoder.config
    have = sources.Extent(config.layers, config.heads, run.prompt.ids.shape[0])
    model = Trace(source=run.prompt.source, config=config)  # pages take the tensors from the step they look at
    return Shown(sources.within(bench, have), run,
                 Resolved(model, run.prompt.source, None, [], error, loading, elsewhere))


@dataclass(kw_only=True)
class Running(Subject):
    """A page about a run: which step is looked at, from 0 (None before the first), and whether its tensors are few
    enough to be shown; if so the view is on them."""

    run: Run
    place: int | None = None
    has_tensors: bool = False

    @property
    def looked_at(self) -> int:
        """The step looked at, where there is one."""
        assert self.place is not None
        return self.place

    @property
    def step(self) -> GenerationStep:
        """What that step read and gave."""
        return self.run.steps[self.looked_at]


R = TypeVar("R", bound=Running)


def running(kind: Callable[..., R]) -> R:
    """The run of this session, as the subject of a page."""
    shown = look()
    return kind(shown.bench, shown.resolved, _view(shown.bench, shown.resolved.trace), run=shown.run)


def choose(shown: Running) -> None:
    """The controls of the run, and the view on the step that they choose."""
    shown.place = controls(shown.run)
    trace = None if shown.place is None else shown.run.trace(shown.place)
    if trace is not None:
        shown.view, shown.has_tensors = _view(shown.bench, trace), True


def _view(bench: Bench, trace: Trace) -> View:
    return View(trace, layer=bench.layer, batch=bench.batch, head=bench.head, editable=False)


def opened(prompt: Prompt, made: int | None = None, at: int | None = None) -> Run:
    """A new run of this prompt, with its first steps made unless the prompt is long; or with `made` of them, `at` being
    the one looked at. What takes long goes on by itself from there."""
    run = Run(prompt, chosen())
    run.at = at
    at_once = OPENING if made is None else made
    if prompt.ids.shape[1] > MAX_TRACE_TOKENS or (prompt.source == "live" and at_once > OPENING):
        run.goal, run.running, at_once = made, bool(made), 0
    while len(run.steps) < at_once and not run.done:
        run.advance()
    held().run, held().newest = run, True
    return run


def _again(run: Run) -> Run:
    """The run made again with the settings as they now stand: as many steps, the same one looked at, and going on by
    itself if it did."""
    other = opened(run.prompt, len(run.steps), bench_module.looked_at())
    if run.running:
        other.running, other.goal = not other.done, None
    return other


def _start_over(prompt: Prompt) -> None:
    held().run = Run(prompt, chosen())


def _step(run: Run) -> None:
    run.advance()
    held().newest = True


def _run(run: Run, running: bool) -> None:
    run.running, run.goal = running, None


def fragment(lab: Callable[[], None]) -> None:
    """Draw a page's lab; again and again while the run goes on by itself."""
    run = held().run
    held().ticking = run is not None and run.running
    part("lab", lab, run_every=TICK if held().ticking else None)


def tick(shown: Running) -> None:
    """Go on if the run goes on by itself: with the live model for a moment, else by one step, slow enough to be
    watched. Called last in a page's lab, when all is drawn."""
    run = shown.run
    if run.running:
        run.advance(MOMENT if run.prompt.source == "live" else 0)
        held().newest = True
    if run.running != held().ticking:
        st.rerun()


def controls(run: Run) -> int | None:
    """Start over, step, run and stop, the settings; returns which step is looked at, None before the first."""
    with st.container(horizontal=True, vertical_alignment="center", key="controls"):
        st.button(_("Start over"), on_click=_start_over, args=(run.prompt,), key="run-over")
        st.button(_("Step"), on_click=_step, args=(run,), disabled=run.done or run.running, key="run-step",
                  type="primary")
        # Two buttons: a press that comes twice, as beside a tick it may, must not take itself back.
        if run.running:
            st.button(_("Stop"), on_click=_run, args=(run, False), key="run-stop")
        else:
            st.button(_("Run"), on_click=_run, args=(run, True), disabled=run.done, key="run-go")
        with st.popover(_("Settings")):
            generation_settings.controls(live=run.prompt.source == "live")
        newest, held().newest = held().newest, False
        if run.at is not None and not run.running:
            bench_module.look_at(run.at)
            run.at, newest = None, False
        if len(run.steps) > 1:
            st.caption(_("Step looked at:"), width="content")
        with st.container(width=260):
            place = bench_module.place_of(_("Step looked at"), len(run.steps), newest=newest, opening=OPENING)
    if run.error is not None:
        st.error(errors.explain(run.error))
    if run.done and run.error is None:
        st.caption(_end(run))
    return place


def _end(run: Run) -> str:
    last = run.steps[-1]
    if bool(last.done.all()):
        return _("The model has chosen its own end-of-text token, so the run ends here.")
    if run.room < run.settings.new:
        return _("The run ends here: this model has positions for {limit} tokens, and the last one that was chosen "
                 "would need one more.").format(limit=run.prompt.limit)
    return _("The run ends here. Tokens that it was to add: {count}.").format(count=run.room)


def few(step: GenerationStep) -> str:
    """How many tokens a step reads, where its queries ask more keys than that; "" where they do not."""
    queries, keys = step.shapes["scores"][2:]
    return "" if queries == keys else str(queries)


def step_shapes(slug: str, shown: Running) -> None:
    """The main line with the sizes of the step looked at; in a step that reads one token, T is one on most of it."""
    run, place = shown.run, shown.place
    sizes = dict(run.prompt.decoder.config.sizes) | {"B": run.prompt.ids.shape[0], "T": run.prompt.ids.shape[1]}
    rows = ""
    if place is not None:
        step = run.steps[place]
        sizes["T"] = step.shapes["k"][2]
        rows = few(step)
    stepper.shapes(slug, sizes, rows=rows)


def text(run: Run, place: int | None, batch: int) -> None:
    """The text with its tokens told apart: in the cache already, read in this step, chosen by it."""
    if place is None:
        ids, cached, following = run.prompt.ids[batch].tolist(), 0, []
        parts = [("coming", _("to be read"), ids)]
    else:
        step = run.steps[place]
        ids, cached = step.text[batch].tolist(), step.length_before if run.settings.cache else 0
        following = [] if step.token is None else [int(step.token[batch])]
        parts = [("cached", _("in the cache"), ids[:cached]), ("now", _("read in this step"), ids[cached:]),
                 ("next", _("chosen next"), following)]
    left_out = max(0, len(ids) - MOST_SHOWN)
    pieces = []
    for kind, _word, tokens in parts:
        shown = tokens[left_out:] if kind != "next" else tokens
        left_out_here = len(tokens) - len(shown)
        left_out -= left_out_here
        if left_out_here:
            pieces.append(f"<span>… {left_out_here} …</span>")
        pieces += [f'<b class="{kind}">{html.escape(run.prompt.label(token))}</b>' for token in shown]
    key = "".join(f'<span><b class="{kind}">&nbsp;</b> {html.escape(word)}</span>'
                  for kind, word, tokens in parts if tokens)
    st.html(f'<div class="text"><p dir="auto">{"".join(pieces)}</p><p class="key">{key}</p></div>')


def letters(shape: tuple[int, ...], axes: str, *, rows: str = "") -> str:
    """A shape with its axis letters, "[B,H,T,T] = 1×2×4×4"; where a step reads only some of the T tokens, `rows` is how
    many and stands in place of Tq, as in the strip: "[B,H,1,T] = 1×2×1×5"."""
    names = ",".join(rows if rows and axis == "Tq" else i18n.axis(axis) for axis in axes.split())
    return f"[{names}] = {'×'.join(map(str, shape))}"
