"""Costs by formula against published counts, models that are built, torch's own counter and the cache's tensors."""

from __future__ import annotations

import math
import urllib.parse
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from core import cost
from core.cache import KVCache
from core.config import PRESETS, ModelConfig
from core.errors import SettingOutOfRange, SizeOutOfRange, UnknownOption
from core.machine import datasheet
from core.machine.datasheet import DEVICES, Device
from core.model import Decoder
from tests.core.test_model import GRID, LAWS, SIZES, label, random_decoder, random_ids

PUBLISHED = {"gpt2": 124_439_808, "llama-2-7b": 6_738_415_616, "llama-3-8b": 8_030_261_248,
             "mistral-7b": 7_241_732_096, "qwen2.5-0.5b": 494_032_768, "smollm2-135m": 134_515_008}
LLAMA = PRESETS["llama-2-7b"]


def parts_add_up(parts: dict[str, int]) -> None:
    assert list(parts)[-1] == "total"
    assert parts["total"] == sum(n for part, n in parts.items() if part != "total")
    assert all(isinstance(n, int) and n >= 0 for n in parts.values())


# Parameters.


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_parameter_counts(name: str) -> None:
    parts = cost.parameters(PRESETS[name])
    parts_add_up(parts)
    assert parts["total"] == PUBLISHED[name]


def test_gpt2_by_convention() -> None:
    """I1: the tied table counted twice, the position table left out, matrices of attention and FFN only."""
    gpt2 = PRESETS["gpt2"]
    assert cost.parameters(gpt2.with_(tied_head=False))["total"] == 163_037_184
    parts = cost.parameters(gpt2)
    assert parts["total"] - parts["positions"] == 123_653_376
    plain = cost.parameters(gpt2.with_(qkv_bias=False, out_bias=False, ffn_bias=False))
    assert plain["attention"] + plain["ffn"] == 84_934_656
    assert parts["head"] == 0
    sizes = {1024: (24, 354_823_168), 1280: (36, 774_030_080), 1600: (48, 1_557_611_200)}
    for width, (layers, total) in sizes.items():
        heads = width // 64 if width != 1600 else 25
        bigger = gpt2.with_(width=width, layers=layers, heads=heads, kv_heads=heads, ffn_width=4 * width)
        assert cost.parameters(bigger)["total"] == total


def test_one_block_of_llama_2() -> None:
    """D1 §11.2: two thirds of a block are FFN."""
    assert cost.block_parameters(LLAMA) == {
        "attention": 67_108_864, "ffn": 135_266_304, "norms": 8_192, "total": 202_383_360}
    parts = cost.parameters(LLAMA)  # W28
    assert parts["attention"] + parts["ffn"] == 6_476_005_376
    assert parts["embedding"] == parts["head"] == 131_072_000
    assert parts["norms"] == 65 * 4096


@pytest.mark.parametrize("config", [*PRESETS.values(), *(ModelConfig(**choices) for choices in GRID)], ids=str)
def test_a_model_that_is_built_holds_that_many_numbers(config: ModelConfig) -> None:
    with torch.device("meta"):
        decoder = Decoder(config)
    assert sum(p.numel() for p in decoder.parameters()) == cost.parameters(config)["total"]


# The cache.


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", PRESETS)
def test_bytes_of_the_cache_are_those_of_its_tensors(name: str, dtype: str) -> None:
    config = PRESETS[name]
    for batch, tokens in ((1, 1), (3, 700), (2, 5000)):
        cache = KVCache(config, batch, tokens, getattr(torch, dtype), "meta")
        assert cost.kv_cache_bytes(config, batch, tokens, cost.BYTES[dtype]) == cache.nbytes


def test_sharing_shrinks_the_cache_by_its_ratio() -> None:
    """D1 §6.4: 8 of 32 KV heads a quarter, one a thirty-second."""
    full = cost.kv_cache_bytes(LLAMA, 1, 4096)
    assert full == 2 * 32 * 4096 * 32 * 128 * 2
    assert cost.kv_cache_bytes(LLAMA.with_(kv_heads=8), 1, 4096) * 4 == full
    assert cost.kv_cache_bytes(LLAMA.with_(kv_heads=1), 1, 4096) * 32 == full


def test_a_window_bounds_the_cache() -> None:
    """H7."""
    mistral = PRESETS["mistral-7b"]
    assert cost.kv_cache_bytes(mistral, 1, 32768) == 512 * 2**20 == cost.kv_cache_bytes(mistral, 1, 4096)
    assert cost.kv_cache_bytes(mistral.with_(sliding_window=None), 1, 32768) == 2**32
    assert cost.kv_cache_bytes(mistral, 1, 0) == 0


# Arithmetic.


