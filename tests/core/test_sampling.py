"""Sampling against float64 NumPy one token at a time, against transformers' processors, and on published cases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from core.errors import LogitsInvalid, SettingOutOfRange
from core.sampling import ORDER, SamplingSteps, distribution, draw, draws

NINE = [4.51, 0.89, -1.90, 6.75, 1.63, -1.62, -1.89, 6.28, 1.79]  # W4
SETTINGS: list[dict[str, Any]] = [
    {}, {"temperature": 0.5}, {"temperature": 3.0}, {"top_k": 5}, {"top_p": 0.7}, {"min_p": 0.2},
    {"temperature": 0.7, "top_k": 20, "top_p": 0.9, "min_p": 0.05}, {"temperature": 2.0, "top_k": 3, "top_p": 0.5},
    {"top_k": 1}, {"top_p": 1e-9}, {"min_p": 1.0}, {"top_k": 10**6, "top_p": 1.0, "min_p": 0.0}, {"temperature": 1e-6},
    {"temperature": 0.0}, {"temperature": 0.0, "top_k": 3, "top_p": 0.5, "min_p": 0.5}]


def ids(steps: SamplingSteps) -> list[int]:
    return steps.kept.nonzero().flatten().tolist()


def of(probabilities: list[float]) -> Tensor:
    return torch.tensor(probabilities, dtype=torch.float64).log().float()


def by_hand(logits: np.ndarray, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None,
            min_p: float | None = None) -> tuple[np.ndarray, list[int]]:
    """The probabilities of one row in float64, token by token, and the tokens kept; no ties expected."""
    if temperature == 0:
        return np.eye(len(logits))[int(np.argmax(logits))], [int(np.argmax(logits))]
    likeliest = list(np.argsort(-logits))
    scores = {int(t): float(logits[t]) / temperature for t in likeliest[:top_k or None]}
    top = max(scores.values())
    left = {t: math.exp(s - top) for t, s in scores.items()}
    if top_p is not None:
        total, mass, kept = math.fsum(left.values()), 0.0, {}
        for token, p in left.items():  # the likeliest first
            if mass / total < top_p or not kept:
                kept[token] = p
            mass += p
        left = kept
    if min_p is not None:
        left = {t: p for t, p in left.items() if p >= min_p * max(left.values())}
    result = np.zeros(len(logits))
    for token, p in left.items():
        result[token] = p / math.fsum(left.values())
    return result, sorted(left)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_against_one_token_at_a_time(settings: dict[str, Any]) -> None:
    logits = torch.randn(4, 200, generator=torch.Generator().manual_seed(1)) * 3
    steps = distribution(logits, **settings)
    for row in range(4):
        expected, kept = by_hand(logits[row].double().numpy(), **settings)
        assert np.abs(steps.probabilities[row].numpy() - expected).max() < 1e-6
        assert steps.kept[row].nonzero().flatten().tolist() == kept
        alone = distribution(logits[row], **settings)
        assert torch.allclose(alone.probabilities, steps.probabilities[row], atol=1e-7)


@pytest.mark.parametrize("settings", [s for s in SETTINGS if s.get("temperature", 1) > 0], ids=str)
def test_against_the_processors_of_transformers(settings: dict[str, Any]) -> None:
    logits = torch.randn(3, 500, generator=torch.Generator().manual_seed(2)) * 2
    processors = LogitsProcessorList([TemperatureLogitsWarper(float(settings.get("temperature", 1.0)))])
    if "top_k" in settings:
        processors.append(TopKLogitsWarper(settings["top_k"]))
    if "top_p" in settings:
        processors.append(TopPLogitsWarper(settings["top_p"]))
    if "min_p" in settings:
        processors.append(MinPLogitsWarper(settings["min_p"]))
    theirs = processors(torch.zeros(3, 1, dtype=torch.long), logits.clone())
    ours = distribution(logits, **settings)
    assert torch.equal(ours.kept, theirs > -math.inf)
    torch.testing.assert_close(ours.probabilities, theirs.softmax(dim=-1), atol=1e-6, rtol=1e-5)


# Published cases.


@pytest.mark.parametrize(("probabilities", "p", "kept"), [
    ([0.4, 0.3, 0.2, 0.1], 0.8, [0, 1, 2]), ([0.5, 0.35, 0.1, 0.05], 0.9, [0, 1, 2]), ([0.5, 0.41, 0.09], 0.9, [0, 1]),
    ([0.5, 0.3, 0.15, 0.05], 0.79, [0, 1]), ([0.5, 0.3, 0.15, 0.05], 0.9, [0, 1, 2]),
    ([0.5, 0.3, 0.15, 0.05], 0.8, [0, 1]), ([0.1, 0.2, 0.4, 0.3], 0.8, [1, 2, 3])])
def test_the_token_that_crosses_p_is_kept(probabilities: list[float], p: float, kept: list[int]) -> None:
    """G1, G4c."""
    assert ids(distribution(of(probabilities), top_p=p)) == kept


def test_top_p_counts_mass_among_what_top_k_left() -> None:
    """G4a and b: (a) .06, .05, .04 are left of 1; (b) the usual chain keeps {0, 1, 2}."""
    many = of([0.06, 0.05, 0.04, *[0.85 / 40] * 40])
    assert ids(distribution(many, top_k=3, top_p=0.8)) == [0, 1, 2]
    steps = distribution(of([0.35, 0.25, 0.20, 0.05, 0.03, 0.03, 0.03, 0.03, 0.03]), top_k=4, top_p=0.82)
    assert ids(steps) == [0, 1, 2]
    assert steps.after_top_k.softmax(-1).cumsum(-1)[:3].tolist() == pytest.approx([0.412, 0.706, 0.941], abs=5e-4)


def test_temperature_comes_first() -> None:
    """G5: with T = 2 and p = .9 the filter first would keep {0, 1}, with T = .5 and p = .8 too."""
    assert ORDER == ("temperature", "top_k", "top_p", "min_p")
    logits = torch.tensor([2.0, 1.0, 0.0])
    assert ids(distribution(logits, temperature=2, top_p=0.9)) == [0, 1, 2]
    assert ids(distribution(logits, temperature=0.5, top_p=0.8)) == [0]
    for temperature, expected in ((1, [0.665241, 0.244728, 0.090031]), (2, [0.506480, 0.307196, 0.186324]),
                                  (0.5, [0.866813, 0.117310, 0.015876])):
        assert distribution(logits, temperature=temperature).probabilities.tolist() == pytest.approx(expected, abs=1e-6)


def test_temperature_on_three_logits() -> None:
    """W20, where the page printed another row for T = 2."""
    logits = torch.tensor([2.5, 1.0, -0.5])
    for temperature, expected in ((1, [0.785597, 0.175290, 0.039113]), (2, [0.589798, 0.278601, 0.131602]),
                                  (0.5, [0.950330, 0.047314, 0.002356])):
        assert distribution(logits, temperature=temperature).probabilities.tolist() == pytest.approx(expected, abs=1e-6)


def test_nine_logits() -> None:
    """W4."""
    steps = distribution(torch.tensor(NINE), top_k=3)
    assert ids(steps) == [0, 3, 7]
    assert steps.probabilities[[0, 3, 7]].tolist() == pytest.approx([0.0615, 0.5775, 0.3610], abs=5e-5)
    expected = {1.0: [0.0609, 0.0016, 0.0001, 0.5721, 0.0034, 0.0001, 0.0001, 0.3576, 0.0040],
                5.0: [0.1546, 0.0750, 0.0429, 0.2421, 0.0869, 0.0454, 0.0430, 0.2203, 0.0898]}
    for temperature, row in expected.items():
        got = distribution(torch.tensor(NINE), temperature=temperature).probabilities
        assert got.tolist() == pytest.approx(row, abs=5.1e-5)
    cold = distribution(torch.tensor(NINE), temperature=0.1).probabilities
    assert cold[[3, 7]].tolist() == pytest.approx([0.9910, 0.0090], abs=5e-5)


@pytest.mark.parametrize(("logits", "best"), [([1.0, 2.0], 1), ([0.0, 0.0], 0), ([3.0, 5.0, 5.0, 1.0], 1)])
def test_temperature_0_is_the_largest_logit_and_of_equal_ones_the_first(logits: list[float], best: int) -> None:
    """G6."""
    steps = distribution(torch.tensor(logits), temperature=0)
    assert steps.probabilities.tolist() == [float(i == best) for i in range(len(logits))]
    assert [int(draw(steps, u)) for u in (0.0, 0.5, 0.999999999)] == [best] * 3


def test_ties_at_the_kth_logit_go_to_the_lower_ids() -> None:
    """G7: a threshold would keep four of [1, 2, 2, 2, 3] for k = 3."""
    steps = distribution(torch.tensor([1.0, 2.0, 2.0, 2.0, 3.0]), top_k=3)
    assert ids(steps) == [1, 2, 4]
    batch = distribution(torch.tensor([[2.0, 2.0, 2.0], [1.0, 2.0, 2.0]]), top_k=2)
    assert batch.kept.tolist() == [[True, True, False], [False, True, True]]
    assert ids(distribution(torch.zeros(10), top_p=0.35)) == [0, 1, 2, 3]


@pytest.mark.parametrize("k", [0, None, 2, 5])
def test_no_k_and_a_k_beyond_the_vocabulary_keep_everything(k: int | None) -> None:
    """G9."""
    assert ids(distribution(torch.tensor([1.0, 2.0]), top_k=k)) == [0, 1]


@pytest.mark.parametrize(("fraction", "kept"), [(0.5, [0, 1]), (0.51, [0]), (0.25, [0, 1, 2])])
def test_min_p_keeps_what_is_just_at_its_limit(fraction: float, kept: list[int]) -> None:
    assert ids(distribution(of([0.5, 0.25, 0.125, 0.125 - 1e-4, 1e-4]), min_p=fraction)) == kept


# Laws.


def test_what_does_nothing_keeps_the_tensor_before_it() -> None:
    logits = torch.randn(50)
    steps = distribution(logits, top_p=1.0, min_p=0.0, top_k=50)
    for tensor in steps.stages.values():
        assert tensor is steps.logits
    assert tuple(steps.stages) == ORDER


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e4, 1e30])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_never_empty_and_always_with_the_likeliest(settings: dict[str, Any], scale: float) -> None:
    logits = torch.randn(8, 100, generator=torch.Generator().manual_seed(3)) * scale
    logits[0, 50:] = -math.inf
    logits[1, 1:] = -math.inf
    logits[2] = 7.0
    steps = distribution(logits, **settings)
    best = logits.argmax(-1, keepdim=True)
    assert steps.kept.any(-1).all()
    assert steps.kept.gather(-1, best).all()
    assert torch.allclose(steps.probabilities.sum(-1), torch.ones(8), atol=1e-5)
    assert (steps.probabilities[~steps.kept] == 0).all()
    assert (steps.probabilities[logits == -math.inf] == 0).all()
    for before, after in zip((steps.tempered, *list(steps.stages.values())[:-1]), steps.stages.values(), strict=True):
        kept = after > -math.inf
        assert torch.equal(after[kept], before[kept]), "a filter changed a score that it kept"
    for u in (0.0, 0.3, 1 - 2**-53):
        tokens = draw(steps, torch.full((8,), u, dtype=torch.float64))
        assert steps.kept.gather(-1, tokens[:, None]).all()


def test_adding_a_constant_to_the_logits_changes_nothing() -> None:
    logits = torch.randn(100, generator=torch.Generator().manual_seed(4))
    settings = SETTINGS[6]
    a, b = distribution(logits, **settings), distribution(logits + 8, **settings)
    assert torch.equal(a.kept, b.kept)
    assert torch.allclose(a.probabilities, b.probabilities, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_types_are_sampled_in_float32(dtype: torch.dtype) -> None:
    steps = distribution(torch.tensor([1.0, 2.0, 0.5], dtype=dtype), temperature=1e-6, top_p=0.9)
    assert steps.probabilities.dtype == torch.float32
    assert steps.probabilities.tolist() == [0, 1, 0]


# Drawing.


@pytest.mark.parametrize(("u", "token"), [
    (0.0, 0), (0.24, 0), (0.25, 2), (0.74, 2), (0.76, 3), (0.999999, 3)])
def test_a_draw_lays_the_probabilities_end_to_end_in_the_order_of_the_vocabulary(u: float, token: int) -> None:
    """.25, 0, .5, .25: the token of no probability is never drawn, not even at its own edge."""
    steps = distribution(torch.tensor([0.0, -math.inf, math.log(2.0), 0.0]))
    assert int(draw(steps, u)) == token


def test_a_batch_is_drawn_each_row_at_its_own_u() -> None:
    steps = distribution(torch.zeros(3, 4))
    assert draw(steps, torch.tensor([0.1, 0.3, 0.99])).tolist() == [0, 1, 3]
    assert draw(steps, 0.6).tolist() == [2, 2, 2]
    assert draw(distribution(torch.zeros(4)), 0.6).shape == ()


def test_a_thousand_draws_lie_near_what_is_expected() -> None:
    """Pearson's chi-squared over 4 tokens: 3 degrees of freedom exceed 16.27 once in a thousand; the seed is fixed."""
    steps = distribution(of([0.4, 0.3, 0.2, 0.1]))
    counts = draws(steps, 1000, seed=0)
    expected = torch.tensor([400.0, 300.0, 200.0, 100.0])
    assert counts.sum() == 1000
    assert float(((counts - expected) ** 2 / expected).sum()) < 16.27
    assert torch.equal(counts, draws(steps, 1000, seed=0))
    assert not torch.equal(counts, draws(steps, 1000, seed=1))
    batch = draws(distribution(torch.tensor([[0.0, -math.inf], [0.0, 0.0]])), 50, seed=2)
    assert batch[0].tolist() == [50, 0]
    assert batch.sum(-1).tolist() == [50, 50]


