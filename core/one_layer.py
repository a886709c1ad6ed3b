"""One block of a trace as a trace of its own, in which something is different: fewer KV heads, other rows, positions.

What the block is given stays named as before, under `blocks.0.`; everything after it is computed again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from torch import Tensor

from core.trace import Trace

_SHARED = ("mask", "positions")


def one_layer(
    trace: Trace, layer: int, *, keep: Collection[str] = (), leave: Collection[str] = (),
    put: Mapping[str, Tensor] | None = None, **changes: Any,
) -> Trace:
    """Block `layer` alone, under a configuration with `changes`.

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