@pytest.mark.parametrize("choices", [*LAWS, *GRID[::6], {**SIZES, "sliding_window": 4, "kv_heads": 1}], ids=label)
@pytest.mark.parametrize(("batch", "past", "new"), [(2, 0, 6), (1, 5, 1), (3, 4, 3), (2, 8, 1)])
def test_flops_are_those_that_torch_counts(choices: dict[str, Any], batch: int, past: int, new: int) -> None:
    """Its counter knows matrix products, so attention runs in the kernel that is made of them; a head that oneDNN
    multiplies is counted on the meta device, as a product too. Both count the whole rectangle of scores."""
    decoder = random_decoder(**choices)
    ids = random_ids(batch, past + new)
    cache = KVCache(decoder.config, batch, past + new)
    if past:
        decoder(ids[:, :past], cache=cache)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        x = decoder.stream(ids[:, past:], cache=cache)
    with FlopCounterMode(display=False) as head:
        decoder.to("meta").head(x.to("meta"))
    parts = cost.flops(decoder.config, batch, new, past)
    parts_add_up(parts)
    assert counter.get_total_flops() == parts["total"] - parts["head"]
    assert head.get_total_flops() == parts["head"]


def test_flops_by_hand() -> None:
    """B=1, T=4, D=8, H=2, Dh=4, F=32, V=10, one layer: D0's sizes."""
    config = ModelConfig.from_width(width=8, heads=2, vocab=10, layers=1, ffn_width=32, max_positions=9, ffn="relu")
    assert cost.flops(config, 1, 4) == {
        "qkv": 3 * 2 * 4 * 8 * 8, "scores": 2 * 2 * 4 * 4 * 4, "mix": 2 * 2 * 4 * 4 * 4, "out": 2 * 4 * 8 * 8,
        "ffn": 2 * 2 * 4 * 8 * 32, "head": 2 * 4 * 8 * 10, "total": 1536 + 256 + 256 + 512 + 4096 + 640}
    assert cost.flops(config, 1, 4, head_tokens=1)["head"] == 2 * 8 * 10


def test_a_decode_step_costs_about_two_flops_for_each_weight() -> None:
    """2N, not 6N (W28): the embedding is looked up and not multiplied."""
    counts, parts = cost.parameters(LLAMA), cost.flops(LLAMA, 1, 1)
    products = counts["attention"] + counts["ffn"] + counts["head"]
    assert parts["total"] - parts["scores"] - parts["mix"] == 2 * products


def test_twice_the_tokens_quadruple_attention_and_double_the_rest() -> None:
    one, two = cost.flops(LLAMA, 1, 512), cost.flops(LLAMA, 1, 1024)
    for part in ("scores", "mix"):
        assert two[part] == 4 * one[part]
    for part in ("qkv", "out", "ffn", "head"):
        assert two[part] == 2 * one[part]


@pytest.mark.parametrize("config", [LLAMA, PRESETS["llama-3-8b"], PRESETS["gpt2"]], ids=["mha", "gqa", "gpt2"])
def test_decoding_token_by_token_is_the_prefill_below_its_diagonal(config: ModelConfig) -> None:
    """Σ over decode steps has T(T+1)/2 pairs where a prefill has T², and the same everything else."""
    tokens = 64
    steps = [cost.flops(config, 2, 1, past) for past in range(tokens)]
    whole = cost.flops(config, 2, tokens)
    for part in ("qkv", "out", "ffn", "head"):
        assert sum(step[part] for step in steps) == whole[part]
    assert sum(step["scores"] for step in steps) * 2 * tokens == whole["scores"] * (tokens + 1)


# Bytes moved.


def test_a_decode_step_reads_every_weight_and_the_whole_cache_once() -> None:
    config = PRESETS["smollm2-135m"]
    parts = cost.traffic(config, 1, 1, 512, bytes_per_weight=4, bytes_per_cache=4)
    parts_add_up(parts)
    assert parts["cache_read"] == 512 * 2 * 23040
    assert parts["cache_written"] == 2 * 23040
    weights = parts["total"] - parts["cache_read"] - parts["cache_written"]
    assert weights == (cost.parameters(config)["total"] + 576) * 4  # tied: the head reads the table, the lookup a row
    many = cost.traffic(config, 8, 1, 512, bytes_per_weight=4, bytes_per_cache=4)
    assert many["ffn"] == parts["ffn"]
    assert many["cache_read"] == 8 * parts["cache_read"]


def test_a_prefill_reads_no_cache_and_a_window_bounds_what_a_step_reads() -> None:
    mistral = PRESETS["mistral-7b"]
    assert cost.traffic(mistral, 1, 1000)["cache_read"] == 0
    assert cost.traffic(mistral, 1, 1, 20000)["cache_read"] == 4095 * 131072
    assert cost.traffic(PRESETS["gpt2"], 2, 3)["positions"] == 2 * 3 * 768 * 2


def test_fused_attention_moves_the_operands_only() -> None:
    """FlashAttention: the same arithmetic, without T² numbers written and read back, twice."""
    fused, plain = (cost.attention_traffic(LLAMA, 1, 2048, fused=fused) for fused in (True, False))
    parts_add_up(plain)
    assert fused["total"] == fused["operands"] == plain["operands"] == 32 * 4 * 2048 * 4096 * 2
    assert plain["scores"] == plain["weights"] == 2 * 32 * 32 * 2048 * 2048 * 2


