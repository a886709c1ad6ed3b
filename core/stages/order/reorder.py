"""Attention and the order of the tokens: Attn(PX) beside P·Attn(X), and what breaks their being equal (D1 §7).

An order is a list of old places in their new order: [2, 0, 1] puts the third token first. P is the matrix with
P[i, order[i]] = 1, so that row i of PX is row order[i] of X.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from core import embedding, masks, ops
from core.check import largest_difference
from core.errors import UnknownOption
from core.layer import attention_output, isolated_layer
from core.trace import Trace

Positions = Literal["none", "learned", "sinusoidal", "rope"]
POSITIONS = ("none", "learned", "sinusoidal", "rope")
MASKS = ("none", "causal")
EQUAL = 1e-5  # of the largest number: float32 sums in another order differ by less


def checked(order: Sequence[int], tokens: int) -> tuple[int, ...]:
    """The order, if it names every place from 0 to T−1 once. Raises UnknownOption."""
    if sorted(order) != list(range(tokens)):
        raise UnknownOption("order", list(order), [f"each of 0 to {tokens - 1} once"])
    return tuple(order)


def opening(tokens: int) -> tuple[int, ...]:
    """The order that D1 §7 tries: the last token comes first."""
    return (tokens - 1, *range(tokens - 1))


def matrix(order: Sequence[int]) -> Tensor:
    """P (T, T)."""
    return torch.eye(len(order))[list(order)]


def possible(trace: Trace, layer: int) -> tuple[str, ...]:
    """The position kinds that this layer can be put under: learned ones where the trace has a table and the layer is
    the first, RoPE where the head width is even."""
    table = "position_table" in trace and trace.config.positions == "learned" and layer == 0
    found = {"none": True, "learned": table, "sinusoidal": trace.config.width % 2 == 0,
             "rope": trace.config.head_dim % 2 == 0}
    return tuple(kind for kind in POSITIONS if found[kind])


def setting(trace: Trace, layer: int, mask: str, positions: str) -> Trace:
    """The layer alone (names `blocks.0.…`) on its tokens' contents, with that mask and those positions.

    Contents are the embedding rows in the first layer, later what reaches the layer. "learned" and "sinusoidal" add a
    table's rows, "rope" turns Q and K, "none" does nothing. Raises UnknownOption.
    """
    if mask not in MASKS:
        raise UnknownOption("mask", mask, MASKS)
    if positions not in (known := possible(trace, layer)):
        raise UnknownOption("positions", positions, known)
    return _placed(trace, layer, _contents(trace, layer), mask, positions)


def _contents(trace: Trace, layer: int) -> Tensor:
    """(B, T, D): what the tokens are, apart from where they stand."""
    return trace["embed"] if layer == 0 and "embed" in trace else trace[f"blocks.{layer}.in"]


def _placed(trace: Trace, layer: int, contents: Tensor, mask: str, positions: str) -> Trace:
    tokens = contents.shape[1]
    places = torch.arange(tokens, device=contents.device).expand(contents.shape[:2])
    x = contents
    if positions == "learned":
        x = x + embedding.lookup(trace["position_table"], places)
    if positions == "sinusoidal":
        x = x + embedding.sinusoidal(tokens, contents.shape[2]).to(x)
    put = {"in": x, "mask": masks.build(mask, tokens).to(x), "positions": places}
    return isolated_layer(
        trace, layer, put=put, positions="rope" if positions == "rope" else "none", sliding_window=None)


class Reordered(NamedTuple):
    """The layer on X and on PX under the same mask and positions, which belong to places and not to tokens.

    `contents` (B, T, D) is X before positions are added; `before` and `after` are the traces of the layer alone;
    `expected` (B, T, D) is P·Attn(X), `found` Attn(PX), and `difference` the largest one between them; `broken` the
    rows that differ, `unmoved` the largest difference of Attn(PX) from Attn(X) itself, which is zero only for an
    invariant function.
    """

    order: tuple[int, ...]
    matrix: Tensor
    contents: Tensor
    before: Trace
    after: Trace
    expected: Tensor
    found: Tensor
    difference: float
    broken: tuple[int, ...]
    unmoved: float

    @property
    def original(self) -> Tensor:
        """Attn(X) (B, T, D)."""
        return self.before[f"blocks.0.{attention_output(self.before)}"]

    @property
    def reordered(self) -> Tensor:
        """PX (B, T, D)."""
        return self.matrix @ self.contents

    @property
    def gap(self) -> Tensor:
        """Attn(PX) − P·Attn(X), (B, T, D)."""
        return self.found - self.expected

    @property
    def equivariant(self) -> bool:
        """Whether Attn(PX) = P·Attn(X), up to the rounding of float32."""
        return not self.broken


def reorder(
    trace: Trace, layer: int, order: Sequence[int], *, mask: str = "none", positions: str = "none",
) -> Reordered:
    """Change the order of the tokens and see whether the outputs only change places. Raises UnknownOption."""
    before = setting(trace, layer, mask, positions)
    contents = _contents(trace, layer)
    order = checked(order, contents.shape[1])
    p = matrix(order).to(contents)
    after = _placed(trace, layer, p @ contents, mask, positions)
    after.tokens = [trace.tokens[place] for place in order] if len(trace.tokens) == len(order) else []
    name = f"blocks.0.{attention_output(before)}"
    expected, found = p @ before[name], after[name]
    limit = EQUAL * max(1.0, float(expected.abs().max()))
    broken = tuple(row for row in range(len(order)) if largest_difference(found[:, row], expected[:, row]) > limit)
    return Reordered(order, p, contents, before, after, expected, found, largest_difference(expected, found), broken,
                     largest_difference(found, before[name]))


class Sight(NamedTuple):
    """What one token may read, by the tokens' old numbers: before and after the change of order, and what it lost and
    gained."""

    token: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    lost: tuple[int, ...]
    gained: tuple[int, ...]


def sights(order: Sequence[int], mask: str) -> tuple[Sight, ...]:
    """For each token in its new place, whom it could read and whom it can read now: why a causal mask breaks it."""
    order = checked(order, len(order))
    allowed = (masks.build(mask, len(order))[0, 0] != ops.NEG_INF).tolist()
    made = []
    for row, token in enumerate(order):
        old = {key for key, readable in enumerate(allowed[token]) if readable}
        new = {order[key] for key, readable in enumerate(allowed[row]) if readable}
        made.append(Sight(token, *(tuple(sorted(found)) for found in (old, new, old - new, new - old))))
    return tuple(made)
