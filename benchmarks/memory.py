"""Peak memory of a process that loads SmolLM2 from safetensors and generates 512 tokens, against `transformers`.

Each runs alone in a fresh process, from an import to the last token, and the peak is read from Linux (`VmHWM`); pages
of the mapped weights count for both. Ours reads its own file of dequantised weights, transformers a folder with the
same numbers, written beforehand by `save_pretrained`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile

from benchmarks.interaction import ROOT
from benchmarks.report import Result, median

RUNS = 3


def run() -> Result:
    """A folder for transformers, then both in turns."""
    with tempfile.TemporaryDirectory() as folder:
        _worker("save", folder)
        peaks = [(_worker("memory", "ours"), _worker("memory", folder)) for _ in range(RUNS)]
    ours, theirs = (median(values) for values in zip(*peaks, strict=True))
    return Result(["ours, MiB", "transformers, MiB", "ours / transformers"],
                  {"peak of the process": [ours / 2**20, theirs / 2**20, ours / theirs]},
                  [f"Medians of {RUNS} processes each. Aim: 0.8× transformers."])


def _worker(*arguments: str) -> float:
    done = subprocess.run([sys.executable, "-m", "benchmarks.generation", *arguments], cwd=ROOT, capture_output=True,
                          text=True, check=True)
    return float(json.loads(done.stdout.strip().splitlines()[-1]))
