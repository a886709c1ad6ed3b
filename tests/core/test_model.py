"""The decoder over its configurations: every named tensor against the float64 reference, and its laws."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from core.config import ModelConfig
from core.errors import ShapeError, TokenOutOfRange
from core.model import Decoder, parameter_shapes
from core.trace import Trace
from tests.core import reference

SIZES: dict[str, Any] = {"vocab": 13, "width": 10, "layers": 2, "heads": 6, "kv_heads": 2, "head_dim": 4,
                         "ffn_width": 7, "max_positions": 9}
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 40}
# What a grid point adds to norm, place, positions and feed-forward; taken in turn, so that every pair occurs.
EXTRAS: list[dict[str, Any]] = [
    {},
    {"qkv_bias": True, "out_bias": True, "ffn_bias": True, "kv_heads": 3},
    {"qk_norm": True, "tied_head": True, "rope_pairing": "adjacent"},
    {"sliding_window": 2, "kv_heads": 1, "qkv_bias": True, "rope_scaling": {"rope_type": "linear", "factor": 3.0}},
    {"kv_heads": 6, "rope_dim": 2, "ffn_bias": True, "tied_head": True},
    {"head_dim": 8, "rope_dim": 6, "rope_pairing": "adjacent", "rope_scaling": LLAMA3, "rope_base": 50.0},
    {"qk_norm": True, "out_bias": True, "sliding_window": 3, "norm_eps": 0.03},
]
OUTER = ("embedding", "position_table")
NORMS = [("rms", "pre"), ("rms", "post"), ("layer", "pre"), ("layer", "post"), ("none", "pre")]
GRID = [
    {**SIZES, "norm": norm, "norm_place": place, "positions": positions, "ffn": ffn, **EXTRAS[n % len(EXTRAS)]}
    for n, ((norm, place), positions, ffn) in enumerate(itertools.product(
        NORMS, ("none", "sinusoidal", "learned", "rope"), ("relu", "gelu", "gelu_tanh", "swiglu", "none")))
]


def random_decoder(seed: int = 1, **choices: Any) -> Decoder:
    """All parameters random, gains and biases too, so that none of them can be forgotten unnoticed."""
    decoder = Decoder(ModelConfig(**choices))
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in decoder.named_parameters():
        spread = 0.3 if parameter.ndim == 1 else 1.0 if name in OUTER else parameter.shape[0] ** -0.5
        parameter.normal_(1.0 if "gamma" in name else 0.0, spread, generator=generator)
    return decoder


def random_ids(batch: int = 2, length: int = 5, seed: int = 2) -> torch.Tensor:
    return torch.randint(SIZES["vocab"], (batch, length), generator=torch.Generator().manual_seed(seed))


def close(a: Any, b: Any, tolerance: float = 5e-6) -> None:
    """Equal within float32 rounding, relative to the largest number in the tensor."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    assert a.shape == b.shape
    hidden = np.isneginf(b)
    assert np.array_equal(np.isneginf(a), hidden)
    a, b = np.where(hidden, 0, a), np.where(hidden, 0, b)
    assert np.abs(a - b).max(initial=0) <= tolerance * max(1.0, np.abs(b).max(initial=0))


def label(choices: dict[str, Any]) -> str:
    changed = [f"{key}={value}" for key, value in choices.items() if SIZES.get(key) != value]
    return ",".join(item for item in changed if "rope_scaling" not in item)


@pytest.mark.parametrize("choices", GRID, ids=label)
def test_every_named_tensor_equals_the_reference(choices: dict[str, Any]) -> None:
    decoder, ids, trace = random_decoder(**choices), random_ids(), Trace()
    logits = decoder(ids, trace=trace)
    parameters = {name: value.numpy() for name, value in decoder.state_dict().items()}
    expected = reference.decode(decoder.config, parameters, ids.numpy())

    assert set(expected) == set(trace.steps), "the trace names other tensors than the reference"
    for name, value in expected.items():
        close(trace[name], value)
    close(logits, expected["logits"])
    assert torch.equal(logits, decoder(ids)), "recording changed the result"
    for layer in range(decoder.config.layers):
        check = trace.check(layer)
        assert check is not None
        assert check.kind == "stream"
        assert check.difference <= 5e-6 * max(1.0, float(trace[check.name].abs().max()))


