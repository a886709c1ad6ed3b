"""Heads: which columns go to which head, how each attends by itself, and how WO brings them together."""

from __future__ import annotations

import streamlit as st

from core import ops, questions, snippets_heads
from core.stages.heads import index_map, multihead_attention, practice
from ui import bench as bench_module
from ui.bench import Bench
from ui.equation import Pin
from ui.equation.views import View
from ui.furniture import checks, code, equations, formulas, header, notices, prose, sections, share, stacks, strip
from ui.furniture.exercise import Exercise, held_back
from ui.shell import frame, i18n
from ui.shell.i18n import _
from ui.shell.numbers import format_difference, format_number
from ui.sources import Resolved
from ui.stages import heads


@st.fragment
def lab() -> None:
    """Everything that changes with an edit, a pin or a switch of this page."""
    bench, resolved = frame.look()
    view = View(resolved.trace, layer=bench.layer, batch=bench.batch, head=bench.head,
                editable=resolved.scope is not None)
    formula_at = st.container()
    with st.container(horizontal=True, key="controls"):
        labels = {"split": _("Split Q into heads"), "merged": _("Put the heads together"), "mixed": _("Through WO"),
                  "viewed": _("Split by view alone")}
        if view.name("attn_out") not in view.trace:
            del labels["mixed"]
        way = bench_module.choice(st.segmented_control, _("Which way"), labels, key="way", default="split",
                                  required=True, label_visibility="collapsed")
    exercise = Exercise(
        "heads-question", (bench.source, bench.scope, bench.layer, bench.batch, bench.head),
        lambda number: practice.question(view.trace, number),
        lambda question, answer: practice.judge(view.trace, question, answer))
    asked = exercise.question
    pin = _equation(bench, resolved, view, way, asked)
    with formula_at:
        _formula(view, way, None if asked else pin, bench.decimals)
    sections.folded(_("Predict, then reveal"), "predict", lambda: _predict(view, exercise))
    notices.edit_notices(resolved)
    _look_for(bench, resolved, view, asking=asked is not None)
    for title, key, body in (
        (_("Each head's own weights, and one wide head in their place"), "maps",
         lambda: heads.maps(bench, resolved, view)),
        (_("Each head's own columns of WQ"), "columns", lambda: _columns(bench, resolved, view)),
        (_("What each head adds to the output"), "added", lambda: _added(bench, resolved, view)),
        (_("In memory: strides, contiguous or not"), "memory", lambda: heads.memory(view)),
        (_("The same steps at the documents' sizes"), "sizes", lambda: heads.document_sizes(view)),
        (_("What several heads do not promise"), "promise", _promises),
        (_("Common mistakes"), "wrong", lambda: _mistake(bench, view, asking=asked is not None)),
        (_("PyTorch"), "code", lambda: _code(view)),
        (_("Share and save"), "share", lambda: share.share(bench, view.trace, key="heads")),
    ):
        sections.folded(title, key, body)
    _checks(view)
    bench_module.finish()


def _equation(
    bench: Bench, resolved: Resolved, view: View, way: str, asked: questions.Question | None,
) -> Pin | None:
    """Draw one of the ways; returns the pinned cell if its rule made it, else the telling one."""
    if asked:
        equations.drawn([stacks.side_by_side(view, "before", view.name("q_proj"), told=False)], [], key="heads-asked",
                        bench=bench, resolved=resolved, view=view, telling=None, pinning=False)
        return None
    frames, rules = {"split": stacks.split, "merged": stacks.merged, "viewed": stacks.viewed,
                     "mixed": stacks.through_wo}[way](view)
    config, tokens = view.trace.config, view.trace.sizes["T"]
    head = view.head or min(1, config.heads - 1)  # the first head's numbers stay where they were
    place = {"split": (head * tokens, config.head_dim - 1), "viewed": (view.head * tokens + 1, config.head_dim - 1),
             "merged": (0, head * config.head_dim), "mixed": (tokens - 1, 0)}[way]
    telling = view.pin(frames[1 if way == "viewed" else -1], *place)
    pin = equations.drawn(frames, rules, key=f"heads-{way}", bench=bench, resolved=resolved, view=view,
                          telling=telling)
    return pin if pin is not None and pin.id in {rule.out for rule in rules} else telling


