"""Common mistakes of code that goes on from a cache, carried out on a step of a generation, beside what is right.

Both are mistakes about where the new rows stand: which keys they may read (cases C6, C7, H9), and which positions they
have (cases E4 to E8).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from core import ops
from core.check import largest_difference
from core.comparison import Comparison, compare
from core.errors import UnknownOption
from core.stage import At, CarriedOut
from core.trace import Trace

KINDS = ("aligned_start", "restarted")


def wrong_step(trace: Trace, layer: int, kind: str) -> Trace:
    """The pass with new tokens on top of cached ones, done wrong.

    "aligned_start": from `layer` on the causal mask is aligned at the start, so query i reads keys 0 … i in place of
    0 … Tk−Tq+i. "restarted": the new tokens stand at positions 0, 1 … as if nothing had come before, in every layer.
    """
    if kind == "aligned_start":
        return trace.with_mask(aligned_at_start(trace), layer)
    if kind == "restarted":
        return _at_positions(trace, torch.arange(trace.sizes["T"], device=trace["positions"].device))
    raise UnknownOption("kind", kind, KINDS)


def _at_positions(trace: Trace, positions: Tensor) -> Trace:
    """The same pass with its tokens at other positions (T,), computed again from the embedding on, on top of the same
    cached rows."""
    given = {name: trace[name] for name in trace.names() if trace.is_given(name) and not name.endswith(".in")}
    given["positions"] = positions.expand_as(trace["positions"])
    return Trace(tokens=trace.tokens, past_tokens=trace.past_tokens, source=trace.source, config=trace.config,
                 given=given)


def aligned_at_start(trace: Trace) -> Tensor:
    """The mask (1, 1, Tq, Tk) that `torch.ones(Tq, Tk).tril()` makes: for Tq < Tk it hides keys that came before."""
    queries, keys = trace["mask"].shape[-2:]
    return ops.causal_mask(max(queries, keys))[None, None, :queries, :keys].to(trace["mask"])


def wrong_weights(at: At, *, kind: str) -> Comparison:
    """The weights A (B, H, Tq, Tk) of a layer, right and as `wrong_step` makes them."""
    name = at.block + "weights"
    return compare(at.trace[name], wrong_step(at.trace, at.layer, kind)[name])


MISTAKES: Mapping[str, CarriedOut] = {kind: partial(wrong_weights, kind=kind) for kind in KINDS}


class Consequence(NamedTuple):
    """The likeliest next token of a text as it is and after a mistake, the largest difference of a logit, and the
    largest absolute logit to hold it against."""

    right: int
    wrong: int
    difference: float
    size: float


def consequence(at: At, kind: str) -> Consequence:
    """What a mistake of `wrong_step` does to the logits that the next token of a text is chosen from."""
    right, wrong = (trace["logits"][at.batch, -1] for trace in (at.trace, wrong_step(at.trace, at.layer, kind)))  # (V,)
    size = float(right.abs().max())
    return Consequence(int(right.argmax()), int(wrong.argmax()), largest_difference(right, wrong), size)
