"""The map: the main line as boxes that are the table of contents, for sizes of the reader's choosing."""

from __future__ import annotations

import html
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core import notation, shapes
from core.config import LONGEST_JSON, ModelConfig
from core.errors import WorkbenchError
from core.shapes import Inputs, Tensor
from ui import bench as bench_module
from ui.bench.session import session
from ui.furniture.strip import axis_html
from ui.shell import errors, i18n
from ui.shell.i18n import N_, _
from ui.shell.syllabus import stage
from ui.stages.home import SIZES, take

LETTERS = ("B", "T", "D", "H", "Hkv", "Dh", "F", "V", "L")
PRESET_NAMES = {
    "d0": "D0 §13", "gpt2": "GPT-2", "llama-2-7b": "LLaMA-2-7B (D1 §11)", "llama-2-70b": "LLaMA-2-70B",
    "llama-3-8b": "Llama-3-8B", "mistral-7b": "Mistral-7B", "qwen2.5-0.5b": "Qwen2.5-0.5B",
    "smollm2-135m": "SmolLM2-135M"}

# The way of a text, row by row: a caption and the stages in their order; the second and third rows are one block.
_ROWS = (
    (N_("Input"), ("tokens", "embedding")),
    (N_("Attention"), ("norms", "projections", "rope", "scores", "mask", "mixing", "heads")),
    (N_("Feed-forward"), ("ffn", "block")),
    (N_("Output"), ("logits", "sampling")),
    (N_("One token more"), ("generation", "kv_cache", "cost")),
)
_IN_BLOCK = range(1, 3)
_ADDED = {"heads": "in", "ffn": "resid_mid"}  # what a row's result is added to
_BESIDE = ("matmul", "sharing", "order", "families", "training", "mistakes", "quiz", "api", "inspect")


@dataclass
class Map:
    """The last sizes that fit together, and what was wrong with a config.json."""

    sizes: dict[str, int] | None = None
    problem: WorkbenchError | None = None


def held() -> Map:
    """What the session holds of the map."""
    return session().part(Map)


