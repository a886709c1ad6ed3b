"""Llama models from GGUF files: metadata to a ModelConfig, tensors to the Decoder's parameters.

GGUF stores matrices as (out, in); the Decoder computes x @ W, so they are transposed here. The rows of q and k
are in adjacent rotary order (the writer of GGUF permutes Hugging Face's half order), which the config says.
Everything in the file is checked before memory is taken for it: kinds, counts, names, shapes. Nothing in a GGUF
file is ever executed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize
from numpy.typing import NDArray

from core.config import ModelConfig
from core.errors import ConfigError
from core.live.errors import CheckpointInvalid
from core.live.tokenizer import Vocabulary

MAX_PARAMETERS = 4_000_000_000  # 16 GB in float32
MAX_LAYERS = 1_000

# What the reader of `gguf` raises on a damaged file, depending on where the damage is.
_UNREADABLE = (ValueError, IndexError, KeyError, TypeError, OverflowError, RecursionError, MemoryError,
               OSError)


@dataclass(frozen=True)
class Slot:
    """One parameter: its name in the file, its `shape` in the Decoder, whether the file holds the transpose."""

    stored: str
    shape: tuple[int, ...]
    transposed: bool = False


@dataclass(frozen=True)
class Checkpoint:
    """A GGUF file whose contents fit together, nothing of it dequantised yet. `shapes` is by parameter name."""

    path: Path
    config: ModelConfig
    vocabulary: Vocabulary
    shapes: Mapping[str, tuple[int, ...]]
    _slots: Mapping[str, Slot]
    _tensors: Mapping[str, Any]

    def parameters(self) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """Each parameter by name, float32 and contiguous, one at a time, in the order of `shapes`.

        Raises CheckpointInvalid on a storage type that cannot be read and on values that are not finite.
        """
        for name, slot in self._slots.items():
            tensor = self._tensors[slot.stored]
            try:
                values = dequantize(tensor.data, tensor.tensor_type).astype(np.float32, copy=False)
            except (NotImplementedError, ValueError) as error:
                what = f"tensor {slot.stored!r} cannot be dequantised: {error}"
                raise CheckpointInvalid(self.path, what) from error
            if not np.isfinite(values).all():
                raise CheckpointInvalid(self.path, f"tensor {slot.stored!r} has values that are not finite")
            yield name, np.ascontiguousarray(values.T if slot.transposed else values)


def read(path: Path) -> Checkpoint:
    """Read and check everything but the values of the tensors. Raises CheckpointInvalid."""
    try:
        reader = GGUFReader(path)
        metadata = _Metadata(path, reader)
        config = _config(metadata, [tensor.name for tensor in reader.tensors])
        vocabulary = _vocabulary(metadata, config)
    except ConfigError as error:
        raise CheckpointInvalid(path, str(error)) from error
    except CheckpointInvalid:
        raise
    except _UNREADABLE as error:
        raise CheckpointInvalid(path, f"damaged, cut short, or no GGUF file ({error})") from error
    slots = _slots(config)
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    _check_tensors(path, slots, tensors)
    shapes = {name: slot.shape for name, slot in slots.items()}
    return Checkpoint(path, config, vocabulary, shapes, slots, tensors)


class _Metadata:
    """Typed look-ups in the file's key-value part."""

    def __init__(self, path: Path, reader: GGUFReader) -> None:
        self.path, self._fields = path, reader.fields

    def get(self, key: str, kind: type, default: Any = None) -> Any:
        field = self._fields.get(key)
        if field is None:
            if default is None:
                raise CheckpointInvalid(self.path, f"metadata {key!r} is missing")
            return default
        value = field.contents()
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            what = f"metadata {key!r} should be {kind.__name__}, not {value!r:.60}"
            raise CheckpointInvalid(self.path, what)
        return value

    def list_of(self, key: str, kind: type) -> list[Any]:
        values = self.get(key, list)
        if not all(isinstance(value, kind) for value in values):
            raise CheckpointInvalid(self.path, f"metadata {key!r} should hold {kind.__name__} only")
        return list(values)


