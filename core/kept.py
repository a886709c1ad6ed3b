"""Computed tensors, kept within a bound in bytes; the one unused for longest goes first, and is computed again."""

from __future__ import annotations

import threading
from collections import OrderedDict

from torch import Tensor

COMPUTED_BYTES = 64 * 2**20  # of one trace, or of all those that share a `Kept`


class Kept:
    """Tensors of one or several traces, in `max_bytes` together (by default `COMPUTED_BYTES`). The newest stays even
    if it alone exceeds the bound. Safe to share between threads: sessions read the same trace at once."""

    def __init__(self, max_bytes: int | None = None) -> None:
        self.max_bytes = COMPUTED_BYTES if max_bytes is None else max_bytes
        self._lock = threading.Lock()
        self._tensors: OrderedDict[tuple[Shelf, str], Tensor] = OrderedDict()
        self._total = 0

    def shelf(self) -> Shelf:
        """A place in it for the tensors of one more trace, by their names."""
        return Shelf(self)

    @property
    def nbytes(self) -> int:
        """Bytes of all that is kept."""
        return self._total

    def get(self, shelf: Shelf, name: str) -> Tensor | None:
        """The tensor, which now counts as just used, or None."""
        with self._lock:
            found = self._tensors.get((shelf, name))
            if found is not None:
                self._tensors.move_to_end((shelf, name))
            return found

    def put(self, shelf: Shelf, name: str, tensor: Tensor) -> None:
        """Keep a tensor; drop those unused for longest while there are too many bytes."""
        with self._lock:
            before = self._tensors.pop((shelf, name), None)
            self._tensors[shelf, name] = tensor
            self._total += tensor.nbytes - (0 if before is None else before.nbytes)
            while self._total > self.max_bytes and len(self._tensors) > 1:
                self._total -= self._tensors.popitem(last=False)[1].nbytes

    def nbytes_of(self, shelf: Shelf) -> int:
        """Bytes of what one trace has in it."""
        with self._lock:
            return sum(tensor.nbytes for (owner, _), tensor in self._tensors.items() if owner is shelf)


class Shelf:
    """What one trace keeps in a `Kept`."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def get(self, name: str) -> Tensor | None:
        """The tensor of that name, which now counts as just used, or None."""
        return self._kept.get(self, name)

    def put(self, name: str, tensor: Tensor) -> None:
        """Keep a tensor under that name."""
        self._kept.put(self, name, tensor)

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept here."""
        return self._kept.nbytes_of(self)
