"""The one rule for printing a number, and amounts with their units.

`equation/numbers.js` prints numbers by the same rule; both are held to `tests/ui/number_cases.json`.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal, localcontext

import numpy as np

MINUS = "\u2212"
INFINITY = "\u221e"
ALMOST_ZERO = "\u22480"
BINARY_STEP, DECIMAL_STEP = 1024, 1000
_BINARY = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E", 21: "Z", 24: "Y"}


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
