"""What only the heads page draws: the way of the numbers of Q into heads and back, and what each head is and adds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st
from torch import Tensor

from core import ops
from core.check import Check
from core.comparison import Comparison
from core.layer import attention_output
from core.questions import Question
from core.stages import heads
from core.stages.heads import HeadFacts, index_map, multihead_attention
from core.stages.heads.index_map import OneHead
from ui.bench import Bench
from ui.bench.parameters import Choice
from ui.equation import Frame, Pin, Rule, Softmax, default_strings, equation
from ui.equation.views import View
from ui.furniture import code, formulas, notices, prose, share, weight_maps
from ui.furniture.equations import Made, beside, choice, drawn, switched
from ui.furniture.exercise import Exercise
from ui.furniture.page import Subject, on_bench
from ui.shell import i18n
from ui.shell.i18n import _
from ui.shell.numbers import format_difference, format_number
from ui.stages.heads import frames, tables

_WAYS: dict[str, Callable[[View], tuple[list[Frame], list[Rule]]]] = {
    "split": frames.split, "merged": frames.merged, "mixed": frames.through_wo, "viewed": frames.viewed}

WAY = Choice("way", "split", codes=tuple(_WAYS), stage="heads")
MISTAKE = Choice("slip", "viewed", codes=tuple(heads.MISTAKES), stage="heads")


@dataclass
class Heads(Subject):
    """The heads of a layer; `way` says what is done to them, `pin` which cell is spoken of."""

    way: str = "split"
    pin: Pin | None = None


def subject() -> Heads:
    """The heads that the bench selects, with their questions."""
    shown = on_bench(Heads)
    bench = shown.bench
    shown.exercise = Exercise(
        "heads-question", (bench.source, bench.scope, bench.layer, bench.batch, bench.head),
        lambda number: heads.ask(shown.at, number),
        lambda question, answer: heads.judge(shown.at, question, answer, bench.decimals))
    return shown


def draw(shown: Heads) -> None:
    """One of the ways; while a question is open, Q alone, without saying whose its columns are."""
    labels = {"split": _("Split Q into heads"), "merged": _("Put the heads together"), "mixed": _("Through WO"),
              "viewed": _("Split by view alone")}
    if shown.view.name("attn_out") not in shown.view.trace:
        del labels["mixed"]
    control = choice(WAY, _("Which way"), labels)
    shown.way = control.code
    made, pin = switched([control], lambda codes: _made(shown, codes[WAY.key]), key="heads", bench=shown.bench,
                         resolved=shown.resolved, view=shown.view)
    shown.pin = pin if pin is not None and pin.id in {rule.out for rule in made.rules} else made.telling


def _made(shown: Heads, way: str) -> Made:
    view = shown.view
    if shown.asked:
        return Made([frames.side_by_side(view, "before", view.name("q_proj"), told=False)], [])
    made, rules = _WAYS[way](view)
    config, tokens = view.trace.config, view.trace.sizes["T"]
    head = view.head or min(1, config.heads - 1)  # the first head's numbers stay where they were
    place = {"split": (head * tokens, config.head_dim - 1), "viewed": (view.head * tokens + 1, config.head_dim - 1),
             "merged": (0, head * config.head_dim), "mixed": (tokens - 1, 0)}[way]
    return Made(made, rules, view.pin(made[1 if way == "viewed" else -1], *place))


def formula(shown: Heads) -> None:
    """Where the pinned number stands before and after, or the sum behind it, while no question is open."""
    view, pin, decimals = shown.view, shown.pin, shown.bench.decimals
    symbols = {"merged": r"Z = \mathrm{Concat}(AV_{1}, \ldots, AV_{H})",
               "mixed": r"O = \mathrm{Concat}(AV_{1}, \ldots, AV_{H})\, W_O"}.get(
                   shown.way, r"Q_{h,\,t,\,d} = Q_{t,\;(h-1)\,D_h + d}")
    config, tokens = view.trace.config, view.trace.sizes["T"]
    if shown.asked or pin is None or pin.id in ("viewed", "turned"):
        formulas.formula(symbols, "")
        return
    if pin.id in ("attn_out", "concat"):
        index = view.index(pin.name, pin.row, pin.col)
        head, token, d = index_map.after(pin.row, pin.col, config.head_dim)
        place = f"_{{{pin.row + 1},{pin.col + 1}}}"
        edited = index in view.trace.edits.get(pin.name, {})
        made = (f"Z{place} = (AV_{{{head + 1}}})_{{{token + 1},{d + 1}}}" if pin.id == "concat" else
                f"O{place}" if edited else
                f"O{place} = {formulas.sum_in_digits(view.trace, pin.name, index, decimals)}")
    else:
        outer, inner = divmod(pin.row, tokens if pin.id == "split" else config.heads)
        head, token = (outer, inner) if pin.id == "split" else (inner, outer)
        index = (view.batch, token, head * config.head_dim + pin.col)
        made = (rf"Q_{{{head + 1},\,{token + 1},\,{pin.col + 1}}} = Q_{{{token + 1},\;({head + 1}-1) \cdot "
                rf"{config.head_dim} + {pin.col + 1}}}")
    name = pin.name if pin.id in ("attn_out", "concat") else view.name("q_proj")
    formulas.formula(symbols, f"{made} = {formulas.number(view.value(name, index), decimals)}")


def look_for(shown: Heads) -> list[str]:
    """What is worth noticing; where a question is open, not whose the columns are."""
    view, config = shown.view, shown.view.trace.config
    facts = heads.facts(shown.at)
    width = config.heads * config.head_dim
    sentences = [
        _("The {width} columns of Q are {heads} × {head}: columns {first} to {last} are those of head {n}, for every "
          "token. Nothing is computed here, numbers only change their place.").format(
              width=width, heads=config.heads, head=config.head_dim, n=view.head + 1,
              first=view.head * config.head_dim + 1, last=(view.head + 1) * config.head_dim)
        if not shown.asked else
        _("Nothing is computed here, numbers only change their place."),
        _("The reshape cuts each row and moves nothing. The transpose brings all rows of one head together, so that "
          "each head has a matrix of its own, one row for each token."),
        _("Each query now has {maps} distributions over the keys, one from each head; a single head of width {width} "
          "would give it only one.").format(maps=facts.maps, width=width),
    ]
    if facts.furthest is not None:
        sentences.append(_("The attention weights of heads {one} and {other} differ most here, by up "
                           "to {apart}.").format(
            one=facts.furthest[0] + 1, other=facts.furthest[1] + 1,
            apart=format_number(facts.apart, shown.bench.decimals)))
    else:
        sentences.append(_("With one head there is nothing to split: choose the block or a toy to see it."))
    sentences += _about_wo(shown, facts)
    if shown.resolved.source == "live":
        sentences.append(notices.live_note())
    return sentences


def _about_wo(shown: Heads, facts: HeadFacts) -> list[str]:
    if facts.loudest is None:
        return []
    sentences = [_("WO is needed to mix the heads: in Z each head has its columns to itself. In the last row of O head "
                   "{head} has the longest part, {length}.").format(
                       head=facts.loudest + 1,
                       length=format_number(facts.lengths[facts.loudest], shown.bench.decimals))]
    moved = index_map.rows_moved(shown.at.trace, shown.at.layer, 0)
    if moved:
        sentences.append(_("WO mixes heads and never tokens: if the first row of Z is doubled, O changes only in row "
                           "{rows}.").format(rows=i18n.listed(str(row + 1) for row in moved)))
    sentences.append(_("WO is not the LM head: it gives {width} numbers for each token, which go on through the "
                       "block. The LM head comes at the very end and gives a score for every token of the "
                       "vocabulary.").format(width=shown.at.trace.config.width))
    return sentences


def predict(shown: Heads) -> None:
    """The head that a column goes to."""
    config = shown.view.trace.config

    def ask(question: Question) -> str:
        return _("Q has {heads} heads of width {width} side by side. Which head gets column {column}? Answer with its "
                 "number.").format(heads=config.heads, width=config.head_dim, column=question.column + 1)

    def reveal(question: Question) -> str:
        head, _token, d = index_map.after(0, question.column, config.head_dim)
        return _("Column {column} is number {d} of head {head}.").format(
            column=question.column + 1, d=d + 1, head=head + 1)

    if shown.exercise is None:
        return
    shown.exercise.draw(ask, reveal, {
        "interleaved": _("That deals the columns out in turn, like cards. In fact each head gets "
                         "neighbouring columns."),
        "from_zero": _("Heads count from one here, and so do columns."),
    })


def maps(shown: Heads) -> None:
    """Every head's weights as a thumbnail, one of them written out, and what one wide head would give."""
    view, bench = shown.view, shown.bench
    found = index_map.one_head(view.trace, view.layer)
    wide, count = _("one wide head"), view.trace.config.heads
    pictures = weight_maps.by_head(found.several[view.batch], range(count)) | {
        wide: _matrix(found.single.weights[view.batch, 0])}
    chosen = weight_maps.choice(pictures, view, "heads-maps", (bench.source, bench.scope, view.layer, view.batch))
    if chosen < count:
        weight_maps.enlarged(bench, shown.resolved, view, chosen, key="heads-map")
    else:
        _wide_head(shown, found, wide)
    tokens = view.trace.sizes["T"]
    st.caption(_("{heads} heads give {tokens} tokens {several} distributions, one for each head and token. The same Q, "
                 "K and V read as one head of width {width} give {tokens}: its raw scores are the sum of the heads' "
                 "scores, and after the softmax all columns of V have to share the same weights.").format(
                     heads=count, tokens=tokens, several=count * tokens,
                     width=view.trace.config.heads * view.trace.config.head_dim))


