"""Sections about several heads that are more than one equation: thumbnails of their weights, memory, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st
from torch import Tensor

from core import shapes
from core.comparison import Comparison
from core.stages.heads import index_map
from ui.bench import Bench
from ui.components.thumbnails import by_head, thumbnails
from ui.equation import Softmax, default_strings, equation
from ui.equation.views import View
from ui.furniture import equations
from ui.furniture.prose import table
from ui.shell import i18n
from ui.shell.i18n import _
from ui.sources import Resolved


def maps(bench: Bench, resolved: Resolved, view: View) -> None:
    """Every head's weights as a thumbnail, one of them written out, and what one wide head would give."""
    found = index_map.one_head(view.trace, view.layer)
    several = [_matrix(head) for head in found.several[view.batch]]
    wide = _("one wide head")
    pictures = by_head(several) | {wide: _matrix(found.single.weights[view.batch, 0])}
    count = len(several)
    chosen = _chosen(pictures, view, "heads-maps", (bench.source, bench.scope, view.layer, view.batch))
    if chosen < count:
        enlarged(bench, resolved, view, chosen, key="heads-map")
    else:
        single = view.frame("weights", view.name("weights"), words=(_("query: reads ↓"), _("key: is read →")),
                            row_sums=True)
        masked = view.frame("masked", view.name("masked"))
        frames = [
            replace(masked, name="wide_masked", slice=wide, values=_matrix(found.single.masked[view.batch, 0]),
                    cut=False),
            replace(single, name="wide_weights", slice=wide, values=pictures[wide], cut=False, sign=_("softmax →"))]
        equation(frames, [Softmax("weights", "masked")], key="heads-wide", decimals=bench.decimals,
                 strings=default_strings(_))
    tokens = view.trace.sizes["T"]
    st.caption(_("{heads} heads give {tokens} tokens {several} distributions, one for each head and token. The same Q, "
                 "K and V read as one head of width {width} give {tokens}: its raw scores are the sum of the heads' "
                 "scores, and the softmax of a sum is one blend for all columns of V.").format(
                     heads=count, tokens=tokens, several=count * tokens,
                     width=view.trace.config.heads * view.trace.config.head_dim))


def enlarged(bench: Bench, resolved: Resolved, view: View, head: int, *, key: str) -> None:
    """One head's scores after the mask and its weights, written out."""
    own = View(view.trace, layer=view.layer, batch=view.batch, head=head, editable=False)
    frames = [own.frame("masked", own.name("masked"), words=(_("query: reads ↓"), _("key: is read →"))),
              own.frame("weights", own.name("weights"), sign=_("softmax →"), row_sums=True)]
    equations.drawn(frames, [Softmax("weights", "masked")], key=key, bench=bench, resolved=resolved, view=own,
                    telling=None, pinning=False)


def sharing_maps(bench: Bench, resolved: Resolved, view: View, readers: Sequence[int]) -> None:
    """The weights of the query heads that read one KV head as thumbnails, one of them written out."""
    weights = view.trace[view.name("weights")][view.batch]
    pictures = {f"h{head + 1}": _matrix(weights[head]) for head in readers}
    chosen = _chosen(pictures, view, "sharing-maps", (bench.source, bench.scope, view.layer, view.batch, *readers))
    enlarged(bench, resolved, view, readers[chosen], key="sharing-map")


def _chosen(pictures: dict[str, np.ndarray], view: View, key: str, place: tuple[object, ...]) -> int:
    """Draw thumbnails and return which is chosen; another place begins with the head on the bench."""
    names = list(pictures)
    own = f"h{view.head + 1}"
    return thumbnails(pictures, label=_("Weights, head by head"), role="weight", key=f"{key}-{place}",
                      chosen=names.index(own) if own in names else 0)


def memory(view: View) -> None:
    """Shapes and strides of every step, read off the real tensors."""
    found = index_map.memory(view.trace[view.name("q_proj")], view.trace.config.heads)
    words = {"before": _("as projected"), "reshape": "reshape", "transpose": "transpose", "contiguous": "contiguous"}
    yes = {True: _("yes"), False: _("no")}
    table([_("step"), _("axes"), _("shape"), _("strides"), _("contiguous"), _("numbers copied")],
          [[words[step.step], ", ".join(map(i18n.axis, step.axes)), *(_sizes(sizes) for sizes in (
              step.shape, step.strides)), yes[step.contiguous], yes[step.moved]] for step in found.steps])
    st.caption(_("A stride says how many numbers further in memory the next entry of an axis lies. A transpose "
                 "exchanges strides and copies nothing; what it leaves is not contiguous, so view cannot read it as "
                 "{shape} and reshape has to copy.").format(
                     shape=f"[{', '.join(map(i18n.axis, ('B', 'T', 'HDh')))}]"))
    if found.refused:
        st.caption(_("PyTorch says to that view: `{error}`").format(error=found.refused))


def document_sizes(view: View) -> None:
    """Every step's shape for the trace on screen, D0's example and D1's LLaMA-2-7B."""
    columns = {_("here"): dict(view.trace.sizes)}
    for title, code in (("D0 §8", "d0"), ("D1 §11", "llama-2-7b")):
        model = shapes.MODELS[code]
        assert model.inputs is not None
        columns[title] = shapes.sizes(model.config, model.inputs)
    steps = (("q_proj", ("B", "T", "HDh")), ("reshape", ("B", "T", "H", "Dh")), ("q", ("B", "H", "T", "Dh")),
             ("scores", ("B", "H", "Tq", "Tk")), ("context", ("B", "H", "T", "Dh")), ("concat", ("B", "T", "HDh")),
             ("attn_out", ("B", "T", "D")))
    table(["", _("axes"), *columns],
          [[name if name == "reshape" else i18n.symbol(name), ", ".join(map(i18n.axis, axes)),
            *(_sizes([_size(sizes, axis) for axis in axes]) for sizes in columns.values())] for name, axes in steps])


def _size(sizes: dict[str, int], axis: str) -> int:
    return {"Tq": sizes["T"], "Tk": sizes["T"], "HDh": sizes["H"] * sizes["Dh"]}.get(axis) or sizes[axis]


def _sizes(numbers: Sequence[int]) -> str:
    return f"[{', '.join(map(str, numbers))}]"


def beside(view: View, result: Comparison, name: str, *, key: str, bench: Bench) -> None:
    """As `equations.beside`, also for tensors (B, T, ·) that know no heads."""
    if result.wrong is None or result.difference is None:
        return
    if result.right.ndim > len(("batch", "rows", "columns")):
        equations.beside(view, result, name, key=key, bench=bench, batch=view.batch, head=view.head)
        return
    whole = Comparison(*(tensor[:, None] for tensor in (result.right, result.wrong, result.difference)),
                       result.divisor, result.error)
    equations.beside(view, whole, name, key=key, bench=bench, batch=view.batch, head=0)


def _matrix(values: Tensor) -> np.ndarray:
    return np.ascontiguousarray(values.detach().float().cpu().numpy())
