"""Small pictures of matrices side by side, one of which is chosen to be looked at closely."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from ui.shell.theme import role_css

_HERE = Path(__file__).parent
_FULL = 255  # an opacity in one byte
_COMPONENT = st.components.v2.component(
    "thumbnails", html='<div class="thumbnails"></div>',
    css=role_css(":host, .thumbnails") + (_HERE / "thumbnails.css").read_text("utf-8"),
    js=(_HERE / "thumbnails.js").read_text("utf-8"))


def thumbnails(
    maps: Mapping[str, npt.NDArray[np.float32]], *, label: str, role: str, key: str, chosen: int = 0,
    on_change: Callable[[], None] | None = None,
) -> int:
    """Draw matrices of numbers from 0 to 1 by label, and return the place of the chosen one, from 0.

    A thumbnail shows shades; the numbers belong into an equation beside it. `label` names the row of pictures.
    """
    data: dict[str, Any] = {"label": label, "role": role, "chosen": chosen, "maps": [
        {"label": name, "rows": values.shape[0], "cols": values.shape[1], "shades": _shades(values)}
        for name, values in maps.items()]}
    result = _COMPONENT(key=key, data=data, on_chosen_change=on_change or _nothing)
    return read_chosen(result.get("chosen"), len(maps), chosen)


def read_chosen(value: object, count: int, default: int) -> int:
    """The place that a browser says was chosen, if it is one of `count`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in range(count):
        return min(default, count - 1)
    return int(value)


def _shades(values: npt.NDArray[np.float32]) -> str:
    opacity = np.rint(np.clip(values, 0.0, 1.0) * _FULL).astype(np.uint8)
    return base64.b64encode(opacity.tobytes()).decode("ascii")


def _nothing() -> None:
    """A state without a callback would not be reported."""
