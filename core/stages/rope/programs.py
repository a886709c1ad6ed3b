"""The PyTorch program of the page on RoPE; see `core.snippets`."""

from __future__ import annotations

from core import programs
from core.programs import Program
from core.trace import Trace


def rope(trace: Trace, layer: int) -> Program:
    """From Q and K before the rotation to the raw scores (B, H, Tq, Tk) in `result`."""
    block, group = f"blocks.{layer}.", trace.config.group
    inputs = {letter: trace[trace.steps[f"{block}{letter}_rot"].reads[0]] for letter in "qk"}
    more, lines = programs.rope_lines(trace)
    body = ["# q (B, H, T, Dh), k (B, Hkv, T, Dh)", *lines]
    for letter in "qk":
        body += programs.edited_lines(trace, f"{block}{letter}_rot", letter)
    if group > 1:
        body.append(f"k = k.repeat_interleave({group}, dim=1)  # (B, H, T, Dh): {group} query heads read one KV head")
    body += ["result = q @ k.mT  # (B, H, Tq, Tk)", *programs.edited_lines(trace, block + "scores", "result"),
             "print(result)"]
    return programs.program_of("rope", inputs | more, body)
