"""The trace: registered names, axes that are checked, edits that move what follows and nothing else."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest
import torch

from core import kept, notation, steps, trace, worked
from core.cache import KVCache
from core.config import ModelConfig
from core.errors import ShapeError, UnknownName
from core.model import Decoder
from core.toy import ToySizes, toy
from core.trace import NAMES, Trace
from tests.core.test_model import GRID, SIZES, label, random_decoder, random_ids

CONFIG: dict[str, Any] = {**SIZES, "norm": "layer", "positions": "learned", "ffn": "gelu", "qkv_bias": True}


def traced(**choices: Any) -> Trace:
    result = Trace(source="test")
    random_decoder(**choices)(random_ids(), trace=result)
    return result


# Names and axes.


def test_every_name_has_known_axes_and_a_symbol_and_reads_known_names() -> None:
    for name, entry in NAMES.items():
        assert set(entry.axes) <= set(notation.AXES), name
        assert notation.symbol(name), name
        for read in entry.reads:
            assert read in NAMES or f"blocks.{{l}}.{read}" in NAMES, (name, read)
        assert (entry.op == "given") == (not entry.reads), name


@pytest.mark.parametrize("choices", GRID[::4], ids=label)
def test_a_plan_uses_registered_names_and_operations_in_an_order_that_can_be_computed(choices: dict[str, Any]) -> None:
    config = ModelConfig(**choices)
    plan = steps.plan(config)
    for name, step in plan.items():
        assert NAMES[trace.template(name)].op != "given", name
        assert step.op in steps.OPERATIONS or step.op == "scale"
        for read in step.reads:
            assert trace.template(read)
            assert read not in plan or list(plan).index(read) < list(plan).index(name), (name, read)


@pytest.mark.parametrize("choices", GRID[::4], ids=label)
def test_each_tensor_has_the_sizes_that_its_axes_say(choices: dict[str, Any]) -> None:
    result = traced(**choices)
    sizes = {**result.config.sizes, "B": 2, "T": 5, "Tq": 5, "Tk": 5}
    names = result.names()
    assert len(names) == len(set(names))
    for name in names:
        expected = tuple(sizes[axis] for axis in result.axes(name))
        shape = tuple(result[name].shape)
        assert shape == expected or (name == "mask" and shape == (1, 1, 5, 5)), name


def test_the_documents_sizes() -> None:
    """D0 §3, §8, §13: B=2, T=4, D=8, H=2, Dh=4, F=32, V=10000."""
    config = ModelConfig.from_width(width=8, heads=2, vocab=10000, layers=1, ffn_width=32, max_positions=4,
                                    positions="none", ffn="relu")
    result = Trace()
    Decoder(config)(torch.randint(10000, (2, 4)), trace=result)
    shapes = {"tokens": (2, 4), "embedding": (10000, 8), "blocks.0.in": (2, 4, 8), "blocks.0.q": (2, 2, 4, 4),
              "blocks.0.scores": (2, 2, 4, 4), "blocks.0.context": (2, 2, 4, 4), "blocks.0.concat": (2, 4, 8),
              "blocks.0.w1": (8, 32), "blocks.0.w2": (32, 8), "blocks.0.hidden": (2, 4, 32), "logits": (2, 4, 10000)}
    assert {name: tuple(result[name].shape) for name in shapes} == shapes
    assert tuple(result["blocks.0.k"].mT.shape) == (2, 2, 4, 4)


def test_names_come_in_the_order_of_the_computation() -> None:
    names = traced(**CONFIG).names()
    for name, step in steps.plan(ModelConfig(**CONFIG)).items():
        for read in step.reads:
            assert names.index(read) < names.index(name), (read, name)


@pytest.mark.parametrize("name", ["nonsense", "blocks.0.nonsense", "blocks.x.q", "q", "blocks.0.embed", ""])
def test_a_name_that_is_not_registered_raises(name: str) -> None:
    result = traced(**CONFIG)
    assert name not in result
    for read in (result.__getitem__, result.axes, trace.registered):
        with pytest.raises(UnknownName) as caught:
            read(name)
        assert caught.value.name == name


@pytest.mark.parametrize("name", ["blocks.2.q", "blocks.0.q_rot", "blocks.0.gate", "w_gate", "blocks.0.bo"])
def test_a_name_that_this_model_lacks_raises_with_the_names_it_has(name: str) -> None:
    result = traced(**CONFIG)
    with pytest.raises(UnknownName) as caught:
        result[name]
    if name.startswith("blocks."):
        assert caught.value.known == result.names()


@pytest.mark.parametrize(("name", "shape"), [
    ("blocks.0.wq", (10, 23)), ("blocks.0.in", (2, 4, 9)), ("blocks.0.in", (4, 10)), ("tokens", (3, 4)),
    ("mask", (1, 1, 3, 3)), ("mask", (2, 5, 4, 4)), ("blocks.1.in", (2, 5, 10)), ("blocks.0.q", (2, 4, 6, 4))])
def test_a_tensor_that_contradicts_the_config_or_the_others_raises(name: str, shape: tuple[int, ...]) -> None:
    config = ModelConfig(**CONFIG)
    given: dict[str, torch.Tensor] = {"positions": torch.arange(4).expand(2, 4), "blocks.0.in": torch.zeros(2, 4, 10),
                                      "mask": torch.zeros(1, 1, 4, 4)}
    wrong = torch.zeros(shape, dtype=torch.long if name == "tokens" else torch.float32)
    with pytest.raises(ShapeError):
        Trace(config=config, given={**given, name: wrong})
    with pytest.raises(UnknownName):
        Trace(config=config, given={**given, "blocks.0.wx": wrong})


def test_the_stream_is_captured_once_and_in_order() -> None:
    decoder, result = random_decoder(**CONFIG), Trace()
    decoder(random_ids(), trace=result)
    assert len(result.stream) == decoder.config.layers + 1
    for layer in range(decoder.config.layers):
        assert torch.equal(result[f"blocks.{layer}.in"], result.stream[layer])
        assert result.is_given(f"blocks.{layer}.in")
    with pytest.raises(ShapeError):
        decoder(random_ids(seed=5), trace=result)


def test_two_traces_of_one_decoder_do_not_mix() -> None:
    decoder = random_decoder(**CONFIG)
    first, second = Trace(), Trace()
    decoder(random_ids(), trace=first)
    logits = first["logits"].clone()
    decoder(random_ids(seed=9), trace=second)
    assert torch.equal(first["logits"], logits)
    assert not torch.equal(first["logits"], second["logits"])


# Memory.


def test_computed_tensors_are_kept_within_a_bound_and_come_back_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    result = traced(**CONFIG)
    computed = [name for name in result.names() if not result.is_given(name)]
    before = {name: result[name].clone() for name in computed}
    monkeypatch.setattr(kept, "COMPUTED_BYTES", 3000)
    small, stream = traced(**CONFIG), sum(t.nbytes for t in result.stream)
    for name in [*computed, *reversed(computed)]:
        assert torch.equal(small[name], before[name]), name
        assert small.nbytes - stream <= 3000 or small[name].nbytes > 3000
    assert result.nbytes - stream > 3000, "the bound would not have been reached"


def test_when_room_is_short_the_tensor_unused_longest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for two of three equally large tensors, one of them read again in between: that one stays."""
    result = traced(**CONFIG)
    keep, drop, new = "blocks.0.norm1", "blocks.1.norm1", "blocks.0.k_proj"
    sizes = {name: result[name].nbytes for name in (keep, drop, new)}
    monkeypatch.setattr(kept, "COMPUTED_BYTES", sizes[keep] + max(sizes[drop], sizes[new]))
    result = traced(**CONFIG)
    first, second = result[keep], result[drop]
    assert result[keep] is first
    assert result[new] is not None
    assert result[keep] is first
    assert result[drop] is not second
    assert torch.equal(result[drop], second)


