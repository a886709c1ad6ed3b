"""The switches of the page on sharing, and its tables."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from core import shapes, worked
from core.stages.sharing import shared
from core.stages.sharing.shared import Shared, Way
from core.trace import Trace
from ui import bench as bench_module
from ui.furniture.prose import table
from ui.shell import i18n
from ui.shell.i18n import _
from ui.shell.numbers import format_number


class Choice(NamedTuple):
    """What the learner chose: the layer with that number of KV heads, how K and V were brought down to it, and which of
    the two is shown with its product, "k" or "v"."""

    shared: Shared
    way: Way
    which: str


def controls(trace: Trace, layer: int) -> Choice:
    """Draw the switches; the number of KV heads begins with the layer's own, where the example has no other."""
    config = trace.config
    opening = worked.OPENING_KV_HEADS.get(trace.source, config.kv_heads)
    counts = {str(count): f"{i18n.axis('Hkv')} = {count}" for count in shared.choices(config.heads)}
    with st.container(horizontal=True, vertical_alignment="center", key="controls"):
        count = bench_module.own_choice(st.segmented_control, _("Number of KV heads"), counts, key="kvheads",
                                        own=str(opening), required=True, label_visibility="collapsed")
        products = {"v": f"{i18n.symbol('weights')} × {i18n.symbol('v')}",
                    "k": f"{i18n.symbol('q')} × {i18n.symbol('k', transposed=True)}"}
        which = bench_module.choice(st.segmented_control, _("What is shared"), products, key="which", default="v",
                                    required=True, label_visibility="collapsed")
        way: Way = "mean"
        if shared.change(config.kv_heads, int(count)) == "pooled":
            first = bench_module.choice(
                st.segmented_control, _("How K and V are brought together"),
                {"mean": _("average of the group"), "first": _("first of the group")}, key="pooled", default="mean",
                required=True, label_visibility="collapsed") == "first"
            way = "first" if first else "mean"
    return Choice(shared.share(trace, layer, int(count), way), way, which)


def every_choice(trace: Trace, layer: int, way: Way, decimals: int) -> None:
    """A row for every number of KV heads that goes with the query heads, each computed on the same input."""
    rows = []
    for count in shared.choices(trace.config.heads):
        found = shared.share(trace, layer, count, way)
        made = found.wiring
        rows.append([made.kind, str(count), "; ".join("+".join(str(head + 1) for head in readers)
                                                      for readers in made.readers),
                     "×".join(map(str, made.shape)), f"{made.cache_bytes:,}", str(made.ratio),
                     format_number(found.difference, decimals)])
    table(["", i18n.axis("Hkv"), _("query heads that share"), _("shape of K and of V"), _("bytes"), _("of MHA"),
           _("largest change of the output")], rows)
    st.caption(_("Bytes are those of K and V of this layer, in the type that is computed with here (float32)."))


def document_sizes() -> None:
    """D1 §6: LLaMA-2-7B's 32 query heads with 32, 8 and 1 KV heads, in float16 over its 2048 tokens."""
    model = shapes.MODELS["llama-2-7b"]
    config, inputs = model
    assert inputs is not None
    rows = []
    for count in shared.DOCUMENT_KV_HEADS:
        made = shared.wiring(config.heads, count, config.head_dim, inputs.tokens, batch=inputs.batch)
        rows.append([made.kind, str(config.heads), str(count), str(config.heads // count),
                     "×".join(map(str, made.shape)), f"{made.cache_bytes:,}", str(made.ratio)])
    table(["", i18n.axis("H"), i18n.axis("Hkv"), _("query heads for each KV head"), _("shape of K and of V"),
           _("bytes of one layer, float16"), _("of MHA")], rows)
    st.caption(_("The document's sizes: a KV head for each query head, for each four, and one for all."))
