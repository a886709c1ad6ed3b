"""Generation, measured: the worker of `decode` and `memory`, run as `python -m benchmarks.generation`.

`decode THREADS` prints [ours, transformers, limit] in tokens per second; `save FOLDER` writes the weights as a
`transformers` checkpoint; `memory ours` and `memory FOLDER` print the peak bytes of this process.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.report import median
from core import cost, live
from core.generation import generate

PROMPT, DECODED, TURNS = 64, 64, 5
LONG = 512
COPIED = 2**26  # float32 numbers


def prompt(vocab: int) -> torch.Tensor:
    """(1, PROMPT) ids, always the same."""
    return torch.randint(vocab, (1, PROMPT), generator=torch.Generator().manual_seed(0))


class Clock:
    """A streamer for `transformers`: the time at which each token came, the prompt first."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def put(self, value: torch.Tensor) -> None:
        """Called with each token."""
        self.times.append(time.perf_counter())

    def end(self) -> None:
        """Called after the last."""


def theirs(model: Any, ids: torch.Tensor, tokens: int) -> list[float]:
    """The times of the new tokens."""
    clock = Clock()
    model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, min_new_tokens=tokens,
                   do_sample=False, pad_token_id=0, streamer=clock)
    return clock.times[1:]


def decode(threads: int) -> list[float]:
    """Tokens per second: ours, theirs, and the limit."""
    from benchmarks.forward import transformers_model

    torch.set_num_threads(threads)
    decoder = live.load().decoder
    ids = prompt(decoder.config.vocab)
    source = torch.ones(COPIED)
    target = torch.zeros_like(source)
    seconds: dict[str, list[float]] = {"ours": [], "theirs": [], "copy": []}
    with torch.inference_mode():
        model = transformers_model(decoder, "sdpa")
        for _ in range(TURNS):
            times = [time.perf_counter() for _ in generate(decoder, ids, max_tokens=DECODED)]
            seconds["ours"].append(times[-1] - times[0])
            times = theirs(model, ids, DECODED)
            seconds["theirs"].append(times[-1] - times[0])
            began = time.perf_counter()
            target.copy_(source)
            seconds["copy"].append(time.perf_counter() - began)
    read = cost.traffic(decoder.config, 1, 1, PROMPT + DECODED // 2, bytes_per_weight=4, bytes_per_cache=4)["total"]
    limit = source.nbytes / median(seconds["copy"]) / read
    return [(DECODED - 1) / median(seconds["ours"]), (DECODED - 1) / median(seconds["theirs"]), limit]


def save(folder: str) -> float:
    """Write the checkpoint for `transformers`; gives its bytes."""
    from benchmarks.forward import transformers_model

    transformers_model(live.load().decoder, "sdpa").save_pretrained(folder)
    return float(sum(path.stat().st_size for path in Path(folder).iterdir()))


def memory(which: str) -> int:
    """Load, generate, and read the peak of this process."""
    with torch.inference_mode():
        if which == "ours":
            decoder = live.load().decoder
            for step in generate(decoder, prompt(decoder.config.vocab), max_tokens=LONG):
                last = step
            assert last.text.shape[1] == PROMPT + LONG - 1
        else:
            from transformers import LlamaForCausalLM

            model = LlamaForCausalLM.from_pretrained(which, dtype=torch.float32, attn_implementation="sdpa")
            assert len(theirs(model, prompt(model.config.vocab_size), LONG)) == LONG
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    kind, argument = sys.argv[1:]
    result = decode(int(argument)) if kind == "decode" else save(argument) if kind == "save" else memory(argument)
    print(json.dumps(result))
