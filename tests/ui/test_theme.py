"""Role and axis colours: readable on Streamlit's backgrounds, and told apart by the colour-blind."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from ui.shell.numbers import format_significant
from ui.shell.theme import AXES, BACKGROUNDS, ROLES, role_css

Vector = npt.NDArray[np.float64]

TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
SIDE_BY_SIDE = ["query", "key", "value", "score", "weight", "parameter"]


def linear(colour: str) -> Vector:
    """Linear RGB of #rrggbb."""
    c = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb: Vector) -> Vector:
    """CIE L*a*b* (D65) of linear RGB."""
    t = TO_XYZ @ rgb / np.array([0.95047, 1, 1.08883])
    f = np.where(t > 216 / 24389, np.cbrt(t), (24389 / 27 * t + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one: str, other: str) -> float:
    """The WCAG contrast ratio."""
    a, b = (float(TO_XYZ[1] @ linear(c)) + 0.05 for c in (one, other))
    return max(a, b) / min(a, b)


@pytest.mark.parametrize("name", [*ROLES, *AXES])
def test_colour_is_readable_as_text_in_both_themes(name: str) -> None:
    pair = ROLES.get(name) or AXES[name]
    for colour, grounds in zip(pair, BACKGROUNDS, strict=True):
        assert min(contrast(colour, ground) for ground in grounds.split()) >= 4.5


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_roles_that_stand_side_by_side_are_told_apart(theme: int, vision: str) -> None:
    seen = {role: lab(np.clip(VISION[vision] @ linear(ROLES[role][theme]), 0, 1)) for role in SIDE_BY_SIDE}
    for one, other in combinations(SIDE_BY_SIDE, 2):
        assert np.linalg.norm(seen[one] - seen[other]) >= 17, (one, other)


def test_css_names_every_role_and_axis_in_both_themes() -> None:
    css = role_css(":root")
    for kind, table in (("role", ROLES), ("axis", AXES)):
        for name, pair in table.items():
            assert f"--{kind}-{name}: light-dark({pair.light}, {pair.dark});" in css


@pytest.mark.parametrize(("x", "text"), [(1.0, "1"), (0.1, "0.1"), (10**-3.75, "0.0001778"), (1.25e-5, "1.25e-5"),
                                         (2e-12, "2e-12"), (123456.0, "1.235e5")])
def test_digits_that_count(x: float, text: str) -> None:
    assert format_significant(x) == text
