"""Figures: data in, a Plotly figure out; everything but the data is by keyword, and nothing is drawn here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core.stages.mixing.blend import Plane
from core.stages.rope.meetings import Curve
from core.stages.scores.experiment import ScaleRow

_HEIGHT = 320
_MARKER = 12
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
_DASH = {"predicted": "dot", "mha": "dash", "mqa": "dashdot"}
_MODE = {"predicted": "lines", "measured": "markers"}
_SYMBOL = {"unscaled": "diamond", "uncached": "diamond"}


def scale_curves(rows: Sequence[ScaleRow], *, words: Mapping[str, str], colours: Mapping[str, str]) -> go.Figure:
    """Four panels over the head width Dh on a logarithmic axis: the measured standard deviation of q·k on the line
    √Dh; the entropy, the largest weight and the size of the softmax gradient, each without and with the scale.

    `words` and `colours` have the keys "measured", "predicted", "unscaled", "scaled"; `words` also the panel titles
    "std", "entropy", "largest", "gradient" and the axis title "width".
    """
    widths = [row.head_width for row in rows]
    panels = {
        "std": {"predicted": [row.predicted_std for row in rows], "measured": [row.measured_std for row in rows]},
        "entropy": {
            "unscaled": [row.unscaled.entropy for row in rows], "scaled": [row.scaled.entropy for row in rows]},
        "largest": {"unscaled": [row.unscaled.largest for row in rows], "scaled": [row.scaled.largest for row in rows]},
        "gradient": {
            "unscaled": [row.unscaled.gradient for row in rows], "scaled": [row.scaled.gradient for row in rows]},
    }
    figure = make_subplots(rows=1, cols=len(panels), subplot_titles=[words[panel] for panel in panels])
    for column, (panel, curves) in enumerate(panels.items(), start=1):
        for name, values in curves.items():
            figure.add_trace(
                go.Scatter(x=widths, y=values, mode=_MODE.get(name, "lines+markers"),
                           name=words[name], legendgroup=name, showlegend=panel in ("std", "entropy"),
                           line={"color": colours[name], "dash": _DASH.get(name, "solid")},
                           marker={"color": colours[name], "symbol": _SYMBOL.get(name, "circle")}),
                row=1, col=column)
        figure.update_yaxes(rangemode="tozero", row=1, col=column)
    figure.update_yaxes(type="log", dtick=1, row=1, col=1)
    ticks = widths[::2]
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[str(tick) for tick in ticks], title_text=words["width"])
    figure.update_layout(height=_HEIGHT, margin={"l": 40, "r": 10, "t": 40, "b": 40}, dragmode=False,
                         legend={"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0})
    return figure


def blend_plane(
    plane: Plane, chosen: Sequence[float], *, row: int, labels: Sequence[str], words: Mapping[str, str],
    colours: Mapping[str, str],
) -> go.Figure:
    """The values of one head in the plane of their first two features with their convex hull, the outputs, the output
    of `row`, and the blend that was `chosen` (x, y).

    `labels` name the values (empty: none are written); `words` and `colours` have the keys "values", "outputs", "row",
    "chosen", and `words` also "x" and "y".
    """
    corners = [*plane.corners, *plane.corners[:1]]
    figure = go.Figure()
    figure.add_trace(go.Scatter(
        x=[float(plane.values[key, 0]) for key in corners], y=[float(plane.values[key, 1]) for key in corners],
        mode="lines", fill="toself", hoverinfo="skip", showlegend=False, opacity=0.5,
        line={"color": colours["values"], "width": 1}))
    points = {
        "values": (plane.values.tolist(), "square", list(labels)),
        "outputs": (plane.outputs.tolist(), "circle-open", []),
        "row": ([plane.outputs[row].tolist()], "circle", []),
        "chosen": ([list(chosen)], "x", []),
    }
    for name, (places, symbol, texts) in points.items():
        figure.add_trace(go.Scatter(
            x=[place[0] for place in places], y=[place[1] for place in places], name=words[name],
            mode="markers+text" if texts else "markers", text=texts or None, textposition="top center",
            cliponaxis=False,
            marker={"color": colours[name], "symbol": symbol, "size": _MARKER}))
    figure.update_xaxes(title_text=words["x"])
    figure.update_yaxes(title_text=words["y"], scaleanchor="x")
    figure.update_layout(height=_HEIGHT, margin={"l": 40, "r": 10, "t": 20, "b": 40}, dragmode=False,
                         legend={"orientation": "h", "yanchor": "bottom", "y": 1})
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
                                    marker={"color": colour, "size": _MARKER}))
    figure.update_xaxes(title_text=words["x"])
    figure.update_yaxes(title_text=words["y"])
    figure.update_layout(height=_HEIGHT, margin={"l": 40, "r": 10, "t": 20, "b": 40}, dragmode=False,
                         legend={"orientation": "h", "yanchor": "bottom", "y": 1})
    return figure
