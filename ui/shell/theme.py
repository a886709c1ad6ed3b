"""Colours that mean the same on every page.

A role says what a tensor is (a query, a key, a learned parameter); an axis letter says what a direction counts.
Each has one hue, in a light and a dark shade.
"""

from __future__ import annotations

from typing import NamedTuple


class Pair(NamedTuple):
    """One colour in its light-theme and dark-theme shade, as #rrggbb."""

    light: str
    dark: str


ROLES: dict[str, Pair] = {
    "parameter": Pair("#2b2f3f", "#ceced7"),
    "query": Pair("#2568d3", "#9abcff"),
    "key": Pair("#822200", "#ec945b"),
    "value": Pair("#007b6e", "#2db695"),
    "score": Pair("#86129f", "#a08dff"),
    "weight": Pair("#876901", "#e3c040"),
    "residual": Pair("#9c2c5c", "#f08fb5"),
    "cache": Pair("#0b6e8a", "#5cc4e0"),
    "token": Pair("#4a5568", "#b4bdca"),
    "position": Pair("#5b4aa8", "#b6a8f5"),
    "mask": Pair("#5a6270", "#a9b1bd"),
    "norm": Pair("#2f6673", "#8cc7d3"),
    "hidden": Pair("#4f6a10", "#a9c95a"),
    "logit": Pair("#a8400a", "#f6a06a"),
}

AXES: dict[str, Pair] = {
    "B": Pair("#5a6270", "#a9b1bd"),
    "T": Pair("#00727c", "#4cc3cd"),
    "D": Pair("#a3188f", "#e58ad8"),
    "H": Pair("#8a5a00", "#dfb04f"),
    "Hkv": Pair("#82501f", "#d6a277"),
    "Dh": Pair("#c02455", "#f58ba8"),
    "H·Dh": Pair("#8a5a00", "#dfb04f"),
    "Hkv·Dh": Pair("#82501f", "#d6a277"),
    "T·H": Pair("#00727c", "#4cc3cd"),
    "H·T": Pair("#8a5a00", "#dfb04f"),
    "Hkv·T": Pair("#82501f", "#d6a277"),
    "QKV": Pair("#8a5a00", "#dfb04f"),
    "F": Pair("#4f6a10", "#a9c95a"),
    "V": Pair("#5b4aa8", "#b6a8f5"),
    "1": Pair("#5a6270", "#a9b1bd"),
    "L": Pair("#2b5c9e", "#8fb8f0"),
}

# What text in these colours stands on: Streamlit's page and sidebar, in the light and in the dark theme.
BACKGROUNDS = Pair("#ffffff #f0f2f6", "#0e1117 #262730")

FIGURE_HEIGHT = 320  # pixels, of a chart that has no rows to grow by


def role_css(selector: str = ":root") -> str:
    """A CSS rule with `--role-<role>` and `--axis-<letter>` for every colour.

    Each value is `light-dark(…)`, so it follows the `color-scheme` of the element that uses it; Streamlit sets
    that property with its theme.
    """
    lines = [f"  --role-{name}: light-dark({pair.light}, {pair.dark});" for name, pair in ROLES.items()]
    lines += [f"  --axis-{name}: light-dark({pair.light}, {pair.dark});" for name, pair in AXES.items()]
    return selector + " {\n" + "\n".join(lines) + "\n}\n"


def curve_colours() -> dict[str, str]:
    """Colours of curves, readable on both themes and told apart by the colour-blind (blue against orange, and grey)."""
    return {"measured": "#3b82c4", "scaled": "#3b82c4", "unscaled": "#c9702b", "predicted": "#808890"}


def blend_colours() -> dict[str, str]:
    """Colours of the picture of a blend; the symbols tell them apart as well."""
    return {"values": "#808890", "outputs": "#3b82c4", "row": "#3b82c4", "chosen": "#c9702b"}


def candidate_colours() -> dict[str, str]:
    """Colours of the next token's candidates and of the draw."""
    return {"plain": "#a7b3bf", "probability": "#3b82c4", "others": "#a7b3bf", "draw": "#c9702b"}


def growth_colours() -> dict[str, str]:
    """Colours of the curves of a cache; dashes tell them apart as well."""
    return {"mha": "#c9702b", "own": "#3b82c4", "mqa": "#3a9a7c", "window": "#9a6fc0", "limit": "#808890"}


def time_colours() -> dict[str, str]:
    """Colours of the times with and without the cache; the symbols tell them apart as well."""
    return {"cached": "#3b82c4", "uncached": "#c9702b"}


def wave_colours() -> list[str]:
    """Colours of up to four curves that are shown together, told apart by the colour-blind."""
    return ["#3b82c4", "#c9702b", "#808890", "#2c9c7a"]


def roofline_colours() -> dict[str, str]:
    """Colours of the roofline; the symbols tell the passes apart as well."""
    return {"roof": "#808890", "batches": "#c9702b", "decode": "#c9702b", "prefill": "#3b82c4"}
