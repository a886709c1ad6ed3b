"""The letters: every notation knows every name, and a text is rewritten where it means a letter and nowhere else."""

from __future__ import annotations

import re

import pytest

from core import notation
from core.trace import NAMES

OTHERS = [code for code in notation.NOTATIONS if code != notation.DEFAULT]


@pytest.mark.parametrize("code", notation.NOTATIONS)
def test_every_axis_and_every_tensor_has_a_letter(code: str) -> None:
    for letter in notation.AXES:
        assert notation.axis(letter, code)
    for name in NAMES:
        assert notation.symbol(name, code)


def test_letters_are_those_that_the_documents_and_the_libraries_write() -> None:
    # D0 §2, D1 §1 and §4, D3 §3 and §10; torch.nn.functional's pseudocode; transformers' modeling_llama.
    assert [notation.axis(letter, "d0") for letter in "BTDH"] == ["B", "T", "D", "H"]
    assert [notation.axis(letter, "d1") for letter in ("T", "D", "H", "Hkv", "Dh", "F")] == [
        "S", "H", "N_h", "N_kv", "D_h", "H_ff"]
    assert [notation.axis(letter, "d3") for letter in ("B", "H", "D", "Dh", "Tq", "Tk")] == [
        "batch", "heads", "d_model", "d_head", "q_len", "kv_len"]
    assert [notation.axis(letter, "pytorch") for letter in ("B", "Tq", "Tk")] == ["N", "L", "S"]
    assert [notation.axis(letter, "hf") for letter in ("D", "H", "Hkv", "F", "V", "L")] == [
        "hidden_size", "num_attention_heads", "num_key_value_heads", "intermediate_size", "vocab_size",
        "num_hidden_layers"]
    assert [notation.symbol(name, "d1") for name in ("v", "scores", "scaled", "context", "concat", "wo")] == [
        "V_val", "S", "S̃", "O", "O_cat", "W_O"]
    assert [notation.symbol(name, "d3") for name in ("wq", "wk", "wv", "wo")] == ["Wq", "Wk", "Wv", "Wo"]
    assert notation.symbol("wq", "hf") == "q_proj.weightᵀ"
    assert notation.symbol("wq", "hf", transposed=True) == "q_proj.weight"


def test_the_sizes_of_hugging_face_are_the_keys_of_its_config() -> None:
    from transformers import LlamaConfig
    config = LlamaConfig()
    for letter in ("D", "H", "Hkv", "Dh", "F", "V", "L", "P"):
        assert hasattr(config, notation.axis(letter, "hf"))


@pytest.mark.parametrize(("text", "expected"), [
    ("S is QKᵀ divided by √Dh.", "S̃ is S divided by √D_h."),
    ("[B,H,T,T]", "[B,N_h,S,S]"),
    ("A row of A sums to one. A × V is AV.", "A row of A sums to one. A × V_val is O."),
    ("Kᵀ has the columns that K has as rows", "Kᵀ has the columns that K has as rows"),
    ("WQ is a parameter; S+M and S + M are one", "W_Q is a parameter; S̃+M and S̃+M are one"),
    ("KV head {n} of {H} in GPT and SVG", "KV head {n} of {H} in GPT and SVG"),
    ("D 和 Dh 不同，T 是长度", "H 和 D_h 不同，S 是长度"),
])
def test_a_text_changes_its_letters_and_nothing_else(text: str, expected: str) -> None:
    assert notation.relabel(text, "d1") == expected
    assert notation.relabel(text, "d0") == text


@pytest.mark.parametrize("code", OTHERS)
def test_placeholders_survive_in_every_notation(code: str) -> None:
    text = "{row} of Q [{T},{Dh}] against {column} of K"
    assert re.findall(r"\{\w+\}", notation.relabel(text, code)) == re.findall(r"\{\w+\}", text)


def test_a_formula_keeps_its_commands_and_words() -> None:
    formula = r"S = \frac{QK^{\top}}{\sqrt{D_h}} \text{ row S}"
    assert notation.relabel_latex(formula, "d1") == r"{\tilde{S}} = \frac{{Q}{K}^{\top}}{\sqrt{{D_{h}}}} \text{ row S}"
    hf = notation.relabel_latex(formula, "hf")
    assert r"\frac" in hf
    assert r"\sqrt" in hf
    assert r"\text{head\_dim}" in hf
    assert r"\text{ row S}" in hf
    assert notation.relabel_latex(r"(AV)_{1,2}", "d1") == r"({A}{V_{val}})_{1,2}"