@pytest.mark.parametrize("choices", GRID[::3], ids=label)
def test_the_state_dict_holds_what_parameter_shapes_says(choices: dict[str, Any]) -> None:
    decoder = Decoder(ModelConfig(**choices))
    assert {n: tuple(t.shape) for n, t in decoder.state_dict().items()} == parameter_shapes(decoder.config)


LAWS: list[dict[str, Any]] = [
    {**SIZES, "positions": "rope", "qkv_bias": True},
    {**SIZES, "positions": "learned", "norm": "layer", "ffn": "gelu", "kv_heads": 3},
    {**SIZES, "positions": "sinusoidal", "norm_place": "post", "ffn": "relu", "tied_head": True},
    {**SIZES, "positions": "rope", "qk_norm": True, "sliding_window": 2, "kv_heads": 1, "head_dim": 6},
]


@pytest.mark.parametrize("choices", LAWS, ids=label)
def test_a_later_token_never_changes_an_earlier_output(choices: dict[str, Any]) -> None:
    decoder, ids = random_decoder(**choices), random_ids(length=6)
    before = decoder(ids)
    for place in range(1, 6):
        changed = ids.clone()
        changed[:, place] = (changed[:, place] + 5) % SIZES["vocab"]
        after = decoder(changed)
        assert torch.allclose(after[:, :place], before[:, :place], atol=5e-6)
        assert (after[:, place] - before[:, place]).abs().amax() > 1e-3, "the token itself has no effect"


@pytest.mark.parametrize("choices", LAWS, ids=label)
@pytest.mark.parametrize("side", ["left", "right", "both"])
def test_padding_changes_nothing_at_real_positions(choices: dict[str, Any], side: str) -> None:
    decoder, short, long = random_decoder(**choices), random_ids(1, 4), random_ids(1, 7, seed=3)
    offset = {"left": 3, "right": 0, "both": 1}[side]
    ids = torch.cat([torch.full((1, 7), 11), long])
    ids[0, offset:offset + 4] = short[0]
    allowed = torch.ones(2, 7, dtype=torch.bool)
    allowed[0] = False
    allowed[0, offset:offset + 4] = True
    trace = Trace()
    padded = decoder(ids, allowed=allowed, trace=trace)
    assert torch.allclose(padded[:1, offset:offset + 4], decoder(short), atol=5e-6)
    assert torch.allclose(padded[1:], decoder(long), atol=5e-6)
    parameters = {name: value.numpy() for name, value in decoder.state_dict().items()}
    expected = reference.decode(decoder.config, parameters, ids.numpy(), real=allowed.numpy())
    for name in ("blocks.1.weights", "blocks.1.out", "logits"):
        close(trace[name], expected[name])  # padded rows too: a query before the first real token reads nothing
    assert torch.isfinite(padded).all()


def test_a_batch_row_of_padding_only_leaves_the_other_row_alone() -> None:
    decoder, ids = random_decoder(**LAWS[0]), random_ids()
    allowed = torch.tensor([[False] * 5, [True] * 5])
    trace = Trace()
    logits = decoder(ids, allowed=allowed, trace=trace)
    assert torch.equal(trace["blocks.0.weights"][0], torch.zeros(6, 5, 5))
    assert torch.isfinite(logits).all()
    assert torch.allclose(logits[1:], decoder(ids[1:]), atol=5e-6)


def test_positions_count_real_tokens() -> None:
    """E7: mask [0,0,1,1,1] has its tokens at 0, 1, 2; what padding gets is of no consequence."""
    trace = Trace()
    allowed = torch.tensor([[False, False, True, True, True], [True] * 5])
    random_decoder(**LAWS[0])(random_ids(), allowed=allowed, trace=trace)
    assert trace["positions"][0, 2:].tolist() == [0, 1, 2]
    assert trace["positions"][1].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("choices", LAWS, ids=label)
