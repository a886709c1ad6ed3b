"""Why this token: the candidates as bars, and the draw on the unit interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core.stages.generation.candidates import Candidates
from ui.shell.numbers import format_number

_HEIGHT = 160  # of what stands besides the bars
_ROW = 30  # pixels for each bar
_BAR = 2 / 5  # of a row
_BEYOND = 1 + 1 / 8  # room for the number behind a full bar
_UPPER = 4  # height of the first panel, the second one being 1
_GAP = 1 / 8  # between two panels
_STROKE = 3
_ROOM_FOR_LABEL = 1 / 12  # of the unit interval


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
    figure.update_layout(height=_ROW * len(places) + _HEIGHT, barmode="overlay", dragmode=False,
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
