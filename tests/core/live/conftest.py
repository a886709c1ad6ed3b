"""A tiny Llama in a GGUF file, written with the `gguf` package, and the real model, loaded once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from gguf import GGMLQuantizationType as Kind

from core import live
from core.live import Live, checkpoint, registry, weights_cache

D, H, HKV, DH, F, LAYERS, POSITIONS = 64, 4, 2, 16, 96, 2, 32
CONTROLS = ["<|endoftext|>", "<|im_start|>"]
MERGES = ["t h", "th e", "Ġ the", "i n", "Ġ Ġ"]
NO_TOKEN = 0x04  # the tiny vocabulary, like SmolLM2's, was never taught this byte

WriteGGUF = Callable[..., Path]


def byte_characters() -> list[str]:
    """GPT-2's byte alphabet in byte order, spelt out here independently of the code under test."""
    printable = [chr(b) for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b <= 255]
    others = iter(chr(256 + n) for n in range(256))
    return [chr(b) if chr(b) in printable else next(others) for b in range(256)]


def tiny_tokens() -> list[str]:
    letters = [char for byte, char in enumerate(byte_characters()) if byte != NO_TOKEN]
    return CONTROLS + letters + [merge.replace(" ", "") for merge in MERGES]


def tiny_tensors() -> dict[str, tuple[np.ndarray[Any, Any], Kind]]:
    """Random weights by GGUF name, (out, in), and how each is stored: all kinds of the real file, and F16."""
    random = np.random.default_rng(7)

    def draw(*shape: int) -> np.ndarray[Any, Any]:
        return (random.standard_normal(shape) * 0.2).astype(np.float32)

    tensors = {"token_embd.weight": (draw(len(tiny_tokens()), D), Kind.Q8_0),
               "output_norm.weight": (1 + draw(D), Kind.F32)}
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        tensors |= {
            block + "attn_norm.weight": (1 + draw(D), Kind.F32),
            block + "attn_q.weight": (draw(H * DH, D), Kind.Q4_1),
            block + "attn_k.weight": (draw(HKV * DH, D), Kind.F16),
            block + "attn_v.weight": (draw(HKV * DH, D), Kind.F32),
            block + "attn_output.weight": (draw(D, H * DH), Kind.Q4_1),
            block + "ffn_norm.weight": (1 + draw(D), Kind.F32),
            block + "ffn_gate.weight": (draw(F, D), Kind.Q4_1),
            block + "ffn_up.weight": (draw(F, D), Kind.Q8_0),
            block + "ffn_down.weight": (draw(D, F), Kind.F16),
        }
    return tensors


def tiny_metadata() -> dict[str, Any]:
    tokens = tiny_tokens()
    return {
        "llama.block_count": LAYERS, "llama.context_length": POSITIONS, "llama.embedding_length": D,
        "llama.feed_forward_length": F, "llama.attention.head_count": H, "llama.attention.head_count_kv": HKV,
        "llama.rope.freq_base": 10000.0, "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.vocab_size": len(tokens), "llama.rope.dimension_count": DH,
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3] * len(CONTROLS) + [1] * (len(tokens) - len(CONTROLS)),
        "tokenizer.ggml.merges": MERGES,
    }


def write_tiny(folder: Path, metadata: Mapping[str, Any] | None = None, tensors: Mapping[str, Any] | None = None,
               *, architecture: str = "llama") -> Path:
    """Write a tiny model; `metadata` and `tensors` replace entries, None takes one out."""
    path = folder / "tiny.gguf"
    writer = gguf.GGUFWriter(path, architecture)
    for key, value in ({**tiny_metadata(), **(metadata or {})}).items():
        _add(writer, key, value)
    for key, stored in ({**tiny_tensors(), **(tensors or {})}).items():
        if stored is not None:
            array, kind = stored
            writer.add_tensor(key, gguf.quants.quantize(array, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(autouse=True)
def no_checkpoints_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever folder the person who runs the tests has."""
    monkeypatch.delenv(registry.VARIABLE, raising=False)
    monkeypatch.delenv(checkpoint.LIMIT_VARIABLE, raising=False)


@pytest.fixture
def write_gguf(tmp_path: Path) -> WriteGGUF:
    return partial(write_tiny, tmp_path)


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, list):
        writer.add_array(key, value)
    elif isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif value is not None:
        writer.add_uint32(key, value)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder of its own (not made yet)."""
    place = tmp_path / "cache"
    monkeypatch.setenv(weights_cache.VARIABLE, str(place))
    return place


@pytest.fixture
def tiny(write_gguf: WriteGGUF, cache: Path) -> Live:
    return live.load(write_gguf())
