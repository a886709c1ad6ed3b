"""Every tensor of a forward pass under one registered name, computed when it is asked for.

A `Trace` holds what was given (parameters, token ids, the mask, the captured residual stream) and computes any other
named tensor from it by the written-out step that `core.steps` lists for it. The same object therefore serves three
tokens worked by hand and a model of 135 million parameters, and what it shows is what it computed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple, Self, TypeVar

import torch
from torch import Tensor

from core import steps
from core.check import Check, compare
from core.config import ModelConfig
from core.errors import EditError, ShapeError, UnknownName
from core.kept import Kept
from core.steps import Step

T = TypeVar("T")
Index = tuple[int, ...]
Edits = Mapping[str, Mapping[Index, float]]  # trace name -> full index -> the value put there


class Name(NamedTuple):
    """Axes by letter (sizes of 1 are allowed where a tensor is broadcast), the role that gives the colour, the usual
    operation, and what it reads under the usual pre-norm wiring (`core.steps.plan` has the wiring of a given model)."""

    axes: tuple[str, ...]
    role: str
    op: str = "given"
    reads: tuple[str, ...] = ()


def _name(axes: str, role: str, op: str = "given", reads: str = "") -> Name:
    return Name(tuple(axes.split()), role, op, tuple(reads.split()))


_GLOBAL = {
    "tokens": _name("B T", "token"),
    "positions": _name("B T", "token"),
    "mask": _name("B H Tq Tk", "mask"),
    "embedding": _name("V D", "parameter"),
    "position_table": _name("P D", "parameter"),
    "embed": _name("B T D", "residual", "lookup", "embedding tokens"),
    "pos_embed": _name("B T D", "residual", "lookup", "position_table positions"),
    "final_gamma": _name("D", "parameter"),
    "final_beta": _name("D", "parameter"),
    "w_vocab": _name("D V", "parameter"),
    "final_norm": _name("B T D", "residual", "norm", "out final_gamma final_beta"),
    "logits": _name("B T V", "logit", "project", "final_norm w_vocab"),
}
_BLOCK = {
    "wq": _name("D HDh", "parameter"), "wk": _name("D HkvDh", "parameter"), "wv": _name("D HkvDh", "parameter"),
    "wo": _name("HDh D", "parameter"),
    "bq": _name("HDh", "parameter"), "bk": _name("HkvDh", "parameter"), "bv": _name("HkvDh", "parameter"),
    "bo": _name("D", "parameter"),
    "q_gamma": _name("Dh", "parameter"), "k_gamma": _name("Dh", "parameter"),
    "gamma1": _name("D", "parameter"), "beta1": _name("D", "parameter"),
    "gamma2": _name("D", "parameter"), "beta2": _name("D", "parameter"),
    "w_gate": _name("D F", "parameter"), "w_up": _name("D F", "parameter"), "w_down": _name("F D", "parameter"),
    "w1": _name("D F", "parameter"), "b1": _name("F", "parameter"),
    "w2": _name("F D", "parameter"), "b2": _name("D", "parameter"),
    "in": _name("B T D", "residual", "add", "embed pos_embed"),
    "norm1": _name("B T D", "residual", "norm", "in gamma1 beta1"),
    "q_proj": _name("B T HDh", "query", "project", "norm1 wq bq"),
    "k_proj": _name("B T HkvDh", "key", "project", "norm1 wk bk"),
    "v_proj": _name("B T HkvDh", "value", "project", "norm1 wv bv"),
    "q": _name("B H T Dh", "query", "split_heads", "q_proj"),
    "k": _name("B Hkv T Dh", "key", "split_kv_heads", "k_proj"),
    "v": _name("B Hkv T Dh", "value", "split_kv_heads", "v_proj"),
    "q_norm": _name("B H T Dh", "query", "head_norm", "q q_gamma"),
    "k_norm": _name("B Hkv T Dh", "key", "head_norm", "k k_gamma"),
    "q_rot": _name("B H T Dh", "query", "rotate", "q positions"),
    "k_rot": _name("B Hkv T Dh", "key", "rotate", "k positions"),
    "k_past": _name("B Hkv Tp Dh", "cache"), "v_past": _name("B Hkv Tp Dh", "cache"),
    "k_all": _name("B Hkv Tk Dh", "cache", "append", "k_past k_rot"),
    "v_all": _name("B Hkv Tk Dh", "cache", "append", "v_past v"),
    "scores": _name("B H Tq Tk", "score", "score", "q_rot k_rot"),
    "scaled": _name("B H Tq Tk", "score", "scale", "scores"),
    "masked": _name("B H Tq Tk", "score", "mask", "scaled mask"),
    "weights": _name("B H Tq Tk", "weight", "softmax", "masked"),
    "context": _name("B H Tq Dh", "value", "mix", "weights v"),
    "concat": _name("B T HDh", "value", "merge_heads", "context"),
    "attn_out": _name("B T D", "residual", "project", "concat wo bo"),
    "resid_mid": _name("B T D", "residual", "add", "in attn_out"),
    "norm2": _name("B T D", "residual", "norm", "resid_mid gamma2 beta2"),
    "gate": _name("B T F", "hidden", "project", "norm2 w_gate"),
    "activated": _name("B T F", "hidden", "silu", "gate"),
    "up": _name("B T F", "hidden", "project", "norm2 w_up"),
    "hidden": _name("B T F", "hidden", "multiply", "activated up"),
    "ffn_out": _name("B T D", "residual", "project", "hidden w_down"),
    "resid_out": _name("B T D", "residual", "add", "norm1 ffn_out"),
    "out": _name("B T D", "residual", "add", "resid_mid ffn_out"),
}
NAMES: dict[str, Name] = {**_GLOBAL, **{f"blocks.{{l}}.{short}": name for short, name in _BLOCK.items()}}

_BLOCK_NAME = re.compile(r"blocks\.(\d+)\.(\w+)")
_ORDER = {template: place for place, template in enumerate(NAMES)}


def template(name: str) -> str:
    """The registered form of a name: "blocks.3.q" -> "blocks.{l}.q". Raises UnknownName when there is none."""
    match = _BLOCK_NAME.fullmatch(name)
    registered = f"blocks.{{l}}.{match[2]}" if match else name
    if registered not in NAMES:
        raise UnknownName(name)
    return registered


@lru_cache(maxsize=2**16)
def registered(name: str) -> Name:
    """The registry's entry for a name. Raises UnknownName."""
    return NAMES[template(name)]


