"""The shapes along the main line in words: which are equal and mean different things, and the whole way at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core import shapes
from core.shapes import Tensor
from ui.shell import i18n
from ui.shell.i18n import _


def coincidences(present: Mapping[str, int]) -> list[str]:
    """A sentence for every group of tensors whose equal numbers mean different things."""
    return [
        _("Careful: with these sizes {tensors} all have the shape {numbers}, because {equal}. The numbers are equal, "
          "but the axes mean different things.").format(
              numbers=f"[{','.join(map(str, numbers))}]", tensors=i18n.listed(map(_named, group)),
              equal=i18n.listed(_equalities(numbers, group)))
        for numbers, group in shapes.alike(present)]


def _equalities(numbers: Sequence[int], group: Sequence[Tensor]) -> list[str]:
    """Which sizes have to be equal for these tensors to look alike: "T = Dh = 4"."""
    found: dict[frozenset[str], str] = {}
    for size, *axes in zip(numbers, *(tensor.axes for tensor in group), strict=True):
        letters = list(dict.fromkeys(map(i18n.axis, axes)))
        if len(letters) > 1:
            found.setdefault(frozenset(letters), " = ".join([*letters, str(size)]))
    return list(found.values())


def _named(tensor: Tensor) -> str:
    letters = ",".join(i18n.axis(axis) for axis in tensor.axes)
    symbols = " ".join(i18n.symbol(name, transposed=tensor.transposed) for name in tensor.names)
    return f"{symbols} [{letters}]"


def paragraph(present: Mapping[str, int]) -> str:
    """The whole way in one paragraph, with the sizes put in (after D0 §15)."""
    n = {letter.lower(): size for letter, size in present.items()}
    return _(
        "A batch of {b}×{t} token ids picks rows of the embedding table E [{v},{d}] and becomes X [{b},{t},{d}]. Three "
        "learned matrices make Q, K and V of X; cut into heads, Q is [{b},{h},{t},{dh}], K and V are "
        "[{b},{hkv},{t},{dh}]. Every query meets every key: QKᵀ is [{b},{h},{t},{t}]. Divided by √{dh} it is S; the "
        "mask M is added, and the softmax turns each row into weights A that sum to one. A × V takes from every value "
        "its share: [{b},{h},{t},{dh}]. Side by side the heads are [{b},{t},{hdh}] again, and WO [{hdh},{d}] brings "
        "them back to the width of X, so that they can be added to it. Each token then goes alone through the "
        "feed-forward network, {d} → {f} → {d}, and is added again: [{b},{t},{d}], ready for the next block; here "
        "L = {l}. "
        "At the end every position has a score for each of {v} tokens: logits [{b},{t},{v}]. The last position chooses "
        "the next token, and with the keys and values kept, only that one goes through."
    ).format(**n)
