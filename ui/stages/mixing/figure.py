"""The picture of a blend: where it lies among the values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from core.stages.mixing.blend import Plane
from ui.shell.theme import FIGURE_HEIGHT

_MARKER = 12


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
    figure.update_layout(height=FIGURE_HEIGHT, margin={"l": 40, "r": 10, "t": 20, "b": 40}, dragmode=False,
                         legend={"orientation": "h", "yanchor": "bottom", "y": 1})
    return figure
