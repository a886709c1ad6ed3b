"""One table of letters: what each axis letter means, and the symbol of each tensor in a notation.

The same table feeds the comments in the code (trailing shapes), the legend in the app and the titles of the matrices.
Notation "d0" is that of the first source document and the default; further notations add a column to `SYMBOLS`.
"""

from __future__ import annotations

AXES: dict[str, str] = {
    "B": "batch", "T": "tokens", "Tq": "query tokens", "Tk": "key tokens", "D": "model width", "H": "query heads",
    "Hkv": "key/value heads", "Dh": "head width", "HDh": "all query heads side by side",
    "HkvDh": "all key/value heads side by side", "F": "feed-forward width", "V": "vocabulary", "L": "layers",
    "P": "positions in the table", "Tp": "cached tokens",
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
}


def symbol(name: str, notation: str = "d0", *, transposed: bool = False) -> str:
    """The symbol of trace name `name` ("blocks.0.k" -> "K"; transposed -> "Kᵀ"). Raises KeyError for an unknown one."""
    text = SYMBOLS[notation][name.rsplit(".", 1)[-1]]
    if not transposed:
        return text
    return f"{text}ᵀ" if len(text) <= 2 else f"({text})ᵀ"