# Devices and the roofline.


def test_decoding_alone_is_bound_by_memory_and_batching_moves_it_up_the_slope() -> None:
    llama, gpu = PRESETS["llama-3-8b"], DEVICES["h100"]

    def step(batch: int, new: int, past: int) -> cost.Roofline:
        return cost.roofline(cost.flops(llama, batch, new, past)["total"],
                             cost.traffic(llama, batch, new, past)["total"], gpu, "bfloat16")

    alone, batched, prefill = step(1, 1, 512), step(64, 1, 512), step(1, 2048, 0)
    assert alone.bound == batched.bound == "memory"
    assert prefill.bound == "compute"
    assert alone.intensity == pytest.approx(1.0, abs=0.1)  # two FLOP for each weight of two bytes
    assert alone.intensity < batched.intensity < alone.ridge < prefill.intensity
    assert batched.seconds < 2 * alone.seconds, "64 texts in less than the time of two"


def test_a_roofline_by_hand() -> None:
    device = Device("x", {"float32": 100.0}, 10.0, 1.0, "made up")
    assert cost.roofline(50, 20, device, "float32") == ("memory", 2.0, 0.5, 2.0, 2.5, 10.0)
    assert cost.roofline(400, 20, device, "float32") == ("compute", 4.0, 4.0, 2.0, 20.0, 10.0)
    assert cost.roofline(200, 20, device, "float32").bound == "compute", "on the ridge"


@pytest.mark.parametrize("amounts", [(0, 1), (1, 0), (-1, 1), (1, math.inf), (math.nan, 1)])
def test_a_roofline_of_nothing_is_refused(amounts: tuple[float, float]) -> None:
    with pytest.raises(SettingOutOfRange):
        cost.roofline(*amounts, DEVICES["a100"], "float16")


@pytest.mark.parametrize("name", DEVICES)
def test_a_device_has_figures_that_can_be_and_a_source(name: str) -> None:
    device = DEVICES[name]
    assert device.source.strip()
    assert not urllib.parse.urlparse(device.source).scheme
    assert device.flops["float32"] <= max(device.flops.values())
    assert 1e11 < device.flops["float32"] < 1e14
    assert 1e10 < device.bandwidth < 1e13
    assert 1e10 < device.memory < 1e12
    assert device.peak("float32") / device.bandwidth > 1


def test_a_type_without_a_figure_is_refused_by_name() -> None:
    with pytest.raises(UnknownOption) as caught:
        DEVICES["t4"].peak("bfloat16")
    assert caught.value.known == ["float16", "float32"]


def test_requests_that_fit_beside_the_weights() -> None:
    """Llama-3-8B in 16 bits: 16.06 GB of weights, 1 GiB of cache for 8192 tokens: (80 − 16.06) / 1.0737 = 59.55."""
    fit = cost.requests_that_fit(PRESETS["llama-3-8b"], DEVICES["a100"], 8192)
    assert fit.weights == 16_060_522_496
    assert fit.per_request == 2**30
    assert fit.requests == 59
    halved = cost.requests_that_fit(PRESETS["llama-3-8b"], DEVICES["a100"], 8192, "float32", "float16")
    assert halved.requests == math.floor((80e9 - 2 * fit.weights) / 2**30)
    too_big = cost.requests_that_fit(PRESETS["llama-2-70b"], DEVICES["rtx-4090"], 100)
    assert too_big.free < 0
    assert too_big.requests == 0
    with pytest.raises(UnknownOption):
        cost.requests_that_fit(LLAMA, DEVICES["a100"], 100, "int3")


@pytest.mark.parametrize("call", [
    lambda: cost.kv_cache_bytes(LLAMA, 0, 1), lambda: cost.kv_cache_bytes(LLAMA, 1, -1),
    lambda: cost.flops(LLAMA, 1, 0), lambda: cost.flops(LLAMA, 1, 1, -1), lambda: cost.flops(LLAMA, True, 1),
    lambda: cost.traffic(LLAMA, 1, 10**9), lambda: cost.requests_that_fit(LLAMA, DEVICES["l4"], 0)])
def test_amounts_that_are_none_are_refused(call: Any) -> None:
    with pytest.raises(SizeOutOfRange):
        call()


def test_measured_ceilings_are_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Smaller than in use, for speed. What is measured cannot be known; that a copy counts both ways and a product
    2n³ can: by hand on the same clock."""
    monkeypatch.setattr(datasheet, "COPIED", 2**20)
    monkeypatch.setattr(datasheet, "SIDE", {"cpu": 256})
    seconds = iter([0.0, 9.0, 0.0, 0.5, 0.0, 0.25, *[0.0, 1.0] * 3] * 2)
    monkeypatch.setattr(datasheet.time, "perf_counter", lambda: next(seconds))
    found = datasheet.measure_ceilings("cpu")
    assert found.bandwidth == 2 * 4 * 2**20 / 0.25
    assert found.flops == {"float32": 2 * 256**3 / 0.25}
    assert found.source == "measured here"
    assert found.name.startswith("cpu")
    assert found.memory > 2**28
