"""PyTorch programs of the pages on heads and on sharing; see `core.snippets`."""

from __future__ import annotations

import torch

from core import ops, programs
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


def sharing(trace: Trace, layer: int) -> Program:
    """From Q, K, V to AV (B, H, Tq, Dh) in `result`: KV heads copied for the query heads that read them, and torch's
    fused attention, which does without the copies. After an edit between Q and AV the fused one has nothing to compare
    with: then it is the program of the mixing page."""
    config, block = trace.config, f"blocks.{layer}."
    if any(block + name in trace.edits for name in ("scores", "scaled", "masked", "weights", "context")):
        return programs.attention(trace, layer)
    q, k = trace.steps[block + "scores"].reads
    inputs = {"q": trace[q], "k": trace[k], "v": trace[block + "v"]}
    mask = trace["mask"]
    causal = mask.shape[:2] == (1, 1) and torch.equal(mask[0, 0].cpu(), ops.causal_mask(mask.shape[-1]))
    if not causal:
        inputs["mask"] = mask.float()
    size, group, scale = mask.shape[-1], config.group, trace.scales.get(layer)
    body = [f"# q (B, {config.heads}, T, Dh), k and v (B, {config.kv_heads}, T, Dh)",
            *([f"mask = torch.full(({size}, {size}), -math.inf).triu(1)  # causal"] if causal else []),
            f"scale = {'1 / math.sqrt(q.shape[-1])' if scale is None else repr(scale)}",
            f"keys, values = (x.repeat_interleave({group}, dim=1) for x in (k, v))  # query head h reads KV head "
            f"h // {group}",
            "weights = (q @ keys.mT * scale + mask).softmax(dim=-1).nan_to_num(0.0)  # (B, H, Tq, Tk)",
            "result = weights @ values  # (B, H, Tq, Dh)",
            "fused = torch.nn.functional.scaled_dot_product_attention(",
            "    q, k, v, attn_mask=mask, scale=scale, enable_gqa=True)  # no copies in memory",
            "assert torch.allclose(result, fused, rtol=1e-4, atol=1e-4 * float(v.abs().max()))",
            "print(result)"]
    return programs.program_of("sharing", inputs, body)