# What is refused.


@pytest.mark.parametrize("settings", [
    {"temperature": -1.0}, {"temperature": math.nan}, {"temperature": math.inf}, {"temperature": True},
    {"temperature": "1"}, {"top_k": -1}, {"top_k": 2.0}, {"top_k": True}, {"top_p": -0.1}, {"top_p": 1.1},
    {"top_p": math.nan}, {"min_p": -0.1}, {"min_p": 1.5}, {"temperature": 1e-300}], ids=str)
def test_a_setting_that_means_nothing_is_refused_with_its_value(settings: dict[str, Any]) -> None:
    """G6: a negative temperature would turn the order round."""
    with pytest.raises(SettingOutOfRange) as caught:
        distribution(torch.tensor([2.0, 1.0, 0.0]), **settings)
    (field, value), = settings.items()
    assert caught.value.field == field
    assert caught.value.value is value


@pytest.mark.parametrize(("logits", "what", "count"), [
    ([0.0, math.nan, math.nan], "nan", 2), ([0.0, math.inf], "+inf", 1), ([-math.inf] * 3, "-inf", 3)])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_leave_nothing_to_choose_are_refused(
    logits: list[float], what: str, count: int, temperature: float,
) -> None:
    with pytest.raises(LogitsInvalid) as caught:
        distribution(torch.tensor([logits, [1.0] * len(logits)]), temperature=temperature)
    assert (caught.value.what, caught.value.count) == (what, count)


@pytest.mark.parametrize("u", [-0.1, 1.0, math.nan])
def test_a_u_outside_the_interval_is_refused(u: float) -> None:
    with pytest.raises(SettingOutOfRange):
        draw(distribution(torch.zeros(3)), u)


@pytest.mark.parametrize("n", [0, -1, 2.5, True])
def test_a_number_of_draws_that_is_none_is_refused(n: Any) -> None:
    with pytest.raises(SettingOutOfRange):
        draws(distribution(torch.zeros(3)), n, seed=0)
