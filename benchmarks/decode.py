"""How fast SmolLM2 decodes, batch 1 after 64 tokens, against `transformers` and against the memory's limit.

Both generate greedily with their own cache, in float32, on the same weights, threads and tokens, in turns within one
process; what counts is the time from the first new token to the last. The limit is what a step must read at least
(`core.cost.traffic`: weights and cache, once) over the bytes copied per second, counted once, measured in the same
turns.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from benchmarks.interaction import ROOT
from benchmarks.report import Result


def run() -> Result:
    """One thread, as the app runs a forward, and all cores; each in its own process."""
    rows = {f"{threads} threads": _measured(threads) for threads in sorted({1, os.cpu_count() or 1})}
    return Result(
        ["ours, tokens/s", "transformers, tokens/s", "ours / transformers", "limit, tokens/s", "ours / limit"], rows,
        ["Medians of 5 turns of 64 tokens each. Aims: 1.3× transformers; 0.7 of the limit."])


def _measured(threads: int) -> list[float | str]:
    done = subprocess.run([sys.executable, "-m", "benchmarks.generation", "decode", str(threads)], cwd=ROOT,
                          capture_output=True, text=True, check=True)
    ours, theirs, limit = (float(value) for value in json.loads(done.stdout.strip().splitlines()[-1]))
    return [ours, theirs, ours / theirs, limit, ours / limit]
