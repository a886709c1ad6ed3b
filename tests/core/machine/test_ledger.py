"""Costs side by side: parts that add up, D0 §12's own statements, laws of growth, sharing and batching."""

from __future__ import annotations

import contextlib
import itertools
import math
from typing import Any

import pytest
import torch

from core import cost
from core.config import PRESETS, ModelConfig
from core.errors import UnknownOption
from core.machine import ledger, timing
from core.machine.datasheet import DEVICES, Device
from core.machine.ledger import PASSES, PRODUCTS, Workload
from tests.core.test_model import SIZES, random_decoder

LLAMA = PRESETS["llama-2-7b"]
A100 = DEVICES["a100"]
LOADS = {
    "D1 §11": Workload(LLAMA, 1, 2048),
    "a batch": Workload(PRESETS["llama-3-8b"], 16, 700, "bfloat16", "int8"),
    "a window": Workload(PRESETS["mistral-7b"], 2, 9000, "int4", "float16"),
    "a position table": Workload(PRESETS["gpt2"], 3, 5, "float32", "float32"),
    "no FFN": Workload(ModelConfig.from_width(width=8, heads=2, vocab=10, layers=2, ffn_width=1, max_positions=9,
                                              ffn="none", norm="none"), 2, 4),
}
TEXTBOOK = ModelConfig.from_width(width=512, heads=8, vocab=1000, layers=6, ffn_width=2048, max_positions=64,
                                  ffn="relu", norm="none", positions="none")

LONG = {**SIZES, "max_positions": 40}

parametrize = pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)


@parametrize
def test_lines_sum_to_the_total_and_to_the_formulas(load: Workload) -> None:
    *lines, total = ledger.ledger(load)
    assert total.part == "total"
    for column in range(1, 6):
        assert total[column] == sum(line[column] for line in lines)
    assert total.parameters == cost.parameters(load.config)["total"]
    flops = cost.flops(load.config, load.batch, load.tokens, head_tokens=1)["total"]
    moved = cost.traffic(load.config, load.batch, 1, load.tokens, bytes_per_weight=cost.STORED[load.weights],
                         bytes_per_cache=cost.CACHED[load.cache])["total"]
    assert (total.prefill_flops, total.decode_bytes) == (flops, moved)


@parametrize
@pytest.mark.parametrize("kind", PASSES)
@pytest.mark.parametrize("part", PRODUCTS)
def test_a_formula_s_factors_give_its_line(load: Workload, kind: Any, part: str) -> None:
    line = next(line for line in ledger.ledger(load) if line.part == part)
    product = math.prod(factor.size for factor in ledger.factors(load, kind, part))
    assert product == getattr(line, f"{kind}_flops")


def test_one_layer_of_d0_section_12() -> None:
    """B·H·T² scores; QKᵀ grows with B·H·T²·Dh = B·T²·D; projections 4D², an FFN with F = 4D 8D²; 2T, four times T²."""
    load = Workload(TEXTBOOK, 2, 64)
    grown = {found.name: found for found in ledger.doubling(load)}
    assert grown["scores"].once == 2 * 8 * 64**2
    assert grown["scores"].factor == grown["pairs"].factor == 4
    assert grown["pairs"].once == 2 * 2 * 6 * (2 * 64**2 * 512)  # two FLOPs, two products, six layers
    assert grown["ffn"].once == 2 * 2 * 6 * (2 * 64 * 512 * 2048)
    block = cost.block_parameters(TEXTBOOK)
    assert block["attention"] == 4 * 512**2
    assert block["ffn"] == 8 * 512**2 == 2 * 512 * 2048
    assert ledger.crossover(TEXTBOOK) == 4 * 512


@pytest.mark.parametrize("name", PRESETS)
def test_at_the_crossover_attention_passes_the_ffn(name: str) -> None:
    config = PRESETS[name]
    found = ledger.crossover(config)
    assert found is not None
    at, before = (ledger.shares(Workload(config, 3, tokens), tokens) for tokens in (found, found - 1))
    assert at["pairs"] >= at["ffn"]
    assert before["pairs"] < before["ffn"]
    assert sum(at.values()) == pytest.approx(1, abs=1e-12)


def test_without_an_ffn_there_is_nothing_to_pass() -> None:
    assert ledger.crossover(LOADS["no FFN"].config) is None


def test_what_twice_the_tokens_do() -> None:
    factors = {found.name: found.factor for found in ledger.doubling(LOADS["D1 §11"])}
    assert {name for name, factor in factors.items() if factor == 4} == {"scores", "pairs"}
    assert {name for name, factor in factors.items() if factor == 2} == {"projections", "ffn", "cache"}
    assert {name for name, factor in factors.items() if factor == 1} == {"head", "decode_ffn", "weights"}
    assert factors["decode_pairs"] == (2 * 2048 + 1) / 2049
    assert ledger.doubling(LOADS["a window"])[5].factor == 1, "the window is full already"


@pytest.mark.parametrize(("heads", "own", "grouped"), [
    (32, 32, 8), (32, 8, 8), (12, 12, 3), (9, 9, 3), (2, 2, 1), (1, 1, 1), (14, 2, 2), (7, 7, 1)])
def test_sharing(heads: int, own: int, grouped: int) -> None:
    config = TEXTBOOK.with_(heads=heads, kv_heads=own)
    kinds = [ledger.shared(config, kind).kv_heads for kind in ledger.SHARING]
    assert kinds == [own, heads, grouped, 1]


