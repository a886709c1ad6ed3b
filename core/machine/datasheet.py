"""What a device can do at best: arithmetic per second by type, bytes per second, bytes of memory, each with its source.

The figures are the vendors' for dense products (without the sparsity that doubles the headline), 16-bit products summed
in 32 bits, with the device to itself. G and T are powers of ten, memory sizes as the vendor names them. Real programs
reach a part of both; `measure_ceilings` says what this machine reaches.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch

from core.errors import UnknownOption
from core.machine import device

GIGA, TERA = 1e9, 1e12
REPEATS = 5
COPIED = 2**26  # float32 numbers, 256 MiB: far more than any cache of a processor holds
SIDE = {"cpu": 1024, "cuda": 8192, "mps": 4096}  # of the square matrices multiplied


@dataclass(frozen=True)
class Device:
    """`flops` by type name, per second; `bandwidth` in bytes read plus written per second; `memory` in bytes. `note`
    says how the figures come from the source: "halved" (it counts sparsity), "units" (cores × clock × operations of all
    multiply-add units in a cycle), "measured" (here)."""

    name: str
    flops: Mapping[str, float]
    bandwidth: float
    memory: float
    source: str
    note: Literal["", "halved", "units", "measured"] = ""

    def peak(self, dtype: str) -> float:
        """FLOP per second in that type. Raises UnknownOption for a type that the device has no figure for."""
        if dtype not in self.flops:
            raise UnknownOption("dtype", dtype, sorted(self.flops))
        return self.flops[dtype]

    def computes(self, stored: str) -> str:
        """The type in which it multiplies numbers stored in that type: the type itself where it has a figure for it;
        integers of 8 or 4 bits are turned into float16 first; what it has no units for becomes float32."""
        wanted = "float16" if stored.startswith("int") else stored
        return wanted if wanted in self.flops else "float32"


def _gpu(name: str, float32: float, half: float, bandwidth: float, memory: float, source: str, *,
         bfloat16: bool = True, note: Literal["", "halved"] = "") -> Device:
    """Figures in TFLOP/s, GB/s and GB. Of float32, that of the ordinary units: TF32 drops bits of the operands."""
    flops = {"float32": float32 * TERA, "float16": half * TERA} | ({"bfloat16": half * TERA} if bfloat16 else {})
    return Device(name, flops, bandwidth * GIGA, memory * GIGA, source, note)


def _cpu(name: str, cores: int, gigahertz: float, per_cycle: int, bandwidth: float, memory: float,
         source: str) -> Device:
    """float32 only."""
    return Device(name, {"float32": cores * gigahertz * GIGA * per_cycle}, bandwidth * GIGA, memory * GIGA, source,
                  "units")


DEVICES: dict[str, Device] = {
    "t4": _gpu("NVIDIA T4", 8.1, 65, 320, 16, "NVIDIA T4 datasheet (2019)", bfloat16=False),
    "l4": _gpu("NVIDIA L4", 30.3, 121, 300, 24, "NVIDIA L4 datasheet (2023)", note="halved"),
    "rtx-4090": _gpu("NVIDIA GeForce RTX 4090", 82.6, 165.2, 1008, 24,
                     "NVIDIA Ada GPU Architecture whitepaper (2022), appendix A"),
    "a100": _gpu("NVIDIA A100 80GB SXM", 19.5, 312, 2039, 80, "NVIDIA A100 Tensor Core GPU datasheet (2021)"),
    "h100": _gpu("NVIDIA H100 SXM", 67, 989.5, 3350, 80,
                 "NVIDIA H100 Tensor Core GPU datasheet (2023)", note="halved"),
    "h200": _gpu("NVIDIA H200 SXM", 67, 989.5, 4800, 141,
                 "NVIDIA H200 Tensor Core GPU datasheet (2024)", note="halved"),
    "desktop-cpu": _cpu("AMD Ryzen 9 7950X", 16, 4.5, 32, 83.2, 128,
                        "AMD Ryzen 9 7950X: 16 × 4.5 GHz × 2 × 8 FMA; 2 × DDR5-5200, 128 GB"),
}


def measure_ceilings(place: torch.device | str | None = None) -> Device:
    """This machine's own ceilings, measured now (a second or two): bytes read plus written per second while copying
    256 MiB, FLOP per second of a square float32 product (16-bit ones too on an accelerator). The best of a few runs,
    with torch's present number of threads."""
    place = device.pick() if place is None else torch.device(place)
    source = torch.ones(COPIED, device=place)
    target = torch.zeros_like(source)
    bandwidth = 2 * source.nbytes / _best(lambda: target.copy_(source), place)
    types = (torch.float32,) if place.type == "cpu" else (torch.float32, torch.float16, torch.bfloat16)
    flops = {str(dtype).removeprefix("torch."): _product(dtype, place) for dtype in types}
    name = f"{place.type} × {torch.get_num_threads()}" if place.type == "cpu" else place.type
    return Device(name, flops, bandwidth, _memory(place), "measured here", "measured")


def _product(dtype: torch.dtype, place: torch.device) -> float:
    side = SIDE[place.type]
    a, b = (torch.ones(side, side, dtype=dtype, device=place) for _ in "ab")
    return 2 * side**3 / _best(lambda: a @ b, place)


def _best(action: Callable[[], object], place: torch.device) -> float:
    """Seconds of the quickest of a few runs, after one that does not count."""
    times = []
    for _ in range(REPEATS + 1):
        device.synchronise(place)
        began = time.perf_counter()
        action()
        device.synchronise(place)
        times.append(time.perf_counter() - began)
    return min(times[1:])


def _memory(place: torch.device) -> float:
    """Bytes of memory; on Windows, which does not say, 0."""
    if place.type == "cuda":
        return float(torch.cuda.get_device_properties(place).total_memory)
    names = getattr(os, "sysconf_names", {})
    if not {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(names):
        return 0.0
    return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
