"""The letters: what each axis and each tensor is called, in the notation that the learner chose.

Code, comments and texts are written in the default notation, that of the first source document ("d0"); `relabel` and
`relabel_latex` rewrite a text of ours into another. A notation lists what it has a name of its own for; whatever its
source has no letter for keeps the default's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

DEFAULT = "d0"
NOTATIONS = {"d0": "D0", "d1": "D1", "d3": "D3", "pytorch": "PyTorch", "hf": "Hugging Face"}

AXES: dict[str, str] = {
    "B": "batch", "T": "tokens", "Tq": "query tokens", "Tk": "key tokens", "D": "model width", "H": "query heads",
    "Hkv": "key/value heads", "Dh": "head width", "HDh": "all query heads side by side",
    "HkvDh": "all key/value heads side by side", "F": "feed-forward width", "V": "vocabulary", "L": "layers",
    "P": "positions in the table", "Tp": "cached tokens",
}

# How an axis is written. A notation lists what its source writes, also where that is the default's letter. The first
# document itself writes Dff, N_vocab and N for F, V and L.
AXIS_LETTERS: dict[str, dict[str, str]] = {
    "d0": {**{letter: letter for letter in AXES}, "Tq": "T", "Tk": "T", "P": "T"},
    "d1": {"B": "B", "L": "L", "T": "S", "Tq": "S", "Tk": "S", "P": "S", "D": "H", "H": "N_h", "Hkv": "N_kv",
           "Dh": "D_h", "F": "H_ff", "V": "|V|"},
    "d3": {"B": "batch", "T": "length", "Tq": "q_len", "Tk": "kv_len", "P": "length", "D": "d_model", "H": "heads",
           "Hkv": "kv_heads", "Dh": "d_head"},
    "pytorch": {"B": "N", "T": "L", "Tq": "L", "Tk": "S", "P": "num_embeddings", "D": "embed_dim", "H": "num_heads",
                "Hkv": "num_kv_heads", "Dh": "head_dim", "F": "dim_feedforward", "V": "num_embeddings",
                "L": "num_layers"},
    "hf": {"B": "batch_size", "T": "seq_len", "Tq": "q_len", "Tk": "kv_len", "P": "max_position_embeddings",
           "D": "hidden_size", "H": "num_attention_heads", "Hkv": "num_key_value_heads", "Dh": "head_dim",
           "F": "intermediate_size", "V": "vocab_size", "L": "num_hidden_layers"},
}

SYMBOLS: dict[str, dict[str, str]] = {
    "d0": {
        "tokens": "ids", "positions": "pos", "mask": "M", "embed": "E[ids]", "pos_embed": "P[pos]",
        "embedding": "E", "position_table": "P", "in": "X", "norm1": "X₁", "norm2": "U₁",
        "q_proj": "Q", "k_proj": "K", "v_proj": "V", "q": "Q", "k": "K", "v": "V",
        "q_norm": "Q̂", "k_norm": "K̂", "q_rot": "Q", "k_rot": "K",
        "k_past": "K_past", "v_past": "V_past", "k_all": "K_cache", "v_all": "V_cache",
        "scores": "QKᵀ", "scaled": "S", "masked": "S+M", "weights": "A", "context": "AV", "concat": "Z",
        "attn_out": "O", "resid_mid": "U", "gate": "G", "activated": "act", "up": "F₁", "hidden": "F₂", "ffn_out": "F₃",
        "resid_out": "U+F₃", "out": "Y", "final_norm": "Xₙ", "logits": "logits",
        "wq": "WQ", "wk": "WK", "wv": "WV", "wo": "WO", "bq": "bQ", "bk": "bK", "bv": "bV", "bo": "bO",
        "q_gamma": "γQ", "k_gamma": "γK", "w_gate": "W_gate", "w_up": "W_up", "w_down": "W_down",
        "w1": "W1", "w2": "W2", "b1": "b1", "b2": "b2", "gamma1": "γ₁", "beta1": "β₁", "gamma2": "γ₂", "beta2": "β₂",
        "final_gamma": "γ", "final_beta": "β", "w_vocab": "W_vocab",
    },
    "d1": {
        "embedding": "E", "in": "X", "q_proj": "Q", "k_proj": "K", "q": "Q", "k": "K", "weights": "A", "mask": "M",
        "resid_mid": "U", "tokens": "token_ids", "v_proj": "V_val", "v": "V_val", "scores": "S", "scaled": "S̃",
        "masked": "S̃+M", "context": "O", "concat": "O_cat", "attn_out": "Y", "out": "X′", "final_norm": "X_final",
        "wq": "W_Q", "wk": "W_K", "wv": "W_V", "wo": "W_O", "w1": "W_1", "w2": "W_2", "w_vocab": "W_lm",
    },
    "d3": {
        "in": "X", "q_proj": "Q", "k_proj": "K", "v_proj": "V", "q": "Q", "k": "K", "v": "V", "scores": "QKᵀ",
        "wq": "Wq", "wk": "Wk", "wv": "Wv", "wo": "Wo", "concat": "Concat", "attn_out": "MultiHead(X)",
        "w1": "W₁", "w2": "W₂", "b1": "b₁", "b2": "b₂",
    },
    "pytorch": {
        "tokens": "input", "mask": "attn_bias", "embed": "embedding(input)", "embedding": "embedding.weight",
        "in": "x", "norm1": "norm1(x)", "q_proj": "query", "k_proj": "key", "v_proj": "value",
        "q": "query", "k": "key", "v": "value", "q_rot": "query", "k_rot": "key",
        "scores": "query·keyᵀ", "scaled": "scores", "masked": "scores+attn_bias", "weights": "attn_weight",
        "context": "attn_output", "concat": "concat", "attn_out": "out_proj(attn_output)",
        "wq": "q_proj_weightᵀ", "wk": "k_proj_weightᵀ", "wv": "v_proj_weightᵀ", "wo": "out_proj.weightᵀ",
        "bq": "q_proj_bias", "bk": "k_proj_bias", "bv": "v_proj_bias", "bo": "out_proj.bias",
        "w1": "linear1.weightᵀ", "w2": "linear2.weightᵀ", "b1": "linear1.bias", "b2": "linear2.bias",
        "gamma1": "norm1.weight", "beta1": "norm1.bias", "gamma2": "norm2.weight", "beta2": "norm2.bias",
    },
    "hf": {
        "tokens": "input_ids", "positions": "position_ids", "mask": "attention_mask", "embed": "inputs_embeds",
        "embedding": "embed_tokens.weight", "in": "hidden_states", "norm1": "input_layernorm(hidden_states)",
        "norm2": "post_attention_layernorm(hidden_states)",
        "q_proj": "query_states", "k_proj": "key_states", "v_proj": "value_states",
        "q": "query_states", "k": "key_states", "v": "value_states", "q_norm": "q_norm(query_states)",
        "k_norm": "k_norm(key_states)", "q_rot": "query_states", "k_rot": "key_states",
        "scores": "query_states·key_statesᵀ", "scaled": "scores", "masked": "scores+attention_mask",
        "weights": "attn_weights", "context": "attn_output", "concat": "attn_output",
        "attn_out": "o_proj(attn_output)", "wq": "q_proj.weightᵀ", "wk": "k_proj.weightᵀ", "wv": "v_proj.weightᵀ",
        "wo": "o_proj.weightᵀ", "bq": "q_proj.bias", "bk": "k_proj.bias", "bv": "v_proj.bias", "bo": "o_proj.bias",
        "q_gamma": "q_norm.weight", "k_gamma": "k_norm.weight", "w_gate": "gate_proj.weightᵀ",
        "w_up": "up_proj.weightᵀ", "w_down": "down_proj.weightᵀ", "gamma1": "input_layernorm.weight",
        "gamma2": "post_attention_layernorm.weight", "final_gamma": "norm.weight", "w_vocab": "lm_head.weightᵀ",
    },
}


class Letter(NamedTuple):
    """How something is written, and whether the notation's own source writes it so (else it is the default's)."""

    text: str
    own: bool


def symbol(name: str, notation: str = DEFAULT, *, transposed: bool = False) -> str:
    """The symbol of trace name `name` ("blocks.0.k" -> "K"; transposed -> "Kᵀ"). Raises KeyError for an unknown one."""
    text = symbol_of(name, notation).text
    return _transposed(text) if transposed else text


def symbol_of(name: str, notation: str = DEFAULT) -> Letter:
    """As `symbol`, with whose letter it is."""
    short = name.rsplit(".", 1)[-1]
    own = SYMBOLS[notation].get(short)
    return Letter(own or SYMBOLS[DEFAULT][short], own is not None)


def axis(letter: str, notation: str = DEFAULT) -> str:
    """How an axis is written ("Dh" -> "head_dim"); products such as "HDh" are written out. KeyError when unknown."""
    if letter in ("HDh", "HkvDh"):
        return f"{axis(letter.removesuffix('Dh'), notation)}·{axis('Dh', notation)}"
    return axis_of(letter, notation).text


def axis_of(letter: str, notation: str = DEFAULT) -> Letter:
    """As `axis`, with whose letter it is."""
    own = AXIS_LETTERS[notation].get(letter)
    return Letter(own or AXIS_LETTERS[DEFAULT][letter], own is not None)


def _transposed(text: str) -> str:
    """ "K" -> "Kᵀ"; a matrix that is named as the transpose of what a library stores loses the mark."""
    if text.endswith("ᵀ"):
        return text.removesuffix("ᵀ")
    return f"{text}ᵀ" if text.isidentifier() or len(text) <= 2 else f"({text})ᵀ"


# What counts as a letter in a text of ours: the default's symbols with a capital, and the axis letters. V is the value
# there, never the vocabulary.
_IN_TEXT: Mapping[str, tuple[str, str]] = {
    **{text: ("axis", text) for text in ("B", "T", "D", "H", "Hkv", "Dh", "F", "L")},
    **{SYMBOLS[DEFAULT][name]: ("symbol", name) for name in (
        "in", "norm1", "q", "k", "v", "scores", "scaled", "masked", "weights", "context", "concat", "attn_out",
        "resid_mid", "out", "mask", "embedding", "wq", "wk", "wv", "wo", "bq", "bk", "bv", "bo", "w1", "w2",
        "w_gate", "w_up", "w_down", "w_vocab")},
    "S + M": ("symbol", "masked"),
}
_TOKEN = re.compile(
    r"(?<![\w.{])(" + "|".join(re.escape(text) for text in sorted(_IN_TEXT, key=len, reverse=True))
    + r")(ᵀ?)(?![\w′̃])")
_ARTICLE = re.compile(r"(?:^|[.:?!]\s+)$")  # what stands before an A that opens a sentence


@lru_cache(maxsize=4096)
def relabel(text: str, notation: str) -> str:
    """A text written in the default letters, in those of `notation`. Placeholders `{…}` and words stay as they are."""
    if notation == DEFAULT:
        return text

    def letter(found: re.Match[str]) -> str:
        before, after = text[:found.start()], text[found.end():]
        if found[0] == "A" and _ARTICLE.search(before) and re.match(r" [a-z]", after):
            return found[0]
        kind, name = _IN_TEXT[found[1]]
        written = axis(name, notation) if kind == "axis" else symbol(name, notation)
        return _transposed(written) if found[2] else written

    return _TOKEN.sub(letter, text)


_LATEX: Mapping[str, tuple[str, str]] = {
    **{rf"W_{letter}": ("symbol", f"w{letter.lower()}") for letter in "QKVO"},
    **{rf"b_{letter}": ("symbol", f"b{letter.lower()}") for letter in "QKVO"},
    "D_h": ("axis", "Dh"), "H_{kv}": ("axis", "Hkv"), "X_1": ("symbol", "norm1"),
    **{text: kind for text, kind in _IN_TEXT.items() if len(text) == 1},
}
_LATEX_TOKEN = re.compile(
    r"(\\(?:text|mathrm|operatorname)\{[^}]*\}|\\[A-Za-z]+)|("
    + "|".join(re.escape(text) for text in sorted(_LATEX, key=len, reverse=True)) + ")")


@lru_cache(maxsize=1024)
def relabel_latex(formula: str, notation: str) -> str:
    """A LaTeX formula written in the default letters, in those of `notation`; commands and words stay."""
    if notation == DEFAULT:
        return formula

    def letter(found: re.Match[str]) -> str:
        if found[1]:
            return found[1]
        kind, name = _LATEX[found[2]]
        return as_latex(axis(name, notation) if kind == "axis" else symbol(name, notation))

    return _LATEX_TOKEN.sub(letter, formula)


def as_latex(text: str) -> str:
    """A symbol as LaTeX: "W_Q" -> "{W_{Q}}", "S̃" -> r"{\\tilde{S}}", "q_proj.weightᵀ" -> words with ^\\top."""
    if text.endswith("ᵀ"):
        return f"{as_latex(text.removesuffix('ᵀ'))}^{{\\top}}"
    if text.endswith("\u0303"):
        return rf"{{\tilde{{{text[0]}}}}}"
    base, _, index = text.partition("_")
    if len(base) == 1 and "_" not in index and text.isidentifier():
        return f"{{{base}_{{{index}}}}}" if index else f"{{{base}}}"
    if not text.isascii():
        return f"{{{text}}}"
    words = text.replace("_", r"\_")
    return rf"{{\,\text{{{words}}}\,}}"
