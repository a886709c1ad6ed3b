"""From logits to one token: temperature, top-k, top-p, min-p over the whole vocabulary, then a draw from what is left.

Each step works on what the one before left, and renormalises: top-p counts mass among the tokens that top-k kept. That
order is the usual one of samplers (transformers' too) and stands in `ORDER`; other programs use others, with other
sets. Ties always go to the lower token id.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from core.errors import LogitsInvalid, SettingOutOfRange
from core.ops import NEG_INF

ROUNDING = 1e-6  # a sum of float32 probabilities that should be just p may miss it by this fraction
ORDER = ("temperature", "top_k", "top_p", "min_p")


class Settings(NamedTuple):
    """`temperature` divides the logits, 0 takes the largest (greedy). `top_k` keeps that many tokens, None or 0 all.
    `top_p` keeps the fewest of the likeliest tokens that have that mass together, None or 1 all. `min_p` keeps those
    at least that fraction as likely as the likeliest, None or 0 all."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None


@dataclass(frozen=True)
class SamplingSteps:
    """What each step of `ORDER` left: scores (…, V), −∞ where a token is out, and the probabilities at the end (…, V).

    Where a step does nothing its tensor is that of the step before. `kept` are the tokens that can be drawn.
    """

    settings: Settings
    logits: Tensor
    tempered: Tensor
    after_top_k: Tensor
    after_top_p: Tensor
    after_min_p: Tensor
    probabilities: Tensor

    @property
    def kept(self) -> Tensor:
        """(…, V) bool: what no step has taken out. Never empty, and the likeliest token is always among them."""
        return self.after_min_p != NEG_INF

    @property
    def stages(self) -> dict[str, Tensor]:
        """The scores after each step, by its name in `ORDER`."""
        return dict(zip(ORDER, (self.tempered, self.after_top_k, self.after_top_p, self.after_min_p), strict=True))


def distribution(
    logits: Tensor, *, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None,
    min_p: float | None = None,
) -> SamplingSteps:
    """logits (V,) or (B, V) -> every step to the probabilities, applied in `ORDER`, in float32.

    Raises LogitsInvalid when a logit is NaN or +∞, or a row has nothing but −∞; SettingOutOfRange for a setting that
    means nothing, and for a temperature so small that the quotients overflow.
    """
    settings = check_settings(Settings(temperature, top_k, top_p, min_p))
    logits = _checked(logits)
    tempered = _tempered(logits, temperature)
    after_top_k = tempered if not top_k or top_k >= logits.shape[-1] else _top_k(tempered, top_k)
    after_top_p = after_top_k if top_p is None or top_p == 1 else _top_p(after_top_k, top_p)
    after_min_p = after_top_p if not min_p else _min_p(after_top_p, min_p)
    return SamplingSteps(settings, logits, tempered, after_top_k, after_top_p, after_min_p, after_min_p.softmax(dim=-1))


def draw(steps: SamplingSteps, u: Tensor | float) -> Tensor:
    """The token at `u` in [0, 1), one number or (B,): probabilities laid end to end in the order of the vocabulary, the
    first token whose cumulative sum exceeds u -> ids () or (B,). Raises SettingOutOfRange for another u."""
    point = torch.as_tensor(u, dtype=torch.float64, device=u.device if isinstance(u, Tensor) else "cpu")
    if not bool(((point >= 0) & (point < 1)).all()):
        raise SettingOutOfRange("u", u, "0 ≤ u < 1")
    if steps.settings.temperature == 0:
        return steps.after_min_p.argmax(dim=-1)  # only one is left, whatever u is
    ends = cumulative(steps)  # (…, V)
    return _at(ends, point.to(ends.device).expand(ends.shape[:-1])[..., None]).squeeze(-1)


