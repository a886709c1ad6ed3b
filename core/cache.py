"""The KV cache: the rows of K and V that a decoder has computed, kept so that no later step computes them again.

One block of memory for K and one for V, allocated once: (L, B, Hkv, rows, Dh) each. With a sliding window it is a
ring: position p lies in row p mod W, and only the window is allocated, while RoPE has turned each key by its true
position before it is stored. Queries are not kept: no later step reads them (D0 §11.3).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from core.config import MAX_SIZE, ModelConfig
from core.errors import CacheFull, CacheMismatch, CacheOverwritten, ShapeError, SizeOutOfRange, UnknownOption

DTYPES: dict[str, torch.dtype] = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
_DECIDES = ("layers", "kv_heads", "head_dim", "sliding_window")  # what a cache and a decoder must agree on


class Rows(NamedTuple):
    """Rows of one layer in the order of time: k and v (B, Hkv, n, Dh), in the type of the cache."""

    k: Tensor
    v: Tensor


class KVCache:
    """Room for `max_tokens` tokens of `batch` texts; `length` of them have been read, padding included.

    `keys` and `values` are (L, B, Hkv, rows, Dh), rows = max_tokens or, if that is less, the sliding window. A decoder
    appends to every layer and then advances the one counter, so a forward that fails leaves the cache as it was.
    Raises SizeOutOfRange, and UnknownOption for a type that is not in `DTYPES`.
    """

    def __init__(
        self, config: ModelConfig, batch: int, max_tokens: int, dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ) -> None:
        for name, value in (("batch", batch), ("max_tokens", max_tokens)):
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_SIZE:
                raise SizeOutOfRange(name, value, 1, MAX_SIZE)
        if dtype not in DTYPES.values():
            raise UnknownOption("dtype", dtype, list(DTYPES))
        self.config, self.batch, self.max_tokens = config, batch, max_tokens
        window = config.sliding_window
        self.rows = max_tokens if window is None else min(window, max_tokens)
        self.is_ring = self.rows < max_tokens
        shape = (config.layers, batch, config.kv_heads, self.rows, config.head_dim)
        self._hold(torch.zeros(shape, dtype=dtype, device=device), torch.zeros(shape, dtype=dtype, device=device))
        self._length = 0
        self._allowed: Tensor | None = None  # (B, length) bool, once there was padding
        self._lent = 0  # traces hold views of the first so many rows

    def _hold(self, keys: Tensor, values: Tensor) -> None:
        """Take (L, B, Hkv, rows, Dh) of each, and the views of single layers that every step would make anew."""
        self.keys, self.values = keys, values
        self._layers = list(zip(keys.unbind(), values.unbind(), strict=True))

    @property
    def length(self) -> int:
        """Tokens read so far: the position counter of all layers."""
        return self._length

    @property
    def held(self) -> int:
        """How many cached rows the next token can read: all, or with a window at most the window less one."""
        window = self.config.sliding_window
        return self._length if window is None else min(self._length, window - 1)

    @property
    def dtype(self) -> torch.dtype:
        """The type in which rows are stored; attention reads them back in the type of the queries."""
        return self.keys.dtype

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return self.keys.nbytes + self.values.nbytes

    @property
    def used_nbytes(self) -> int:
        """Bytes of the rows that hold something: 2·L·B·Hkv·Dh·s for each of them."""
        return self.nbytes // self.rows * min(self._length, self.rows)

    def layer(self, layer: int) -> Rows:
        """Every row that a layer holds, the oldest first: min(length, rows) of them."""
        return self._last(layer, min(self._length, self.rows))

    def past(self, layer: int) -> Rows:
        """The `held` rows of a layer, to keep: what is appended or cropped later never changes them. They are views
        of the cache where its rows stay, copies where a ring overwrites them."""
        past = self._last(layer, self.held)
        if self.is_ring:
            return Rows(past.k.clone(), past.v.clone())
        self._lent = max(self._lent, self._length)
        return past

    def fits(self, config: ModelConfig, ids: Tensor, allowed: Tensor | None) -> Tensor | None:
        """Check that `ids` (B, T) can be read next; gives `allowed` (B, length + T) over cached and new tokens, or None
        where all are real. Without one, padding that was cached stays hidden and new tokens count as real.

        Raises CacheMismatch, CacheFull, and ShapeError for an `allowed` that does not fit, or that says something else
        of the cached tokens than when they were read: their positions would be others.
        """
        for name in _DECIDES:
            if getattr(config, name) != getattr(self.config, name):
                raise CacheMismatch(name, getattr(self.config, name), getattr(config, name))
        if ids.shape[0] != self.batch:
            raise CacheMismatch("batch", self.batch, ids.shape[0])
        if ids.device.type != self.keys.device.type:
            raise CacheMismatch("device", self.keys.device.type, ids.device.type)
        total = self._length + ids.shape[1]
        if total > self.max_tokens:
            raise CacheFull(self._length, ids.shape[1], self.max_tokens)
        if allowed is None:
            return None if self._allowed is None else _extended(self._allowed, total)
        if allowed.shape != (self.batch, total) or allowed.dtype != torch.bool:
            raise ShapeError("allowed is a boolean over cached and new tokens", allowed=allowed.shape,
                             expected=(self.batch, total))
        before = allowed[:, :self._length]
        if not (before.all() if self._allowed is None else torch.equal(before, self._allowed)):
            raise ShapeError("allowed says of the cached tokens what it said when they were read",
                             allowed=allowed.shape, cached=(self.batch, self._length))
        return allowed

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Store new rows k, v (B, Hkv, T, Dh) of a layer behind the counter -> K and V (B, Hkv, held + T, Dh) for the
        new queries to read, in the type of k. A single row in a full ring takes the place of the oldest, and K and V
        then come in the order of the ring (`columns`), which attention does not mind."""
        keys, values = self._layers[layer]
        return self._append(keys, k).to(k.dtype), self._append(values, v).to(v.dtype)

    def _append(self, store: Tensor, rows: Tensor) -> Tensor:
        new = rows.shape[2]
        if self.is_ring and new > 1:
            return self._append_many(store, rows.to(store.dtype))
        store.narrow(2, self._length % self.rows, new).copy_(rows)
        return store.narrow(2, 0, min(self._length + new, self.rows))

    def _append_many(self, store: Tensor, rows: Tensor) -> Tensor:
        """Several rows into a ring: the first of them still reads rows that the last of them overwrites."""
        read = torch.cat([self._in_order(store, self.held), rows], dim=2)  # (B, Hkv, held + T, Dh)
        kept = min(rows.shape[2], self.rows)
        end = self._length + rows.shape[2]
        store.index_copy_(2, self._places(end - kept, end), rows[:, :, -kept:])
        return read

    def columns(self, new: int) -> slice | Tensor:
        """Which of the length + new tokens the rows are that `append` gives, in its order."""
        last = self._length
        if self.is_ring and new == 1 and last >= self.rows:
            place = torch.arange(self.rows, device=self.keys.device)
            return last - (last - place) % self.rows
        return slice(last - self.held if self.is_ring else 0, last + new)

    def advance(self, new: int, allowed: Tensor | None = None) -> None:
        """Count `new` tokens, after every layer has stored them. `allowed` (B, length + new) as `fits` gave it."""
        self._length += new
        self._allowed = allowed

    def crop(self, length: int) -> None:
        """Forget all tokens from `length` on. Raises SizeOutOfRange above the present length, and CacheOverwritten
        where a ring no longer holds the rows that the next token would read."""
        if isinstance(length, bool) or not isinstance(length, int) or not 0 <= length <= self._length:
            raise SizeOutOfRange("length", length, 0, self._length)
        oldest = max(0, self._length - self.rows)
        if self.is_ring and max(0, length - self.rows + 1) < oldest:
            raise CacheOverwritten(length, oldest, self.rows)
        if length < self._lent:  # a trace reads rows that will be written again
            self._hold(self.keys.clone(), self.values.clone())
            self._lent = 0
        self._length = length
        self._allowed = None if self._allowed is None else self._allowed[:, :length]

    def _last(self, layer: int, count: int) -> Rows:
        keys, values = self._layers[layer]
        return Rows(self._in_order(keys, count), self._in_order(values, count))

    def _in_order(self, store: Tensor, count: int) -> Tensor:
        """The last `count` rows of (B, Hkv, rows, Dh) in the order of time; a view as long as no row was reused."""
        if self._length <= self.rows:
            return store.narrow(2, self._length - count, count)
        return store.index_select(2, self._places(self._length - count, self._length))

    def _places(self, start: int, end: int) -> Tensor:
        """The rows in which positions start … end−1 lie."""
        return torch.arange(start, end, device=self.keys.device) % self.rows


def _extended(allowed: Tensor, total: int) -> Tensor:
    """allowed (B, length) with every further token real -> (B, total)."""
    return torch.nn.functional.pad(allowed, (0, total - allowed.shape[1]), value=True)
