"""Tables of the sharing page: every number of KV heads on one input, and at the document's sizes."""

from __future__ import annotations

import streamlit as st

from core import shapes
from core.stages.sharing import shared
from core.stages.sharing.shared import Way
from core.trace import Trace
from ui.furniture.prose import table
from ui.shell import documents, i18n
from ui.shell.i18n import _
from ui.shell.numbers import format_number


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
    table(["", i18n.axis("Hkv"), _("query heads that share"), _("shape of K and of V"), _("bytes"), _("ratio to MHA"),
           _("largest change of the output")], rows)
    st.caption(_("The bytes are those of this layer's K and V in float32, the type that this app computes with."))


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
           _("bytes of one layer, float16"), _("ratio to MHA")], rows)
    st.caption(_("Sizes from {section}: a KV head for each query head, for each four, and one for all.").format(
        section=documents.named("D1 §6")))
