"""Checkpoints in Hugging Face format: a folder with config.json, safetensors and tokenizer.json.

Linear layers are stored as (out, in) and transposed here; GPT-2's Conv1D layers are (in, out) already and hold q, k
and v side by side. Rotary pairs are in half order, as everywhere in that format. The weights of a folder that has
them as pickles only are refused: reading a pickle can run code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from core.config import FAMILIES, ModelConfig
from core.errors import ConfigError, UnsupportedModel
from core.live import checkpoint, json_file, tokenizer_json
from core.live.checkpoint import Slot
from core.live.errors import (
    ArchitectureUnsupported,
    CheckpointInvalid,
    FilesMissing,
    PicklesRefused,
    SizesInvalid,
    TensorTypeUnsupported,
)

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
MAX_SHARDS = 1_000
_PICKLES = {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"}
_TYPES = ("F32", "F16", "BF16", "F64")

_LLAMA_OUTER = {"embedding": "embed_tokens.weight", "final_gamma": "norm.weight", "w_vocab": "lm_head.weight"}
_LLAMA_LAYER = {
    "gamma1": "input_layernorm.weight", "gamma2": "post_attention_layernorm.weight",
    **{f"{short}{x}": f"self_attn.{x}_proj.{long}" for x in "qkvo" for short, long in (("w", "weight"), ("b", "bias"))},
    "q_gamma": "self_attn.q_norm.weight", "k_gamma": "self_attn.k_norm.weight",
    "w_gate": "mlp.gate_proj.weight", "w_up": "mlp.up_proj.weight", "w_down": "mlp.down_proj.weight",
}
_GPT2_OUTER = {"embedding": "wte.weight", "position_table": "wpe.weight", "final_gamma": "ln_f.weight",
               "final_beta": "ln_f.bias", "w_vocab": "lm_head.weight"}
_GPT2_LAYER = {
    "gamma1": "ln_1.weight", "beta1": "ln_1.bias", "gamma2": "ln_2.weight", "beta2": "ln_2.bias",
    **dict.fromkeys(("wq", "wk", "wv"), "attn.c_attn.weight"), **dict.fromkeys(("bq", "bk", "bv"), "attn.c_attn.bias"),
    "wo": "attn.c_proj.weight", "bo": "attn.c_proj.bias", "w1": "mlp.c_fc.weight", "b1": "mlp.c_fc.bias",
    "w2": "mlp.c_proj.weight", "b2": "mlp.c_proj.bias",
}
# Constants that older versions saved with the weights: causal masks and rotary frequencies.
_BUFFERS = re.compile(r"h\.\d+\.attn\.(bias|masked_bias)|(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq")


@dataclass(frozen=True)
class FolderCheckpoint:
    """A folder whose contents fit together, no weights read yet. `shapes` is by parameter name."""

    path: Path
    config: ModelConfig
    shapes: Mapping[str, tuple[int, ...]]
    _slots: Mapping[str, Slot]
    _stored: Mapping[str, Stored]

    def parameters(self) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """Each parameter by name, float32 and contiguous, one at a time, in the order of `shapes`.

        Raises CheckpointInvalid on a file that cannot be read and on values that are not finite.
        """
        with ExitStack() as stack:
            files: dict[Path, Any] = {}
            for name, slot in self._slots.items():
                stored = self._stored[slot.stored]
                if stored.file not in files:
                    files[stored.file] = stack.enter_context(_opened(stored.file))
                values = files[stored.file].get_tensor(stored.name).to(torch.float32).numpy()
                checkpoint.check_finite(stored.file, stored.name, values)
                yield name, slot.take(values)


@dataclass(frozen=True)
class Stored:
    """A tensor in one of the files: under which name, and its shape."""

    file: Path
    name: str
    shape: tuple[int, ...] = field(repr=False)


def files(folder: Path) -> list[Path]:
    """The files that make up a checkpoint. Raises FilesMissing, PicklesRefused, TooLarge before any is opened."""
    weights = _weight_files(folder)
    needed = [folder / CONFIG, folder / tokenizer_json.FILE, *weights]
    if missing := [path.name for path in needed if not path.is_file()]:
        raise FilesMissing(folder, missing)
    checkpoint.check_size(folder, sum(path.stat().st_size for path in weights))
    return needed


def read(folder: Path) -> FolderCheckpoint:
    """Read and check everything but the values of the tensors. Raises CheckpointInvalid."""
    _, _, *weights = files(folder)
    config = read_config(folder / CONFIG)
    stored = _headers(weights)
    if config.tied_head and _has_own_head(stored):
        config = config.with_(tied_head=False)
    elif config.tied_head:
        stored.pop("lm_head.weight", None)
    wanted = _slots(config)
    checkpoint.check_tensors(folder, wanted, {name: tensor.shape for name, tensor in stored.items()})
    shapes = {name: slot.shape for name, slot in wanted.items()}
    return FolderCheckpoint(folder, config, shapes, wanted, stored)


def read_config(path: Path) -> ModelConfig:
    """The configuration in a config.json. Raises CheckpointInvalid."""
    raw = json_file.read_object(path)
    try:
        config = checkpoint.checked_layers(ModelConfig.from_hf(raw))
    except UnsupportedModel as error:
        raise ArchitectureUnsupported(path, error.model_type, error.supported, error.why) from error
    except ConfigError as error:
        raise SizesInvalid(path, error) from error
    if raw.get("quantization_config"):
        raise ArchitectureUnsupported(path, raw["model_type"], FAMILIES, "quantised weights")
    return config


def _weight_files(folder: Path) -> list[Path]:
    """The one file of weights, or the shards that the index names."""
    if (folder / WEIGHTS).is_file() or not (folder / INDEX).is_file():
        if not (folder / WEIGHTS).is_file() and (pickles := _pickles(folder)):
            raise PicklesRefused(folder, pickles)
        return [folder / WEIGHTS]
    named = json_file.read_object(folder / INDEX).get("weight_map")
    if not isinstance(named, dict) or not named:
        raise CheckpointInvalid(folder / INDEX, "has no object called 'weight_map'")
    shards = sorted({str(name) for name in named.values()})
    if len(shards) > MAX_SHARDS or not all(_is_plain(name) for name in shards):
        raise CheckpointInvalid(folder / INDEX, f"names files that are not read: {shards[0]!r:.60} …")
    return [folder / name for name in shards]


def _is_plain(name: str) -> bool:
    return PurePath(name).name == name and name.endswith(".safetensors") and name.isprintable() and "\\" not in name


def _pickles(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix in _PICKLES)


def _headers(paths: Sequence[Path]) -> dict[str, Stored]:
    """The tensors of all files under the names that models of this kind share, from the headers alone."""
    stored: dict[str, Stored] = {}
    for path in paths:
        with _opened(path) as file:
            for name in file.keys():  # noqa: SIM118 - not a dict
                view = file.get_slice(name)
                if view.get_dtype() not in _TYPES:
                    raise TensorTypeUnsupported(path, name, view.get_dtype(), _TYPES)
                short = name.removeprefix("model.").removeprefix("transformer.")
                if short in stored:
                    raise CheckpointInvalid(path, f"tensor {name!r:.60} is there twice")
                if not _BUFFERS.fullmatch(short):
                    stored[short] = Stored(path, name, tuple(view.get_shape()))
    return stored


def _opened(path: Path) -> Any:
    """An open safetensors file; its header has been checked against its length by the library."""
    try:
        return safe_open(path, framework="pt")
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointInvalid(path, f"damaged, cut short, or no safetensors file ({error!s:.100})") from error


def _has_own_head(stored: Mapping[str, Stored]) -> bool:
    """Whether a head that should be the embedding is stored as well and differs: then it counts, as there."""
    head, table = (stored.get(name) for name in ("lm_head.weight", "embed_tokens.weight"))
    if head is None or (table := table or stored.get("wte.weight")) is None or head.shape != table.shape:
        return head is not None
    with _opened(head.file) as one, _opened(table.file) as other:
        return not torch.equal(one.get_tensor(head.name), other.get_tensor(table.name))


def _slots(config: ModelConfig) -> dict[str, Slot]:
    if config.positions == "rope":
        return checkpoint.slots(config, _LLAMA_OUTER, _LLAMA_LAYER, block="layers.{l}.")
    parts = {"wq": 0, "wk": 1, "wv": 2, "bq": 0, "bk": 1, "bv": 2}
    found = checkpoint.slots(config, _GPT2_OUTER, _GPT2_LAYER, block="h.{l}.", transposed=False)
    return {name: replace(slot, transposed=name == "w_vocab", third=parts.get(name.rsplit(".", 1)[-1]))
            for name, slot in found.items()}
