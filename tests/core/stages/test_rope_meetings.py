"""A query meets a key: equal distances, other content, the curve; the layer under other settings of the rotation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from core import rope, worked
from core.stages.rope import meetings, rotation, scaling
from core.stages.rope.rotation import Rope
from core.toy import ToySizes, toy
from tests.core import reference

TOY = toy(ToySizes(batch=2, tokens=5, width=24, heads=6, kv_heads=2, ffn_width=4, vocab=7, layers=2), 1)


def test_the_documents_meeting_and_another_content() -> None:
    """D1 §8.4: q at 3 · k at 8 against q at 13 · k at 18."""
    found = meetings.meetings(worked.rope_pairs(), 0, 0, 0, 0, 1, rotation.ELSEWHERE)
    assert (found.here.score.positions, found.there.score.positions) == ((3, 8), (13, 18))
    assert found.apart < 1e-12
    assert found.here.score.total == pytest.approx(float(worked.rope_pairs()["blocks.0.scores"][0, 0, 0, 1]), abs=1e-5)
    assert found.other is not None
    assert (found.other.key, found.other.score.positions) == (0, (3, 8))
    assert abs(found.other.score.total - found.here.score.total) > 1


@pytest.mark.parametrize("head", range(6))
def test_a_meeting_of_a_shared_head_is_the_score_of_the_trace(head: int) -> None:
    for layer in range(2):
        found = meetings.meetings(TOY, layer, 1, head, 4, 2, 7)
        score = float(TOY[f"blocks.{layer}.scores"][1, head, 4, 2])
        assert found.here.score.total == pytest.approx(score, abs=1e-5)
        (curve, _other) = meetings.curves(TOY, layer, 1, head, found)
        assert curve.scores[curve.distances.index(2 - 4)] == pytest.approx(score, abs=1e-5)
        assert len(curve.distances) == len(curve.scores) == 2 * meetings.REACH + 1


def test_keys_that_are_all_alike_leave_no_other_content() -> None:
    trace = worked.rope_pairs()
    same = {(0, 0, row, d): 1.0 for row in range(4) for d in range(8)}
    found = meetings.meetings(trace.edited({"blocks.0.k": same}), 0, 0, 0, 0, 1, 1)
    assert found.other is None
    assert len(meetings.curves(trace, 0, 0, 0, found)) == 1


@pytest.mark.parametrize("pairing", ["adjacent", "half"])
def test_the_permutation_in_numbers(pairing: str) -> None:
    trace = worked.rope_pairs(pairing)  # type: ignore[arg-type]
    found = meetings.pairings(trace, 0, 0, 0)
    q = trace["blocks.0.q"][0, 0]
    assert torch.equal(found.after, q[:, list(found.order)])
    assert torch.equal(found.before @ found.matrix, found.after)
    np.testing.assert_array_equal(found.matrix @ found.matrix.mT, np.eye(8))
    assert found.converted < 1e-5
    assert found.mixed > 0.1


def test_moving_everything_on_changes_no_score() -> None:
    for moved in (0, 1, 10, rotation.FARTHEST):
        assert meetings.drift(worked.rope_pairs(), 0, moved) < 1e-4
        assert meetings.drift(TOY, 1, moved) < 1e-4


OTHERS = {
    "moved": (Rope(8, pairing="adjacent"), 7), "base": (Rope(8, 100.0, "adjacent"), 0), "halves": (Rope(8), 2),
    "partial": (Rope(4, pairing="adjacent"), 0),
    "scaled": (Rope(8, pairing="adjacent", scaling=scaling.scaling("linear", 4.0)), 0),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_the_layer_under_other_settings(kind: str) -> None:
    how, moved = OTHERS[kind]
    trace = worked.rope_pairs()
    found = rotation.under(trace, 0, how, moved)
    positions = (trace["positions"] + moved)[0].tolist()
    theta = [angle / (how.scaling or {}).get("factor", 1.0) for angle in reference.thetas(how.rotary_dim, how.base)]
    for letter in "qk":
        x = trace[f"blocks.0.{letter}"][0, 0].double().numpy()
        expected = np.array([
            [*reference.rotate(row[:how.rotary_dim], position, theta, how.pairing), *row[how.rotary_dim:]]
            for row, position in zip(x, positions, strict=True)])
        np.testing.assert_allclose(found[f"blocks.0.{letter}_rot"][0, 0].numpy(), expected, atol=1e-5)
        assert torch.equal(found[f"blocks.0.{letter}"], trace[f"blocks.0.{letter}"])
    angles = rotation.angles(found, 0)
    assert angles.positions.tolist() == positions
    np.testing.assert_allclose(angles.cos.numpy(), np.cos(np.outer(positions, theta)), atol=1e-12)
    np.testing.assert_allclose(angles.sin.numpy(), np.sin(np.outer(positions, theta)), atol=1e-12)


def test_the_same_settings_leave_the_trace_alone_and_edits_go_along() -> None:
    assert rotation.under(TOY, 1, rotation.settings(TOY.config)) is TOY
    edited = TOY.edited({"blocks.1.q": {(0, 1, 2, 0): 3.5}})
    found = rotation.under(edited, 1, rotation.settings(TOY.config), 3)
    assert torch.equal(found["blocks.0.q"], edited["blocks.1.q"])
    torch.testing.assert_close(found["blocks.0.scores"], edited["blocks.1.scores"], atol=1e-5, rtol=1e-5)


def test_offered_bases_make_sound_angles() -> None:
    for base in rotation.BASES:
        theta = rope.frequencies(8, base)
        assert theta[0] == 1
        assert theta[-1] == pytest.approx(base ** (-6 / 8))
    assert 2 * math.pi * 10 < rotation.FARTHEST  # the second hand comes round, the third is seen to turn