class Trace:
    """A read-only mapping from registered names to tensors.

    `tokens` are the labels of the rows, for the first batch entry; `source` says where the numbers come from. Built
    either from given tensors (`core.worked`) or by passing an empty one to `Decoder.forward`.

    In a pass with a cache the rows are those of the new tokens; `past_tokens` label the cached ones, whose K and V are
    given as `k_past` and `v_past`, as they lay in the cache before. Nothing recomputes them: an edit of a parameter
    does not reach them.

    Computed tensors are kept in `kept`, which other traces may share, as long as there is room.
    """

    def __init__(
        self, *, tokens: Sequence[str] = (), source: str = "", config: ModelConfig | None = None,
        given: Mapping[str, Tensor] | None = None, past_tokens: Sequence[str] = (), kept: Kept | None = None,
    ) -> None:
        self.tokens, self.past_tokens = list(tokens), list(past_tokens)
        self.source = source
        self.scales: dict[int, float] = {}  # layer -> a factor in place of 1/√Dh
        self.stream: list[Tensor] = []
        self._edits: dict[str, dict[Index, float]] = {}
        self._checks: dict[tuple[str, object], Check | None] = {}  # a trace does not change once it is made
        self._computed = (kept or Kept()).shelf()
        self._given: dict[str, Tensor] = {}
        if config is not None:
            self.begin(config, given or {})

    # Recording: called by the decoder, once, before and during its forward pass.

    def begin(self, config: ModelConfig, given: Mapping[str, Tensor]) -> None:
        """Take the configuration and the given tensors; sizes are checked. Raises ShapeError, UnknownName."""
        self.config = config
        cached = "blocks.0.k_past" in given
        self.steps = steps.plan(config, cached)
        sizes = dict(config.sizes)
        for name, tensor in given.items():
            sizes = _sizes_with(name, tensor, sizes)
            self._given[name] = tensor
        if "T" in sizes:  # a mask of one row or column tells nothing
            sizes |= {"Tq": sizes["T"], "Tk": sizes.get("Tp", 0) + sizes["T"]}
        self._sizes: Mapping[str, int] = MappingProxyType(sizes)  # all there are: sessions share what follows
        self._available = _reachable(config, cached, frozenset(self._given))

    def capture(self, layer: int, x: Tensor) -> None:
        """Keep the residual stream: the input of `layer`, or after the last block the final output. x (B, T, D)."""
        if len(self.stream) != layer:
            raise ShapeError("the stream is captured once, layer by layer", layer=(layer,), have=(len(self.stream),))
        self.stream.append(x)
        if layer < self.config.layers:
            _sizes_with(f"blocks.{layer}.in", x, self._sizes)
            self._given[f"blocks.{layer}.in"] = x

    # Reading.

    def __getitem__(self, name: str) -> Tensor:
        """The tensor of that name; computed now if it is neither given nor kept. Raises UnknownName."""
        kept = self._computed.get(name)
        if kept is not None:
            return kept
        if name in self._given and name not in self._edits:
            return self._given[name]
        if name not in self._available:
            template(name)
            raise UnknownName(name, self.names())
        value = self._apply_edits(name, self._given[name] if name in self._given else self._compute(name))
        _sizes_with(name, value, self._sizes)
        self._computed.put(name, value)
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._available

    def names(self) -> list[str]:
        """Every name that this trace can give, in the order of the computation."""
        return sorted(self._available, key=_place)

    def axes(self, name: str) -> tuple[str, ...]:
        """The axis letters of a tensor. Raises UnknownName."""
        return registered(name).axes

    @property
    def key_tokens(self) -> list[str]:
        """The labels of the keys: the cached tokens, then the new ones."""
        return self.past_tokens + self.tokens

    @property
    def nbytes(self) -> int:
        """Bytes of the captured stream and of the computed tensors kept so far; parameters and the rows of a cache are
        not counted."""
        return sum(tensor.nbytes for tensor in self.stream) + self._computed.nbytes

    @property
    def sizes(self) -> dict[str, int]:
        """Axis letter → size, for those axes that some tensor of this trace really has."""
        present = {axis for name in self._available for axis in registered(name).axes}
        if "Tk" in present and "T" not in present:
            present.add("T")
        return {axis: size for axis, size in self._sizes.items() if axis in present}

    def is_given(self, name: str) -> bool:
        """Whether the tensor was put in (a parameter, an input, the captured stream) rather than computed here."""
        return name in self._given

    def made_by(self, name: str) -> Step:
        """The step that makes a tensor of others that are here. Raises UnknownName where none does: for one that was
        given, or that this trace does not have."""
        step = self.steps.get(name)
        if step is None or not self._available.issuperset(step.reads):
            computed = [one for one, how in self.steps.items() if self._available.issuperset(how.reads)]
            raise UnknownName(name, computed if name in self._given else self.names(), given=name in self._given)
        return step

    def attention_input(self, layer: int) -> str:
        """The name of what the projections of a layer read: `norm1` with pre-norm, else `in`."""
        return self.steps[f"blocks.{layer}.q_proj"].reads[0]

    # Editing.

    @property
    def edits(self) -> Edits:
        """The values put in place of computed or given ones."""
        return self._edits

    def edited(self, edits: Edits) -> Self:
        """A trace in which single entries hold other values, and everything after them follows.

        Edits of a computed tensor cut its link to what it was made from, at those entries. Raises EditError when an
        index does not exist or a value is not finite, UnknownName for a name that this trace does not have.
        """
        merged = {name: dict(cells) for name, cells in self._edits.items()}
        for name, cells in edits.items():
            if name not in self._available:
                raise UnknownName(name, self.names())
            for index, value in cells.items():
                self._check_edit(name, index, value)
                merged.setdefault(name, {})[tuple(index)] = float(value)
        return self._variant(merged, self.scales)

    def unedited(self) -> Self:
        """The same trace with all edits taken back."""
        return self._variant({}, self.scales)

    def with_scale(self, layer: int, scale: float) -> Self:
        """The same trace with another factor between `scores` and `scaled` of one layer."""
        return self._variant(self._edits, {**self.scales, layer: scale})

    def with_mask(self, mask: Tensor, layer: int = 0) -> Self:
        """The same trace with another additive mask (B or 1, H or 1, Tq, Tk) from `layer` on; what was captured before
        that layer keeps its numbers. Raises ShapeError when the mask does not fit the scores."""
        other = self._variant(self._edits, self.scales, first=layer)
        _sizes_with("mask", mask, other._sizes)
        other._given["mask"] = mask
        return other

    def _variant(
        self, edits: dict[str, dict[Index, float]], scales: dict[int, float], first: int | None = None,
    ) -> Self:
        """A changed number makes the captured stream stale after its layer; what came before stays as it was."""
        changed = [*(self.layer_of(name) for name in edits), *scales, *([] if first is None else [first])]
        first = min(changed, default=self.config.layers)
        stale = {f"blocks.{layer}.in" for layer in range(max(first + 1, 0), self.config.layers)}
        if "embed" not in self._available:
            stale.discard("blocks.0.in")
        other = type(self)(tokens=self.tokens, source=self.source, past_tokens=self.past_tokens)
        other.begin(self.config, {name: tensor for name, tensor in self._given.items() if name not in stale})
        other._edits, other.scales = edits, scales
        return other

    def layer_of(self, name: str) -> int:
        """The block a name belongs to; −1 for what comes before the blocks, the number of blocks for what follows."""
        where, layer, _ = _place(name)
        return {0: -1, 1: layer}.get(where, self.config.layers)

    def _check_edit(self, name: str, index: Iterable[int], value: float) -> None:
        tensor, at = self[name], tuple(index)
        if not tensor.is_floating_point():
            raise EditError(name, at, "only real numbers can be edited")
        if len(at) != tensor.ndim or any(not 0 <= i < n for i, n in zip(at, tensor.shape, strict=True)):
            raise EditError(name, at, f"there is no such entry in {list(tensor.shape)}")
        if not torch.isfinite(torch.tensor(value, dtype=torch.float32)):
            raise EditError(name, at, f"{value} is not a finite float32")

    def _apply_edits(self, name: str, value: Tensor) -> Tensor:
        cells = self._edits.get(name)
        if not cells:
            return value
        value = value.clone()
        for index, number in cells.items():
            value[index] = number
        return value

    # Checking.

    def check(self, layer: int) -> Check | None:
        """The largest difference between the written-out steps of a layer and a fused kernel, or None if neither can
        be compared (an edit sits between q and context, or has left nothing finite; or the trace ends before)."""
        return self._once("layer", layer, self._check)

    def _check(self, layer: int) -> Check | None:
        if self.stream:
            name = f"blocks.{layer}.out"
            return compare("stream", name, self[name], self.stream[layer + 1])
        block = f"blocks.{layer}."
        if block + "context" not in self or block + "scores" not in self or layer in self.scales:
            return None
        if any(block + short in self._edits for short in ("scores", "scaled", "masked", "weights", "context")):
            return None
        q, k = (self[name] for name in self.steps[block + "scores"].reads)
        v = self[self.steps[block + "context"].reads[1]]
        fused = steps.fused_attention(q, k, v, self["mask"])
        return compare("sdpa", block + "context", self[block + "context"], fused)

    def check_step(self, name: str) -> Check | None:
        """The largest difference between a computed tensor and its step carried out in float64 on the same operands;
        None where an edit stands in it, or has left no finite number in either. Raises UnknownName for a tensor that is
        not computed."""
        return self._once("step", name, self._check_step)

    def _check_step(self, name: str) -> Check | None:
        step = self.made_by(name)
        if name in self._edits:
            return None
        exact_types = step.op == "append"  # rounds to the type of the cache and does no arithmetic
        operands = [self[read] if exact_types or not self[read].is_floating_point() else self[read].double()
                    for read in step.reads]
        exact = steps.run(step, self.config, operands, self.scales.get(self.layer_of(name)))
        return compare("float64", name, self[name].double(), exact.double())

    def _once(self, kind: str, of: T, check: Callable[[T], Check | None]) -> Check | None:
        if (kind, of) not in self._checks:
            self._checks[kind, of] = check(of)
        return self._checks[kind, of]

    # Inside.

    def _compute(self, name: str) -> Tensor:
        step = self.steps[name]
        scale = self.scales.get(self.layer_of(name))
        return steps.run(step, self.config, [self[read] for read in step.reads], scale)