def test_permuting_heads_consistently_changes_nothing(choices: dict[str, Any]) -> None:
    """KV groups change places, and so do the query heads within each group."""
    decoder, ids = random_decoder(**choices), random_ids()
    before, config = decoder(ids), decoder.config
    kv_order = [(h + 1) % config.kv_heads for h in range(config.kv_heads)]
    q_order = [g * config.group + h for g in kv_order for h in reversed(range(config.group))]
    for block in decoder.blocks:
        for name, order in (("wq", q_order), ("wk", kv_order), ("wv", kv_order), ("bq", q_order), ("bk", kv_order),
                            ("bv", kv_order)):
            if name in block._parameters:
                tensor = block.get_parameter(name)
                tensor.copy_(tensor.unflatten(-1, (-1, config.head_dim))[..., order, :].flatten(-2))
        wo = block.get_parameter("wo")
        wo.copy_(wo.unflatten(0, (-1, config.head_dim))[q_order].flatten(0, 1))
    assert torch.allclose(decoder(ids), before, atol=5e-6)
    decoder.blocks[0].get_parameter("wo").copy_(decoder.blocks[0].get_parameter("wo").flip(0))
    assert not torch.allclose(decoder(ids), before, atol=1e-2), "permuting Wo alone must show"


@pytest.mark.parametrize("kv_heads", [1, 2, 3])
def test_sharing_equals_full_attention_with_each_kv_head_repeated_in_place(kv_heads: int) -> None:
    """GQA and MQA are MHA whose K and V heads repeat as (k0, k0, k0, k1, k1, k1), D3."""
    shared = random_decoder(**{**LAWS[0], "kv_heads": kv_heads})
    full = random_decoder(**{**LAWS[0], "kv_heads": 6})
    state = shared.state_dict()
    for name, tensor in state.items():
        if name.rsplit(".", 1)[-1] in ("wk", "wv", "bk", "bv"):
            per_head = tensor.unflatten(-1, (kv_heads, 4))
            state[name] = per_head.repeat_interleave(6 // kv_heads, dim=-2).flatten(-2)
    full.load_state_dict(state)
    assert torch.allclose(full(random_ids()), shared(random_ids()), atol=5e-6)


def test_a_token_behind_every_window_has_no_influence() -> None:
    """Two layers with a window of 2 reach back two tokens and no further."""
    decoder, ids = random_decoder(**LAWS[3]), random_ids(length=6)
    changed = ids.clone()
    changed[:, 0] = (changed[:, 0] + 1) % SIZES["vocab"]
    moved = (decoder(changed) - decoder(ids)).abs().amax(dim=(0, 2))
    assert (moved[:3] > 1e-4).all()
    assert (moved[3:] < 1e-5).all()


def test_rope_scores_ignore_where_the_text_starts_and_learned_positions_do_not() -> None:
    ids = random_ids(1, 4)
    shifted = torch.arange(4)[None] + 3
    for choices, same in ((LAWS[0], True), (LAWS[1], False)):
        decoder = random_decoder(**choices)
        trace = Trace()
        decoder(ids, trace=trace)
        given = {name: trace[name] for name in (*decoder.state_dict(), "tokens", "mask")}
        moved = Trace(config=decoder.config, given={**given, "positions": shifted})
        assert torch.allclose(moved["logits"], trace["logits"], atol=5e-6) is same


@pytest.mark.parametrize(("ids", "allowed", "error"), [
    (torch.zeros(1, 10, dtype=torch.long), None, ShapeError),
    (torch.zeros(1, 0, dtype=torch.long), None, ShapeError),
    (torch.zeros(2, 3, dtype=torch.long), torch.ones(2, 4, dtype=torch.bool), ShapeError),
    (torch.zeros(2, 3, dtype=torch.long), torch.ones(2, 3), ShapeError),
    (torch.tensor([[0, 13]]), None, TokenOutOfRange),
    (torch.tensor([[-1, 3]]), None, TokenOutOfRange),
])
def test_input_that_cannot_be_decoded_is_refused(
    ids: torch.Tensor, allowed: torch.Tensor | None, error: type[Exception],
) -> None:
    with pytest.raises(error):
        random_decoder(**LAWS[1])(ids, allowed=allowed)


def test_the_longest_text_the_positions_hold_is_decoded() -> None:
    assert random_decoder(**LAWS[1])(random_ids(2, 9)).shape == (2, 9, 13)
