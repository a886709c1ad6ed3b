"""The letters in every notation, and those that mean different things in different sources."""

from __future__ import annotations

import html

import streamlit as st

from core import notation
from ui.shell import documents, i18n
from ui.shell.i18n import N_, _


def letters() -> None:
    """What each letter means, and where two sources clash."""
    st.subheader(_("Letters"), anchor=False)
    own = documents.notation_name(notation.DEFAULT)
    st.caption(_("The switch in the sidebar puts the whole app into one of these columns. In parentheses: the source "
                 "has no letter of its own, and that of {d0} stays.").format(d0=own))
    _symbol_table()
    st.markdown("\n".join(f"- {sentence}" for sentence in _clashes()))


def _symbol_table() -> None:
    """What each letter means, in every notation; in parentheses where a notation's source has none of its own."""
    codes = list(notation.NOTATIONS)
    rows = [(words, [notation.axis_of(letter, code) for code in codes]) for letter, words in _axis_words().items()]
    rows += [(words, [notation.symbol_of(name, code) for code in codes]) for name, words in _tensor_words().items()]
    head = "".join(f'<th scope="col">{html.escape(documents.notation_name(code))}</th>' for code in codes)
    body = "".join(f'<tr><th scope="row">{html.escape(words)}</th>{"".join(map(_cell, letters))}</tr>'
                   for words, letters in rows)
    st.html(f'<div class="letters" tabindex="0"><table><thead><tr><td></td>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>")


def _cell(letter: notation.Letter) -> str:
    text = html.escape(letter.text)
    return f"<td><code>{text}</code></td>" if letter.own else f'<td class="borrowed">({text})</td>'


def _axis_words() -> dict[str, str]:
    return {"B": _("examples in a batch"), "T": _("tokens of an example"), "Tq": _("tokens that ask"),
            "Tk": _("tokens that are read"), "D": _("width of a token's vector"), "H": _("query heads"),
            "Hkv": _("key and value heads"), "Dh": _("width of a head"),
            "F": _("width inside the feed-forward network"), "V": _("tokens in the vocabulary"), "L": _("blocks")}


def _tensor_words() -> dict[str, str]:
    return {"tokens": _("token ids"), "in": _("input of a block"), "wq": _("matrix that makes the queries"),
            "q": _("queries"), "k": _("keys"), "v": _("values"), "scores": _("raw scores"),
            "scaled": _("scores divided by the root"), "mask": _("mask, added"), "weights": _("attention weights"),
            "context": _("result of a head: the weighted sum of "
                         "its values"), "concat": _("heads side by side"), "wo": _("output matrix"),
            "attn_out": _("output of attention"), "w_vocab": _("matrix of the vocabulary head")}


def _clashes() -> list[str]:
    """Letters that mean different things in different sources."""
    texts = (
        N_("`H` is the number of heads in {d0} and the width of a token's vector in {d1}, where heads are `N_h`."),
        N_("`V` is the value matrix and, in shapes, the size of the vocabulary. {d1} therefore writes `V_val` and "
           "`|V|`, {d0} itself `N_vocab`; it also writes `Dff` for F and `N` for L."),
        N_("`T` in {d0} is `S` in {d1}; `S` in {d0} are the scaled scores. In PyTorch `L` counts queries and `S` keys, "
           "while `L` counts layers here."),
        N_("{d1} calls the raw product `S` and the scaled one `S̃`; here `S` is always the scaled one."),
        N_("`O` is one head's result in {d1} and the output after the last matrix in {d0}; {d1} calls that `Y`."),
        N_("`E` is the embedding table here; PyTorch's attention writes `E` for a width: the model's in one function, "
           "a head's in another."),
        N_("Linear layers of PyTorch and Hugging Face store (out, in) and multiply by the transpose: what is `WQ` here "
           "is `q_proj.weightᵀ` there."),
        N_("Hugging Face and PyTorch keep one variable, `attn_weights`, for scores before and weights after the "
           "softmax. Here they have two names."),
    )
    names = {code: documents.notation_name(code) for code in ("d0", "d1")}
    return [i18n.verbatim(text).format(**names) for text in texts]
