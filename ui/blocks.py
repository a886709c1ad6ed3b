"""The furniture of a page: header, shape strip, formula, things to look for, exercises, code, check, share."""

from __future__ import annotations

import html
import inspect
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from core import derive
from core.check import Check
from core.experiments import Overflow
from core.live.errors import ModelMissing
from core.live.registry import DEFAULT
from core.matmul import CellSum
from core.notation import AXES
from core.snippets import Program
from core.trace import Index, Trace
from ui import bench as bench_module
from ui import errors, i18n, installing, navigation, sources, state_file, theme
from ui.bench import Bench
from ui.i18n import _
from ui.sources import LIVE_NAME
from ui.stages import STAGES, stage
from ui.theme import format_number

# The main line from ids to logits: trace names, axis letters, the slugs of the stages that work on it.
_MAIN_LINE = (
    ("tokens", ("B", "T"), ("tokens",)), ("in", ("B", "T", "D"), ("embedding",)),
    ("q k v", ("B", "H", "T", "Dh"), ("projections", "rope")),
    ("scaled", ("B", "H", "Tq", "Tk"), ("scores", "mask", "generation")),
    ("context", ("B", "H", "T", "Dh"), ("mixing",)), ("attn_out", ("B", "T", "D"), ("heads", "order")),
    ("hidden", ("B", "T", "F"), ("ffn",)), ("out", ("B", "T", "D"), ("block", "norms")),
    ("logits", ("B", "T", "V"), ("logits",)),
)
# On pages about the KV heads these stand in the place of the first one's box: Q has more heads than they.
_KV_HEADS = {"q k v": ("k v", ("B", "Hkv", "T", "Dh"), ("sharing", "kv_cache"))}
_PRESENTER_CSS = (Path(__file__).parent / "presenter.css").read_text("utf-8")
_SAME_COLOUR = {"Tq": "T", "Tk": "T"}  # queries and keys are both tokens
_SHORT = 3  # characters of an axis letter that is no word
_LONG_SUM = 4  # terms written out in a formula before the middle is left out
_TERMS_AT_START = 2


def page_header(slug: str, built: Mapping[str, Any]) -> None:
    """Title, the question that the page answers, and the pages before and after it; those to come are not links."""
    here = stage(slug)
    with st.container(horizontal=True, vertical_alignment="center", key="page-header"):
        st.header(_(here.title), anchor=False)
        st.markdown(f"*{_(here.question)}*")
        place = STAGES.index(here)
        previous, following = STAGES[place - 1], STAGES[(place + 1) % len(STAGES)]
        links = (("‹ {title}", previous, navigation.PREVIOUS), ("{title} ›", following, navigation.NEXT))
        for arrow, other, key in links:
            label = arrow.format(title=_(other.title))
            if other.slug in built:
                st.page_link(built[other.slug], label=label, help=_("Key: {key}").format(key=key))
            else:
                st.caption(_("{label} (to come)").format(label=label))
        presenter_switch()
        navigation.listen(slug)


def presenter_switch() -> None:
    """Large type and no sidebar; the switch stays on the page, so that it can be turned off again."""
    if st.toggle(_("Presenter"), key="presenter", bind="query-params", persist_state="session",
                 help=_("Large type and no sidebar, for a projector; PageUp and PageDown change the page.")):
        st.html(f"<style>{_PRESENTER_CSS}</style>")


def shape_strip(slug: str, shown: Trace | Mapping[str, int], *, rows: str = "") -> None:
    """The main line with axis letters in their colours, this stage lit, and the sizes that the trace has (or those
    given). In a pass that reads only some of the T tokens `rows` is how many, and stands in place of T."""
    sizes = shown.sizes if isinstance(shown, Trace) else shown
    boxes = []
    for names, axes, slugs in _near(slug):
        symbol = " ".join(map(i18n.symbol, names.split()))
        letters = ",".join(rows if rows and axis in ("T", "Tq") else axis_html(axis) for axis in axes)
        lit = ' aria-current="step" class="lit"' if slug in slugs else ""
        boxes.append(f"<li{lit}><span>{html.escape(symbol)}</span> [{letters}]</li>")
    present = [axis for axis in ("B", "T", "D", "H", "Hkv", "Dh", "F", "V", "L") if axis in sizes]
    numbers = " ".join(f"<span>{axis_html(axis)}={sizes[axis]}</span>" for axis in present)
    title = html.escape(_("Shapes along the main line"))
    st.html(f'<div class="strip"><ol tabindex="0" aria-label="{title}">{"".join(boxes)}</ol>'
            f'<p class="sizes">{numbers}</p></div>')