def test_sharing_changes_keys_and_values_only() -> None:
    full, single = (ledger.ledger(Workload(ledger.shared(LLAMA, kind), 1, 2048)) for kind in ("mha", "mqa"))
    lines = {line.part: (line, other) for line, other in zip(full, single, strict=True)}
    for part in ("embedding", "ffn", "norms", "head"):
        assert lines[part][0] == lines[part][1]
    assert lines["pairs"][0].prefill_flops == lines["pairs"][1].prefill_flops
    assert lines["pairs"][0].decode_bytes == 32 * lines["pairs"][1].decode_bytes


def test_savings_by_hand() -> None:
    """Llama 2 7B, one text of 2048: D1 §6.4's quarter; T² once written, once read, for scores and weights."""
    found = {saving.name: saving for saving in ledger.savings(LOADS["D1 §11"])}
    assert found["sharing"].before == 4 * found["sharing"].after == 2**30
    assert found["fused"].before - found["fused"].after == 4 * 32 * 32 * 2048**2 * 2
    assert found["quantised"].before == 2 * 6_738_415_616 == 4 * found["quantised"].after
    assert (found["window"].window, found["window"].before) == (1024, 2 * found["window"].after), "half the text"
    assert found["cache"].before > 2000 * found["cache"].after
    assert found["batching"].before > 9 * found["batching"].after
    longer = {saving.name: saving for saving in ledger.savings(Workload(LLAMA, 1, 16384))}
    assert (longer["window"].window, longer["window"].before) == (4096, 4 * longer["window"].after)


@pytest.mark.parametrize("tokens", [2, 3, 4096, 4097, 8192])
@pytest.mark.parametrize("name", ["llama-2-7b", "mistral-7b"])
def test_a_window_always_saves_what_it_says(name: str, tokens: int) -> None:
    """Whatever the length: the cache of as many tokens as the window keeps, against that of all of them."""
    load = Workload(PRESETS[name], 3, tokens)
    (found,) = [saving for saving in ledger.savings(load) if saving.name == "window"]
    assert found.window is not None
    assert 0 < found.window < tokens
    for kept, amount in ((tokens, found.before), (found.window, found.after)):
        assert amount == 2 * load.config.layers * 3 * kept * load.config.kv_heads * load.config.head_dim * 2


def test_batching_climbs_the_slope_and_time_never_falls() -> None:
    found = list(ledger.by_batch(LOADS["a batch"], A100).values())
    assert all(one.intensity < other.intensity and one.seconds <= other.seconds
               for one, other in itertools.pairwise(found))
    assert ledger.first_compute_bound(LOADS["D1 §11"], A100) is None, "each text brings its own cache"
    first = ledger.first_compute_bound(Workload(ledger.shared(LLAMA, "mqa"), 1, 16), A100)
    assert first == 256
    assert found[0].bound == "memory"


def test_integers_are_multiplied_as_halves_and_a_processor_computes_in_singles() -> None:
    assert [A100.computes(name) for name in cost.STORED] == ["float32", "float16", "bfloat16", "float16", "float16"]
    assert DEVICES["t4"].computes("bfloat16") == "float32"
    assert {DEVICES["desktop-cpu"].computes(name) for name in cost.STORED} == {"float32"}


def test_four_bits_read_half_the_bytes_of_eight() -> None:
    eight, four = (ledger.traffic(Workload(LLAMA, 1, 9, kind), "decode")["ffn"] for kind in ("int8", "int4"))
    assert eight == 2 * four == 32 * 3 * 4096 * 11008


def test_slips_are_wrong_by_what_they_forget() -> None:
    load = Workload(LLAMA, 4, 100)
    device = Device("made up", {"float32": 1e12, "float16": 1e12}, 1e9, 1e12, "made up")
    time = ledger.slip(load, device, "arithmetic")
    assert time.right == pytest.approx(ledger.traffic(load, "decode")["total"] / 1e9)
    assert time.wrong == pytest.approx(ledger.flops(load, "decode")["total"] / 1e12)
    read = ledger.slip(load, device, "per_text")
    weights = 2 * (cost.parameters(LLAMA)["total"] - 32000 * 4096)
    assert read.wrong - read.right == 3 * weights
    looked_up = ledger.slip(load, device, "lookup")
    norms = cost.parameters(LLAMA)["norms"]
    assert looked_up.wrong - looked_up.right == 4 * 2 * (32000 * 4096 + norms)
    assert ledger.slip(load, device, "training").wrong == 6 * 6_738_415_616 * 400


@pytest.mark.parametrize("call", [
    lambda: ledger.slip(LOADS["D1 §11"], A100, "x"), lambda: ledger.shared(LLAMA, "x"),
    lambda: ledger.factors(LOADS["D1 §11"], "decode", "norms"),
    lambda: ledger.traffic(Workload(LLAMA, 1, 1, "int3"), "decode"),
    lambda: ledger.traffic(Workload(LLAMA, 1, 1, "int4", "int4"), "decode")])
def test_unknown_options_are_refused(call: Any) -> None:
    with pytest.raises(UnknownOption):
        call()


# The program, the questions, the clock.


def test_time_passes_measures_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that counts the forwards: each takes one unit, whatever it does; turns are taken for each."""
    ticks = iter(range(1000))
    monkeypatch.setattr("core.generation.time.perf_counter", lambda: float(next(ticks)))
    turns: list[int] = []

    @contextlib.contextmanager
    def turn() -> Any:
        turns.append(1)
        yield

    found = timing.time_passes(random_decoder(**LONG), 2, 4, turn)
    assert found == (2, 4, 1.0, 1.0)
    assert len(turns) == timing.REPEATS * (1 + timing.DECODED)


def test_measuring_leaves_no_graph_behind() -> None:
    decoder = random_decoder(**LONG)
    decoder.requires_grad_(True)
    timing.time_passes(decoder, 1, 3)
    assert all(parameter.grad is None for parameter in decoder.parameters())
    assert torch.is_grad_enabled()