def size_controls(on_bench: Mapping[str, int]) -> None:
    """Presets, a model's own config.json, and a field for every size; `on_bench` are those of the trace in use."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="map-sources"):
        known = {code: _preset_sizes(code) for code in PRESET_NAMES}
        chosen = {letter: SIZES[letter].value() for letter in LETTERS}
        current = next((code for code, sizes in known.items() if all(chosen[k] == n for k, n in sizes.items())), None)
        bench_module.pick(_("Sizes of"), {"": _("your own"), **PRESET_NAMES}, current or "", _take_preset, key="preset")
        st.button(_("The sizes on the bench"), on_click=take, args=(_own_width(on_bench),),
                  help=_("Those of the example, toy or model that is chosen in the sidebar."), key="map-bench")
        with st.popover(_("From a config.json")):
            _config_form()
    with st.container(horizontal=True, key="map-sizes"):
        words = {"B": _("batch"), "T": _("tokens"), "D": _("width"), "H": _("query heads"), "Hkv": _("KV heads"),
                 "F": _("FFN width"), "V": _("vocabulary"), "L": _("layers"),
                 "Dh": _("own width") if chosen["Dh"] else f"(0: {i18n.axis('D')}÷{i18n.axis('H')})"}
        for letter in LETTERS:
            SIZES[letter].draw(f"**{i18n.axis(letter)}** {words[letter]}", width=92)


def sizes() -> dict[str, int]:
    """The sizes in the fields, axis letter → size. Raises a ConfigError for sizes that cannot work together."""
    wanted = _wanted()
    return shapes.sizes(config(), Inputs(wanted["B"], wanted["T"]))


def _wanted() -> dict[str, int]:
    return {letter: SIZES[letter].value() for letter in LETTERS}


def config() -> ModelConfig:
    """A model with the sizes in the fields: RMSNorm, a gated feed-forward, no biases and no position table. Raises a
    ConfigError for sizes that cannot work together."""
    wanted = _wanted()
    rest: dict[str, Any] = {"kv_heads": wanted["Hkv"], "ffn_width": wanted["F"], "vocab": wanted["V"],
                            "layers": wanted["L"], "max_positions": wanted["T"], "positions": "none"}
    if wanted["Dh"]:
        return ModelConfig(width=wanted["D"], heads=wanted["H"], head_dim=wanted["Dh"], **rest)
    return ModelConfig.from_width(width=wanted["D"], heads=wanted["H"], **rest)


def first_sizes() -> dict[str, int]:
    """The sizes that the map opens with."""
    model = shapes.MODELS["d0"]
    assert model.inputs is not None
    return shapes.sizes(model.config, model.inputs)


def _preset_sizes(code: str) -> dict[str, int]:
    """What a preset says about the fields; one that names no inputs leaves B and T alone."""
    model = shapes.MODELS[code]
    found = {letter: size for letter, size in model.config.sizes.items() if letter in LETTERS}
    return _own_width(found | ({"B": model.inputs.batch, "T": model.inputs.tokens} if model.inputs else {}))


def _own_width(found: Mapping[str, int]) -> dict[str, int]:
    """The same sizes with Dh = 0 where it is D ÷ H."""
    usual = found.get("D", 0) == found.get("H", 0) * found.get("Dh", 0)
    return {letter: size for letter, size in found.items() if letter != "Dh"} | {"Dh": 0 if usual else found["Dh"]}


def _take_preset(code: str) -> None:
    if code:
        take(_preset_sizes(code))


def _config_form() -> None:
    """A config.json, pasted or as a file; what is wrong with it is said here and changes nothing."""
    st.caption(_("The file config.json of a model in Hugging Face's format: Llama, Mistral, Qwen or GPT."))
    pasted = st.text_area(_("Paste it"), key="map-config", height=120, max_chars=LONGEST_JSON)
    file = st.file_uploader(_("Or open the file"), type="json", key="map-file", max_upload_size=1)
    st.button(_("Read it"), on_click=_take_config, key="map-read",
              args=(file.getvalue().decode("utf-8", "replace") if file else pasted,))
    problem = held().problem
    if problem is not None:
        st.error(errors.explain(problem))


def _take_config(text: str) -> None:
    problem: WorkbenchError | None = None
    try:
        config = ModelConfig.from_json(text)
        take(_own_width({k: n for k, n in config.sizes.items() if k in LETTERS}))
    except WorkbenchError as error:
        problem = error
    held().problem = problem


def picture(present: Mapping[str, int], built: Mapping[str, Any]) -> None:
    """Every stage of the main line as a box: name, symbol, shape in letters and in numbers; then those beside it."""
    with st.container(key="map", gap=None):
        for place, (caption, slugs) in enumerate(_ROWS):
            blocks = f"<i>× {i18n.axis('L')} = {present['L']}</i>" if place == _IN_BLOCK[0] else ""
            with _row("block" if place in _IN_BLOCK else "line", place, _(caption), blocks):
                for slug in slugs:
                    _box(slug, present, built)
                    if slug in _ADDED:
                        symbol = html.escape(i18n.symbol(_ADDED[slug]))
                        words = html.escape(_("added to what came in"))
                        st.html(f'<p class="added" title="{words}">+ {symbol}</p>',
                                width="content")
        with _row("beside", len(_ROWS), _("Beside the line")):
            for slug in _BESIDE:
                _box(slug, present, built)


def _row(kind: str, place: int, caption: str, more: str = "") -> AbstractContextManager[Any]:
    """A row of the map: its caption, and a container for its boxes."""
    with st.container(horizontal=True, key=f"map-{kind}-{place}", vertical_alignment="center", gap="xxsmall"):
        st.html(f'<p class="caption">{html.escape(caption)}{more}</p>', width="content")
        return st.container(horizontal=True, key=f"map-boxes-{place}", gap=None)


def _box(slug: str, present: Mapping[str, int], built: Mapping[str, Any]) -> None:
    """One stage; a stage to come is no link and says so."""
    entry = stage(slug)
    made = f"<b>{html.escape(i18n.symbol(entry.makes))}</b> {_shape(entry.symbol, present)}" if entry.makes else ""
    with st.container(key=f"box-{'open' if slug in built else 'coming'}-{slug}", width="content", gap=None):
        if slug in built:
            st.page_link(built[slug], label=_(entry.title), help=_(entry.question))
            title = ""
        else:
            title = f'<span class="title" title="{html.escape(_(entry.question))}">{html.escape(_(entry.title))}</span>'
            coming = html.escape(_("to come"))  # not inside the f-string, where no translator finds it
            made += f"<span class='numbers'><i>{coming}</i></span>"
        st.html(f'<p class="made">{title}{made}</p>')


def _shape(text: str, present: Mapping[str, int]) -> str:
    """ "[B,T,D]" as HTML: letters in their colours, and the same in numbers."""
    axes = tuple(text.strip("[]").split(","))
    letters = ",".join(map(axis_html, axes))
    numbers = "×".join(str(size) for size in shapes.fill(axes, present))
    return f"<span>[{letters}]</span><span class='numbers'>{numbers}</span>"


def coincidences(present: Mapping[str, int]) -> list[str]:
    """A sentence for every group of tensors whose equal numbers mean different things."""
    return [
        _("{numbers} is the shape of {tensors}: equal numbers, different meaning.").format(
            numbers=f"[{','.join(map(str, numbers))}]", tensors=", ".join(map(_named, group)))
        for numbers, group in shapes.alike(present)]


def _named(tensor: Tensor) -> str:
    letters = ",".join(i18n.axis(axis) for axis in tensor.axes)
    symbols = " ".join(i18n.symbol(name, transposed=tensor.transposed) for name in tensor.names)
    return f"{symbols} [{letters}]"


def paragraph(present: Mapping[str, int]) -> str:
    """The whole way in one paragraph, with the sizes put in (after D0 §15)."""
    n = {letter.lower(): size for letter, size in present.items()}
    return _(
        "A batch of {b}×{t} token ids picks rows of the embedding table E [{v},{d}] and becomes X [{b},{t},{d}]. Three "
        "learned matrices make Q, K and V of X; cut into heads, Q is [{b},{h},{t},{dh}], K and V are "
        "[{b},{hkv},{t},{dh}]. Every query meets every key: QKᵀ is [{b},{h},{t},{t}]. Divided by √{dh} it is S; the "
        "mask M is added, and the softmax turns each row into weights A that sum to one. A × V takes from every value "
        "its share: [{b},{h},{t},{dh}]. Side by side the heads are [{b},{t},{hdh}] again, and WO [{hdh},{d}] brings "
        "them back to the width of X, so that they can be added to it. Each token then goes alone through the "
        "feed-forward network, {d} → {f} → {d}, and is added again: [{b},{t},{d}], ready for the next block; here "
        "L = {l}. "
        "At the end every position has a score for each of {v} tokens: logits [{b},{t},{v}]. The last position chooses "
        "the next token, and with the keys and values kept, only that one goes through."
    ).format(**n)


def symbol_table() -> None:
    """What each letter means, in every notation; in parentheses where a notation's source has none of its own."""
    codes = list(notation.NOTATIONS)
    rows = [(words, [notation.axis_of(letter, code) for code in codes]) for letter, words in _axis_words().items()]
    rows += [(words, [notation.symbol_of(name, code) for code in codes]) for name, words in _tensor_words().items()]
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in notation.NOTATIONS.values())
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
            "context": _("weighted values of a head"), "concat": _("heads side by side"), "wo": _("output matrix"),
            "attn_out": _("output of attention"), "w_vocab": _("matrix of the vocabulary head")}


def clashes() -> list[str]:
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
    return [i18n.verbatim(text).format(**{code: notation.NOTATIONS[code] for code in ("d0", "d1")}) for text in texts]