def _near(slug: str) -> Sequence[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """The main line, or where letters are words, the stage's part of it and what stands before and after."""
    own = {names: box for names, box in _KV_HEADS.items() if slug in box[2]}
    line = [own.get(box[0], box) for box in _MAIN_LINE]
    place = next((k for k, (_names, _axes, slugs) in enumerate(line) if slug in slugs), None)
    if place is None or max(len(i18n.axis(letter)) for letter in line[0][1]) <= _SHORT:
        return line
    return line[max(place - 1, 0):place + 2]


def axis_html(axis: str) -> str:
    """An axis letter in the notation in use and in its colour; a literal size stays as it is."""
    if axis not in AXES:
        return html.escape(axis)
    return f'<b class="axis-{_SAME_COLOUR.get(axis, axis)}">{html.escape(i18n.axis(axis))}</b>'


def notices(resolved: sources.Resolved, dropped: Iterable[str] = ()) -> None:
    """Everything that the learner should know about what is on screen: a problem, a model on its way, dropped input."""
    if isinstance(resolved.error, ModelMissing) and installing.possible():
        installing.offer(resolved.error)
    elif resolved.error is not None:
        st.error(errors.explain(resolved.error))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(_("What you see below are the last good numbers."))
            if isinstance(resolved.error, errors.TRY_AGAIN):
                st.button(_("Try again"), on_click=sources.loader().forget, key="try-again")
    if resolved.loading:
        _loading()
    if resolved.elsewhere:
        st.info(errors.why_elsewhere(resolved.elsewhere))
    problem = sources.loader().cache_problem() if resolved.source == "live" else None
    if problem is not None:
        st.warning(_("The unpacked weights cannot be kept in `{folder}` ({why}), so every start unpacks them again. "
                     "{variable} names another folder.").format(
                         folder=problem.folder, why=problem.why, variable=problem.variable))
    for code in dict.fromkeys(dropped):
        st.warning({
            "unknown_choice": _("The address asked for something that does not exist here; it was left out."),
            "edits_dropped": _("Some edits in the address or file could not be read and were left out."),
            "pin_dropped": _("The pinned cell in the address could not be read and was left out."),
        }[code])
    if resolved.unfit:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.info(_("These edits do not fit the present sizes and wait until they do: {edits}").format(
                edits=", ".join(f"`{edit}`" for edit in resolved.unfit)))
            st.button(_("Discard all edits of this source"), on_click=bench_module.discard_edits,
                      args=(resolved.scope,))


@st.fragment(run_every="0.4s")
def _loading() -> None:
    """The progress of loading the model; runs the page again once there is something new to show."""
    progress = sources.loader().progress()
    if progress is None:
        st.rerun()
    stages = {
        "room": _("waiting until another model has made room"),
        "read": _("reading the file"), "wait": _("waiting for another process that prepares it"),
        "dequantise": _("unpacking the weights into float32"),
        "write": _("keeping them for next time"), "map": _("mapping the weights"),
    }
    name = sources.loader().name
    text = _("{model} is on its way: {stage}, {seconds} s. The numbers below are still the last ones.").format(
        model=LIVE_NAME if name == DEFAULT else name, stage=stages.get(progress.stage, progress.stage),
        seconds=int(progress.seconds))
    st.progress(progress.fraction or 0.0, text=text)


def formula(symbols: str, *numbers: str) -> None:
    """A formula in symbols, and again with the current numbers put in ("" for none); all in LaTeX."""
    with st.container(horizontal=True, key="formula"):
        for text in filter(None, (symbols, *numbers)):
            st.markdown(f"$\\displaystyle {i18n.in_latex(text)}$")


def sum_in_digits(trace: Trace, name: str, index: Index, decimals: int) -> str:
    """The products behind one cell in LaTeX, "0 \\times 2 + 1 \\times 1"; the middle of a long sum is left out."""
    return _summed([[factor.value for factor in term] for term in derive.cell(trace, name, index).terms], decimals)


def products_in_digits(cell: CellSum, decimals: int) -> str:
    """The same for a cell of two matrices that belong to no trace."""
    return _summed([[term.left, term.right] for term in cell.terms], decimals)


def _summed(products: Sequence[Sequence[float]], decimals: int) -> str:
    terms = [r" \times ".join(_digits(value, decimals, guard=True) for value in factors) for factors in products]
    if len(terms) > _LONG_SUM:
        terms = [*terms[:_TERMS_AT_START], r"\cdots", terms[-1]]
    return " + ".join(terms)


def _digits(value: float, decimals: int, guard: bool) -> str:
    text = format_number(value, decimals).replace(theme.MINUS, "-")
    return f"({text})" if guard and value < 0 else text


def softmax_in_digits(trace: Trace, name: str, index: Index, decimals: int) -> str:
    """One weight in LaTeX: its exponential over the sum of the row's; hidden keys are left out, they add nothing."""
    cell = derive.cell(trace, name, index)
    row = [factor.value for (factor,) in cell.terms]
    powers = [rf"e^{{{_digits(value, decimals, guard=False)}}}" for value in row if math.isfinite(value)]
    if len(powers) > _LONG_SUM:
        powers = [*powers[:_TERMS_AT_START], r"\cdots", powers[-1]]
    place = rf"A_{{{index[-2] + 1},{index[-1] + 1}}}"
    value = _digits(cell.value, decimals, guard=False)
    if not math.isfinite(row[index[-1]]):
        return rf"{place} = e^{{-\infty}} / \cdots = {value}"
    own = _digits(row[index[-1]], decimals, guard=False)
    return rf"{place} = \frac{{e^{{{own}}}}}{{{' + '.join(powers)}}} = {value}"


def overflow_table(results: Sequence[tuple[str, Overflow]]) -> str:
    """Rows of a Markdown table: for each type the exponentials, the plain quotient and the stable one."""
    def cells(tensor: Any) -> str:
        return " ".join(format_number(float(value), decimals=2) for value in tensor)

    lines = ["| | " + " | ".join(("exp(s)", _("plain softmax"), _("stable softmax"))) + " |", "|---|---|---|---|"]
    lines += [f"| {name} | {cells(found.exponentials)} | {cells(found.naive)} | {cells(found.stable)} |"
              for name, found in results]
    return "\n".join(lines)


def number(value: float, decimals: int) -> str:
    """A number as LaTeX."""
    return _digits(value, decimals, guard=False)


def live_note() -> str:
    """What the numbers of the live model are, and are not."""
    if bench_module.model_name() == DEFAULT:
        return _("These are the true numbers of the model in this file, whose weights were dequantised from four bits; "
                 "the original's differ slightly.")
    return _("These are the true numbers of this checkpoint, computed in float32.")


def look_for(sentences: Sequence[str]) -> None:
    """What to look for, in sentences built from the values on screen."""
    st.subheader(_("What to look for"), anchor=False)
    points(sentences)


def points(sentences: Sequence[str]) -> None:
    """Sentences one below another."""
    st.markdown("\n".join(f"- {sentence}" for sentence in sentences))


def program(snippet: Program, functions: Sequence[Callable[..., Any]], *, key: str) -> None:
    """The PyTorch program for the numbers on screen, its file if it needs one, and the source of what ran here."""
    st.caption(_("This program gives the same numbers with PyTorch, without this app. It reads them from a file, which "
                 "is offered below it.") if snippet.file else
               _("This program gives the same numbers with PyTorch, without this app.") if "torch" in snippet.code else
               _("This program gives the same numbers in plain Python, without this app."))
    st.code(snippet.code, language="python", wrap_lines=True)
    if snippet.file:
        st.download_button(_("Numbers for the program: {file}").format(file=snippet.file), npz(snippet.arrays),
                           file_name=snippet.file, mime="application/octet-stream", key=f"{key}-numbers")
    st.caption(_("And this is the code that computed what you see:"))
    st.code("\n\n".join(inspect.getsource(function) for function in functions), language="python", wrap_lines=True)


def folded(title: str, key: str, body: Callable[[], None]) -> None:
    """A section that is computed only once it is opened."""
    section = st.expander(title, key=f"open-{key}", on_change="rerun")
    if section.open:
        with section:
            body()


@st.cache_data(show_spinner=False, max_entries=64)
def cached(_function: Callable[..., Any], name: str, *arguments: Any) -> Any:
    """The result of a slow function of `core`, kept for all sessions under its name and arguments."""
    return _function(*arguments)


def edit_notices(resolved: sources.Resolved) -> None:
    """Which computed tensors were edited by hand, so that they no longer follow from what comes before; with revert."""
    trace = resolved.trace
    if not trace.edits:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="edits"):
        cut = [name for name in trace.edits if not trace.is_given(name)]
        count = sum(len(cells) for cells in trace.edits.values())
        st.markdown(_("Edited numbers: {count}.").format(count=count))
        for name in cut:
            st.markdown(_("{symbol} was edited by hand and no longer follows from what comes before it there.").format(
                symbol=i18n.symbol(name)))
        st.button(_("Take all edits back"), on_click=bench_module.discard_edits, args=(resolved.scope,), key="revert")


