"""The PyTorch program of the page on generation; see `core.programs`."""

from __future__ import annotations

import torch

from core import ops
from core.programs import Program, attention, program_of
from core.stage import At


def program(at: At) -> Program:
    """One step of attention on top of a cache; in a pass without one, the whole head from Q, K and V; AV
    (B, H, Tq, Dh)."""
    return _decode(at) if at.block + "k_all" in at.trace else attention(at.trace, at.layer)


def _decode(at: At) -> Program:
    """One step of attention on top of a cache: the new rows are appended, and the new queries read all of them; AV
    (B, H, Tq, Dh). The mask is aligned at the end."""
    trace, block = at.trace, at.block
    q = trace.steps[block + "scores"].reads[0]
    inputs, rows = {"q_new": trace[q]}, trace[q].shape[2]
    held = trace[block + "k_past"].shape[2]
    for letter in "kv":
        past, new = trace.steps[f"{block}{letter}_all"].reads
        inputs |= ({f"{letter}_past": trace[past].float()} if held else {}) | {f"{letter}_new": trace[new]}
    group = trace.config.group
    body = ["# q_new (B, H, Tq, Dh), k_new and v_new (B, Hkv, Tq, Dh): the rows of this step"]
    if held:
        body += ["# k_past and v_past (B, Hkv, Tk - Tq, Dh): the rows from the cache",
                 "k = torch.cat((k_past, k_new), dim=2)  # (B, Hkv, Tk, Dh): what the cache holds after this step",
                 "v = torch.cat((v_past, v_new), dim=2)"]
    else:
        body += ["k, v = k_new, v_new  # the cache was empty"]
    if group > 1:
        body += [f"{x} = {x}.repeat_interleave({group}, dim=1)  # (B, H, Tk, Dh)" for x in "kv"]
    body += [f"scaled = q_new @ k.mT / math.sqrt({trace.config.head_dim})  # (B, H, Tq, Tk)"]
    mask = trace["mask"]
    if bool((mask != 0).any()):
        if mask.shape[:2] == (1, 1) and torch.equal(mask[0, 0].cpu(), ops.causal_mask(rows, held + rows)):
            body.append(f"allowed = torch.ones({rows}, {held + rows}).tril(diagonal={held})  # aligned at the end: "
                        f"query i reads keys 0 to {held} + i")
        else:
            inputs["allowed"] = (mask == 0).long()
        body.append("scaled = scaled.masked_fill(allowed == 0, -math.inf)")
    body += ["result = scaled.softmax(dim=-1) @ v  # (B, H, Tq, Dh)", "print(result)"]
    return program_of("decode", inputs, body)
