"""Figures: data in, a Plotly figure out; everything but the data is by keyword, and nothing is drawn here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core.cost import Roofline
from core.stages.embedding.rows import Alike, Waves
from core.stages.generation.candidates import Candidates
from core.stages.kv_cache.decode_time import Timing
from core.stages.kv_cache.growth import Curve as Growth
from core.stages.rope.meetings import Curve
from ui.shell.numbers import format_number

HEIGHT = 320  # of a figure, in pixels, unless its bars need more
MARKER = 12
_ROW = 30  # pixels for each bar
_BAR = 2 / 5  # of a row
_BEYOND = 1 + 1 / 8  # room for the number behind a full bar
_UPPER = 4  # height of the first panel, the second one being 1
_GAP = 1 / 8  # between two panels
_STROKE = 3
_GIB = 2**30
_MILLI = 1000
_ROOM_FOR_LABEL = 1 / 12  # of the unit interval
# Besides colour, so that the curves are told apart without it.
_DASH = {"mha": "dash", "mqa": "dashdot"}
_SYMBOL = {"uncached": "diamond"}


def waves(found: Waves, tokens: int, *, words: Mapping[str, str], colours: Sequence[str]) -> go.Figure:
    """Columns of the sinusoidal table over the positions, the first `tokens` of them marked.

    `words` has the keys "column" (with a placeholder), "position" and "value".
    """
    figure = go.Figure()
    marks = ["circle" if place < tokens else "line-ns" for place in range(len(found.values))]
    for column, values, colour in zip(found.columns, found.values.T.tolist(), colours, strict=False):
        figure.add_trace(go.Scatter(
            y=values, mode="lines+markers", name=words["column"].format(column=column + 1),
            line={"color": colour}, marker={"symbol": marks, "color": colour}))
    figure.update_xaxes(title_text=words["position"])
    figure.update_yaxes(title_text=words["value"])
    figure.update_layout(height=HEIGHT, margin={"l": 40, "r": 10, "t": 20, "b": 40}, dragmode=False,
                         legend={"orientation": "h", "yanchor": "bottom", "y": 1})
    return figure


def likeness(found: Alike, *, words: Mapping[str, str], colour: str) -> go.Figure:
    """How alike two tokens are, as cosines over the layers; `words` has the keys "layer" and "cosine"."""
    figure = go.Figure(go.Scatter(y=list(found.cosines), mode="lines+markers", line={"color": colour}))
    figure.update_xaxes(title_text=words["layer"])
    figure.update_yaxes(title_text=words["cosine"])
    figure.update_layout(height=HEIGHT, margin={"l": 40, "r": 10, "t": 20, "b": 40}, dragmode=False)
    return figure


def distance_curves(
    curves: Sequence[Curve], marks: Sequence[tuple[int, float]], *, names: Sequence[str], words: Mapping[str, str],
    colours: Sequence[str],
) -> go.Figure:
    """The score of a query with each key over their distance; `marks` are (distance, score) of the meetings on screen,
    `names` and `colours` one for each curve, `words` the axis titles "x" and "y"."""
    figure = go.Figure()
    for curve, name, colour, dash in zip(curves, names, colours, ("solid", "dash"), strict=False):
        figure.add_trace(go.Scatter(x=curve.distances, y=curve.scores, mode="lines", name=name,
                                    line={"color": colour, "dash": dash}))
    for (distance, score), colour in zip(marks, colours, strict=False):
        figure.add_trace(go.Scatter(x=[distance], y=[score], mode="markers", showlegend=False,
                                    marker={"color": colour, "size": MARKER}))
    figure.update_xaxes(title_text=words["x"])
    figure.update_yaxes(title_text=words["y"])
    figure.update_layout(height=HEIGHT, margin={"l": 40, "r": 10, "t": 20, "b": 40}, dragmode=False,
                         legend={"orientation": "h", "yanchor": "bottom", "y": 1})
    return figure


def roofline(
    ridge: float, peak: float, decode: Mapping[int, Roofline], batch: int, *, prefill: Roofline,
    words: Mapping[str, str], colours: Mapping[str, str],
) -> go.Figure:
    """Attainable FLOP/s over FLOP per byte, both logarithmic: the roof of a device that does `peak` FLOP/s from `ridge`
    FLOP per byte on; the decode step of each batch size, that of `batch` large; the prefill.

    `words` and `colours` have the keys "roof", "batches", "decode" and "prefill", `words` also "x" and "y".
    """
    bound = {size: found for size, found in decode.items() if size != batch}
    every = [*decode.values(), prefill]
    low, high = min(found.intensity for found in every) / 2, max(ridge, *(found.intensity for found in every)) * 2
    low = min(low, ridge / 2)
    figure = go.Figure(go.Scatter(
        x=[low, ridge, high], y=[peak * low / ridge, peak, peak], mode="lines", name=words["roof"],
        line={"color": colours["roof"], "width": 2}, hoverinfo="skip"))
    points = {
        "batches": (list(bound.values()), [f"B={size}" for size in bound], "circle-open", MARKER // 2),
        "decode": ([decode[batch]], [f"B={batch}"], "diamond", MARKER),
        "prefill": ([prefill], [""], "circle", MARKER),
    }
    for name, (places, texts, symbol, size) in points.items():
        figure.add_trace(go.Scatter(
            x=[found.intensity for found in places], customdata=texts, name=words[name], mode="markers",
            y=[min(peak, peak * found.intensity / ridge) for found in places],
            hovertemplate="%{customdata} %{x:.3s} FLOP/byte, %{y:.3s}FLOP/s",
            marker={"color": colours[name], "symbol": symbol, "size": size}))
    figure.update_xaxes(type="log", title_text=words["x"], dtick=1, tickformat="~s")
    figure.update_yaxes(type="log", title_text=words["y"], dtick=1, tickformat="~s")
    figure.update_layout(height=HEIGHT, margin={"l": 40, "r": 10, "t": 20, "b": 40}, dragmode=False,
                         legend={"orientation": "h", "yanchor": "bottom", "y": 1})
    return figure


def next_token(
    found: Candidates, u: float | None, *, labels: Sequence[str], words: Mapping[str, str],
    colours: Mapping[str, str], decimals: int,
) -> go.Figure:
    """The candidates as bars, as the model gave them and after the settings, all other tokens together as the last
    bar; below, the unit interval, on which each candidate has its part and `u` is marked (None: no draw, no interval).

    `labels` name the candidates in order; `words` has "plain", "probability", "others", "interval" and "draw",
    `colours` "plain", "probability", "others", "draw".
    """
    drawn = u is not None
    figure = make_subplots(rows=1 + drawn, cols=1, row_heights=[_UPPER, 1] if drawn else None,
                           vertical_spacing=_GAP)
    places = list(range(len(found.top) + 1))
    bars = {"plain": [*(one.plain for one in found.top), found.others_plain],
            "probability": [*(one.probability for one in found.top), found.others_probability]}
    for name, values in bars.items():
        figure.add_trace(
            go.Bar(x=values, y=places, orientation="h", name=words[name], marker_color=colours[name], width=_BAR,
                   offset=-_BAR if name == "plain" else 0, text=[format_number(value, decimals) for value in values],
                   textposition="outside", cliponaxis=False), row=1, col=1)
    figure.update_yaxes(tickvals=places, ticktext=[*labels, words["others"]], autorange="reversed", row=1, col=1)
    if u is not None:
        _interval(figure, found, u, labels, words, colours)
    figure.update_xaxes(range=[0, _BEYOND])
    figure.update_layout(height=_ROW * len(places) + HEIGHT // 2, barmode="overlay", dragmode=False,
                         margin={"l": 40, "r": 10, "t": 10, "b": 40},
                         legend={"orientation": "h", "yanchor": "bottom", "y": 1})
    return figure


def _interval(
    figure: go.Figure, found: Candidates, u: float, labels: Sequence[str], words: Mapping[str, str],
    colours: Mapping[str, str],
) -> None:
    """The parts of the candidates on the unit interval, in the second panel."""
    line = {"width": 1, "color": colours["others"]}
    figure.add_trace(go.Bar(x=[1], y=[0], orientation="h", marker={"color": "rgba(0,0,0,0)", "line": line},
                            showlegend=False, hoverinfo="skip"), row=2, col=1)
    for label, one in zip(labels, found.top, strict=True):
        wide = one.end - one.start
        figure.add_trace(go.Bar(
            x=[wide], base=[one.start], y=[0], orientation="h", name=label, showlegend=False, textposition="inside",
            marker={"color": colours["probability"], "line": line}, text=[label if wide > _ROOM_FOR_LABEL else ""]),
            row=2, col=1)
    figure.add_trace(go.Scatter(x=[u], y=[0], mode="markers", name=words["draw"], marker={
        "color": colours["draw"], "symbol": "line-ns-open", "size": _ROW, "line": {"width": _STROKE}}), row=2, col=1)
    figure.update_yaxes(visible=False, row=2, col=1)
    figure.update_xaxes(title_text=words["interval"], row=2, col=1)


def growth(
    at: Sequence[int], curves: Sequence[Growth], *, limit: float | None, words: Mapping[str, str],
    colours: Mapping[str, str],
) -> go.Figure:
    """Bytes of a cache over the length of the text, one line for each kind of sharing; `limit` is drawn across.

    `words` and `colours` have the kinds of `core.growth.curves`; `words` also "x", "y" and "limit".
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
    figure.update_layout(height=HEIGHT, margin={"l": 40, "r": 10, "t": 20, "b": 40}, dragmode=False,
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
    figure.update_layout(height=HEIGHT, margin={"l": 40, "r": 10, "t": 20, "b": 40}, dragmode=False,
                         legend={"orientation": "h", "yanchor": "bottom", "y": 1})
    return figure
