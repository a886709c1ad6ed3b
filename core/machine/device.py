"""Which device computes: CUDA, then Apple's MPS, then the CPU; an environment variable overrides."""

from __future__ import annotations

import os

import torch

from core.errors import UnknownOption

VARIABLE = "TRANSFORMER_WORKBENCH_DEVICE"


def available() -> list[str]:
    """Names of the devices present, the preferred one first; the CPU is always the last."""
    found = []
    if torch.cuda.is_available():
        found.append("cuda")
    if torch.backends.mps.is_available():
        found.append("mps")
    return [*found, "cpu"]


def pick() -> torch.device:
    """The device to compute on. Raises UnknownOption when the variable names one that is not here."""
    present = available()
    wanted = os.environ.get(VARIABLE, "").strip().lower() or present[0]
    if wanted.split(":")[0] not in present:
        raise UnknownOption(VARIABLE, wanted, present)
    return torch.device(wanted)


def synchronise(place: torch.device) -> None:
    """Wait for what an accelerator still computes, so that a clock read afterwards counts it."""
    if place.type == "cuda":
        torch.cuda.synchronize(place)
    elif place.type == "mps":
        torch.mps.synchronize()
