"""The order stage: attention cannot see the order of the tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.comparison import Comparison, compare
from core.programs import Program, program_of, rope_lines
from core.questions import Question, Verdict
from core.stage import At, CarriedOut, Questions
from core.stages.order import reorder
from core.stages.order.reorder import Reordered
from core.trace import Trace

_PARAMETERS = ("wq", "wk", "wv", "wo", "bq", "bk", "bv", "bo", "q_gamma", "k_gamma", "gamma1", "beta1")


def facts(
    at: At, *, order: Sequence[int] | None = None, mask: str = "none", positions: str = "none",
) -> Reordered:
    """What becomes of the layer's outputs in another order (by default the last token first); see `reorder`."""
    return reorder.reorder(at.trace, at.layer, _order(at, order), mask=mask, positions=positions)


def _order(at: At, order: Sequence[int] | None) -> tuple[int, ...]:
    tokens = at.trace.sizes["T"]
    return reorder.opening(tokens) if order is None else reorder.checked(order, tokens)


def invariant(at: At, **setting: Any) -> Comparison:
    """Attn(PX) expected to be Attn(X) as it stands, (B, T, D); `setting` as for `facts`."""
    found = facts(at, **setting)
    return compare(found.found, found.original)


def inverse(at: At, **setting: Any) -> Comparison:
    """Attn(PX) expected to be Pᵀ·Attn(X), (B, T, D): an order read the other way round; `setting` as for `facts`."""
    found = facts(at, **setting)
    return compare(found.found, found.matrix.mT @ found.original)


MISTAKES: Mapping[str, CarriedOut] = {"invariant": invariant, "inverse": inverse}


def ask(at: At, number: int, *, order: Sequence[int] | None = None) -> Question:
    """The `number`-th question: in which row, from 1, of Attn(PX) the output of a token stands; `row` is the token's
    old place, from 0. Tokens that moved come first."""
    order = _order(at, order)
    tokens = sorted(range(len(order)), key=lambda token: (order[token] == token, token))
    token = tokens[number % len(tokens)]
    answer = order.index(token) + 1.0
    return Question("which", token, 0, answer, answer, of="row")


def judge(
    at: At, question: Question, answer: float, decimals: int, *, order: Sequence[int] | None = None,
) -> Verdict:
    """Whether the row is right, or which slip would give it: the order read the other way, counting from 0."""
    if answer == question.answer:
        return "right"
    if answer == _order(at, order)[question.row] + 1:
        return "inverse"
    return "from_zero" if answer == question.answer - 1 else "wrong"


QUESTIONS: Mapping[str, Questions] = {"row": Questions(ask, judge)}


def program(
    at: At, *, order: Sequence[int] | None = None, mask: str = "none", positions: str = "none",
) -> Program:
    """Attn(PX) in `result` (B, T, D), after P·Attn(X), which is printed to differ or not. What positions add belongs to
    places, so it is added after the tokens have changed theirs."""
    found = facts(at, order=order, mask=mask, positions=positions)
    trace = found.before
    inputs = {"x": found.contents}
    added = trace["blocks.0.in"] - found.contents
    if bool((added != 0).any()):
        inputs["added"] = added[:1]
    inputs |= {name: trace[f"blocks.0.{name}"] for name in _PARAMETERS if _used(trace, name)}
    turn: list[str] = []
    if trace.config.positions == "rope":
        more, turn = rope_lines(trace)
        inputs |= {name: tensor[:1] if name == "positions" else tensor for name, tensor in more.items()}
    attend = _attend(trace, "added" in inputs, mask == "causal", turn[-1:])
    body = ["# x (B, T, D): the tokens before anything says where they stand", *turn[:-1],
            "def attend(x):", *("    " + line for line in attend),
            f"order = {list(found.order)}  # the old places in their new order",
            "result = attend(x[:, order])  # Attn(PX)", "expected = attend(x)[:, order]  # P Attn(X)",
            "difference = (result - expected).abs().max()", "print(result)"]
    return program_of("order", inputs, body)


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
