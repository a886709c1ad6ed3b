"""A GGUF file becomes a configuration and parameters, or an error that says what is wrong with it."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Kind
from hypothesis import given, settings
from hypothesis import strategies as st

from core.config import PRESETS
from core.live import checkpoint, gguf_file, registry
from core.live.errors import CheckpointInvalid, TooLarge
from core.model import parameter_shapes

from .conftest import DH, HKV, LAYERS, POSITIONS, D, F, H, WriteGGUF, tiny_tensors, tiny_tokens, write_tiny


def test_configuration_comes_from_the_metadata(write_gguf: WriteGGUF) -> None:
    config = gguf_file.read(write_gguf()).config
    assert (config.width, config.heads, config.kv_heads, config.head_dim) == (D, H, HKV, DH)
    assert (config.ffn_width, config.layers, config.max_positions) == (F, LAYERS, POSITIONS)
    assert config.vocab == len(tiny_tokens())
    assert (config.norm_eps, config.rope_base, config.rope_pairing) == (1e-5, 10000.0, "adjacent")
    assert config.tied_head


def test_smollm2s_file_holds_the_preset_of_that_name() -> None:
    config = gguf_file.read(registry.locate("smollm2-135m")).config
    assert config == PRESETS["smollm2-135m"].with_(rope_pairing="adjacent")


def test_linear_scaling_of_positions_is_read(write_gguf: WriteGGUF) -> None:
    path = write_gguf({"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 2.5})
    assert gguf_file.read(path).config.rope_scaling == {"rope_type": "linear", "factor": 2.5}


def test_llama_3s_scaling_is_recognised_by_its_numbers(write_gguf: WriteGGUF) -> None:
    """As the writer of GGUF files computes them, from the settings of Llama 3.1 and 3.2."""
    for factor in (8.0, 32.0):
        numbers = []
        for pair in range(DH // 2):
            wavelength = 2 * math.pi * 500_000 ** (2 * pair / DH)
            smooth = (8192 / wavelength - 1.0) / (4.0 - 1.0)
            within = 1 / ((1 - smooth) / factor + smooth)
            numbers.append(1.0 if wavelength < 8192 / 4.0 else factor if wavelength > 8192 / 1.0 else within)
        assert len(set(numbers)) == 3, "too few pairs to tell"
        factors = (np.array(numbers, dtype=np.float32), Kind.F32)
        config = gguf_file.read(write_gguf({"llama.rope.freq_base": 500_000.0}, {"rope_freqs.weight": factors})).config
        assert config.rope_scaling == {"rope_type": "llama3", "factor": factor, "low_freq_factor": 1.0,
                                       "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}


def test_parameters_are_those_of_the_decoder(write_gguf: WriteGGUF) -> None:
    head = np.ones((len(tiny_tokens()), D), dtype=np.float32)
    for tensors in ({}, {"output.weight": (head, Kind.F16)}):
        checkpoint = gguf_file.read(write_gguf(tensors=tensors))
        assert dict(checkpoint.shapes) == parameter_shapes(checkpoint.config)
        assert checkpoint.config.tied_head == (not tensors)
        found = {name: array.shape for name, array in checkpoint.parameters()}
        assert list(found.items()) == list(checkpoint.shapes.items())


@pytest.mark.parametrize(("ours", "theirs"), [
    ("blocks.1.wq", "blk.1.attn_q.weight"), ("blocks.0.wk", "blk.0.attn_k.weight"),
    ("blocks.0.wv", "blk.0.attn_v.weight"), ("blocks.1.w_up", "blk.1.ffn_up.weight"),
    ("blocks.1.w_down", "blk.1.ffn_down.weight"),
])
def test_matrices_are_transposed_and_as_close_as_their_storage_allows(
    write_gguf: WriteGGUF, ours: str, theirs: str,
) -> None:
    parameters = dict(gguf_file.read(write_gguf()).parameters())
    written, kind = tiny_tensors()[theirs]
    # The largest step of each storage type for values of this size: 4-bit 1/15 of a block's range, 8-bit 1/127.
    steps = {Kind.F32: 0.0, Kind.F16: 2**-11, Kind.Q8_0: 1 / 127, Kind.Q4_1: 2 / 15}
    assert parameters[ours].dtype == np.float32
    assert parameters[ours].flags.c_contiguous
    assert np.abs(parameters[ours] - written.T).max() <= steps[kind] * np.abs(written).max()


@pytest.mark.parametrize(("metadata", "tensors", "said"), [
    ({"llama.embedding_length": None}, {}, "llama.embedding_length"),
    ({"llama.attention.head_count": 0}, {}, "heads"),
    ({"llama.attention.head_count_kv": 3}, {}, "kv_heads"),
    ({"llama.block_count": 3}, {}, "9 tensors are missing"),
    ({"llama.block_count": 1}, {}, "9 tensors have no place"),
    ({"llama.block_count": 5_000_000}, {}, "layers"),
    ({"llama.feed_forward_length": 128}, {}, "ffn_gate"),
    ({"llama.embedding_length": "wide"}, {}, "should be int"),
    ({"llama.rope.freq_base": math.nan}, {}, "rope_base"),
    ({"llama.rope.scaling.type": "yarn"}, {}, "RoPE"),
    ({"llama.rope.scaling.type": "linear"}, {}, "llama.rope.scaling.factor"),
    ({"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 0.0}, {}, "factor"),
    ({"llama.vocab_size": 300}, {}, "300"),
    ({"tokenizer.ggml.pre": "tekken"}, {}, "tekken"),
    ({"tokenizer.ggml.model": "bert"}, {}, "tokenizer model"),
    ({"tokenizer.ggml.model": "llama"}, {}, "tokenizer.ggml.scores"),
    ({"tokenizer.ggml.model": "llama", "tokenizer.ggml.scores": [0.5, 1.5]}, {}, "2 scores"),
    ({"tokenizer.ggml.token_type": [1, 1, 1]}, {}, "token types"),
    ({"tokenizer.ggml.merges": ["q x"]}, {}, "merge 'q x'"),
    ({"tokenizer.ggml.tokens": ["a"] * len(tiny_tokens())}, {}, "twice"),
    ({}, {"output_norm.weight": None}, "output_norm.weight"),
    ({}, {"rope_freqs.weight": (np.linspace(1, 3, 8, dtype=np.float32), Kind.F32)}, "RoPE"),
    ({}, {"rope_freqs.weight": (np.ones(7, dtype=np.float32), Kind.F32)}, "RoPE"),
    ({}, {"output_norm.weight": (np.full(D, np.nan, dtype=np.float32), Kind.F32)}, "not finite"),
    ({}, {"output_norm.weight": (np.ones(D + 1, dtype=np.float32), Kind.F32)}, "sizes"),
])
def test_what_does_not_fit_is_refused_and_named(
    write_gguf: WriteGGUF, metadata: dict[str, Any], tensors: dict[str, Any], said: str,
) -> None:
    path = write_gguf(metadata, tensors)
    with pytest.raises(CheckpointInvalid) as caught:
        list(gguf_file.read(path).parameters())
    assert said in caught.value.what
    assert caught.value.path == path


def test_other_architectures_are_refused(write_gguf: WriteGGUF) -> None:
    with pytest.raises(CheckpointInvalid, match="'gpt2' is not read"):
        gguf_file.read(write_gguf(architecture="gpt2"))


def test_more_parameters_than_the_limit_are_refused_before_memory_is_taken(
    write_gguf: WriteGGUF, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(checkpoint.LIMIT_VARIABLE, "0.0001")
    monkeypatch.setattr(gguf_file, "dequantize", lambda *_: pytest.fail("took memory"))
    with pytest.raises(TooLarge) as caught:
        gguf_file.read(write_gguf())
    parameters = sum(math.prod(array.shape) for array, _ in tiny_tensors().values())
    assert (caught.value.size, caught.value.limit) == (4 * parameters, 100_000)


@pytest.mark.parametrize("content", [b"", b"GGUF", b"GGUF\x03\x00\x00\x00", b"PK\x03\x04" * 100, b"\0" * 4096,
                                     b"GGUF\x03\0\0\0" + b"\xff" * 64, b"GGUF\x63\0\0\0" + bytes(64)])
def test_what_is_no_gguf_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.gguf"
    path.write_bytes(content)
    with pytest.raises(CheckpointInvalid):
        gguf_file.read(path)


@pytest.fixture(scope="module")
def bytes_of_tiny(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_tiny(tmp_path_factory.mktemp("whole")).read_bytes()


@settings(max_examples=60)
@given(data=st.data())
def test_damage_gives_an_answer_or_an_error_of_ours(
    bytes_of_tiny: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject,
) -> None:
    whole = bytes_of_tiny
    path = tmp_path_factory.getbasetemp() / "damaged.gguf"
    cut = data.draw(st.integers(0, len(whole)))
    damaged = bytearray(whole[:cut] if data.draw(st.booleans()) else whole)
    for _ in range(data.draw(st.integers(0, 3))):
        if damaged:
            damaged[data.draw(st.integers(0, min(len(damaged), 12_000) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(damaged)
    with contextlib.suppress(CheckpointInvalid):
        checkpoint = gguf_file.read(path)
        assert {name: array.shape for name, array in checkpoint.parameters()} == dict(checkpoint.shapes)


def test_a_file_cut_anywhere_is_refused(bytes_of_tiny: bytes, tmp_path: Path) -> None:
    path = tmp_path / "short.gguf"
    for cut in np.linspace(1, len(bytes_of_tiny) - 1, 40, dtype=int):
        path.write_bytes(bytes_of_tiny[:cut])
        with pytest.raises(CheckpointInvalid):
            gguf_file.read(path)