def test_several_readers_get_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "COMPUTED_BYTES", 2000)
    result, expected, failures = traced(**CONFIG), traced(**CONFIG)["logits"], []

    def read() -> None:
        for name in [*result.names(), *reversed(result.names())]:
            try:
                value = result[name]
            except Exception as error:  # noqa: BLE001 - whatever it is, the test must see it
                failures.append(error)
                return
        if not torch.equal(result["logits"], expected):
            failures.append(value)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert failures == []


def test_sizes_are_settled_when_a_trace_begins() -> None:
    """Sessions share traces: reading one changes nothing that another one looks at."""
    decoder = random_decoder(**CONFIG)
    cache = KVCache(decoder.config, 2, 8)
    decoder(random_ids(), cache=cache)
    later = Trace()
    decoder(random_ids()[:, :1], cache=cache, trace=later)
    for result in (traced(**CONFIG), later, *(make() for make in worked.EXAMPLES.values())):
        before = dict(result._sizes)
        with pytest.raises(TypeError):
            result._sizes["T"] = 1  # type: ignore[index]
        axes = {axis for name in result.names() for axis in result.axes(name)}
        assert axes <= before.keys()
        for name in result.names():
            for axis, size in zip(result.axes(name), result[name].shape, strict=True):
                assert before[axis] == size or (name == "mask" and size == 1), (name, axis)
        assert result._sizes == before
        assert result.sizes == {axis: before[axis] for axis in result.sizes}


def test_traces_that_keep_their_tensors_together_hold_no_more_than_one() -> None:
    together = kept.Kept(max_bytes=3000)
    decoder, alone = random_decoder(**CONFIG), traced(**CONFIG)
    several = [Trace(kept=together) for _ in range(3)]
    for result in several:
        decoder(random_ids(), trace=result)
    for name in alone.names():
        for result in several:
            assert torch.equal(result[name], alone[name]), name
            assert together.nbytes <= 3000 or together.nbytes == result[name].nbytes
        held = [result.nbytes - sum(t.nbytes for t in result.stream) for result in several]
        assert sum(held) == together.nbytes
    assert alone.nbytes - sum(t.nbytes for t in alone.stream) > 3000, "the bound would not have been reached"


def test_the_check_compares_with_what_the_fused_kernel_gave() -> None:
    """A stream that was tampered with shows up as the check's difference."""
    assert traced(**CONFIG).check(0) is not None
    result = traced(**CONFIG)
    result.stream[1] = result.stream[1] + 0.25
    check = result.check(0)
    assert check is not None
    assert check.difference == pytest.approx(0.25, abs=1e-5)
    single = worked.single_head("causal").check(0)
    assert single is not None
    assert (single.kind, single.name) == ("sdpa", "blocks.0.context")
    assert single.difference < 1e-6


def test_sizes_are_those_of_tensors_that_are_there() -> None:
    assert worked.single_head().sizes == {"B": 1, "T": 3, "Tq": 3, "Tk": 3, "D": 2, "H": 1, "Hkv": 1, "Dh": 2, "HDh": 2,
                                          "HkvDh": 2}
    sizes = toy(ToySizes(batch=3, tokens=5, width=12, heads=3, kv_heads=1, ffn_width=7, vocab=9, layers=2)).sizes
    expected = {"B": 3, "T": 5, "D": 12, "H": 3, "Hkv": 1, "Dh": 4, "F": 7, "V": 9}
    assert {axis: sizes[axis] for axis in expected} == expected
    assert math.prod(sizes[a] for a in "HD") == 36