def _wide_head(shown: Heads, found: OneHead, slice: str) -> None:
    """The scores after the mask and the weights of one head as wide as all."""
    view = shown.view
    masked, weights = view.frame("masked", view.name("masked")), view.frame(
        "weights", view.name("weights"), words=(_("query: reads ↓"), _("key: is read →")), row_sums=True)
    made = [
        replace(masked, name="wide_masked", slice=slice, values=_matrix(found.single.masked[view.batch, 0]), cut=False),
        replace(weights, name="wide_weights", slice=slice, values=_matrix(found.single.weights[view.batch, 0]),
                cut=False, sign=_("softmax →"))]
    equation(made, [Softmax("weights", "masked")], key="heads-wide", decimals=shown.bench.decimals,
             strings=default_strings(_))


def columns(shown: Heads) -> None:
    """WQ with a line where the next head begins, each block's product against the slice of the one product."""
    view = shown.view
    made = frames.blocks_of_wq(view)
    if made is not None:
        drawn(*made, key="heads-columns", bench=shown.bench, resolved=shown.resolved, view=view, telling=None,
              pinning=False)
    found = index_map.own_blocks(view.trace, view.layer, "q")
    prose.table(
        [_("head"), _("its columns of {matrix}").format(matrix=i18n.symbol("wq")),
         _("largest difference between the head's own product and the merged one")],
        [[str(own.head + 1), f"{own.first + 1}–{own.first + own.width}", format_difference(own.difference)]
         for own in found])
    config = view.trace.config
    shapes = index_map.fused_shapes(view.trace.sizes["B"], view.trace.sizes["T"], config.width, config.heads,
                                    config.kv_heads, config.head_dim)
    x, w, product = ("×".join(map(str, shape)) for shape in shapes)
    st.caption(_("A big WQ is nothing but the heads' own matrices side by side. So one product gives all of Q, K and V "
                 "for the whole batch: {x} @ {w} gives {product}.").format(x=x, w=w, product=product))


