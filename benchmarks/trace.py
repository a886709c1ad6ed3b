"""What a traced forward pass of SmolLM2 costs: time and extra peak memory, against `transformers`.

Ours runs fused and keeps the residual stream. The first reference is transformers with SDPA, keeping nothing; the
second is eager with all attentions and hidden states, what a page would otherwise ask for. All compute all logits, in
float32, on the same weights, threads and tokens. Memory is the peak over what the process holds before the pass, read
from Linux (`VmHWM`), each in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.interaction import ROOT
from benchmarks.report import Result

LENGTHS = (16, 64, 256, 512)
KINDS = ("ours", "sdpa", "eager")


def run() -> Result:
    """Every length and kind, each in its own process."""
    rows: dict[str, list[float | str]] = {}
    for length in LENGTHS:
        ours, sdpa, eager = (_measured(kind, length) for kind in KINDS)
        rows[f"T = {length}"] = [
            1000 * ours[0], ours[0] / sdpa[0], ours[0] / eager[0],
            ours[1] / 2**20, ours[1] / sdpa[1], ours[1] / eager[1]]
    return Result(
        ["ours, ms", "time / SDPA", "time / eager", "ours, MiB", "memory / SDPA", "memory / eager"], rows,
        ["Medians of 7 passes. Aims: time 1.05× SDPA that keeps nothing; at T = 512 memory 0.2× eager."])


def _measured(kind: str, length: int) -> tuple[float, float]:
    """(median seconds, extra peak bytes) of one kind at one length."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.forward", kind, str(length)], cwd=ROOT,
                          capture_output=True, text=True, check=True)
    seconds, peak = json.loads(done.stdout.strip().splitlines()[-1])
    return float(seconds), float(peak)
