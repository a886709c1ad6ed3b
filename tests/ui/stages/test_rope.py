"""The rotation as frames and rules: what is sent is what the core has, and a pair's columns are those it turns."""

from __future__ import annotations

import json

import numpy as np
import pytest

from core import worked
from core.stages.rope import rotation
from core.stages.rope.rotation import Rope
from core.toy import ToySizes, toy
from core.trace import Trace
from ui.equation import Cos, Frame, Rotate, Rule, Sin, build_payload
from ui.equation.views import View
from ui.stages.rope import frames as rope_frames

TOY = toy(ToySizes(batch=2, tokens=5, width=24, heads=6, kv_heads=2, ffn_width=4, vocab=7, layers=2), 1)
PARTIAL = rotation.under(worked.rope_pairs(), 0, Rope(4, pairing="half"))


def view(trace: Trace, layer: int = 0, batch: int = 0, head: int = 0) -> View:
    return View(trace, layer=layer, batch=batch, head=head, editable=True)


def sent(frames: list[Frame], rules: list[Rule]) -> dict[str, object]:
    payload = build_payload(frames, rules, decimals=3, strings={}, pin=None, edits={}, rev=0, seq=0, hidden_note="")
    return json.loads(json.dumps(payload, allow_nan=False))  # type: ignore[no-any-return]


@pytest.mark.parametrize("letter", ["q", "k"])
@pytest.mark.parametrize(("trace", "layer", "batch", "head"), [
    (worked.rope_pairs(), 0, 0, 0), (worked.rope_pairs("half"), 0, 0, 0), (PARTIAL, 0, 0, 0), (TOY, 1, 1, 4)])
def test_the_frames_and_their_rule_give_the_turned_rows(
    trace: Trace, layer: int, batch: int, head: int, letter: str,
) -> None:
    frames, rules = rope_frames.rotated(view(trace, layer, batch, head), letter)
    before, cos, sin, after = (frame.values.astype(np.float64) for frame in frames)
    rule = rules[-1]
    assert isinstance(rule, Rotate)
    expected = before.copy()
    for pair, (a, b) in enumerate(zip(rule.first, rule.second, strict=True)):
        expected[:, a] = before[:, a] * cos[:, pair] - before[:, b] * sin[:, pair]
        expected[:, b] = before[:, b] * cos[:, pair] + before[:, a] * sin[:, pair]
    np.testing.assert_allclose(after, expected, atol=1e-5)
    for made, function in zip(rules[:2], (np.cos, np.sin), strict=True):
        assert isinstance(made, Cos | Sin)
        values = cos if made.op == "cos" else sin
        np.testing.assert_allclose(values, function(np.outer(made.positions, made.theta)), atol=1e-6)
    assert sent(frames, rules)


def test_labels_name_the_pair_of_every_dimension() -> None:
    assert rope_frames.dimension_labels(view(worked.rope_pairs())) == ["1a", "1b", "2a", "2b", "3a", "3b", "4a", "4b"]
    assert rope_frames.dimension_labels(view(worked.rope_pairs("half"))) == [
        "1a", "2a", "3a", "4a", "1b", "2b", "3b", "4b"]
    assert rope_frames.dimension_labels(view(PARTIAL)) == ["1a", "2a", "1b", "2b", "·", "·", "·", "·"]


def test_a_rotation_of_frames_that_are_not_there_is_refused() -> None:
    frames, rules = rope_frames.rotated(view(worked.rope_pairs()), "q")
    with pytest.raises(ValueError, match="sin"):
        sent([frame for frame in frames if frame.id != "sin"], [rules[0], rules[-1]])
