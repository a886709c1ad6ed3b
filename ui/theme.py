"""Colours that mean the same on every page, and the one rule for printing a number.

A role says what a tensor is (a query, a key, a learned parameter); an axis letter says what a direction counts.
Each has one hue, in a light and a dark shade. `equation/numbers.js` prints numbers by the same rule; both are held to
`tests/ui/number_cases.json`.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import NamedTuple

import numpy as np


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


def role_css(selector: str = ":root") -> str:
    """A CSS rule with `--role-<role>` and `--axis-<letter>` for every colour.

    Each value is `light-dark(…)`, so it follows the `color-scheme` of the element that uses it; Streamlit sets
    that property with its theme.
    """
    lines = [f"  --role-{name}: light-dark({pair.light}, {pair.dark});" for name, pair in ROLES.items()]
    lines += [f"  --axis-{name}: light-dark({pair.light}, {pair.dark});" for name, pair in AXES.items()]
    return selector + " {\n" + "\n".join(lines) + "\n}\n"


MINUS = "\u2212"
INFINITY = "\u221e"
ALMOST_ZERO = "\u22480"


def format_number(x: float, decimals: int) -> str:
    """The digits shown for `x`, taken as a float32, with `decimals` decimals (DESIGN §4).

    Exact integers below 10⁴ carry no decimals. Everything else is rounded from the exact binary value, ties away
    from zero; a non-zero that rounds to 0 is "≈0"; from 10⁴ on it is 1.23e4. The minus sign is U+2212.
    """
    return format_double(_single(x), decimals)


def format_double(value: float, decimals: int) -> str:
    """As `format_number`, for a float64 that is no cell of a tensor and must not be rounded twice: 2π·1000 is 6283.185,
    the float32 next to it 6283.186."""
    if math.isnan(value):
        return "NaN"
    sign = MINUS if value < 0 else ""
    if math.isinf(value):
        return sign + INFINITY
    magnitude = abs(value)
    if magnitude >= 1e4:
        return sign + _scientific(magnitude)
    if magnitude.is_integer():
        return (sign + str(int(magnitude))) if magnitude else "0"
    rounded = _round(Decimal(magnitude), -decimals)
    return f"{sign}{rounded:f}" if rounded else ALMOST_ZERO


def format_difference(x: float) -> str:
    """A difference, 0 or more, with two digits, however small: "0", "6.0e-8", "∞"."""
    if not math.isfinite(x):
        return format_double(x, decimals=1)
    return "0" if x == 0 else f"{x:.1e}".replace("e-0", "e-").replace("e+0", "e")


def format_seconds(x: float) -> str:
    """A time with three digits, in the unit that suits it: "1.23 s", "45.6 ms", "0.789 ms"."""
    value, unit = (x, "s") if x >= 1 else (x * 1e3, "ms")
    return f"{value:.3g} {unit}"


def format_bytes(x: float) -> str:
    """A number of bytes: in full below 10⁴, else in steps of 1024 with three digits: "640 B", "23.4 MiB". The only form
    of an amount of bytes in the app; rates stay in powers of ten, as vendors give them."""
    if x < 1e4:
        return f"{x:.0f} B"
    for unit in _BINARY:
        x /= BINARY_STEP
        if x < 1000 or unit == _BINARY[-1]:
            break
    return f"{x:.3g} {unit}"


def format_significant(x: float) -> str:
    """A positive number with up to four digits that count, for one that decimals would make 0: "0.0001778", "1.2e-5".
    """
    return f"{x:.4g}".replace("e-0", "e-").replace("e+0", "e")


BINARY_STEP, DECIMAL_STEP = 1024, 1000
_BINARY = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E", 21: "Z", 24: "Y"}


def quantity(x: float, unit: str = "") -> str:
    """An amount, 0 or more, with three digits and a prefix that is a power of ten: "640", "13.5 TFLOP", "7.01 ms".
    Whole numbers below 1000 are written in full, bytes ("B") as `format_bytes` does. A ratio, which has no unit, takes
    no prefix below 1: "0.999"."""
    if unit == "B":
        return format_bytes(x)
    if x == 0 or (x < 1000 and float(x).is_integer()):
        return f"{x:.0f} {unit}".rstrip()
    rounded = Decimal(f"{Decimal(x):.2e}")
    power = min(max(rounded.adjusted() // 3 * 3, min(_PREFIXES) if unit else 0), max(_PREFIXES))
    digits = f"{rounded.scaleb(-power):.3g}" if rounded.scaleb(-power) < 1000 else f"{rounded.scaleb(-power):.0f}"
    return f"{digits} {_PREFIXES[power]}{unit}".rstrip()


def percent(share: float) -> str:
    """A part of a whole: "62 %", "0.3 %", "≈0 %"."""
    if 0 < share < 0.0005:
        return f"{ALMOST_ZERO} %"
    return f"{share * 100:.0f} %" if share >= 0.0995 or share == 0 else f"{share * 100:.1f} %"


def full_value(x: float) -> str:
    """The shortest decimal that reads back to the float32 `x`, with an ASCII hyphen so that it can be parsed.

    Infinities are "∞" and "−∞". Outside 10⁻⁶ ≤ |x| < 10²¹ the form is 1.5e-7.
    """
    value = _single(x)
    if not math.isfinite(value):
        return format_number(value, 0)
    if value == 0:
        return "0"
    exact = Decimal(abs(value))
    for digits in range(1, 10):
        short = _round(exact, exact.adjusted() + 1 - digits)
        if _single(float(short)) == abs(value):
            break
    return ("-" if value < 0 else "") + _plain(short)


def _single(x: float) -> float:
    """`x` as the nearest float32, ∞ where it is too large for one."""
    with np.errstate(over="ignore"):
        return float(np.float32(x))


def _round(exact: Decimal, exponent: int) -> Decimal:
    """`exact` rounded to a multiple of 10^exponent, ties away from zero."""
    with localcontext() as context:
        context.prec = 200
        return exact.quantize(Decimal(1).scaleb(exponent), rounding=ROUND_HALF_UP)


def _scientific(magnitude: float) -> str:
    exact = Decimal(magnitude)
    rounded = _round(exact, exact.adjusted() - 2)
    power = rounded.adjusted()
    return f"{rounded.scaleb(-power):.2f}e{power}"


def _plain(value: Decimal) -> str:
    """A positive decimal in the form that JavaScript gives a number, without the + in the exponent."""
    value = value.normalize()
    power = value.adjusted()
    if -7 < power < 21:
        return f"{value:f}"
    return f"{value.scaleb(-power).normalize():f}e{power}"


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