def parts(shown: Heads) -> None:
    """What each head adds to the output."""
    view, bench = shown.view, shown.bench
    if view.name("attn_out") not in view.trace:
        st.caption(_("There is no WO here: with a single head Z is the output already. Choose another example above."))
        return
    drawn(*frames.added(view), key="heads-added", bench=bench, resolved=shown.resolved, view=view, telling=None,
          pinning=False)
    found = index_map.contributions(view.trace, view.layer)
    prose.table([_("head"), _("length of the head's part, token by token")], [
        [str(head + 1), " · ".join(format_number(float(length), bench.decimals) for length in part.norm(dim=-1))]
        for head, part in enumerate(found.parts[view.batch])])
    st.caption(_("Z × WO is the sum over heads of AV × that head's rows of WO. Largest difference between the two, "
                 "over the whole batch: {difference}. Lay the heads side by side and multiply once, or multiply each "
                 "by its own rows and add: it is the same. Adding them without WO's rows is not.").format(
                     difference=format_difference(found.difference)))


def memory(shown: Heads) -> None:
    """Strides, contiguous or not."""
    tables.memory(shown.view)


def document_sizes(shown: Heads) -> None:
    """The same steps at the documents' sizes."""
    tables.document_sizes(shown.view)


def promises(shown: Heads) -> None:
    """What several heads do not promise."""
    prose.points([
        _("That the work of each head can be told. Some do something recognisable, many do not, and nothing in "
          "training asks for it."),
        _("That the heads are several models. They are parts of one layer: they share its input, are trained together "
          "by one loss, and WO adds up what they bring."),
        _("That the heads differ. Only their matrices make them differ; equal columns would give equal heads."),
        _("That more heads are better. The width is divided among them: the more heads, the narrower is each."),
    ])


