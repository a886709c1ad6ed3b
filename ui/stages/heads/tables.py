"""Tables of the heads page: the steps in memory, and at the documents' sizes."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core import shapes
from core.stages.heads import index_map
from ui.equation.views import View
from ui.furniture.prose import table
from ui.shell import documents, i18n
from ui.shell.i18n import _


def memory(view: View) -> None:
    """Shapes and strides of every step, read off the real tensors."""
    found = index_map.memory(view.trace[view.name("q_proj")], view.trace.config.heads)
    words = {"before": _("as projected"), "reshape": "reshape", "transpose": "transpose", "contiguous": "contiguous"}
    yes = {True: _("yes"), False: _("no")}
    table([_("step"), _("axes"), _("shape"), _("strides"), _("contiguous"), _("numbers copied")],
          [[words[step.step], ", ".join(map(i18n.axis, step.axes)), *(_sizes(sizes) for sizes in (
              step.shape, step.strides)), yes[step.contiguous], yes[step.moved]] for step in found.steps])
    st.caption(_("A stride says how many numbers further in memory the next entry of an axis lies. A transpose "
                 "exchanges strides and copies nothing; its result is not contiguous, so view cannot read it as "
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
        columns[documents.named(title)] = shapes.sizes(model.config, model.inputs)
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
