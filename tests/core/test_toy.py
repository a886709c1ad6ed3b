"""The toy: a decoder with parameters drawn from a seed."""

from __future__ import annotations

import itertools

import pytest
import torch

from core.errors import ConfigError, Indivisible, SizeOutOfRange
from core.model import Decoder
from core.toy import LIMITS, ToySizes, toy

SIZES = ToySizes(batch=2, tokens=5, width=12, heads=6, kv_heads=2, ffn_width=7, vocab=9, layers=2)


def test_a_seed_and_sizes_give_the_same_numbers_whatever_was_drawn_before() -> None:
    first = toy(SIZES, 3)
    torch.manual_seed(77)
    again = toy(SIZES, 3)
    assert first.names() == again.names()
    for name in first.names():
        assert torch.equal(first[name], again[name]), name
    assert not torch.equal(toy(SIZES, 4)["logits"], first["logits"])


def test_a_toy_is_the_decoder_that_has_its_parameters() -> None:
    trace = toy(SIZES, 5, norm="layer", positions="learned", ffn="gelu")
    decoder = Decoder(trace.config)
    decoder.load_state_dict({name: trace[name] for name in decoder.state_dict()})
    torch.testing.assert_close(decoder(trace["tokens"]), trace["logits"], atol=5e-6, rtol=5e-6)
    assert trace["tokens"].shape == (2, 5)
    assert trace.tokens == [f"#{token}" for token in trace["tokens"][0].tolist()]


@pytest.mark.parametrize("seed", range(4))
def test_numbers_keep_an_ordinary_size_through_the_widest_and_deepest_toy(seed: int) -> None:
    trace = toy(ToySizes(4, 32, 64, 8, 2, 128, 64, 4), seed)
    for layer, short in itertools.product(range(4), ("in", "q", "k", "v", "scaled", "ffn_out")):
        assert 0.05 < float(trace[f"blocks.{layer}.{short}"].std()) < 5, (layer, short)


@pytest.mark.parametrize("bound", [0, 1])
@pytest.mark.parametrize("field", [name for name in LIMITS if name != "seed"])
def test_every_size_at_its_bound_is_a_toy_and_the_next_one_is_refused(field: str, bound: int) -> None:
    one = ToySizes(1, 3, 8, 1, 1, 4, 5, 1)
    edge, beyond = LIMITS[field][bound], LIMITS[field][bound] + (1 if bound else -1)
    rest = {"heads": edge} if field == "kv_heads" else {}  # as many query heads, or they could not be shared
    assert toy(one._replace(**{field: edge}, **rest))["logits"].isfinite().all()
    with pytest.raises(SizeOutOfRange) as caught:
        toy(one._replace(**{field: beyond}))
    assert (caught.value.field, caught.value.value) == (field, beyond)
    assert (caught.value.low, caught.value.high) == LIMITS[field]


@pytest.mark.parametrize("seed", [-1, 2**31, 1.5, True])
def test_a_seed_is_a_whole_number_in_range(seed: object) -> None:
    with pytest.raises(SizeOutOfRange):
        toy(SIZES, seed)  # type: ignore[arg-type]


def test_sizes_that_do_not_divide_say_which_would() -> None:
    with pytest.raises(Indivisible) as caught:
        toy(SIZES._replace(width=10))
    assert (caught.value.field, caught.value.fits) == ("width", [6, 12])
    with pytest.raises(Indivisible) as caught:
        toy(SIZES._replace(kv_heads=4))
    assert (caught.value.field, caught.value.by, caught.value.divisor) == ("heads", "kv_heads", 4)
    with pytest.raises(ConfigError):
        toy(SIZES._replace(kv_heads=8))


def test_an_odd_head_width_has_no_rotation() -> None:
    trace = toy(ToySizes(1, 3, 9, 3, 1, 4, 5, 1))
    assert "blocks.0.q_rot" not in trace
    assert "blocks.0.q_rot" in toy(ToySizes(1, 3, 12, 3, 1, 4, 5, 1))
