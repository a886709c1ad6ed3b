"""Sharing: MHA, GQA, MQA. Who reads whose keys and values, and what that costs and saves."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import ops, questions, snippets_heads
from core.stages.sharing import practice, shared
from ui import bench as bench_module
from ui.bench import Bench
from ui.equation import Pin, Wiring
from ui.equation.views import View
from ui.furniture import checks, code, equations, formulas, header, notices, prose, sections, share, stacks, strip
from ui.furniture.exercise import Exercise
from ui.shell import frame
from ui.shell.i18n import _
from ui.shell.numbers import format_number
from ui.sources import Resolved
from ui.stages import heads, sharing
from ui.stages.sharing import Choice


@st.fragment
def lab() -> None:
    """Everything that changes with an edit, a pin or a switch of this page."""
    bench, resolved = frame.look()
    strip_at, formula_at = st.container(), st.container()
    choice = sharing.controls(resolved.trace, bench.layer)
    found = choice.shared
    with strip_at:
        strip.shape_strip("sharing", {**resolved.trace.sizes, "Hkv": found.wiring.kv_heads})
    view = View(found.trace, layer=0, batch=bench.batch, head=bench.head, editable=False)
    config = found.trace.config
    exercise = Exercise(
        "sharing-question", (bench.source, bench.scope, bench.layer, config.heads, config.kv_heads),
        lambda number: practice.question(config.heads, config.kv_heads, number),
        lambda question, answer: practice.judge(config.heads, config.kv_heads, question, answer))
    _equation(bench, resolved, view, choice, formula_at, exercise.question)
    sections.folded(_("Predict, then reveal"), "predict", lambda: _predict(view, exercise))
    notices.edit_notices(resolved)
    _look_for(bench, resolved, view, choice)
    for title, key, body in (
        (_("One K does not make heads equal: their weights"), "weights",
         lambda: _weights(bench, resolved, view)),
        (_("Every number of KV heads on this input"), "choices", lambda: sharing.every_choice(
            resolved.trace, bench.layer, choice.way, bench.decimals)),
        (_("The document's model with many, few and one KV head"), "sizes", sharing.document_sizes),
        (_("Common mistake: the wrong order of copies"), "wrong", lambda: _mistake(bench, view)),
        (_("PyTorch"), "code", lambda: code.program(
            snippets_heads.sharing(view.trace, 0), [shared.read_by, shared.pool, ops.attend], key="sharing")),
        (_("Share and save"), "share", lambda: share.share(bench, resolved.trace, key="sharing")),
    ):
        sections.folded(title, key, body)
    checks.check_line(view.trace.check_step(view.name("context")))
    checks.check_line(view.trace.check(0))
    bench_module.finish()


def _facts(bench: Bench, choice: Choice) -> list[str]:
    """What the switch moves besides the picture: name, shapes, bytes and the output."""
    made, moved = choice.shared.wiring, choice.shared.difference
    return [
        made.kind,
        _("K and V: {shape} each").format(shape="×".join(map(str, made.shape))),
        (_("{bytes} bytes for this layer, {ratio} of MHA's") if made.ratio < 1 else
         _("{bytes} bytes for this layer, as many as for MHA")).format(
             bytes=f"{made.cache_bytes:,}", ratio=made.ratio),
        _("the output changes by up to {difference}").format(difference=format_number(moved, bench.decimals))
        if moved else _("the output is the layer's own"),
    ]


def _equation(
    bench: Bench, resolved: Resolved, view: View, choice: Choice, formula_at: DeltaGenerator,
    asked: questions.Question | None,
) -> None:
    """The wiring and, tied to it, one product for all heads; the formula above it follows the pinned cell."""
    frames, rules = stacks.shared(view, choice.shared, choice.which)
    tokens = view.trace.sizes["T"]
    telling = view.pin(frames[-1], row=view.head * tokens + tokens - 1, col=0)
    wiring = None if asked else Wiring(choice.shared.wiring.reads, _facts(bench, choice))
    pin = equations.drawn(frames, rules, key=f"sharing-{choice.which}", bench=bench, resolved=resolved, view=view,
                          telling=telling, wiring=wiring)
    place = pin if pin is not None and pin.id == "product" else telling
    with formula_at:
        _formula(view, choice.which, None if asked else place, bench.decimals)


def _formula(view: View, which: str, pin: Pin | None, decimals: int) -> None:
    symbols = {"k": r"(QK^{\top})_{h} = Q_{h}\, K_{g(h)}^{\top}", "v": r"(AV)_{h} = A_{h}\, V_{g(h)}"}[which]
    symbols += r",\quad g(h) = \lceil h \cdot H_{kv} / H \rceil"
    if pin is None:
        formulas.formula(symbols, "")
        return
    head, row = divmod(pin.row, view.trace.sizes["T"])
    name = view.name("scores" if which == "k" else "context")
    index = (view.batch, head, row, pin.col)
    total = formulas.sum_in_digits(view.trace, name, index, decimals)
    value = formulas.number(view.value(name, index), decimals)
    config = view.trace.config
    group = rf"g({head + 1}) = \lceil {head + 1} \cdot {config.kv_heads} / {config.heads} \rceil"
    formulas.formula(symbols, rf"{group} = {head // config.group + 1},\quad {total} = {value}")


def _look_for(bench: Bench, resolved: Resolved, view: View, choice: Choice) -> None:
    config = view.trace.config
    facts = practice.facts(view.trace, 0, view.batch, view.head)
    sentences = [
        _("Every query head keeps its own Q and its own weights. Query head {head} reads KV head {kv}.").format(
            head=view.head + 1, kv=facts.kv_head + 1)
        if len(facts.readers) == 1 else
        _("Query heads {readers} read KV head {kv}: {count} neighbours share one K and one V.").format(
            readers=", ".join(str(head + 1) for head in facts.readers), kv=facts.kv_head + 1,
            count=len(facts.readers)),
    ]
    if facts.furthest is not None:
        sentences.append(_("Sharing K does not make them equal: the weights of heads {one} and {other} differ by up to "
                           "{apart}, since their queries differ.").format(
                               one=facts.furthest[0] + 1, other=facts.furthest[1] + 1,
                               apart=format_number(facts.apart, bench.decimals)))
    sentences += _saved(choice.shared.wiring, facts)
    sentences += _changed(resolved.trace.config.kv_heads, config.kv_heads, choice)
    if view.trace.config.positions == "rope":
        sentences.append(_("K is turned by RoPE after it was shared out, once for each KV head."))
    prose.look_for(sentences)


def _saved(made: shared.Wiring, facts: practice.SharingFacts) -> list[str]:
    """What MHA keeps, and what of it GQA and MQA spare."""
    if made.kind == "MHA":
        return [_("For each token this layer keeps {numbers} numbers of K and V. That is all there can be: every query "
                  "head has a KV head of its own, so nothing is shared and nothing is spared.").format(
                      numbers=facts.numbers),
                _("WQ, WK and WV have equally many columns, and Q, K and V equally many heads.")]
    return [_("For each token this layer keeps {numbers} numbers of K and V; with a KV head for every query head it "
              "would keep {full}. The number of query heads, of weights and of outputs is the same.").format(
                  numbers=facts.numbers, full=facts.of),
            _("Q and O keep their shapes: only WK and WV get fewer columns, and K and V fewer heads.")
            if made.kind == "GQA" else
            _("Q and O keep their shapes: only WK and WV get fewer columns, those of a single head, which K and V then "
              "have.")]


def _changed(own: int, kv_heads: int, choice: Choice) -> list[str]:
    """What was done to the layer's own K and V, and whether that is free."""
    sentences = []
    if choice.shared.change == "copied":
        sentences.append((_("The layer has {own} KV heads; here each was copied for the heads that read it. More "
                            "memory, the same output.") if own > 1 else
                          _("The layer has one KV head; here it was copied for all heads that read it. More memory, "
                            "the same output.")).format(own=own))
    elif choice.shared.change == "pooled" and kv_heads > own:
        sentences.append(_("The layer's {own} KV heads do not divide {count} evenly: each group of query heads got "
                           "what its heads read before, brought together.").format(own=own, count=kv_heads))
    elif choice.shared.change == "pooled" and choice.way == "mean":
        sentences.append(_("K and V of each group were averaged here, on the same input and the same queries: that is "
                           "how a trained model is turned into one with fewer KV heads, before it is trained further."))
    elif choice.shared.change == "pooled":
        sentences.append(_("Of each group the first K and V were kept here and the others dropped, on the same input "
                           "and the same queries."))
    if choice.shared.difference and kv_heads < own:
        sentences.append(_("The output is another one: fewer KV heads save memory and are not free."))
    return sentences


