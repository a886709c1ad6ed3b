"""Mistakes that are really made: the wrong numbers are those of the wrong way, the right ones those of the trace."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from core import comparison, ops, worked
from core.config import ModelConfig
from core.errors import UnknownOption
from core.toy import ToySizes, toy
from core.trace import Trace


def one_head(raw: list[float], head_dim: int, width: int) -> Trace:
    """A trace whose first query scores `raw` against two keys: q = (1, 0, …), k = (raw, 0, …)."""
    heads = width // head_dim
    config = ModelConfig(vocab=1, width=width, layers=1, heads=heads, kv_heads=1, head_dim=head_dim, ffn_width=1,
                         max_positions=2, norm="none", positions="none", ffn="none")
    q, k = torch.zeros(1, heads, 2, head_dim), torch.zeros(1, 1, 2, head_dim)
    q[..., 0], k[0, 0, :, 0] = 1.0, torch.tensor(raw)
    return Trace(config=config, given={"blocks.0.q": q, "blocks.0.k": k, "mask": torch.zeros(1, 1, 2, 2)})


@pytest.mark.parametrize(("kind", "raw", "head_dim", "width", "right", "wrong"), [
    ("model_width", [8, 0], 16, 64, [.880797, .119203], [.731059, .268941]),  # B1: too flat, not too sharp
    ("times_root", [2, 0], 4, 4, [.731059, .268941], [.982014, .017986])])  # B3
def test_published_mistakes(
    kind: str, raw: list[float], head_dim: int, width: int, right: list[float], wrong: list[float],
) -> None:
    result = scores.MISTAKES[kind](At(one_head(raw, head_dim, width), 0))
    assert result.wrong is not None
    for scores, weights in ((result.right, right), (result.wrong, wrong)):
        torch.testing.assert_close(ops.softmax(scores)[0, 0, 0], torch.tensor(weights), atol=1e-6, rtol=0)


TOY = toy(ToySizes(batch=2, tokens=5, width=12, heads=6, kv_heads=2, ffn_width=4, vocab=7, layers=2), 1)


@pytest.mark.parametrize(("kind", "factor"), [
    ("unscaled", 1.0), ("model_width", 1 / math.sqrt(12)), ("times_root", math.sqrt(2))])
def test_the_wrong_scores_are_the_raw_ones_times_the_wrong_factor(kind: str, factor: float) -> None:
    result = scores.MISTAKES[kind](At(TOY, 1))
    assert torch.equal(result.right, TOY["blocks.1.scaled"])
    assert result.wrong is not None
    assert result.difference is not None
    torch.testing.assert_close(result.wrong, TOY["blocks.1.scores"] * factor, atol=1e-6, rtol=1e-6)
    assert torch.equal(result.difference, result.wrong - result.right)
    for batch, head in itertools.product(range(2), range(6)):
        assert result.largest(batch, head) == float(result.difference[batch, head].abs().max()) > 0
    assert result.divisor == pytest.approx(1 / factor)
    assert result.error is None


def test_the_trace_is_left_alone() -> None:
    before = TOY["blocks.0.scaled"].clone()
    for kind in comparison.SCORES:
        scores.MISTAKES[kind](At(TOY, 0))
    assert torch.equal(TOY["blocks.0.scaled"], before)
    assert not TOY.scales


def test_without_the_transpose_torch_refuses_and_says_why() -> None:
    """Q (3,2) and K (3,2) do not fit; the message is torch's own."""
    result = scores.MISTAKES["untransposed"](At(worked.single_head(), 0))
    assert (result.wrong, result.difference, result.largest(0, 0)) == (None, None, 0.0)
    with pytest.raises(RuntimeError) as caught:
        torch.ones(3, 2) @ torch.ones(3, 2)
    assert result.error == str(caught.value)


def test_without_the_transpose_a_square_case_goes_through_and_is_wrong() -> None:
    """With as many tokens as dimensions nothing complains, and Q K is another matrix than Q Kᵀ."""
    square = toy(ToySizes(batch=2, tokens=4, width=24, heads=6, kv_heads=2, ffn_width=4, vocab=7, layers=1), 1)
    result = scores.MISTAKES["untransposed"](At(square, 0))
    assert result.wrong is not None
    q, k = square["blocks.0.q_rot"].double(), square["blocks.0.k_rot"].double()
    for head in range(6):
        expected = torch.einsum("btd,bds->bts", q[:, head], k[:, head // 3])
        torch.testing.assert_close(result.wrong[:, head].double(), expected, atol=1e-6, rtol=1e-6)
        assert result.largest(0, head) > 0.1


def test_an_unknown_mistake_is_refused() -> None:
    with pytest.raises(UnknownOption) as caught:
        scores.MISTAKES["reversed"](At(TOY, 0))
    assert (caught.value.value, caught.value.known) == ("reversed", list(comparison.SCORES))
