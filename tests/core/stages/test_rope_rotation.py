"""RoPE taken apart: pairs, turns, distances, pairings, scaling, and what is done wrong with it."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from core import rope, worked
from core.errors import ShapeError, UnknownOption
from core.stage import At
from core.stages import rope as stage
from core.stages.rope import rotation, scaling
from core.stages.rope.rotation import Rope
from core.toy import ToySizes, toy
from core.trace import Trace
from tests.core import reference
from tests.core.test_snippets import decoder_trace, run
from tests.core.test_worked import NUMBERS

TOY = toy(ToySizes(batch=2, tokens=5, width=24, heads=6, kv_heads=2, ffn_width=4, vocab=7, layers=2), 1)
TRACES: dict[str, Callable[[], Trace]] = {
    "rope_pairs": worked.rope_pairs, "rope_pairs in halves": lambda: worked.rope_pairs("half"),
    "rope_pairs causal": lambda: worked.rope_pairs(mask="causal"), "word_order": lambda: worked.word_order("rope"),
    "toy": lambda: TOY, "biases": lambda: decoder_trace(qkv_bias=True, norm="layer"),
    "head norms, part turned": lambda: decoder_trace(qk_norm=True, head_dim=6, rope_dim=4, rope_pairing="adjacent"),
    "llama 3": lambda: decoder_trace(rope_scaling={**scaling.LLAMA_31, "original_max_position_embeddings": 40}),
}
DOCUMENT = NUMBERS["D1_rope"]
EIGHT = Rope(8, pairing="adjacent")


def test_the_documents_pairs() -> None:
    """D1 §8: eight dimensions, four pairs, θ = 1, 0.1, 0.01, 0.001."""
    pairs = rotation.pairs(Rope(DOCUMENT["dims"], DOCUMENT["base"], "adjacent"))
    assert [[pair.first, pair.second] for pair in pairs] == DOCUMENT["pairs"]
    assert [pair.theta for pair in pairs] == pytest.approx(DOCUMENT["theta"], rel=1e-12)
    assert [pair.wavelength for pair in pairs] == pytest.approx([2 * math.pi * 10**n for n in range(4)])
    assert [(pair.first, pair.second) for pair in rotation.pairs(Rope(8))] == [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert len(rotation.pairs(Rope(128))) == 64  # D1 §8.1


def test_one_pair_in_digits() -> None:
    """W22 and E1: [1, 2, 3, 4] at position 1, adjacent pairs."""
    first, second = rotation.turns(torch.tensor([1.0, 2, 3, 4]), 1, Rope(4, pairing="adjacent"))
    assert (first.cos, first.sin) == pytest.approx((.540302, .841471), abs=1e-6)
    assert (second.cos, second.sin) == pytest.approx((.999950, .010000), abs=1e-6)
    assert (*first.after, *second.after) == pytest.approx([-1.14264, 1.922076, 2.959851, 4.0298], abs=1e-6)
    assert first.before == (1, 2)
    assert first.length == pytest.approx(math.sqrt(5))


@given(st.integers(0, 2**31), st.sampled_from(["half", "adjacent"]), st.sampled_from([4, 6, 8]), st.integers(0, 9000))
def test_a_turn_is_the_formula_and_keeps_the_length(seed: int, pairing: Any, rotary_dim: int, position: int) -> None:
    how = Rope(rotary_dim, 500.0, pairing)
    x = torch.randn(8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    whole = reference.rotate(x.numpy(), position, reference.thetas(rotary_dim, 500.0), pairing)
    for turn in rotation.turns(x, position, how):
        a, b = turn.before
        assert turn.angle == position * turn.pair.theta
        assert turn.after == pytest.approx(
            (a * turn.cos - b * turn.sin, b * turn.cos + a * turn.sin), abs=1e-9)
        assert turn.after == pytest.approx((whole[turn.pair.first], whole[turn.pair.second]), abs=1e-8)
        assert math.hypot(*turn.after) == pytest.approx(turn.length, abs=1e-12)
        assert turn.before == (float(x[turn.pair.first]), float(x[turn.pair.second]))


def test_a_vector_too_short_is_refused() -> None:
    for wrong in (torch.zeros(6), torch.zeros(2, 8)):
        with pytest.raises(ShapeError):
            rotation.turns(wrong, 1, EIGHT)


def test_the_documents_equal_distances() -> None:
    """D1 §8.4: a query at 3 and a key at 8, or at 13 and 18: every pair and the sum are the same."""
    trace = worked.rope_pairs()
    q, k = trace["blocks.0.q"][0, 0, 0], trace["blocks.0.k"][0, 0, 1]
    one, other = (rotation.pair_scores(q, k, tuple(at), EIGHT) for at in DOCUMENT["equal_distance"])
    assert rotation.apart(one, other) < 1e-12
    assert one.total == pytest.approx(sum(one.parts))
    for number, theta in enumerate(DOCUMENT["theta"]):
        a, b = complex(*q[2 * number:2 * number + 2].tolist()), complex(*k[2 * number:2 * number + 2].tolist())
        assert one.parts[number] == pytest.approx((a.conjugate() * b * np.exp(5j * theta)).real, abs=1e-12)
    scores = trace["blocks.0.scores"][0, 0]
    assert float(scores[0, 1]) == pytest.approx(one.total, abs=1e-5)
    assert float(scores[2, 3]) == pytest.approx(one.total, abs=1e-5)
    assert trace["positions"].tolist() == [[3, 8, 13, 18]]
    assert rotation.turns(q, 3, EIGHT)[0].after != pytest.approx(rotation.turns(q, 13, EIGHT)[0].after, abs=1e-2)
    moved = rotation.pair_scores(q, k, (3, 9), EIGHT)
    assert rotation.apart(one, moved) > 0.1
    other_content = rotation.pair_scores(k, q, (3, 8), EIGHT)
    assert abs(one.total - other_content.total) > 0.1  # the same distance, another content


@given(st.integers(0, 2**31), st.integers(0, 500), st.integers(0, 500), st.integers(-200, 3000),
       st.sampled_from(["half", "adjacent"]), st.sampled_from([4, 8]))
def test_only_the_distance_counts(seed: int, i: int, j: int, shift: int, pairing: Any, rotary_dim: int) -> None:
    q, k = torch.randn(2, 8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    how = Rope(rotary_dim, pairing=pairing)
    one = rotation.pair_scores(q, k, (i, j), how)
    assert rotation.apart(one, rotation.pair_scores(q, k, (i + shift, j + shift), how)) < 1e-9
    assert one.rest == pytest.approx(float(q[rotary_dim:] @ k[rotary_dim:]))
    assert float(rotation.by_distance(q, k, [j - i], how)[0]) == pytest.approx(one.total, abs=1e-9)


def test_scores_by_distance_at_zero_are_the_plain_product() -> None:
    q, k = torch.tensor([1.0, 2, 3, 4]), torch.tensor([4.0, 3, 2, 1])
    scores = rotation.by_distance(q, k, [0, -1, -2, -3], Rope(4)).tolist()
    assert scores == pytest.approx([20, 6.887815, -3.456429, -1.61558], abs=1e-6)  # E4


def test_the_permutation_and_its_inverse() -> None:
    """E2: eight wide, where the two differ; what is not turned stays."""
    found = rotation.permutation(8, 10)
    assert found.half_from_adjacent == (0, 2, 4, 6, 1, 3, 5, 7, 8, 9)
    assert found.adjacent_from_half == (0, 4, 1, 5, 2, 6, 3, 7, 8, 9)


@pytest.mark.parametrize("kind", TRACES)
def test_permuted_matrices_give_the_same_scores_in_the_other_pairing(kind: str) -> None:
    trace = TRACES[kind]()
    for layer in range(trace.config.layers):
        found = rotation.other_pairing(trace, layer)
        assert found.config.rope_pairing != trace.config.rope_pairing
        torch.testing.assert_close(found["blocks.0.scores"], trace[f"blocks.{layer}.scores"], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(found["blocks.0.context"], trace[f"blocks.{layer}.context"], atol=1e-5, rtol=1e-5)
        order = list(rotation.permutation(trace.config.rotary_dim, trace.config.head_dim).half_from_adjacent)
        if found.config.rope_pairing == "half":
            torch.testing.assert_close(found["blocks.0.q"], trace[f"blocks.{layer}.q"][..., order])
        else:
            torch.testing.assert_close(found["blocks.0.q"][..., order], trace[f"blocks.{layer}.q"])


def test_a_head_of_two_has_one_pair_whatever_it_is_called() -> None:
    result = stage.MISTAKES["mixed"](At(worked.word_order("rope")))
    assert result.largest(0, 0) == 0


@pytest.mark.parametrize("kind", TRACES)
def test_mistakes_of_rotation(kind: str) -> None:
    """Each against vectors turned one by one as complex numbers."""
    trace = TRACES[kind]()
    config = trace.config
    theta = reference.thetas(config.rotary_dim, config.rope_base, config.rope_scaling)
    positions = trace["positions"].numpy()
    q, k = (trace[trace.steps[f"blocks.0.{x}_rot"].reads[0]].double().numpy() for x in "qk")

    def scores(at: np.ndarray, pairing: str) -> np.ndarray:
        turned_q, turned_k = (reference.rotate_all(x, at, theta, pairing) for x in (q, k))
        return np.stack([turned_q[:, h] @ np.swapaxes(turned_k[:, h // config.group], 1, 2)
                         for h in range(config.heads)], axis=1)

    stuck = positions.copy()
    stuck[:, -1] = 0
    other = "half" if config.rope_pairing == "adjacent" else "adjacent"
    for name, expected in (("restart", scores(stuck, config.rope_pairing)), ("mixed", scores(positions, other))):
        result = stage.MISTAKES[name](At(trace))
        assert result.wrong is not None
        np.testing.assert_allclose(result.wrong.numpy(), expected, atol=2e-5)
        assert torch.equal(result.right, trace["blocks.0.scores"])
    v = reference.rotate_all(trace["blocks.0.v"].double().numpy(), positions, theta, config.rope_pairing)
    weights = trace["blocks.0.weights"].double().numpy()
    context = np.stack([weights[:, h] @ v[:, h // config.group] for h in range(config.heads)], axis=1)
    result = stage.MISTAKES["value"](At(trace))
    assert result.wrong is not None
    np.testing.assert_allclose(result.wrong.numpy(), context, atol=1e-5)
    assert result.largest(0, 0) > 1e-3


def test_mistakes_that_cannot_be_made_are_refused() -> None:
    with pytest.raises(UnknownOption):
        stage.MISTAKES["value"](At(worked.block()))


@pytest.mark.parametrize("kind", TRACES)
def test_with_a_cache_the_position_goes_on(kind: str) -> None:
    trace = TRACES[kind]()
    found = stage.decoded(At(trace))
    assert torch.equal(found.position, trace["positions"][:, -1])
    assert found.difference < 1e-5
    torch.testing.assert_close(found.row, trace["blocks.0.scores"][:, :, -1], atol=1e-5, rtol=1e-5)
    assert (found.stuck - found.row).abs().max() > 0.1


def test_a_query_stuck_at_zero() -> None:
    """E4: q at 3, keys at 0 to 3; the published wrong row has its own key stuck as well."""
    q, k = torch.tensor([1.0, 2, 3, 4]), torch.tensor([4.0, 3, 2, 1])
    config = worked.rope_pairs("half").config.with_(head_dim=4, width=4)
    trace = Trace(config=config, given={
        "blocks.0.q": q.expand(1, 1, 4, 4), "blocks.0.k": k.expand(1, 1, 4, 4), "blocks.0.v": k.expand(1, 1, 4, 4),
        "positions": torch.arange(4)[None], "mask": torch.zeros(1, 1, 4, 4)})
    found = stage.decoded(At(trace))
    assert found.row[0, 0].tolist() == pytest.approx([-1.61558, -3.456429, 6.887815, 20], abs=1e-5)
    wrong = stage.MISTAKES["restart"](At(trace)).wrong
    assert wrong is not None
    assert wrong[0, 0, -1].tolist() == pytest.approx([20, 23.917231, 15.129493, 20], abs=1e-5)
    assert found.stuck[0, 0, :3].tolist() == pytest.approx([20, 23.917231, 15.129493], abs=1e-5)


def hf(rotary_dim: int, base: float, parameters: dict[str, Any], length: int | None = None) -> torch.Tensor:
    """θ as `transformers` initialises them, float32."""
    config = LlamaConfig(hidden_size=2 * rotary_dim, num_attention_heads=2, head_dim=rotary_dim,
                         max_position_embeddings=64, rope_parameters={"rope_theta": base, **parameters})
    theta, factor = ROPE_INIT_FUNCTIONS[parameters["rope_type"]](config, torch.device("cpu"), seq_len=length)
    assert factor == 1.0
    return theta


@pytest.mark.parametrize(("rotary_dim", "base"), [(8, 10000.0), (64, 500000.0), (128, 1e6)])
@pytest.mark.parametrize("factor", [1.0, 2.5, 8.0])
def test_scaling_equals_transformers(rotary_dim: int, base: float, factor: float) -> None:
    for kind in ("linear", "llama3"):
        how = scaling.scaling(kind, factor, 40)
        assert how is not None
        ours = rope.frequencies(rotary_dim, base, how)
        torch.testing.assert_close(ours.float(), hf(rotary_dim, base, dict(how)), rtol=2e-6, atol=0)
    for length in (30, 64, 100, 1000):
        ours = rope.frequencies(rotary_dim, base, scaling.scaling("ntk", scaling.dynamic_factor(factor, length, 64)))
        theirs = hf(rotary_dim, base, {"rope_type": "dynamic", "factor": factor}, length)
        torch.testing.assert_close(ours.float(), theirs, rtol=5e-6, atol=0)


@pytest.mark.parametrize(("width", "factor", "kept", "between"), [(128, 8.0, 29, 6), (64, 32.0, 15, 3)])
def test_llama_3_keeps_blends_and_divides(width: int, factor: float, kept: int, between: int) -> None:
    """E15: Llama 3.1 8B and 3.2 1B."""
    found = scaling.stretched(width, 500000.0, scaling.scaling("llama3", factor))
    kinds = ["kept"] * kept + ["between"] * between + ["divided"] * (width // 2 - kept - between)
    assert [pair.kind for pair in found] == kinds
    assert all(pair.ratio == pair.scaled / pair.plain for pair in found)


def test_linear_divides_all_and_ntk_from_the_slow_end() -> None:
    assert {pair.kind for pair in scaling.stretched(16, 1e4, scaling.scaling("linear", 4.0))} == {"divided"}
    ntk = scaling.stretched(16, 1e4, scaling.scaling("ntk", 4.0))
    assert [pair.kind for pair in ntk] == ["kept", *["between"] * 6, "divided"]
    assert {pair.kind for pair in scaling.stretched(16, 1e4, scaling.scaling("default", 4.0))} == {"kept"}
    with pytest.raises(UnknownOption):
        scaling.scaling("yarn", 2.0)


@pytest.mark.parametrize("kind", TRACES)
def test_facts_about_rotation(kind: str) -> None:
    trace = TRACES[kind]()
    found = stage.facts(At(trace))
    theta = reference.thetas(trace.config.rotary_dim, trace.config.rope_base, trace.config.rope_scaling)
    positions = trace["positions"][0].tolist()
    assert found.pairs == len(theta)
    assert found.still == trace.config.head_dim - 2 * len(theta)
    assert (found.fastest, found.slowest) == pytest.approx((2 * math.pi / theta[0], 2 * math.pi / theta[-1]))
    assert found.span == max(positions) - min(positions)
    assert found.under_one_turn == sum(found.span * angle < 2 * math.pi for angle in theta)
    assert found.stretch < 1e-5
    assert found.origin is (True if 0 in positions else None)


def test_questions_about_angles() -> None:
    at, positions = At(worked.rope_pairs()), [3, 8, 13, 18]
    for number in range(16):
        asked = stage.ask(at, number)
        assert asked.answer == pytest.approx(asked.row * 10.0 ** -asked.column)
        assert asked.row in positions
        assert stage.judge(at, asked, round(asked.answer, 3), 3) == "right"
    first = stage.ask(at, 0)
    assert (first.row, first.column) == (8, 1)
    for answer, verdict in ((math.degrees(.8), "degrees"), (.9, "from_one"), (8 * 10000 ** (-1 / 8), "half_exponent"),
                            (.805, "close"), (5.0, "wrong")):
        assert stage.judge(at, first, answer, 3) == verdict


PROGRAMS: dict[str, Callable[[], Trace]] = {
    **TRACES, "edited": lambda: TOY.edited({"blocks.0.q": {(0, 1, 2, 0): 3.5}, "blocks.1.k_rot": {(1, 1, 0, 0): 2.0}}),
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_the_program_gives_the_pages_numbers(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = PROGRAMS[kind]()
    for layer in range(trace.config.layers):
        result = run(stage.program(At(trace, layer)), tmp_path, monkeypatch)
        torch.testing.assert_close(result.float(), trace[f"blocks.{layer}.scores"], atol=1e-5, rtol=1e-5)
