"""Where the facts come from, and where to read on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from ui.shell.documents import DOCUMENTS
from ui.shell.i18n import N_, _


class Reading(NamedTuple):
    """A source: authors and year, title, address, and what it is good for (an English text for `_()`)."""

    who: str
    title: str
    address: str
    use: str


READINGS: Sequence[Reading] = (
    Reading("Vaswani et al., 2017", "Attention Is All You Need", "https://arxiv.org/abs/1706.03762",
            N_("scaled dot-product attention, heads, positions, encoder and decoder")),
    Reading("PyTorch", "scaled_dot_product_attention",
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html",
            N_("the function's signature, shapes and what its mask means")),
    Reading("Hugging Face", "Attention backends", "https://huggingface.co/docs/transformers/attention_interface",
            N_("how a library chooses between implementations, and what that means for masks")),
    Reading("Su et al., 2021", "RoFormer: Enhanced Transformer with Rotary Position Embedding",
            "https://arxiv.org/abs/2104.09864", N_("rotary positions")),
    Reading("Shazeer, 2019", "Fast Transformer Decoding: One Write-Head is All You Need",
            "https://arxiv.org/abs/1911.02150", N_("one key and value head for all query heads")),
    Reading("Ainslie et al., 2023", "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head "
            "Checkpoints", "https://arxiv.org/abs/2305.13245", N_("groups of query heads that share keys and values")),
    Reading("Zhang and Sennrich, 2019", "Root Mean Square Layer Normalization", "https://arxiv.org/abs/1910.07467",
            N_("the norm without a mean")),
    Reading("Shazeer, 2020", "GLU Variants Improve Transformer", "https://arxiv.org/abs/2002.05202",
            N_("gated feed-forward networks")),
    Reading("Dao et al., 2022", "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness",
            "https://arxiv.org/abs/2205.14135", N_("the same result with fewer bytes moved")),
)


def reading() -> None:
    """The documents, then what they and this app rest on."""
    st.markdown("\n".join(f"- **{_(one.name)}** · {_(one.title)}: {_(one.about)}" for one in DOCUMENTS.values()))
    st.markdown("\n".join(f"- {entry.who}: [{entry.title}]({entry.address}). {_(entry.use)}" for entry in READINGS))