def _formula(view: View, way: str, pin: Pin | None, decimals: int) -> None:
    symbols = {"merged": r"Z = \mathrm{Concat}(AV_{1}, \ldots, AV_{H})",
               "mixed": r"O = \mathrm{Concat}(AV_{1}, \ldots, AV_{H})\, W_O"}.get(
                   way, r"Q_{h,\,t,\,d} = Q_{t,\;(h-1)\,D_h + d}")
    config, tokens = view.trace.config, view.trace.sizes["T"]
    if pin is None or pin.id in ("viewed", "turned"):
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


def _look_for(bench: Bench, resolved: Resolved, view: View, *, asking: bool) -> None:
    config = view.trace.config
    facts = practice.facts(view.trace, view.layer, view.batch)
    width = config.heads * config.head_dim
    sentences = [
        _("The {width} columns of Q are {heads} × {head}: columns {first} to {last} are those of head {n}, for every "
          "token. Nothing is computed here, numbers only change their place.").format(
              width=width, heads=config.heads, head=config.head_dim, n=view.head + 1,
              first=view.head * config.head_dim + 1, last=(view.head + 1) * config.head_dim)
        if not asking else
        _("Nothing is computed here, numbers only change their place."),
        _("The reshape cuts each row and moves nothing. The transpose brings all rows of one head together, so that "
          "each head has a matrix of its own, one row for each token."),
        _("Each query now has {maps} distributions over the keys, one from each head; one head of width {width} would "
          "give it one.").format(maps=facts.maps, width=width),
    ]
    if facts.furthest is not None:
        sentences.append(_("The weights of heads {one} and {other} differ most here, by up to {apart}.").format(
            one=facts.furthest[0] + 1, other=facts.furthest[1] + 1, apart=format_number(facts.apart, bench.decimals)))
    else:
        sentences.append(_("With one head there is nothing to split: choose the block or a toy to see it."))
    if facts.loudest is not None:
        sentences.append(_("WO is needed to mix the heads: in Z each has its columns to itself. In the last row of O "
                           "head {head} has the longest part, {length}.").format(
                               head=facts.loudest + 1,
                               length=format_number(facts.lengths[facts.loudest], bench.decimals)))
        moved = index_map.rows_moved(view.trace, view.layer, 0)
        if moved:
            sentences.append(_("WO mixes heads and never tokens: double the first row of Z, and of the rows of O only "
                               "this changes: {rows}.").format(rows=i18n.listed(str(row + 1) for row in moved)))
        sentences.append(_("WO is not the LM head: it gives {width} numbers for each token, which go on through the "
                           "block. The LM head comes at the very end and gives a score for every token of the "
                           "vocabulary.").format(width=config.width))
    if resolved.source == "live":
        sentences.append(notices.live_note())
    prose.look_for(sentences)


def _columns(bench: Bench, resolved: Resolved, view: View) -> None:
    """WQ with a line where the next head begins, each block's product against the slice of the one product."""
    made = stacks.blocks_of_wq(view)
    if made is not None:
        equations.drawn(*made, key="heads-columns", bench=bench, resolved=resolved, view=view, telling=None,
                        pinning=False)
    found = index_map.own_blocks(view.trace, view.layer, "q")
    prose.table(
        [_("head"), _("its columns of {matrix}").format(matrix=i18n.symbol("wq")),
         _("largest difference between its own product and the big one")],
        [[str(own.head + 1), f"{own.first + 1}–{own.first + own.width}", format_difference(own.difference)]
         for own in found])
    config = view.trace.config
    shapes = index_map.fused_shapes(view.trace.sizes["B"], view.trace.sizes["T"], config.width, config.heads,
                                config.kv_heads, config.head_dim)
    x, w, product = ("×".join(map(str, shape)) for shape in shapes)
    st.caption(_("A big WQ is nothing but the heads' own matrices side by side. All of Q, K and V for the whole batch "
                 "are one product then: {x} @ {w} gives {product}.").format(x=x, w=w, product=product))


def _added(bench: Bench, resolved: Resolved, view: View) -> None:
    if view.name("attn_out") not in view.trace:
        st.caption(_("There is no WO here: with a single head Z is the output already. Choose the block or a toy."))
        return
    frames, rules = stacks.added(view)
    equations.drawn(frames, rules, key="heads-added", bench=bench, resolved=resolved, view=view, telling=None,
                    pinning=False)
    found = index_map.contributions(view.trace, view.layer)
    prose.table([_("head"), _("length of its part, token by token")], [
        [str(head + 1), " · ".join(format_number(float(length), bench.decimals) for length in part.norm(dim=-1))]
        for head, part in enumerate(found.parts[view.batch])])
    st.caption(_("Z × WO is the sum over heads of AV × that head's rows of WO. Largest difference between the two, "
                 "over the whole batch: {difference}. Lay the heads side by side and multiply once, or multiply each "
                 "by its own rows and add: it is the same. Adding them without WO's rows is not.").format(
                     difference=format_difference(found.difference)))


