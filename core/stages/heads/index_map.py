"""Several heads in one layer: how the columns are handed out to them, what each adds, and how they come together.

The index map is what the real operations do to a tensor that holds its own places: a number's flat place in [T, H·Dh],
row by row, travels with it through reshape, transpose and back.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from core import comparison, layouts, ops
from core.check import largest_difference
from core.errors import ShapeError
from core.trace import Trace


class SplitMerge(NamedTuple):
    """The numbers of `before` (T, H·Dh) on their way: `reshaped` (T, H, Dh) cuts each row; `split` (H, T, Dh) puts the
    heads first; `merged` (T, H·Dh) is the way back, equal to `before`. `viewed` (H, T, Dh) is the mistake: the same
    memory read in the shape of `split`, without the transpose.
    """

    before: Tensor
    reshaped: Tensor
    split: Tensor
    merged: Tensor
    viewed: Tensor


def split_and_merge(before: Tensor, heads: int) -> SplitMerge:
    """before (T, H·Dh) in each shape on its way into heads and back. Raises ShapeError where it does not divide."""
    split = ops.split_heads(before, heads)  # (H, T, Dh)
    reshaped = split.transpose(0, 1)  # (T, H, Dh)
    return SplitMerge(before, reshaped, split, ops.merge_heads(split), before.contiguous().view(split.shape))


class IndexMap(SplitMerge):
    """Where each number comes from, as its flat place in `before`: token · H·Dh + column, from 0."""

    def origin(self, place: int) -> tuple[int, int]:
        """(token, column) in `before` of a flat place, from 0."""
        return divmod(place, self.before.shape[1])

    def tokens(self, places: Tensor) -> Tensor:
        """Of each cell of one of the shapes, the token that its number belongs to."""
        return places // self.before.shape[1]

    def mixed(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """For each head and row of `viewed`, the tokens whose numbers stand in it; right would be the row's own."""
        return tuple(tuple(tuple(sorted(set(row.tolist()))) for row in head) for head in self.tokens(self.viewed))

    def misplaced(self) -> int:
        """How many cells of `viewed` hold another number than those of `split`."""
        return int((self.viewed != self.split).sum())


def index_map(tokens: int, heads: int, head_dim: int) -> IndexMap:
    """The map for T tokens, H heads and Dh columns each. Raises ShapeError for a size below 1."""
    if min(tokens, heads, head_dim) < 1:
        raise ShapeError("there is at least one token, head and column", sizes=(tokens, heads, head_dim))
    before = torch.arange(tokens * heads * head_dim).reshape(tokens, heads * head_dim)  # (T, H·Dh)
    return IndexMap(*split_and_merge(before, heads))


def after(token: int, column: int, head_dim: int) -> tuple[int, int, int]:
    """(head, token, d) of what stands at (token, column) of [T, H·Dh], from 0."""
    return column // head_dim, token, column % head_dim


class MemoryStep(NamedTuple):
    """A tensor as it lies in memory, read off the tensor itself: strides count numbers, not bytes; `moved` says whether
    this step copied the numbers to a new place."""

    step: str
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    contiguous: bool
    moved: bool


class MemorySteps(NamedTuple):
    """The steps of split and merge in memory, and what torch says to a `view` of the transposed tensor as [B, T, H·Dh]
    (None where it agrees, as with one head or one token)."""

    steps: tuple[MemoryStep, ...]
    refused: str | None


