"""PyTorch programs that reproduce the numbers of a page, on their own: nothing of this project is imported.

Small numbers stand in the program; larger ones are loaded from the file that the page offers beside it. A test runs
every program and compares its result with the trace.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from core import ops
from core.rope import frequencies
from core.trace import Trace

LINE = 110  # columns, up to which numbers stand on one line
INLINE_NUMBERS = 256  # more than that many numbers, and the program loads a file instead


class Program(NamedTuple):
    """`code` leaves its result in a variable `result`; `arrays` is what the file `file` must hold (empty: no file)."""

    code: str
    file: str
    arrays: dict[str, np.ndarray]


def edited_lines(trace: Trace, name: str, variable: str) -> list[str]:
    """An assignment for each entry of a computed tensor that was edited."""
    cells = trace.edits.get(name, {})
    return [f"{variable}[{', '.join(map(str, index))}] = {number!r}  # edited" for index, number in cells.items()]


def projected_lines(trace: Trace, layer: int) -> tuple[dict[str, Tensor], list[str]]:
    """What the projections, norms and RoPE of Q and K need, and the lines that give q and k."""
    config, block = trace.config, f"blocks.{layer}."
    inputs = {"x": trace[trace.attention_input(layer)]}
    names = [name for name in ("wq", "wk", "bq", "bk", "q_gamma", "k_gamma") if block + name in trace]
    inputs |= {name: trace[block + name] for name in names}
    body = ["# x (B, T, D), wq (D, H·Dh), wk (D, Hkv·Dh)"]
    for letter, heads, axis in (("q", config.heads, "H"), ("k", config.kv_heads, "Hkv")):
        bias = f" + b{letter}" if config.qkv_bias else ""
        body.append(f"{letter} = (x @ w{letter}{bias}).unflatten(-1, ({heads}, {config.head_dim}))"
                    f".transpose(1, 2)  # (B, {axis}, T, Dh)")
    if config.qk_norm:
        body += [f"{x} = {x} * torch.rsqrt({x}.square().mean(-1, keepdim=True) + {config.norm_eps}) * {x}_gamma"
                 for x in "qk"]
    if config.positions == "rope":
        rope_inputs, lines = rope_lines(trace)
        inputs |= rope_inputs
        body += lines
    return inputs, body


def rope_lines(trace: Trace) -> tuple[dict[str, Tensor], list[str]]:
    """What turning `q` and `k` needs (positions (B, T), θ), and the lines that do it."""
    config = trace.config
    width = config.rotary_dim
    adjacent = config.rope_pairing == "adjacent"
    first, second = ("0::2", "1::2") if adjacent else (f":{width // 2}", f"{width // 2}:{width}")
    join = "torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2)" if adjacent \
        else "torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)"
    take = f"t[..., :{width}]" if adjacent and width < config.head_dim else "t"
    rest = f", t[..., {width}:]" if width < config.head_dim else ""
    result = f"torch.cat(({join}{rest}), dim=-1)" if rest else join
    inputs = {"positions": trace["positions"],
              "theta": frequencies(width, config.rope_base, config.rope_scaling)}
    lines = [
        "angle = positions[:, None, :, None].double() * theta  # (B, 1, T, pairs)",
        "cos, sin = angle.cos().float(), angle.sin().float()",
        "def turn(t):",
        f"    a, b = {take}[..., {first}], {take}[..., {second}]",
        f"    return {result}",
        "q, k = turn(q), turn(k)  # RoPE",
    ]
    return inputs, lines


def program_of(stage: str, inputs: Mapping[str, Tensor], body: Sequence[str]) -> Program:
    """The lines of `body` after lines that define `inputs`: written out where they are few numbers, else read from
    the file `stage`.npz."""
    arrays = {name: tensor.detach().cpu().numpy() for name, tensor in inputs.items()}
    if sum(array.size for array in arrays.values()) <= INLINE_NUMBERS:
        head = ["import math", "", "import torch", ""]
        head += [_literal(name, array) for name, array in arrays.items()]
        return Program("\n".join([*head, *body]) + "\n", "", {})
    file = f"{stage}.npz"
    head = ["import math", "", "import numpy as np", "import torch", "", f'with np.load("{file}") as numbers:']
    head += [f'    {name} = torch.from_numpy(numbers["{name}"])' for name in arrays]
    head += [""]
    return Program("\n".join([*head, *body]) + "\n", file, arrays)


def _literal(name: str, array: np.ndarray) -> str:
    """An assignment whose rows stand under one another."""
    dtype = ", dtype=torch.float64" if array.dtype == np.float64 else ""
    opening = f"{name} = torch.tensor("
    return f"{opening}{_nested(array, len(opening))}{dtype})"


def _nested(array: np.ndarray, indent: int) -> str:
    if array.ndim == 0:
        return _number(array.reshape(1)[0])
    margin = " " * (indent + 1)
    if array.ndim == 1:
        row = ", ".join(_number(value) for value in array)
        return "[" + f"\n{margin}".join(textwrap.wrap(row, max(LINE - indent, 1))) + "]"
    separator = ",\n" + margin
    return "[" + separator.join(_nested(part, indent + 1) for part in array) + "]"


def _number(value: np.generic) -> str:
    """The shortest decimal that reads back to the same number of its type."""
    if value.dtype.kind == "i":
        return str(value.item())
    return repr(float(str(value))).replace("inf", "math.inf")


def attention(trace: Trace, layer: int) -> Program:
    """The whole head in a few lines: from Q, K, V and what may be read to AV (B, H, Tq, Dh)."""
    config, block = trace.config, f"blocks.{layer}."
    q, k = trace.steps[block + "scores"].reads
    inputs = {"q": trace[q], "k": trace[k], "v": trace[block + "v"]}
    body = ["# q (B, H, T, Dh), k and v (B, Hkv, T, Dh)"]
    if config.group > 1:
        body += [f"{x} = {x}.repeat_interleave({config.group}, dim=1)  # (B, H, T, Dh): query head h reads KV head "
                 f"h // {config.group}" for x in "kv"]
    factor = trace.scales.get(layer)
    scale = "/ math.sqrt(q.shape[-1])" if factor is None else f"* {factor!r}"
    body += ["raw = q @ k.mT  # (B, H, Tq, Tk)", *edited_lines(trace, block + "scores", "raw"),
             f"scaled = raw {scale}", *edited_lines(trace, block + "scaled", "scaled")]
    mask = trace["mask"]
    size = mask.shape[-1]
    if bool((mask != 0).any()):
        if mask.shape[:2] == (1, 1) and torch.equal(mask[0, 0].cpu(), ops.causal_mask(size)):
            body.append(f"allowed = torch.ones({size}, {size}).tril()  # causal: key j may be read by query i >= j")
        else:
            inputs["allowed"] = (mask == 0).long()
        body.append("scaled = scaled.masked_fill(allowed == 0, -math.inf)")
    empty = bool((trace[block + "masked"] == -math.inf).all(dim=-1).any())
    body += [*edited_lines(trace, block + "masked", "scaled"),
             f"weights = scaled.softmax(dim=-1){'.nan_to_num(0.0)' if empty else ''}  # (B, H, Tq, Tk)"
             f"{', a row without keys gives zeros' if empty else ''}",
             *edited_lines(trace, block + "weights", "weights"), "result = weights @ v  # (B, H, Tq, Dh)",
             *edited_lines(trace, block + "context", "result"), "print(result)"]
    return program_of("mixing", inputs, body)
