"""The figure of the scale experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core.stages.scores.experiment import ScaleRow
from ui.shell.theme import FIGURE_HEIGHT

# Besides colour, so that the curves are told apart without it.
_DASH = {"predicted": "dot"}
_MODE = {"predicted": "lines", "measured": "markers"}
_SYMBOL = {"unscaled": "diamond"}


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
    figure.update_layout(height=FIGURE_HEIGHT, margin={"l": 40, "r": 10, "t": 40, "b": 40}, dragmode=False,
                         legend={"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0})
    return figure