def npz(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Arrays as the bytes of an .npz file."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **dict(arrays))
    return buffer.getvalue()


def check_line(check: Check | None) -> None:
    """What the numbers were compared with, and the largest difference."""
    if check is None:
        st.caption(_("Check: an edit stands in between, so there is nothing to compare with."))
        return
    name = i18n.symbol(check.name)
    compared = {
        "float64": _("{symbol} against the same step in float64"),
        "stream": _("the block's output, written out step by step, against torch's fused forward pass"),
        "at_once": _("K and V that the steps so far left in the cache, against those of the whole text read at once "
                     "without one"),
        "sdpa": _("{symbol}, written out step by step, against torch's scaled_dot_product_attention"),
    }[check.kind].format(symbol=name)
    st.caption(_("Check: {compared}. Largest difference: {difference}, among values up to {size}.").format(
        compared=compared, difference=theme.format_difference(check.difference),
        size=format_number(check.size, decimals=2)))


def share(
    bench: Bench, trace: Trace, *, key: str, names: Sequence[str] = (), numbers: Mapping[str, np.ndarray] | None = None,
) -> None:
    """The link that restores this page, a state file when it would be too long, and the numbers as a file: those of the
    layer, of the tensors in `names`, or `numbers` that are not of the trace."""
    share_file(_("All numbers of this page (.npz)"),
               lambda: npz(_arrays(trace, bench.layer, names) if numbers is None else numbers), f"{trace.source}.npz",
               key=key)


def share_file(label: str, data: Callable[[], bytes], file_name: str, *, key: str) -> None:
    """As `share`, with the file of numbers given."""
    link = bench_module.share_link()
    if link:
        st.caption(_("This address opens the same page, with edits, pinned cell and language:"))
        st.code(link, language=None, wrap_lines=True)
    else:
        st.caption(_("The edits are too many for an address. Save them as a file and open it in the other browser."))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.download_button(_("Save the edits as a file"), state_file.saved(), file_name="workbench-state.json",
                           mime="application/json", key=f"{key}-state")
        st.download_button(label, data, file_name=file_name, mime="application/octet-stream", key=f"{key}-npz")
    file = st.file_uploader(_("Open saved edits"), type="json", key=f"{key}-open", max_upload_size=1)
    if file is not None:
        state_file.take(file.file_id, file.getvalue())


def _arrays(trace: Trace, layer: int, chosen: Sequence[str]) -> dict[str, np.ndarray]:
    """The computed tensors of one layer under their trace names; parameters are left out, they can be very large."""
    own = [name for name in trace.names() if name.startswith(f"blocks.{layer}.") and name in trace.steps]
    names = [name for name in chosen if name in trace] or own
    return {name: trace[name].detach().cpu().numpy() for name in names}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A small table of texts; figures in it are already printed."""
    lines = [head, ["---" for _column in head], *rows]
    st.markdown("\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines))


def units_note() -> str:
    """How amounts of bytes are counted here, and what is counted otherwise."""
    return _("KiB, MiB and GiB go in steps of {binary}. FLOP, parameters and rates such as B/s go in steps of "
             "{decimal}, as vendors give them.").format(binary=theme.BINARY_STEP, decimal=theme.DECIMAL_STEP)


def literal(text: str) -> str:
    """A text as code that no character of it can end."""
    return f"`{text.replace('`', 'ˋ')}`" if text else ""
