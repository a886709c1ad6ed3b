"""The roofline of a device with the passes of a workload on it."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from core.cost import Roofline
from ui.shell.theme import FIGURE_HEIGHT

_MARKER = 12


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
        "batches": (list(bound.values()), [f"B={size}" for size in bound], "circle-open", _MARKER // 2),
        "decode": ([decode[batch]], [f"B={batch}"], "diamond", _MARKER),
        "prefill": ([prefill], [""], "circle", _MARKER),
    }
    for name, (places, texts, symbol, size) in points.items():
        figure.add_trace(go.Scatter(
            x=[found.intensity for found in places], customdata=texts, name=words[name], mode="markers",
            y=[min(peak, peak * found.intensity / ridge) for found in places],
            hovertemplate="%{customdata} %{x:.3s} FLOP/byte, %{y:.3s}FLOP/s",
            marker={"color": colours[name], "symbol": symbol, "size": size}))
    figure.update_xaxes(type="log", title_text=words["x"], dtick=1, tickformat="~s")
    figure.update_yaxes(type="log", title_text=words["y"], dtick=1, tickformat="~s")
    figure.update_layout(height=FIGURE_HEIGHT, margin={"l": 40, "r": 10, "t": 20, "b": 40}, dragmode=False,
                         legend={"orientation": "h", "yanchor": "bottom", "y": 1})
    return figure