def _promises() -> None:
    prose.points([
        _("That each head can be named. Some do something recognisable, many do not, and nothing in training asks for "
          "it."),
        _("That the heads are several models. They are parts of one layer: they share its input, are trained together "
          "by one loss, and WO adds up what they bring."),
        _("That the heads differ. Only their matrices make them differ; equal columns would give equal heads."),
        _("That more heads are better. The width is divided among them: more heads mean narrower ones."),
    ])


def _predict(view: View, exercise: Exercise) -> None:
    width = view.trace.config.head_dim

    def ask(question: questions.Question) -> str:
        return _("Q has {heads} heads of width {width} side by side. Which head gets column {column}? Answer with its "
                 "number.").format(heads=view.trace.config.heads, width=width, column=question.column + 1)

    def reveal(question: questions.Question) -> str:
        head, _token, d = index_map.after(0, question.column, width)
        return _("Column {column} is number {d} of head {head}.").format(
            column=question.column + 1, d=d + 1, head=head + 1)

    exercise.draw(ask, reveal, {
        "interleaved": _("That deals the columns out in turn, like cards. Each head gets neighbouring columns."),
        "from_zero": _("Heads count from one here, and so do columns."),
    })


def _mistake(bench: Bench, view: View, *, asking: bool) -> None:
    if asking:
        held_back()
        return
    labels = {"viewed": _("view without transpose"), "unmerged": _("Merging without turning back"),
              "averaged": _("Averaging the weights of all heads"), "added": _("Adding the heads up")}
    if view.name("attn_out") not in view.trace:
        del labels["added"]
    kind = bench_module.choice(st.segmented_control, _("What goes wrong"), labels, key="slip", default="viewed",
                               required=True)
    result = practice.mistake(view.trace, view.layer, kind)
    of = {"viewed": "q", "unmerged": "concat", "averaged": "context", "added": "attn_out"}[kind]
    if result.error is not None:
        st.error(_("The sum of the heads has {width} columns and does not fit WO. PyTorch says: `{error}`").format(
            width=view.trace.config.head_dim, error=result.error))
    heads.beside(view, result, view.name(of), key="heads-mistake", bench=bench)
    explained = {
        "viewed": _("The shape is right, so nothing fails. But view only renames the places in memory: a head then "
                    "holds the numbers of the first tokens in place of its own columns of all tokens."),
        "unmerged": _("Without turning back, neighbouring rows of one head run together into one token's row: what a "
                      "token found is handed to another."),
        "averaged": _("nn.MultiheadAttention returns the mean of the heads' weights unless asked for each. That mean "
                      "is good for a picture; no head mixes its values by it."),
        "added": _("Added up, the heads can no longer be told apart, and WO has no rows for the sum. Pressed through "
                   "the rows of the first head it gives other numbers: each head needs rows of its own."),
    }
    largest = result.largest(*view.place)
    st.markdown(explained[kind] + " " + (
        _("Largest difference: {value}.").format(value=format_number(largest, bench.decimals)) if largest else
        _("Here nothing changes; choose an example or a toy with several heads.")))


def _code(view: View) -> None:
    code.program(snippets_heads.splitting(view.trace, view.layer), [ops.split_heads, ops.merge_heads],
                   key="splitting")
    code.program(snippets_heads.heads(view.trace, view.layer), [index_map.contributions], key="heads")


def _checks(view: View) -> None:
    last = view.name("attn_out") if view.name("attn_out") in view.trace else view.name("concat")
    checks.check_line(view.trace.check_step(last))
    found = multihead_attention.parity(view.trace, view.layer)
    given = {"x": _("the layer's input and our matrices"), "qkv": _("our Q, K and V")}[found.given]
    st.caption(_("Check: torch.nn.MultiheadAttention, given {given}. Largest difference: {weights} in the weights of "
                 "each head, {output} in the output.").format(
                     given=given, weights=format_difference(found.weights_difference),
                     output=format_difference(found.output_difference)))


_bench, _resolved = frame.look()
header.page_header("heads", frame.here().built)
notices.notices(_resolved, frame.here().dropped)
strip.shape_strip("heads", _resolved.trace)
lab()
