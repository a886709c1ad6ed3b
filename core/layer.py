"""One layer of a trace: as a trace of its own in which something is different, and the name of what it puts out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from torch import Tensor

from core.trace import Trace

_SHARED = ("mask", "positions")


def isolated_layer(
    trace: Trace, layer: int, *, keep: Collection[str] = (), leave: Collection[str] = (),
    put: Mapping[str, Tensor] | None = None, **changes: Any,
) -> Trace:
    """Block `layer` alone, under a configuration with `changes`: fewer KV heads, other rows, other positions. Its names
    begin with `blocks.0.`; what it is not given is computed again.

    It is given the block's input, its parameters but those in `leave`, the mask and the positions, the computed tensors
    named in `keep` as they are, and those in `put`, by short name, in place of the trace's own. Edits of what is given
    are carried over; edits of what is computed are not, unless it is kept. Raises ConfigError or ShapeError where
    something does not fit.
    """
    block, put = f"blocks.{layer}.", dict(put or {})
    config = trace.config.with_(layers=1, **changes)
    given = {name: trace[name] for name in _SHARED if name in trace}
    given |= {name: put.pop(name) for name in _SHARED if name in put}
    for name in trace.names():
        short = name.removeprefix(block)
        if short == name or short in leave or short in put:
            continue
        if short == "in" or short in keep or trace.is_given(name):
            given[f"blocks.0.{short}"] = trace[name]
    given |= {f"blocks.0.{short}": tensor for short, tensor in put.items()}
    alone = Trace(tokens=trace.tokens, source=trace.source, config=config, given=given)
    return alone.with_scale(0, trace.scales[layer]) if layer in trace.scales else alone


def attention_output(trace: Trace, layer: int = 0) -> str:
    """The short name of a layer's attention output: after WO, or where there is none, concat."""
    return "attn_out" if f"blocks.{layer}.attn_out" in trace else "concat"
