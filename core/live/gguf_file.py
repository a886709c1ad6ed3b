"""Llama models from GGUF files: metadata to a ModelConfig, tensors to the Decoder's parameters.

GGUF stores matrices as (out, in); the Decoder computes x @ W, so they are transposed here. The rows of q and k
are in adjacent rotary order (the writer of GGUF permutes Hugging Face's half order), which the config says.
Everything in the file is checked before memory is taken for it: kinds, counts, names, shapes. Nothing in a GGUF
file is ever executed.
"""

from __future__ import annotations

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
from core.live import tokenizer_spm
from core.live.chat import Dialog
from core.live.checkpoint import Slot, check_finite, check_tensors, checked_layers, slots
from core.live.errors import (
    ArchitectureUnsupported,
    CheckpointInvalid,
    SizesInvalid,
    TokenizerUnsupported,
)
from core.live.tokenizer import Vocabulary
from core.rope import frequencies

_OUTER = {"embedding": "token_embd.weight", "final_gamma": "output_norm.weight", "w_vocab": "output.weight"}
_LAYER = {
    "gamma1": "attn_norm.weight", "wq": "attn_q.weight", "wk": "attn_k.weight", "wv": "attn_v.weight",
    "wo": "attn_output.weight", "gamma2": "ffn_norm.weight", "w_gate": "ffn_gate.weight", "w_up": "ffn_up.weight",
    "w_down": "ffn_down.weight",
}

_ROPE_FACTORS = "rope_freqs.weight"

# What the reader of `gguf` raises on a damaged file, depending on where the damage is.
_UNREADABLE = (ValueError, IndexError, KeyError, TypeError, OverflowError, RecursionError, MemoryError,
               NotImplementedError, OSError)


@dataclass(frozen=True)
class GGUFCheckpoint:
    """A GGUF file whose contents fit together, nothing of it dequantised yet. `shapes` is by parameter name."""

    path: Path
    config: ModelConfig
    vocabulary: Vocabulary
    dialog: Dialog
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
            check_finite(self.path, slot.stored, values)
            yield name, slot.take(values)


def read(path: Path) -> GGUFCheckpoint:
    """Read and check everything but the values of the tensors. Raises CheckpointInvalid."""
    try:
        reader = GGUFReader(path)
        metadata = _Metadata(path, reader)
        tensors = {tensor.name: tensor for tensor in reader.tensors}
        config = _config(metadata, tensors)
        vocabulary = _vocabulary(metadata, config)
        dialog = _dialog(metadata, vocabulary)
    except ConfigError as error:
        raise SizesInvalid(path, error) from error
    except CheckpointInvalid:
        raise
    except _UNREADABLE as error:
        raise CheckpointInvalid(path, f"damaged, cut short, or no GGUF file ({error})") from error
    wanted = slots(config, _OUTER, _LAYER, block="blk.{l}.")
    tensors.pop(_ROPE_FACTORS, None)
    # GGUF lists the sizes of an axis from the innermost: a file's (in, out) is an array of (out, in).
    found = {name: tuple(int(size) for size in reversed(tensor.shape)) for name, tensor in tensors.items()}
    check_tensors(path, wanted, found)
    shapes = {name: slot.shape for name, slot in wanted.items()}
    return GGUFCheckpoint(path, config, vocabulary, dialog, shapes, wanted, tensors)


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


def _config(metadata: _Metadata, tensors: Mapping[str, Any]) -> ModelConfig:
    kind = metadata.get("general.architecture", str)
    if kind != "llama":
        raise ArchitectureUnsupported(metadata.path, kind, ["llama"])
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
        ffn="swiglu", tied_head="output.weight" not in tensors,
    )
    return checked_layers(config.with_(rope_scaling=_scaling(metadata, config, tensors.get(_ROPE_FACTORS))))


def _scaling(metadata: _Metadata, config: ModelConfig, factors: Any) -> dict[str, Any] | None:
    """Linear scaling from the metadata; Llama 3's from the numbers by which the file divides each frequency.

    The file does not say from which settings those numbers came. All Llama 3 models share three of them; with the
    largest number as the fourth, all numbers must come out again.
    """
    kind = metadata.get("llama.rope.scaling.type", str, "none")
    if factors is None and kind == "none":
        return None
    if factors is None and kind == "linear":
        return {"rope_type": "linear", "factor": _short(metadata.get("llama.rope.scaling.factor", float))}
    if factors is not None and kind == "none":
        stored = dequantize(factors.data, factors.tensor_type).reshape(-1)
        scaling = {"rope_type": "llama3", "factor": float(stored.max(initial=1.0)), "low_freq_factor": 1.0,
                   "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
        plain, scaled = (frequencies(config.rotary_dim, config.rope_base, how) for how in (None, scaling))
        if stored.shape == plain.shape and np.allclose(plain / scaled, stored, rtol=1e-4):
            return scaling
    raise ArchitectureUnsupported(metadata.path, "llama", ["llama"], "scaled RoPE frequencies in a GGUF file")


def _short(value: float) -> float:
    """The shortest decimal that a float32 of the file stands for: 1e-05, not 9.999999747378752e-06."""
    return float(str(np.float32(value)))


def _vocabulary(metadata: _Metadata, config: ModelConfig) -> Vocabulary:
    model = metadata.get("tokenizer.ggml.model", str)
    tokens, types = (metadata.list_of(f"tokenizer.ggml.{key}", kind) for key, kind in
                     (("tokens", str), ("token_type", int)))
    if model == "gpt2":
        vocabulary = Vocabulary(tokens, metadata.list_of("tokenizer.ggml.merges", str), types,
                                metadata.get("tokenizer.ggml.pre", str))
        fault = vocabulary.fault()
    elif model == "llama":
        scores = metadata.list_of("tokenizer.ggml.scores", float)
        space = metadata.get("tokenizer.ggml.add_space_prefix", bool, True)
        vocabulary = tokenizer_spm.vocabulary(tokens, scores, types, space=space)
        fault = tokenizer_spm.fault(vocabulary, scores)
    else:
        raise TokenizerUnsupported(metadata.path, model, ["gpt2 (byte-level BPE)", "llama (SentencePiece)"])
    if fault is None and len(tokens) != config.vocab:
        fault = f"{len(tokens)} tokens for a vocabulary of {config.vocab}"
    if fault is not None:
        raise CheckpointInvalid(metadata.path, fault)
    return vocabulary


def _dialog(metadata: _Metadata, vocabulary: Vocabulary) -> Dialog:
    """The chat template, and the tokens that begin and end a text, as far as the file has them."""
    ids = {key: metadata.get(f"tokenizer.ggml.{key}_token_id", int, -1) for key in ("bos", "eos", "eot")}
    known = {key: i for key, i in ids.items() if 0 <= i < len(vocabulary.tokens)}
    names = {f"{key}_token": vocabulary.tokens[i] for key, i in known.items() if key != "eot"}
    stop_ids = {known[key]: None for key in ("eos", "eot") if key in known}
    return Dialog(metadata.get("tokenizer.chat_template", str, "") or None, names, tuple(stop_ids))
