"""The weights of several heads as thumbnails, one of which is chosen and written out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from torch import Tensor

from ui.bench import Bench
from ui.components.thumbnails import thumbnails
from ui.equation import Softmax
from ui.equation.views import View
from ui.furniture.equations import drawn
from ui.shell.i18n import _
from ui.sources import Resolved


def by_head(weights: Tensor, heads: Iterable[int]) -> dict[str, np.ndarray]:
    """weights (H, Tq, Tk) -> the matrices of these heads, from 0, under the labels h1, h2, …"""
    return {f"h{head + 1}": np.ascontiguousarray(weights[head].detach().float().cpu().numpy()) for head in heads}


def choice(pictures: Mapping[str, np.ndarray], view: View, key: str, place: tuple[object, ...]) -> int:
    """Draw thumbnails and return which is chosen, from 0; at another `place` it is the head on the bench."""
    names = list(pictures)
    own = f"h{view.head + 1}"
    return thumbnails(pictures, label=_("Attention weights, head by head"), role="weight", key=f"{key}-{place}",
                      chosen=names.index(own) if own in names else 0)


def enlarged(bench: Bench, resolved: Resolved, view: View, head: int, *, key: str) -> None:
    """One head's scores after the mask and its weights, written out."""
    own = View(view.trace, layer=view.layer, batch=view.batch, head=head, editable=False)
    frames = [own.frame("masked", own.name("masked"), words=(_("query: reads ↓"), _("key: is read →"))),
              own.frame("weights", own.name("weights"), sign=_("softmax →"), row_sums=True)]
    drawn(frames, [Softmax("weights", "masked")], key=key, bench=bench, resolved=resolved, view=own,
          telling=None, pinning=False)
