"""Bytes of a cache by formula and by tensors, what is easily counted wrong, what a step with it and without costs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from core import cost
from core.cache import KVCache
from core.config import PRESETS
from core.errors import UnknownOption
from core.stage import At
from core.stages import kv_cache
from core.stages.kv_cache import decode_time, growth
from core.stages.kv_cache import questions as bytes_of
from tests.core.steps import LONG, WINDOWED, steps_of, traced
from tests.core.test_model import LAWS, SIZES, label, random_decoder, random_ids
from tests.core.test_snippets import run


def test_growth_is_the_formula_for_every_kind() -> None:
    """D1 §6.4: LLaMA-2-7B has 524,288 bytes a token in 16 bits, with 8 of 32 KV heads a quarter, with one 1/32."""
    config = PRESETS["llama-2-7b"]
    at = growth.lengths(4096)
    assert at[0] == 0
    assert at[-1] == 4096
    found = {curve.kind: curve for curve in growth.curves(config.with_(kv_heads=8), 2, at, 2, window=1000)}
    assert found["mha"].bytes == [2 * 524_288 * tokens for tokens in at]
    assert [4 * count for count in found["own"].bytes] == found["mha"].bytes
    assert [32 * count for count in found["mqa"].bytes] == found["mha"].bytes
    assert found["window"].bytes == [2 * 131_072 * min(tokens, 1000) for tokens in at]
    assert "window" not in {curve.kind for curve in growth.curves(config, 1, at, 2)}


def test_kv_heads_are_those_that_divide() -> None:
    assert growth.divisors(12) == [12, 6, 4, 3, 2, 1]
    for count in growth.divisors(32):
        PRESETS["llama-3-8b"].with_(kv_heads=count)


def test_each_miscount_is_off_by_its_own_factor() -> None:
    config = PRESETS["llama-3-8b"]
    right = cost.kv_cache_bytes(config, 3, 100, 2)
    wrong = {slip: bytes_of.miscounted(config, 3, 100, 2, slip) for slip in bytes_of.SLIPS}
    assert {slip: right / count for slip, count in wrong.items()} == {
        "k_only": 2, "query_heads": 1 / 4, "one_layer": 32, "one_text": 3, "elements": 2}
    with pytest.raises(UnknownOption):
        bytes_of.miscounted(config, 1, 1, 2, "other")


def test_times_are_measured_at_the_lengths_asked_for_and_stop_when_asked() -> None:
    decoder = random_decoder(**{**SIZES, "max_positions": 200, "kv_heads": 1})
    taken = []
    found = []
    for timing in decode_time.decode_times(decoder, [1, 16, 150]):
        taken.append(timing.length)
        found.append(timing)
        if timing.length == 16:
            break
    assert taken == [1, 16]
    assert all(timing.cached >= 0 and timing.uncached >= 0 for timing in found)
    each = cost.kv_cache_bytes(decoder.config, 1, 1, 4)
    assert [timing.cached_bytes for timing in found] == [0, 15 * each]


def test_lengths_stay_within_the_model_and_the_bench_decoder_is_seeded() -> None:
    assert decode_time.lengths(PRESETS["gpt2"], 4096) == [16, 32, 64, 128, 256, 512, 1024]
    assert decode_time.lengths(PRESETS["gpt2"], 100) == [16, 32, 64]
    one, same = decode_time.bench_decoder(), decode_time.bench_decoder()
    ids = torch.tensor([[1, 2, 3]])
    assert torch.equal(one(ids), same(ids))


def test_bytes_of_a_cache_are_judged() -> None:
    """D0 §11.4: 2·N·B·H·T·Dh numbers."""
    config = PRESETS["llama-3-8b"]
    whole, each = (bytes_of.bytes_question(config, 3, 100, 2, number) for number in (0, 1))
    assert whole.answer == 2 * 32 * 3 * 100 * 8 * 128 * 2 == 100 * each.answer
    for question in (whole, each):
        def judged(answer: float, question: Any = question) -> str:
            return bytes_of.judge_bytes(config, 3, 100, 2, question, answer)

        assert judged(question.answer) == "right"
        assert judged(question.answer / 32) == "one_layer"
        assert judged(question.answer * 4) == "query_heads"
        assert judged(question.answer / 3) == "one_text"
        assert judged(question.answer / 2) in ("k_only", "elements")
        assert judged(1.0) == "wrong"


def counted(attempt: Callable[[], object]) -> int:
    with FlopCounterMode(display=False) as counter:
        attempt()
    return int(counter.get_total_flops())


def test_reading_the_whole_text_again_grows_faster_than_reading_the_cache() -> None:
    """Counted by torch, not timed: at T tokens the step without a cache does about T times the arithmetic; with one it
    grows by the keys alone."""
    decoder = decode_time.bench_decoder()
    config, cached, uncached = decoder.config, {}, {}
    for length in (16, 1024):
        ids = torch.arange(length)[None] % config.vocab
        cache = KVCache(config, 1, length)
        decoder.stream(ids[:, :-1], cache=cache)
        cached[length] = counted(lambda ids=ids, cache=cache: decoder.stream(ids[:, -1:], cache=cache))
        uncached[length] = counted(lambda ids=ids: decoder.stream(ids))
    assert uncached[1024] > 500 * cached[1024]
    assert uncached[1024] / uncached[16] >= 64 > cached[1024] / cached[16]


@pytest.mark.parametrize("choices", [*({**laws, **LONG} for laws in LAWS), WINDOWED], ids=label)
@pytest.mark.parametrize("chunk", [None, 3])
def test_the_program_fills_the_cache_as_the_steps_did(
    choices: dict[str, Any], chunk: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoder = random_decoder(**choices)
    for step in steps_of(decoder, random_ids(2, 5) % decoder.config.vocab, 2, chunk=chunk):
        trace = traced(step)
        for layer in range(decoder.config.layers):
            kept = run(kv_cache.program(At(trace, layer)), tmp_path, monkeypatch)
            assert torch.equal(kept, torch.stack([trace[f"blocks.{layer}.{letter}_all"] for letter in "kv"]))
