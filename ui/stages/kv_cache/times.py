"""The time of one decode step on this machine, over the length of the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import streamlit as st

from core.live.model import FORWARDS
from core.stages.kv_cache import decode_time
from core.stages.kv_cache.decode_time import Timing
from ui.bench.session import session
from ui.furniture.generation_run import TICK, Run, Running
from ui.shell import numbers, theme
from ui.shell.i18n import _
from ui.shell.numbers import format_bytes
from ui.stages.kv_cache import figure

LONGEST_LIVE = 512  # tokens up to which the live model is measured: above, a step without the cache takes many seconds


class Measuring:
    """Times of one step at growing lengths, measured one after the other as long as it is `running`."""

    def __init__(self, run: Run) -> None:
        live = run.prompt.source == "live"
        self.key, self.live = run.prompt.source, live
        decoder = run.prompt.decoder if live else decode_time.bench_decoder()
        self.config = decoder.config
        self.at = decode_time.lengths(decoder.config, LONGEST_LIVE if live else decoder.config.max_positions)
        self.rows: list[Timing] = []
        self.running = True
        turn = run.prompt.turn if live else FORWARDS.take  # this decoder too is large enough to keep others waiting
        self._coming: Iterator[Timing] = decode_time.decode_times(decoder, self.at, turn)

    def advance(self) -> None:
        """Measure at the next length."""
        found = next(self._coming, None)
        if found is None:
            self.running = False
        else:
            self.rows.append(found)
            self.running = self.running and len(self.rows) < len(self.at)


@dataclass
class _Measured:
    last: Measuring | None = None


def times(shown: Running) -> None:
    """The section on the time of one step; it comes again by itself while measuring goes on."""
    found = session().part(_Measured).last
    st.fragment(_times, run_every=TICK if found is not None and found.running else None)(shown.run)


def _times(run: Run) -> None:
    held = session().part(_Measured)
    found = held.last
    if found is not None and found.key != ("live" if run.prompt.source == "live" else found.key):
        found = None
    st.markdown(_("How long does a step that reads one token take when the text before it gets longer?"))
    with st.container(horizontal=True, vertical_alignment="center"):
        running = found is not None and found.running
        # Two buttons: a press that comes twice, as beside a tick it may, must not take itself back.
        if found is not None and running:
            if st.button(_("Stop"), key="measure-stop"):
                found.running = False
                st.rerun()
        elif st.button(_("Measure on this machine"), key="measure-go"):
            held.last = Measuring(run)
            st.rerun()
        if found is not None and running:
            st.progress(len(found.rows) / len(found.at))
    if found is not None and found.rows:
        _measured(found)
    if found is not None and found.running:
        found.advance()
        if not found.running:
            st.rerun()


def _measured(found: Measuring) -> None:
    words = {"cached": _("with the cache"), "uncached": _("reading the whole text again"),
             "x": _("tokens of the text"), "y": _("milliseconds")}
    st.plotly_chart(
        figure.decode_times(found.rows, words=words, colours=theme.time_colours()), width="stretch",
        config={"displayModeBar": False}, key="decode-times",
        alt=_("The time of one step over the length of the text: without the cache it grows steeply, with it slowly."))
    first, last = found.rows[0], found.rows[-1]
    if len(found.rows) > 1:
        st.markdown(_("With {many} tokens in place of {few} a step without the cache takes {uncached} times as long, a "
                      "step with the cache {cached} times. The step with the cache then reads {bytes} of K and V, and "
                      "that is what still grows: the cache saves computing old rows again, not reading them.").format(
                          few=first.length, many=last.length,
                          uncached=numbers.format_number(last.uncached / first.uncached, decimals=1),
                          cached=numbers.format_number(last.cached / first.cached, decimals=1),
                          bytes=format_bytes(last.cached_bytes)))
    if not found.live:
        config = found.config
        st.caption(_("Measured on a decoder with random weights, large enough for a clock: {layers} layers, width "
                     "{width}, {heads} heads. Other work on this machine shows in the times.").format(
                         layers=config.layers, width=config.width, heads=config.heads))
