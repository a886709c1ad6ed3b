"""Curves of a cache: its bytes, and the time of a step, over the length of the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from core.stages.kv_cache.decode_time import Timing
from core.stages.kv_cache.growth import Curve
from ui.shell.theme import FIGURE_HEIGHT

_GIB = 2**30
_MILLI = 1000
_DASH = {"mha": "dash", "mqa": "dashdot"}
_SYMBOL = {"uncached": "diamond"}


def growth(
    at: Sequence[int], curves: Sequence[Curve], *, limit: float | None, words: Mapping[str, str],
    colours: Mapping[str, str],
) -> go.Figure:
    """Bytes of a cache over the length of the text, one line for each kind of sharing; `limit` is drawn across.

    `words` and `colours` have the kinds of `core.stages.kv_cache.growth.curves`; `words` also "x", "y" and "limit".
    """
    figure = go.Figure()
    for curve in curves:
        figure.add_trace(go.Scatter(x=list(at), y=[count / _GIB for count in curve.bytes], mode="lines",
                                    name=words[curve.kind], line={"color": colours[curve.kind],
                                                                  "dash": _DASH.get(curve.kind, "solid")}))
    if limit is not None and limit > 0:
        figure.add_trace(go.Scatter(x=[at[0], at[-1]], y=[limit / _GIB] * 2, mode="lines", name=words["limit"],
                                    line={"color": colours["limit"], "dash": "dot"}))
    figure.update_xaxes(title_text=words["x"])
    figure.update_yaxes(title_text=words["y"], rangemode="tozero")
    figure.update_layout(height=FIGURE_HEIGHT, margin={"l": 40, "r": 10, "t": 20, "b": 40}, dragmode=False,
                         legend={"orientation": "h", "yanchor": "bottom", "y": 1})
    return figure


def decode_times(rows: Sequence[Timing], *, words: Mapping[str, str], colours: Mapping[str, str]) -> go.Figure:
    """Milliseconds of one step over the length of the text, with the cache and without, both axes logarithmic.

    `words` and `colours` have "cached" and "uncached", `words` also "x" and "y".
    """
    figure = go.Figure()
    for name in ("cached", "uncached"):
        figure.add_trace(go.Scatter(
            x=[row.length for row in rows], y=[_MILLI * getattr(row, name) for row in rows], mode="lines+markers",
            name=words[name], line={"color": colours[name]}, marker={"symbol": _SYMBOL.get(name, "circle")}))
    ticks = [row.length for row in rows]
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[str(tick) for tick in ticks], title_text=words["x"])
    figure.update_yaxes(type="log", title_text=words["y"], dtick=1)
    figure.update_layout(height=FIGURE_HEIGHT, margin={"l": 40, "r": 10, "t": 20, "b": 40}, dragmode=False,
                         legend={"orientation": "h", "yanchor": "bottom", "y": 1})
    return figure