def _sizes_with(name: str, tensor: Tensor, sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes by axis, with those of one more tensor. Raises UnknownName, ShapeError where it contradicts them."""
    axes, found = registered(name).axes, dict(sizes)
    if tensor.ndim != len(axes):
        raise ShapeError(f"{name} has axes {list(axes)}", tensor=tensor.shape)
    for axis, size in zip(axes, tensor.shape, strict=True):
        if name == "mask" and size == 1:
            continue
        known = found.setdefault(axis, size)
        if known != size:
            raise ShapeError(f"{name} has axis {axis} of {known}", tensor=tensor.shape)
    tokens, queries = found.get("T"), found.get("Tq")
    if tokens and queries and tokens != queries:
        raise ShapeError(f"there is one query for each of {tokens} tokens", **{name: tensor.shape})
    return found


@lru_cache(maxsize=32)
def _reachable(config: ModelConfig, cached: bool, given: frozenset[str]) -> frozenset[str]:
    """Given names, and every step all of whose operands are reachable; the plan is in order, so once through."""
    found = set(given)
    for name, step in steps.plan(config, cached).items():
        if all(read in found for read in step.reads):
            found.add(name)
    return frozenset(found)


def _place(name: str) -> tuple[int, int, int]:
    """Order of the computation: input names, then block by block, then the output names."""
    match = _BLOCK_NAME.fullmatch(name)
    if match:
        return 1, int(match[1]), _ORDER[template(name)]
    return (2 if name in ("final_gamma", "final_beta", "w_vocab", "final_norm", "logits") else 0), 0, _ORDER[name]