def draws(steps: SamplingSteps, n: int, seed: int) -> Tensor:
    """How often each token comes up in `n` seeded draws: counts (…, V), to hold against n · probabilities."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise SettingOutOfRange("n", n, "n ≥ 1")
    ends = cumulative(steps)
    points = uniform(torch.Generator().manual_seed(seed), *ends.shape[:-1], n).to(ends.device)
    tokens = _at(ends, points)  # (…, n)
    counts = torch.zeros(ends.shape, dtype=torch.long, device=ends.device)
    return counts.scatter_add_(-1, tokens, torch.ones_like(tokens))


def uniform(generator: torch.Generator, *shape: int) -> Tensor:
    """Float64 numbers in [0, 1), drawn on the CPU so that a seed means the same on every device."""
    return torch.rand(shape, generator=generator, dtype=torch.float64, device="cpu")


def check_settings(settings: Settings) -> Settings:
    """The same settings. Raises SettingOutOfRange for one that means nothing."""
    if not (_is_number(settings.temperature) and settings.temperature >= 0):
        raise SettingOutOfRange("temperature", settings.temperature, "temperature ≥ 0")
    k = settings.top_k
    if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 0):
        raise SettingOutOfRange("top_k", k, "k ≥ 0")
    for name in ("top_p", "min_p"):
        value = getattr(settings, name)
        if value is not None and not (_is_number(value) and 0 <= value <= 1):
            raise SettingOutOfRange(name, value, "0 ≤ p ≤ 1")
    return settings


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _checked(logits: Tensor) -> Tensor:
    logits = logits.float()
    top = logits.amax(dim=-1)  # NaN where the row has one
    if bool(top.isfinite().all()):
        return logits
    for what, found in (("nan", logits.isnan()), ("+inf", logits.isposinf())):
        if count := int(found.sum()):
            raise LogitsInvalid(what, count)
    raise LogitsInvalid("-inf", logits.shape[-1])


def _tempered(logits: Tensor, temperature: float) -> Tensor:
    """logits / T; with T = 0 only the largest stays, the one with the lowest id where several are."""
    if temperature == 0:
        best = logits.argmax(dim=-1, keepdim=True)
        return torch.full_like(logits, NEG_INF).scatter(-1, best, logits.gather(-1, best))
    tempered = logits if temperature == 1 else logits / temperature
    if not bool(tempered.amax(dim=-1).isfinite().all()):
        raise SettingOutOfRange("temperature", temperature, "0, T ≥ max|logit| / 3.4e38")
    return tempered


def _top_k(scores: Tensor, k: int) -> Tensor:
    """Exactly k tokens: those above the k-th score, and of those equal to it the lowest ids."""
    limit = scores.topk(k, dim=-1).values[..., -1:]  # (…, 1)
    above = scores > limit
    level = scores == limit
    room = k - above.sum(dim=-1, keepdim=True)
    return _without(scores, ~(above | (level & (level.cumsum(dim=-1) <= room))))


def _top_p(scores: Tensor, p: float) -> Tensor:
    """A token stays while the mass before it is below p, so the one that crosses p is in; the likeliest always is."""
    ordered, ids = scores.sort(dim=-1, descending=True, stable=True)
    mass = ordered.softmax(dim=-1, dtype=torch.float64)
    out = mass.cumsum(dim=-1) - mass >= p * (1 - ROUNDING)
    out[..., 0] = False
    return _without(scores, torch.empty_like(out).scatter_(-1, ids, out))


def _min_p(scores: Tensor, fraction: float) -> Tensor:
    """p_i ≥ fraction · p_max; fraction 1 keeps the likeliest and its equals."""
    return _without(scores, (scores - scores.amax(dim=-1, keepdim=True)).exp() < fraction * (1 - ROUNDING))


def _without(scores: Tensor, out: Tensor) -> Tensor:
    return scores.masked_fill(out, NEG_INF)


def cumulative(steps: SamplingSteps) -> Tensor:
    """Where each token's part of the unit interval ends: cumulative probabilities (…, V) in float64; the last is 1 up
    to rounding, and made exactly 1 by division."""
    sums = steps.probabilities.double().cumsum(dim=-1)
    return sums / sums[..., -1:]


def _at(ends: Tensor, points: Tensor) -> Tensor:
    """The first token whose cumulative sum exceeds the point: (…, V), (…, n) -> (…, n)."""
    return torch.searchsorted(ends, points.contiguous(), right=True)
