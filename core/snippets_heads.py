"""PyTorch programs of the page on heads."""

from __future__ import annotations

from core import programs
from core.programs import Program
from core.trace import Trace


def heads(trace: Trace, layer: int) -> Program:
    """From the heads' contexts to the layer's output in both ways, concat × WO and head by head; `result` (B, T, D).
    Where the layer has no WO, `result` is concat (B, T, H·Dh)."""
    block, config = f"blocks.{layer}.", trace.config
    inputs = {"context": trace[block + "context"]}
    body = ["# context (B, H, T, Dh)", "concat = context.transpose(1, 2).flatten(2)  # (B, T, H·Dh)",
            *programs.edited_lines(trace, block + "concat", "concat")]
    if block + "wo" not in trace:
        return programs.program_of("heads", inputs, [*body, "result = concat", "print(result)"])
    inputs["wo"] = trace[block + "wo"]
    plus = ""
    if block + "bo" in trace:
        inputs["bo"], plus = trace[block + "bo"], " + bo"
    body += [f"result = concat @ wo{plus}  # (B, T, D)",
             f"parts = concat.unflatten(-1, ({config.heads}, {config.head_dim})).transpose(1, 2)  # (B, H, T, Dh)",
             f"blocks = wo.unflatten(0, ({config.heads}, {config.head_dim}))  # (H, Dh, D): each head's rows of WO",
             f"summed = (parts @ blocks).sum(1){plus}  # what each head adds, added up",
             "assert torch.allclose(result, summed, rtol=1e-4, atol=1e-4 * float(result.abs().max()))",
             *programs.edited_lines(trace, block + "attn_out", "result"), "print(result)"]
    return programs.program_of("heads", inputs, body)


def splitting(trace: Trace, layer: int) -> Program:
    """Cutting q_proj into heads, rightly and by `view` alone; `result` (B, H, T, Dh)."""
    block, config = f"blocks.{layer}.", trace.config
    inputs = {"q": trace[block + "q_proj"]}
    body = ["# q (B, T, H·Dh)", "B, T, _ = q.shape",
            f"result = q.view(B, T, {config.heads}, {config.head_dim}).transpose(1, 2)  # (B, H, T, Dh)",
            *(["result = result.clone()"] if block + "q" in trace.edits else []),
            *programs.edited_lines(trace, block + "q", "result"),
            f"wrong = q.view(B, {config.heads}, T, {config.head_dim})  # the same shape, other numbers",
            "print(result)"]
    return programs.program_of("splitting", inputs, body)