def _weights(bench: Bench, resolved: Resolved, view: View) -> None:
    facts = practice.facts(view.trace, 0, view.batch, view.head)
    heads.sharing_maps(bench, resolved, view, facts.readers)
    if len(facts.readers) == 1:
        st.caption(_("With as many KV heads as query heads nobody shares: choose fewer above."))
    else:
        st.caption(_("All of these heads read KV head {kv}. Each asks with its own Q, so each has its own weights and "
                     "takes another blend of the same V.").format(kv=facts.kv_head + 1))


def _predict(view: View, exercise: Exercise) -> None:
    config = view.trace.config

    def ask(question: questions.Question) -> str:
        return _("{heads} query heads, {kv_heads} KV heads. Which KV head does query head {head} read? Answer with its "
                 "number. The picture is hidden until you answer.").format(
                     heads=config.heads, kv_heads=config.kv_heads, head=question.row + 1)

    def reveal(question: questions.Question) -> str:
        return _("Query head {head} reads KV head {kv}.").format(head=question.row + 1, kv=int(question.answer))

    exercise.draw(ask, reveal, {
        "tiled": _("That deals them out in turn. Neighbours share a KV head: the groups follow one another."),
        "from_zero": _("Heads count from one here."),
    })


def _mistake(bench: Bench, view: View) -> None:
    config = view.trace.config
    found = practice.order(config.heads, config.kv_heads)
    numbers = {way: ", ".join(str(kv + 1) for kv in order)
               for way, order in (("right", found.right), ("tiled", found.tiled))}
    prose.table(["", _("KV head at the place of each query head")],
                 [["`repeat_interleave`", numbers["right"]], ["`repeat`", numbers["tiled"]]])
    if not found.wrong:
        st.markdown(_("Here both orders are the same: there is one KV head, or one for each query head. Choose a "
                      "number between, or an example or toy with four query heads."))
        return
    result = practice.tiled(view.trace, 0)
    head = view.head if view.head in found.wrong else found.wrong[0]
    equations.beside(View(view.trace, layer=0, batch=view.batch, head=head, editable=False), result,
                     view.name("context"), key="sharing-mistake", bench=bench, batch=view.batch, head=head)
    st.markdown(_("Copies made with `repeat` have the right shape, so nothing fails, but these query heads read the "
                  "K and V of another group: {wrong}. Largest difference in head {head}: {value}.").format(
                      wrong=", ".join(str(head + 1) for head in found.wrong), head=head + 1,
                      value=format_number(result.largest(view.batch, head), bench.decimals)))


_bench, _resolved = frame.look()
header.page_header("sharing", frame.here().built)
notices.notices(_resolved, frame.here().dropped)
lab()
