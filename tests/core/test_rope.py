"""Rotary embedding: the published cases, both pairings, scaling, and the laws of a rotation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core import ops, rope
from core.errors import Indivisible, ShapeError, UnknownOption
from tests.core import reference

LLAMA_31 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192}


def at(position: int, *x: float, **how: object) -> list[float]:
    vector = torch.tensor([x], dtype=torch.float64)
    return rope.rotate(vector, torch.tensor([position]), **how)[0].tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize(("pairing", "position", "expected"), [
    ("half", 1, [-1.984111, 1.959901, 2.462378, 4.0198]),
    ("adjacent", 1, [-1.14264, 1.922076, 2.959851, 4.0298]),
    ("half", -1, [3.064715, 2.039899, .779436, 3.9798]),  # what a flipped sign gives
])
def test_the_two_pairings_at_position_one(pairing: str, position: int, expected: list[float]) -> None:
    """E1."""
    assert at(position, 1, 2, 3, 4, pairing=pairing) == pytest.approx(expected, abs=1e-6)


def test_angles_of_a_head_of_four() -> None:
    """W22: cosines and sines at position 1, read off unit vectors."""
    turned = at(1, 1, 1, 0, 0)
    assert turned == pytest.approx([.540302, .999950, .841471, .010000], abs=1e-6)


def test_the_documents_frequencies() -> None:
    """D1 §8: eight dimensions, base 10000."""
    assert rope.frequencies(8).tolist() == pytest.approx([1, .1, .01, .001], rel=1e-12)


def test_partial_rotation_takes_its_exponent_from_the_rotated_width() -> None:
    """E9: four of eight dimensions."""
    x = range(1, 9)
    assert rope.frequencies(4).tolist() == pytest.approx([1, .01])
    expected = [-1.984111, 1.959901, 2.462378, 4.0198, 5, 6, 7, 8]
    assert at(1, *x, rotary_dim=4) == pytest.approx(expected, abs=1e-6)
    whole = [-3.667053, 1.391008, 2.929851, 3.991998, 3.542983, 6.169692, 7.02965, 8.003996]
    assert at(1, *x) == pytest.approx(whole, abs=1e-6)
    of_the_whole_head = rope.frequencies(8)[:2].tolist()  # the fault: 8 in the exponent
    assert of_the_whole_head == pytest.approx([1, .1])


def test_scores_of_a_query_at_three() -> None:
    """E4 and E7: by distance 3, 2, 1, 0, and the harm of a query that stays at position 0."""
    q, k = torch.tensor([[1., 2, 3, 4]]).double(), torch.tensor([[4., 3, 2, 1]]).double()
    keys = rope.rotate(k.expand(4, 4), torch.arange(4))
    for position, expected in ((3, [-1.61558, -3.456429, 6.887815, 20]), (0, [20, 23.917231, 15.129493])):
        scores = (rope.rotate(q, torch.tensor([position])) @ keys.T)[0].tolist()
        assert scores[:len(expected)] == pytest.approx(expected, abs=1e-6)
    same = [float(rope.rotate(q, torch.tensor([i])) @ rope.rotate(k, torch.tensor([j])).T) for i, j in ((2, 0), (4, 2))]
    assert same == pytest.approx([-3.456429] * 2, abs=1e-6)
    mixed = float(rope.rotate(q, torch.tensor([4])) @ rope.rotate(k, torch.tensor([0])).T)
    assert mixed == pytest.approx(10.623696, abs=1e-6)


def test_half_order_from_adjacent_order() -> None:
    """E2: eight wide, where the permutation and its inverse differ."""
    order = rope.half_from_adjacent(8)
    assert order == [0, 2, 4, 6, 1, 3, 5, 7]
    assert np.argsort(order).tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    narrow = rope.half_from_adjacent(4)  # here both are the same, so that a test of it could not tell the direction
    assert narrow == np.argsort(narrow).tolist() == [0, 2, 1, 3]


@given(st.integers(0, 2**31), st.sampled_from([2, 4, 6, 10]), st.integers(0, 3), st.sampled_from([1, 2]))
def test_permuted_columns_turn_one_pairing_into_the_other(seed: int, width: int, start: int, heads: int) -> None:
    """GGUF rows in adjacent order, read as half order, give the same scores after the permutation within each head."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(2, 3, 5, generator=generator, dtype=torch.float64)
    wq, wk = (torch.randn(5, heads * width, generator=generator, dtype=torch.float64) for _ in range(2))
    positions, scores = torch.arange(start, start + 3), []
    for pairing in ("adjacent", "half"):
        matrices = [w.unflatten(1, (heads, width))[..., rope.half_from_adjacent(width)].flatten(1)
                    if pairing == "half" else w for w in (wq, wk)]
        q, k = (rope.rotate(ops.split_heads(x @ w, heads), positions, pairing=pairing)  # type: ignore[arg-type]
                for w in matrices)
        scores.append(ops.raw_scores(q, k))
    torch.testing.assert_close(scores[0], scores[1], atol=1e-12, rtol=1e-12)


@given(st.integers(0, 2**31), st.sampled_from(["half", "adjacent"]), st.integers(-40, 4000), st.integers(-40, 4000),
       st.integers(0, 2000), st.sampled_from([(4, None), (6, 4), (10, 10), (8, 2)]))