def mistakes(shown: Heads) -> None:
    """The heads done wrong, beside what is right."""
    view, bench = shown.view, shown.bench
    labels = {"viewed": _("view without transpose"), "unmerged": _("Merging without turning back"),
              "averaged": _("Averaging the weights of all heads"), "added": _("Adding the heads up")}
    if view.name("attn_out") not in view.trace:
        del labels["added"]
    kind = MISTAKE.draw(st.segmented_control, _("What goes wrong"), labels, required=True)
    result = heads.MISTAKES[kind](shown.at)
    of = {"viewed": "q", "unmerged": "concat", "averaged": "context", "added": "attn_out"}[kind]
    if result.error is not None:
        st.error(_("The sum of the heads has {width} columns and does not fit WO. PyTorch says: `{error}`").format(
            width=view.trace.config.head_dim, error=result.error))
    _compared(view, result, view.name(of), key="heads-mistake", bench=bench)
    explained = {
        "viewed": _("The shape is right, so nothing fails. But view only renames the places in memory: a head then "
                    "holds the numbers of the first tokens in place of its own columns of all tokens."),
        "unmerged": _("Without turning back, neighbouring rows of one head run together into one token's row: what one "
                      "token has collected ends up in the row of another."),
        "averaged": _("nn.MultiheadAttention returns the mean of the heads' weights unless asked for each. That mean "
                      "is good for a picture; no head uses it for its weighted sum."),
        "added": _("Once the heads are added up, they can no longer be told apart, and WO has no rows for the sum. "
                   "Multiplying the sum by the rows of the first head gives other numbers: each head needs rows of its "
                   "own."),
    }
    largest = result.largest(*view.place)
    st.markdown(explained[kind] + " " + (
        _("Largest difference: {value}.").format(value=format_number(largest, bench.decimals)) if largest else
        _("Here nothing changes; choose an example or a toy with several heads.")))


def program(shown: Heads) -> None:
    """The PyTorch programs that split Q into heads and that bring the heads together."""
    code.program(heads.splitting(shown.at), [ops.split_heads, ops.merge_heads], key="splitting")
    code.program(heads.program(shown.at), [index_map.contributions], key="heads")


def save(shown: Heads) -> None:
    """The link, the state file and the numbers."""
    share.share(shown.bench, shown.view.trace, key="heads")


def checks(shown: Heads) -> list[Check | None]:
    """The last step against float64."""
    view = shown.view
    return [view.trace.check_step(view.name(attention_output(view.trace, view.layer)))]


def parity(shown: Heads) -> None:
    """What torch's own module gives on the same numbers."""
    found = multihead_attention.parity(shown.view.trace, shown.view.layer)
    given = {"x": _("the layer's input and our matrices"), "qkv": _("our Q, K and V")}[found.given]
    st.caption(_("Check: torch.nn.MultiheadAttention, given {given}. Largest difference: {weights} in the weights of "
                 "each head, {output} in the output.").format(
                     given=given, weights=format_difference(found.weights_difference),
                     output=format_difference(found.output_difference)))


def _compared(view: View, result: Comparison, name: str, *, key: str, bench: Bench) -> None:
    """As `equations.beside`, also for tensors (B, T, ·) that know no heads."""
    if result.wrong is None or result.difference is None:
        return
    if result.right.ndim > len(("batch", "rows", "columns")):
        beside(view, result, name, key=key, bench=bench, batch=view.batch, head=view.head)
        return
    whole = result._replace(right=result.right[:, None], wrong=result.wrong[:, None],
                            difference=result.difference[:, None])
    beside(view, whole, name, key=key, bench=bench, batch=view.batch, head=0)


def _matrix(values: Tensor) -> np.ndarray:
    return np.ascontiguousarray(values.detach().float().cpu().numpy())
