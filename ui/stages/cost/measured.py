"""This machine measured, once for the whole server and on request: its ceilings, then the live model's passes."""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

import streamlit as st

from core.config import ModelConfig
from core.errors import WorkbenchError
from core.live.model import FORWARDS
from core.machine import ledger, timing
from core.machine.datasheet import Device, measure_ceilings
from core.machine.ledger import Workload
from core.machine.timing import Timing
from ui import sources
from ui.furniture.page import Subject
from ui.shell import errors
from ui.shell.i18n import _, axis
from ui.shell.numbers import quantity
from ui.sources import Loader
from ui.stages.cost import tables

_LOOKS = 5  # in a second, whether the model is there


class Measured(NamedTuple):
    """What was found: the ceilings, and for each of `core.timing.CASES` the seconds of the live model, whose numbers
    are stored as `dtype`. Without a model `timings` is empty and `problem` says why."""

    ceilings: Device
    config: ModelConfig | None
    dtype: str
    timings: list[Timing]
    problem: WorkbenchError | None


class Measurement:
    """Measures in a thread of its own; a second request while it runs, or once it is done, changes nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._done = 0
        self.result: Measured | None = None

    @property
    def fraction(self) -> float | None:
        """How much is done while it is measured; None when nothing is."""
        with self._lock:
            return None if self._thread is None else self._done / (len(timing.CASES) + 2)

    def start(self, loader: Loader) -> None:
        """Begin, if that has not been done."""
        with self._lock:
            if self._thread is None and self.result is None:
                self._done = 0
                self._thread = threading.Thread(target=self._run, args=(loader,), name="measurement", daemon=True)
                self._thread.start()

    def _run(self, loader: Loader) -> None:
        found: Measured | None = None
        try:
            found = self._measure(loader)
        finally:
            with self._lock:
                self.result, self._thread = found, None

    def _measure(self, loader: Loader) -> Measured:
        with FORWARDS.take():
            ceilings = measure_ceilings()
        self._done += 1
        try:
            while (model := loader.model()) is None:
                time.sleep(1 / _LOOKS)
        except WorkbenchError as problem:
            return Measured(ceilings, None, "float32", [], problem)
        timings = []
        for batch, tokens in timing.CASES:
            self._done += 1
            timings.append(timing.time_passes(model.decoder, batch, tokens, model.turn))
        dtype = str(model.decoder.get_parameter("embedding").dtype).removeprefix("torch.")
        return Measured(ceilings, model.config, dtype, timings, None)


@st.cache_resource(show_spinner=False)
def measurement() -> Measurement:
    """The one measurement of this server."""
    return Measurement()


def section(shown: Subject) -> None:
    """Ceilings and passes of this machine: a button, progress, then predicted beside measured."""
    clock = measurement()
    if clock.fraction is not None:
        _progress()
        return
    if clock.result is None:
        st.markdown(_("How fast this machine copies and multiplies is measured once, on request, and kept for everyone "
                      "on this server; then the live model reads and writes a few tokens. That takes some seconds."))
        st.button(_("Measure this machine"), on_click=clock.start, args=(sources.loader(),), key="measure")
        return
    found = clock.result
    st.markdown(_("{device}: {flops} in {dtype}, {bandwidth} read and written.").format(
        device=found.ceilings.name, flops=quantity(found.ceilings.peak("float32"), "FLOP/s"), dtype="float32",
        bandwidth=quantity(found.ceilings.bandwidth, "B/s")))
    if found.problem is not None or found.config is None:
        st.info(errors.explain(found.problem) if found.problem else "")
        st.button(_("Measure this machine"), on_click=clock.start, args=(sources.loader(),), key="measure")
        return
    rows = [row for timed in found.timings for row in _rows(found, found.config, timed)]
    tables.rows_table(["", _("bound by"), _("least time, predicted"), _("measured"), _("measured ÷ predicted")], rows,
                     _("Predicted and measured, on this machine"))
    st.caption(_("The live model, all its weights in {dtype}. What is measured is longer than the bound: norms, "
                 "softmax and the calls themselves are not in it, small products do not reach the speed of large "
                 "ones, and other work on the machine counts too.").format(dtype=found.dtype))


def _rows(found: Measured, config: ModelConfig, timed: Timing) -> list[list[str]]:
    """Both passes of one case: the bound, the least time, the measured one, and how many times as long that is."""
    load = Workload(config, timed.batch, timed.tokens, found.dtype, found.dtype)
    rows = []
    for kind, name, seconds in zip(ledger.PASSES, (_("prefill"), _("decode step")), (timed.prefill, timed.decode),
                                   strict=True):
        least = ledger.estimate(load, kind, found.ceilings)
        rows.append([f"{name}, {axis('B')} = {timed.batch}, {axis('T')} = {timed.tokens}", tables.bounds()[least.bound],
                     quantity(least.seconds, "s"), quantity(seconds, "s"), f"×{seconds / least.seconds:.2f}"])
    return rows


@st.fragment(run_every="0.5s")
def _progress() -> None:
    fraction = measurement().fraction
    if fraction is None:
        st.rerun()
    st.progress(fraction or 0.0, text=_("Measuring: first the machine, then the live model in {count} cases.").format(
        count=len(timing.CASES)))
