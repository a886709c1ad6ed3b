"""Figures: data in, a Plotly figure out; everything but the data is by keyword, and nothing is drawn here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from core.stages.embedding.rows import Alike, Waves

_HEIGHT = 320
_MARKER = 12


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
    figure.update_layout(height=_HEIGHT, margin={"l": 40, "r": 10, "t": 20, "b": 40}, dragmode=False,
                         legend={"orientation": "h", "yanchor": "bottom", "y": 1})
    return figure


def likeness(found: Alike, *, words: Mapping[str, str], colour: str) -> go.Figure:
    """How alike two tokens are, as cosines over the layers; `words` has the keys "layer" and "cosine"."""
    figure = go.Figure(go.Scatter(y=list(found.cosines), mode="lines+markers", line={"color": colour}))
    figure.update_xaxes(title_text=words["layer"])
    figure.update_yaxes(title_text=words["cosine"])
    figure.update_layout(height=_HEIGHT, margin={"l": 40, "r": 10, "t": 20, "b": 40}, dragmode=False)
    return figure