def memory(projected: Tensor, heads: int) -> MemorySteps:
    """projected (B, T, H·Dh) through reshape, transpose, contiguous, transpose back and reshape, each really done."""
    batch, tokens, width = projected.shape
    first = projected.contiguous()
    cut = first.reshape(batch, tokens, heads, width // heads)  # (B, T, H, Dh)
    turned = cut.transpose(1, 2)  # (B, H, T, Dh)
    whole = turned.contiguous()
    back = whole.transpose(1, 2)  # (B, T, H, Dh)
    stages = (("before", "B T HDh", first), ("reshape", "B T H Dh", cut), ("transpose", "B H T Dh", turned),
              ("contiguous", "B H T Dh", whole), ("transpose", "B T H Dh", back),
              ("reshape", "B T HDh", back.reshape(batch, tokens, width)))
    sources = (first, *(tensor for _, _, tensor in stages[:-1]))
    steps = tuple(
        MemoryStep(step, tuple(axes.split()), tuple(tensor.shape), tensor.stride(), tensor.is_contiguous(),
               tensor.data_ptr() != source.data_ptr())
        for (step, axes, tensor), source in zip(stages, sources, strict=True))
    return MemorySteps(steps, comparison.refusal(lambda: turned.view(batch, tokens, width)))


class OneHead(NamedTuple):
    """The same Q, K, V read as one head of width H·Dh beside H heads of width Dh.

    `single` has one map for each sentence (B, 1, T, T), `several` is (B, H, T, T). The raw scores of the one head are
    the sum of those of the heads; the softmax of the sum is one distribution and no longer H.
    """

    single: ops.Attention
    several: Tensor


def one_head(trace: Trace, layer: int) -> OneHead:
    """Take the q, k, v of a layer as a single wide head, KV heads repeated for the query heads that read them."""
    block = f"blocks.{layer}."
    q, k = (trace[name] for name in trace.steps[block + "scores"].reads)
    k, v = (x.repeat_interleave(trace.config.group, dim=1) for x in (k, trace[block + "v"]))
    wide = (ops.merge_heads(x)[:, None] for x in (q, k, v))  # (B, 1, T, H·Dh) each
    mask = trace["mask"]
    shared = mask if mask.shape[1] == 1 else mask[:, :1]
    return OneHead(ops.attend(*wide, mask=shared), trace[block + "weights"])


class OwnBlock(NamedTuple):
    """The columns [first, first + width) of a big matrix that are one head's own, and the largest difference between
    X times that block alone and the head's slice of the one big product."""

    head: int
    first: int
    width: int
    difference: float


def own_blocks(trace: Trace, layer: int, letter: str) -> tuple[OwnBlock, ...]:
    """Each head of "q", "k" or "v" projected alone, against the split of one product (D1 §5.1)."""
    config = trace.config
    heads = config.heads if letter == "q" else config.kv_heads
    x = trace[trace.attention_input(layer)]
    matrices, biases = layouts.weights_of(trace, layer)
    w, bias = getattr(matrices, letter), getattr(biases, letter)
    alone, together = (way(x, w, bias, heads) for way in (layouts.separate, layouts.merged))
    return tuple(OwnBlock(head, head * config.head_dim, config.head_dim,
                          largest_difference(alone[:, head], together[:, head])) for head in range(heads))


def fused_shapes(
    batch: int, tokens: int, width: int, heads: int, kv_heads: int, head_dim: int,
) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """Shapes of X, WQKV and their product when Q, K and V are one product over all tokens of a batch (D1 §5.3)."""
    columns = (heads + 2 * kv_heads) * head_dim
    return (batch * tokens, width), (width, columns), (batch * tokens, columns)


class Contributions(NamedTuple):
    """What each head adds to the output: `parts` (B, H, T, D) is context_h × WO_h, `blocks` (H, Dh, D) the rows of WO
    that are the head's own, `bias` (D) is added once. `total` (B, T, D) is the sum over heads and the bias, `whole` the
    trace's concat × WO, `difference` the largest one between them."""

    parts: Tensor
    blocks: Tensor
    bias: Tensor | None
    total: Tensor
    whole: Tensor
    difference: float


def contributions(trace: Trace, layer: int) -> Contributions:
    """Concat × WO taken apart by heads. Raises UnknownName where the layer has no WO."""
    block = f"blocks.{layer}."
    w = trace[block + "wo"]
    blocks = w.reshape(trace.config.heads, trace.config.head_dim, -1)  # (H, Dh, D)
    parts = trace[block + "context"] @ blocks  # (B, H, T, D)
    bias = trace[block + "bo"] if trace.config.out_bias else None
    total = parts.sum(dim=1) if bias is None else parts.sum(dim=1) + bias  # (B, T, D)
    whole = trace[block + "attn_out"]
    return Contributions(parts, blocks, bias, total, whole, largest_difference(total, whole))


def rows_moved(trace: Trace, layer: int, token: int) -> list[int]:
    """The rows of concat × WO that change when one token's row of concat is doubled: WO mixes heads, never tokens."""
    block = f"blocks.{layer}."
    concat, w = trace[block + "concat"], trace[block + "wo"]
    doubled = concat.clone()
    doubled[:, token] *= 2
    changed = (doubled @ w != concat @ w).any(dim=-1).any(dim=0)  # (T)
    return [int(row) for row in changed.nonzero().flatten()]


class Added(NamedTuple):
    """One head's part of the output of one sentence: `part` (T, D) = context_h × `block`, and `others` (T, D), what all
    other heads and the bias add."""

    block: Tensor
    part: Tensor
    others: Tensor


def added(trace: Trace, layer: int, batch: int, head: int) -> Added:
    """The part of one head beside that of all others."""
    found = contributions(trace, layer)
    rest = [h for h in range(trace.config.heads) if h != head]
    others = found.parts[batch, rest].sum(dim=0)  # (T, D)
    return Added(found.blocks[head], found.parts[batch, head], others if found.bias is None else others + found.bias)


def outside(trace: Trace, layer: int, batch: int, start: int, stop: int) -> tuple[Tensor, Tensor]:
    """What the columns of concat before `start` and those from `stop` on add to the output of one sentence: two (T, D)
    tensors, in float64 on the CPU."""
    block = f"blocks.{layer}."
    concat, w = trace[block + "concat"][batch].double().cpu(), trace[block + "wo"].double().cpu()
    return concat[:, :start] @ w[:start], concat[:, stop:] @ w[stop:]
