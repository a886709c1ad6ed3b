"""What the readers of model files share: where each parameter stands, and the checks before memory is taken."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.config import ModelConfig
from core.errors import SizeOutOfRange, UnknownOption
from core.live.errors import TensorMisshapen, TensorNotFinite, TensorsMissing, TensorsUnexpected, TooLarge
from core.model import parameter_shapes

LIMIT_VARIABLE = "TRANSFORMER_WORKBENCH_MAX_GB"
DEFAULT_GB = 16.0
MAX_LAYERS = 1_000


@dataclass(frozen=True)
class Slot:
    """One parameter: its name in the file, its `shape` in the Decoder, and how the file holds it.

    `transposed`: as (out, in). `third`: as the first, second or third part (0, 1, 2) of a tensor three times as
    wide, as GPT-2 keeps q, k and v.
    """

    stored: str
    shape: tuple[int, ...]
    transposed: bool = False
    third: int | None = None

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """The sizes of the whole tensor in the file."""
        if self.third is not None:
            return (*self.shape[:-1], 3 * self.shape[-1])
        return self.shape[::-1] if self.transposed else self.shape

    def take(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The parameter out of the values of the stored tensor, contiguous."""
        if self.third is not None:
            values = np.split(values, 3, axis=-1)[self.third]
        return np.ascontiguousarray(values.T if self.transposed else values)


def slots(
    config: ModelConfig, outer: Mapping[str, str], layer: Mapping[str, str], *, block: str, transposed: bool = True,
) -> dict[str, Slot]:
    """Every parameter of a decoder and where a file keeps it.

    `outer` and `layer` map our names to the file's, those of a layer behind `block` ("blk.{l}."). With
    `transposed`, matrices are stored as (out, in), the tables of tokens and positions never.
    """
    found = {}
    for name, shape in parameter_shapes(config).items():
        _, _, rest = name.partition("blocks.")
        number, _, short = rest.partition(".")
        stored = block.format(l=number) + layer[short] if rest else outer[name]
        is_matrix = len(shape) == 2 and name not in ("embedding", "position_table")
        found[name] = Slot(stored, shape, transposed=transposed and is_matrix)
    return found


def checked_layers(config: ModelConfig) -> ModelConfig:
    """The same configuration. Raises SizeOutOfRange when it asks for more layers than names are made for."""
    if config.layers > MAX_LAYERS:
        raise SizeOutOfRange("layers", config.layers, 1, MAX_LAYERS)
    return config


def check_tensors(path: Path, wanted: Mapping[str, Slot], found: Mapping[str, tuple[int, ...]]) -> None:
    """Compare what the parameters need with the tensors and sizes of a file. Raises CheckpointInvalid."""
    needed = {slot.stored: slot.stored_shape for slot in wanted.values()}
    if missing := sorted(needed.keys() - found.keys()):
        raise TensorsMissing(path, missing)
    if extra := sorted(found.keys() - needed.keys()):
        raise TensorsUnexpected(path, extra)
    check_size(path, 4 * sum(math.prod(slot.shape) for slot in wanted.values()))
    for name, shape in needed.items():
        if found[name] != shape:
            raise TensorMisshapen(path, name, found[name], shape)


def check_finite(path: Path, name: str, values: NDArray[Any]) -> None:
    """Raises TensorNotFinite."""
    if not np.isfinite(values).all():
        raise TensorNotFinite(path, name)


def check_size(path: Path, size: int) -> None:
    """Raises TooLarge when `size` bytes are above the limit."""
    if size > (limit := max_bytes()):
        raise TooLarge(path, size, limit, LIMIT_VARIABLE)


def max_bytes() -> int:
    """The most bytes that a model may take, on disk and in float32; the environment variable counts in GB (10⁹).

    Raises UnknownOption on a value that is no positive number.
    """
    text = os.environ.get(LIMIT_VARIABLE) or str(DEFAULT_GB)
    try:
        size = float(text)
    except ValueError:
        size = math.nan
    if not 0 < size < math.inf:
        raise UnknownOption(LIMIT_VARIABLE, text, ["a number above 0"])
    return int(size * 10**9)
