"""The figure of the RoPE page: scores by distance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from core.stages.rope.meetings import Curve

_HEIGHT = 320
_MARKER = 12


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
                                    marker={"color": colour, "size": _MARKER}))
    figure.update_xaxes(title_text=words["x"])
    figure.update_yaxes(title_text=words["y"])
    figure.update_layout(height=_HEIGHT, margin={"l": 40, "r": 10, "t": 20, "b": 40}, dragmode=False,
                         legend={"orientation": "h", "yanchor": "bottom", "y": 1})
    return figure