def _config(metadata: _Metadata, names: list[str]) -> ModelConfig:
    kind = metadata.get("general.architecture", str)
    if kind != "llama":
        raise CheckpointInvalid(metadata.path, f"architecture {kind!r} is not read; 'llama' is")
    scaling = metadata.get("llama.rope.scaling.type", str, "none")
    if scaling != "none" or "rope_freqs.weight" in names:
        raise CheckpointInvalid(metadata.path, "scaled RoPE frequencies are not read from GGUF files")
    width, heads = (metadata.get(f"llama.{key}", int) for key in ("embedding_length", "attention.head_count"))
    head_dim = metadata.get("llama.attention.key_length", int, width // heads if heads else 1)
    rotary = metadata.get("llama.rope.dimension_count", int, head_dim)
    config = ModelConfig(
        vocab=metadata.get("llama.vocab_size", int, len(metadata.get("tokenizer.ggml.tokens", list))),
        width=width, layers=metadata.get("llama.block_count", int), heads=heads,
        kv_heads=metadata.get("llama.attention.head_count_kv", int, heads), head_dim=head_dim,
        ffn_width=metadata.get("llama.feed_forward_length", int),
        max_positions=metadata.get("llama.context_length", int),
        norm="rms", norm_place="pre",
        norm_eps=_short(metadata.get("llama.attention.layer_norm_rms_epsilon", float)),
        positions="rope", rope_base=_short(metadata.get("llama.rope.freq_base", float, 10000.0)),
        rope_dim=None if rotary == head_dim else rotary, rope_pairing="adjacent",
        ffn="swiglu", tied_head="output.weight" not in names,
    )
    if config.layers > MAX_LAYERS:
        raise CheckpointInvalid(metadata.path, f"{config.layers} layers; at most {MAX_LAYERS} are read")
    return config


def _short(value: float) -> float:
    """The shortest decimal that a float32 of the file stands for: 1e-05, not 9.999999747378752e-06."""
    return float(str(np.float32(value)))


def _vocabulary(metadata: _Metadata, config: ModelConfig) -> Vocabulary:
    model = metadata.get("tokenizer.ggml.model", str)
    if model != "gpt2":
        what = f"tokenizer model {model!r} is not read; 'gpt2' (byte-level BPE) is"
        raise CheckpointInvalid(metadata.path, what)
    vocabulary = Vocabulary(
        tokens=metadata.list_of("tokenizer.ggml.tokens", str),
        merges=metadata.list_of("tokenizer.ggml.merges", str),
        types=metadata.list_of("tokenizer.ggml.token_type", int),
        pre=metadata.get("tokenizer.ggml.pre", str),
    )
    fault = vocabulary.fault()
    if fault is None and len(vocabulary.tokens) != config.vocab:
        fault = f"{len(vocabulary.tokens)} tokens for a vocabulary of {config.vocab}"
    if fault is not None:
        raise CheckpointInvalid(metadata.path, fault)
    return vocabulary


def _slots(config: ModelConfig) -> dict[str, Slot]:
    """Every parameter of a Llama decoder of these sizes, and where a GGUF file keeps it."""
    d, f, v = config.width, config.ffn_width, config.vocab
    q, kv = config.heads * config.head_dim, config.kv_heads * config.head_dim
    slots = {"embedding": Slot("token_embd.weight", (v, d))}
    for layer in range(config.layers):
        ours, theirs = f"blocks.{layer}.", f"blk.{layer}."
        slots |= {
            ours + "gamma1": Slot(theirs + "attn_norm.weight", (d,)),
            ours + "wq": Slot(theirs + "attn_q.weight", (d, q), transposed=True),
            ours + "wk": Slot(theirs + "attn_k.weight", (d, kv), transposed=True),
            ours + "wv": Slot(theirs + "attn_v.weight", (d, kv), transposed=True),
            ours + "wo": Slot(theirs + "attn_output.weight", (q, d), transposed=True),
            ours + "gamma2": Slot(theirs + "ffn_norm.weight", (d,)),
            ours + "w_gate": Slot(theirs + "ffn_gate.weight", (d, f), transposed=True),
            ours + "w_up": Slot(theirs + "ffn_up.weight", (d, f), transposed=True),
            ours + "w_down": Slot(theirs + "ffn_down.weight", (f, d), transposed=True),
        }
    slots["final_gamma"] = Slot("output_norm.weight", (d,))
    if not config.tied_head:
        slots["w_vocab"] = Slot("output.weight", (d, v), transposed=True)
    return slots


def _check_tensors(path: Path, slots: Mapping[str, Slot], tensors: Mapping[str, Any]) -> None:
    wanted = {slot.stored: slot for slot in slots.values()}
    if missing := sorted(wanted.keys() - tensors.keys()):
        raise CheckpointInvalid(path, f"{len(missing)} tensors are missing, the first is {missing[0]!r}")
    if extra := sorted(tensors.keys() - wanted.keys()):
        raise CheckpointInvalid(path, f"{len(extra)} tensors have no place here, the first is {extra[0]!r}")
    total = sum(math.prod(slot.shape) for slot in slots.values())
    if total > MAX_PARAMETERS:
        raise CheckpointInvalid(path, f"{total} parameters; at most {MAX_PARAMETERS} are read")
    for name, slot in wanted.items():
        # GGUF lists the sizes of an axis from the innermost: a file's (in, out) is an array of (out, in).
        found = tuple(int(size) for size in tensors[name].shape)
        needed = slot.shape if slot.transposed else slot.shape[::-1]
        if found != needed:
            raise CheckpointInvalid(path, f"tensor {name!r} has sizes {list(found)}, not {list(needed)}")