def test_a_rotation_keeps_length_and_scores_know_only_the_distance(
    seed: int, pairing: str, i: int, j: int, shift: int, widths: tuple[int, int | None],
) -> None:
    """Invariant 5."""
    width, rotary_dim = widths
    q, k = torch.randn(2, 1, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)

    def turn(x: torch.Tensor, position: int) -> torch.Tensor:
        return rope.rotate(x, torch.tensor([position]), pairing=pairing, rotary_dim=rotary_dim)  # type: ignore[arg-type]

    torch.testing.assert_close(turn(q, i).norm(), q.norm(), atol=1e-12, rtol=0)
    torch.testing.assert_close(turn(q, i) @ turn(k, j).T, turn(q, i + shift) @ turn(k, j + shift).T, atol=1e-9, rtol=0)
    torch.testing.assert_close(turn(turn(q, i), j), turn(q, i + j), atol=1e-9, rtol=0)
    assert torch.equal(turn(q, 0), q)


@pytest.mark.parametrize("pairing", ["half", "adjacent"])
@pytest.mark.parametrize("rotary_dim", [None, 4])
@pytest.mark.parametrize("scaling", [None, {"rope_type": "linear", "factor": 2.5}, LLAMA_31])
def test_every_entry_equals_a_complex_rotation(pairing: str, rotary_dim: int | None, scaling: dict | None) -> None:
    """Positions of their own for each batch entry, far apart; float32, where an angle in float32 would be off."""
    x = torch.randn(2, 3, 4, 6, generator=torch.Generator().manual_seed(0))
    positions = torch.tensor([[0, 1, 2, 3], [5000, 5001, 9000, 131071]])
    theta = reference.thetas(rotary_dim or 6, 500000.0, scaling)
    expected = reference.rotate_all(x.double().numpy(), positions.numpy(), theta, pairing)
    result = rope.rotate(x, positions, base=500000.0, rotary_dim=rotary_dim, pairing=pairing,  # type: ignore[arg-type]
                         scaling=scaling)
    assert result.dtype == torch.float32
    np.testing.assert_allclose(result.numpy(), expected, atol=1e-6)
    one = rope.rotate(x[1], positions[1], base=500000.0, rotary_dim=rotary_dim, pairing=pairing,  # type: ignore[arg-type]
                      scaling=scaling)
    assert torch.equal(one, result[1])


@pytest.mark.parametrize(("width", "factor", "kept", "ratios"), [
    (128, 8.0, 29, [.828168, .643743, .493507, .371122, .271425, .190211]),
    (64, 32.0, 15, [.605573, .303743, .103448])])
def test_llama_3_keeps_short_waves_and_stretches_long_ones(
    width: int, factor: float, kept: int, ratios: list[float],
) -> None:
    """E15: Llama 3.1 8B and 3.2 1B."""
    scaled = rope.frequencies(width, 500000.0, {**LLAMA_31, "factor": factor})
    ratio = (scaled / rope.frequencies(width, 500000.0)).tolist()
    assert ratio[:kept] == pytest.approx([1.0] * kept)
    assert ratio[kept:kept + len(ratios)] == pytest.approx(ratios, abs=1e-6)
    assert ratio[kept + len(ratios):] == pytest.approx([1 / factor] * (width // 2 - kept - len(ratios)))


def test_llama_3_blends_by_the_number_of_waves_in_the_old_context() -> None:
    """E15: a wavelength of 4096 fits twice, smooth = 1/3, ratio (1 − 1/3)/8 + 1/3 = 0.416667."""
    base = (4096 / (2 * math.pi)) ** 2  # the second of two pairs then has that wavelength
    ratio = rope.frequencies(4, base, LLAMA_31)[1] * 4096 / (2 * math.pi)
    assert float(ratio) == pytest.approx(.416667, abs=1e-6)


def test_linear_scaling_divides_positions() -> None:
    assert at(12, 1, 2, 3, 4, scaling={"rope_type": "linear", "factor": 4.0}) == pytest.approx(at(3, 1, 2, 3, 4))


def test_ntk_scaling_keeps_the_fastest_pair_and_stretches_the_slowest_by_the_factor() -> None:
    ratio = rope.frequencies(16, 10000.0, {"rope_type": "ntk", "factor": 4.0}) / rope.frequencies(16)
    assert float(ratio[0]) == pytest.approx(1)
    assert float(ratio[-1]) == pytest.approx(1 / 4)
    assert (ratio.diff() < 0).all()


@pytest.mark.parametrize(("call", "error"), [
    (lambda: rope.frequencies(5), Indivisible), (lambda: rope.frequencies(0), Indivisible),
    (lambda: rope.frequencies(4, scaling={"rope_type": "yarn", "factor": 2.0}), UnknownOption),
    (lambda: rope.frequencies(4, scaling={"rope_type": "linear"}), UnknownOption),
    (lambda: rope.frequencies(4, scaling={"rope_type": "llama3", "factor": 8.0}), UnknownOption),
    (lambda: rope.rotate(torch.ones(3, 4), torch.arange(2)), ShapeError),
    (lambda: rope.rotate(torch.ones(3, 4), torch.arange(3), rotary_dim=6), ShapeError),
    (lambda: rope.rotate(torch.ones(3, 4), torch.arange(3), pairing="halves"), UnknownOption),
])
def test_what_cannot_be_rotated_is_refused(call: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()  # type: ignore[operator]
