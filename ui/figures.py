"""Figures: arrays in, a Plotly figure out. Data first, everything else by keyword; nothing is drawn on the page here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core.experiments import ScaleRow

_HEIGHT = 300


def scale_curves(rows: Sequence[ScaleRow], *, words: Mapping[str, str], colours: Mapping[str, str]) -> go.Figure:
    """Three panels over the head width Dh on a logarithmic axis: the measured standard deviation of q·k on the line
    √Dh; the largest weight; the size of the softmax gradient, each without and with the scale.

    `words` and `colours` have the keys "measured", "predicted", "unscaled", "scaled"; `words` also the panel titles
    "std", "largest", "gradient" and the axis title "width".
    """
    figure = make_subplots(rows=1, cols=3, subplot_titles=[words["std"], words["largest"], words["gradient"]])
    widths = [row.head_width for row in rows]
    curves = [
        (1, "predicted", [row.predicted_std for row in rows], "lines"),
        (1, "measured", [row.measured_std for row in rows], "markers"),
        (2, "unscaled", [row.unscaled.largest for row in rows], "lines+markers"),
        (2, "scaled", [row.scaled.largest for row in rows], "lines+markers"),
        (3, "unscaled", [row.unscaled.gradient for row in rows], "lines+markers"),
        (3, "scaled", [row.scaled.gradient for row in rows], "lines+markers"),
    ]
    for column, name, values, mode in curves:
        figure.add_trace(
            go.Scatter(x=widths, y=values, mode=mode, name=words[name], legendgroup=name, showlegend=column < 3,
                       line={"color": colours[name], "dash": "dot" if name == "predicted" else "solid"},
                       marker={"color": colours[name], "symbol": "diamond" if name == "unscaled" else "circle"}),
            row=1, col=column)
    ticks = [width for width in widths if width in (1, 4, 16, 64, 256, 1024)]
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[str(tick) for tick in ticks], title_text=words["width"])
    figure.update_yaxes(type="log", row=1, col=1)
    figure.update_yaxes(rangemode="tozero", row=1, col=2)
    figure.update_yaxes(rangemode="tozero", row=1, col=3)
    figure.update_layout(height=_HEIGHT, margin={"l": 40, "r": 10, "t": 40, "b": 40},
                         legend={"orientation": "h", "y": -0.25}, dragmode=False)
    return figure
