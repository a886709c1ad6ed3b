"""Longer contexts with RoPE: what linear, NTK-aware and Llama-3 scaling do to each pair's speed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from core import rope
from core.errors import UnknownOption

LLAMA_31: Mapping[str, Any] = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192}  # as the Llama 3.1 8B configuration has it
KINDS = ("default", "linear", "ntk", "llama3")
FACTORS = (2.0, 4.0, 8.0, 16.0, 32.0)  # offered; Llama 3.1 has 8, Llama 3.2 has 32
KEPT = 1e-9  # relative: how close to 1 or to 1/factor a ratio counts as that


def scaling(kind: str, factor: float, trained: int = 8192) -> Mapping[str, Any] | None:
    """The setting of `core.rope` for one kind; `trained` is the length that the model was trained for, which only
    "llama3" needs. Raises UnknownOption."""
    if kind not in KINDS:
        raise UnknownOption("rope_type", kind, KINDS)
    if kind == "default":
        return None
    if kind == "llama3":
        return {**LLAMA_31, "factor": factor, "original_max_position_embeddings": trained}
    return {"rope_type": kind, "factor": factor}


def dynamic_factor(factor: float, length: int, trained: int) -> float:
    """The factor with which "ntk" equals dynamic NTK scaling at a length: 1 up to the trained length, more beyond."""
    return factor * max(length, trained) / trained - (factor - 1)


class Stretched(NamedTuple):
    """One pair's θ without and with scaling, their ratio, and whether the pair keeps its speed, is slowed down by the
    whole factor, or by something between."""

    number: int
    plain: float
    scaled: float
    ratio: float
    kind: Literal["kept", "between", "divided"]


def stretched(rotary_dim: int, base: float, how: Mapping[str, Any] | None) -> tuple[Stretched, ...]:
    """Every pair, fastest first. Raises as `core.rope.frequencies` does."""
    plain, scaled = rope.frequencies(rotary_dim, base), rope.frequencies(rotary_dim, base, how)
    factor = float(how["factor"]) if how is not None else 1.0
    made = []
    for number, (before, after) in enumerate(zip(plain.tolist(), scaled.tolist(), strict=True)):
        ratio = after / before
        kind: Literal["kept", "between", "divided"] = "kept" if abs(ratio - 1) < KEPT else \
            "divided" if abs(ratio * factor - 1) < KEPT else "between"
        made.append(Stretched(number, before, after, ratio, kind))
    return tuple(made)
