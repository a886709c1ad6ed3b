"""The PyTorch program of the page on order; see `core.snippets`."""

from __future__ import annotations

from core import programs
from core.programs import Program
from core.stages.order.reorder import Reordered
from core.trace import Trace

_PARAMETERS = ("wq", "wk", "wv", "wo", "bq", "bk", "bv", "bo", "q_gamma", "k_gamma", "gamma1", "beta1")


def order(found: Reordered, mask: str) -> Program:
    """Attn(PX) in `result` (B, T, D), after P·Attn(X), which is printed to differ or not. What positions add belongs to
    places, so it is added after the tokens have changed theirs."""
    trace = found.before
    inputs = {"x": found.contents}
    added = trace["blocks.0.in"] - found.contents
    if bool((added != 0).any()):
        inputs["added"] = added[:1]
    inputs |= {name: trace[f"blocks.0.{name}"] for name in _PARAMETERS if _used(trace, name)}
    turn: list[str] = []
    if trace.config.positions == "rope":
        more, lines = programs.rope_lines(trace)
        inputs |= {name: tensor[:1] if name == "positions" else tensor for name, tensor in more.items()}
        turn = lines
    attend = _attend(trace, "added" in inputs, mask == "causal", turn[-1:])
    body = ["# x (B, T, D): the tokens before anything says where they stand", *turn[:-1],
            "def attend(x):", *("    " + line for line in attend),
            f"order = {list(found.order)}  # the old places in their new order",
            "result = attend(x[:, order])  # Attn(PX)", "expected = attend(x)[:, order]  # P Attn(X)",
            "difference = (result - expected).abs().max()", "print(result)"]
    return programs.program_of("order", inputs, body)


def _used(trace: Trace, name: str) -> bool:
    reads = {read for step in trace.steps.values() for read in step.reads}
    return f"blocks.0.{name}" in trace and f"blocks.0.{name}" in reads


def _attend(trace: Trace, added: bool, causal: bool, turn: list[str]) -> list[str]:
    """The lines from x (B, T, D) to the output of the layer."""
    config, body = trace.config, ["x = x + added"] if added else []
    if _used(trace, "gamma1") and config.norm_place == "pre":
        body += _norm(trace)
    for letter, heads in (("q", config.heads), ("k", config.kv_heads), ("v", config.kv_heads)):
        bias = f" + b{letter}" if config.qkv_bias else ""
        body.append(f"{letter} = (x @ w{letter}{bias}).unflatten(-1, ({heads}, {config.head_dim})).transpose(1, 2)")
    if config.qk_norm:
        body += [f"{x} = {x} * torch.rsqrt({x}.square().mean(-1, keepdim=True) + {config.norm_eps}) * {x}_gamma"
                 for x in "qk"]
    body += turn
    if config.group > 1:
        body.append(f"k, v = (t.repeat_interleave({config.group}, dim=1) for t in (k, v))")
    factor = trace.scales.get(0)
    scale = "/ math.sqrt(q.shape[-1])" if factor is None else f"* {factor!r}"
    body.append(f"scores = q @ k.mT {scale}  # (B, H, T, T)")
    if causal:
        body.append("scores = scores + torch.full(scores.shape[-2:], -math.inf).triu(1)")
    body.append("concat = (scores.softmax(dim=-1) @ v).transpose(1, 2).flatten(2)  # (B, T, H·Dh)")
    out = " @ wo" if _used(trace, "wo") else ""
    return [*body, f"return concat{out}{' + bo' if config.out_bias else ''}"]


def _norm(trace: Trace) -> list[str]:
    eps = trace.config.norm_eps
    if trace.config.norm == "layer":
        return ["x = x - x.mean(-1, keepdim=True)",
                f"x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + {eps}) * gamma1 + beta1"]
    return [f"x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + {eps}) * gamma1"]
