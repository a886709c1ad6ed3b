"""What only the sharing page draws: all query heads with the KV heads that they read, and what sharing spares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import streamlit as st

from core import ops, worked
from core.check import Check
from core.questions import Question
from core.stages import sharing
from core.stages.sharing import SharingFacts, shared
from core.stages.sharing.shared import Shared, Way
from core.trace import Trace
from ui.bench.parameters import MANY, Choice, Decimals
from ui.equation import MAX_SIDE, Frame, Grouped, Pin, Rule, Wiring
from ui.equation.views import View
from ui.furniture import code, formulas, prose, share, weight_maps
from ui.furniture.equations import Control, Made, beside, choice, switched
from ui.furniture.exercise import Exercise
from ui.furniture.page import Subject, on_bench
from ui.furniture.stacks import stack
from ui.shell import i18n
from ui.shell.i18n import _
from ui.shell.numbers import format_number
from ui.stages.sharing import tables

KV_HEADS = Choice("kvheads", "own", codes=Decimals(1, MANY), stage="sharing")
WHICH = Choice("which", "v", codes=("v", "k"), stage="sharing")
POOLED = Choice("pooled", "mean", codes=shared.WAYS, stage="sharing")

_READABLE = 64  # rows of all heads together that are shown at once; of more, those of one KV head


@dataclass
class Sharing(Subject):
    """The layer with the number of KV heads that was chosen, `found`, which the view is of. `switches` say which, `way`
    how K and V were brought down to it, `which` which of the two is shown with its product ("k" or "v"), `pin` the cell
    that is spoken of."""

    found: Shared = field(init=False)
    switches: tuple[Control, ...] = ()
    way: Way = "mean"
    which: str = "v"
    pin: Pin | None = None


def subject() -> Sharing:
    """The layer that the bench selects."""
    return on_bench(Sharing)


def controls(shown: Sharing) -> None:
    """The number of KV heads, which begins with the layer's own where the example has no other, and what is shown."""
    trace, bench = shown.resolved.trace, shown.bench
    shown.switches = _switches(trace)
    codes = {control.parameter.key: control.code for control in shown.switches}
    shown.which, shown.way, shown.found = codes[WHICH.key], _way(trace, codes), _shared(shown, codes)
    shown.view = _view(shown, shown.found)
    config = shown.view.trace.config
    shown.exercise = Exercise(
        "sharing-question", (bench.source, bench.scope, bench.layer, config.heads, config.kv_heads),
        lambda number: sharing.ask(shown.at, number),
        lambda question, answer: sharing.judge(shown.at, question, answer, bench.decimals))


def _switches(trace: Trace) -> tuple[Control, ...]:
    """The number of KV heads, which of the two products, and how several heads' K and V become one's."""
    opening = _opening(trace)
    counts = {"own" if count == opening else str(count): f"{i18n.axis('Hkv')} = {count}"
              for count in shared.choices(trace.config.heads)}
    return (
        choice(KV_HEADS, _("Number of KV heads"), counts),
        choice(WHICH, _("What is shared"), {
            "v": f"{i18n.symbol('weights')} × {i18n.symbol('v')}",
            "k": f"{i18n.symbol('q')} × {i18n.symbol('k', transposed=True)}"}),
        choice(POOLED, _("How K and V are brought together"), {
            "mean": _("average of the group"), "first": _("first of the group")}))


def _opening(trace: Trace) -> int:
    return worked.OPENING_KV_HEADS.get(trace.source, trace.config.kv_heads)


def _count(trace: Trace, codes: Mapping[str, str]) -> int:
    """The number of KV heads that the switches say."""
    code = codes[KV_HEADS.key]
    return _opening(trace) if code == "own" else int(code)


def _pools(trace: Trace, codes: Mapping[str, str]) -> bool:
    """Whether several heads' K and V become one's."""
    return shared.change(trace.config.kv_heads, _count(trace, codes)) == "pooled"


def _way(trace: Trace, codes: Mapping[str, str]) -> Way:
    return "first" if _pools(trace, codes) and codes[POOLED.key] == "first" else "mean"


def _shared(shown: Sharing, codes: Mapping[str, str]) -> Shared:
    trace = shown.resolved.trace
    return shared.share(trace, shown.bench.layer, _count(trace, codes), _way(trace, codes))


def _view(shown: Sharing, found: Shared) -> View:
    return View(found.trace, layer=0, batch=shown.bench.batch, head=shown.bench.head, editable=False)


def sizes(shown: Sharing) -> dict[str, int]:
    """The sizes of the trace, with the number of KV heads that was chosen."""
    return {**shown.resolved.trace.sizes, "Hkv": shown.found.wiring.kv_heads}


def draw(shown: Sharing) -> None:
    """The wiring and, tied to it, one product for all heads."""
    made, pin = switched(shown.switches, lambda codes: _made(shown, codes), key="sharing", bench=shown.bench,
                         resolved=shown.resolved, view=shown.view)
    shown.pin = pin if pin is not None and pin.id == "product" else made.telling


def _made(shown: Sharing, codes: Mapping[str, str]) -> Made:
    trace = shown.resolved.trace
    found = _shared(shown, codes)
    view = _view(shown, found)
    frames, rules = _frames(view, codes[WHICH.key])
    tokens = view.trace.sizes["T"]
    return Made(
        frames, rules, view.pin(frames[-1], row=view.head * tokens + tokens - 1, col=0),
        without=[] if _pools(trace, codes) else [POOLED.key],
        wiring=None if shown.asked else Wiring(found.wiring.reads, _told(found, shown.bench.decimals)))


def _told(found: Shared, decimals: int) -> list[str]:
    """What the switch moves besides the picture: name, shapes, bytes and the output."""
    made, moved = found.wiring, found.difference
    return [
        made.kind,
        _("K and V: {shape} each").format(shape="×".join(map(str, made.shape))),
        (_("{bytes} bytes for this layer, {ratio} of MHA's") if made.ratio < 1 else
         _("{bytes} bytes for this layer, as many as for MHA")).format(
             bytes=f"{made.cache_bytes:,}", ratio=made.ratio),
        _("on this page only, the output changes by up to {difference}").format(
            difference=format_number(moved, decimals))
        if moved else _("the output is the layer's own"),
    ]


def _frames(view: View, which: str) -> tuple[list[Frame], list[Rule]]:
    """All query heads with the KV heads that they read: "k" for Q × Kᵀ = QKᵀ, "v" for A × V = AV."""
    trace, config = view.trace, view.trace.config
    tokens, kv_head = trace.sizes["T"], view.head // config.group
    made = view.name("scores" if which == "k" else "context")
    left, right = (trace[name][view.batch] for name in trace.steps[made].reads)  # (H, T, ·), (Hkv, T, Dh)
    rows, columns = (trace.steps[made].reads[0], "Dh") if which == "k" else (view.name("weights"), "T")
    inner = ("Hkv", "Dh", "T") if which == "k" else ("Hkv", "T", "Dh")
    matrices = right.mT if which == "k" else right
    group = config.group * tokens  # rows of the query heads that read one KV head
    several = config.heads * tokens <= _READABLE
    first, most = kv_head * group, MAX_SIDE if several else group
    if most > MAX_SIDE:
        first = view.head * tokens
    frames = [
        stack(view, "left", left, ("H", "T", columns), label=i18n.symbol(rows),
              role="query" if which == "k" else "weight", first=first, most=most),
        stack(view, "right", matrices, inner, label=i18n.symbol(which, transposed=which == "k"),
              role="key" if which == "k" else "value", sign="×", first=kv_head * matrices.shape[1],
              most=MAX_SIDE if several else matrices.shape[1]),
        stack(view, "product", trace[made][view.batch], ("H", "T", inner[2]), label=i18n.symbol(made),
              role="score" if which == "k" else "value", sign="=", first=first, most=most),
    ]
    return frames, [Grouped("product", "left", "right", tokens, config.group)]


def formula(shown: Sharing) -> None:
    """The product of a query head with the KV head that it reads, and the pinned cell while no question is open."""
    view, pin, decimals = shown.view, shown.pin, shown.bench.decimals
    symbols = {"k": r"(QK^{\top})_{h} = Q_{h}\, K_{g(h)}^{\top}", "v": r"(AV)_{h} = A_{h}\, V_{g(h)}"}[shown.which]
    symbols += r",\quad g(h) = \lceil h \cdot H_{kv} / H \rceil"
    if shown.asked or pin is None:
        formulas.formula(symbols, "")
        return
    head, row = divmod(pin.row, view.trace.sizes["T"])
    name = view.name("scores" if shown.which == "k" else "context")
    index = (view.batch, head, row, pin.col)
    total = formulas.sum_in_digits(view.trace, name, index, decimals)
    value = formulas.number(view.value(name, index), decimals)
    config = view.trace.config
    group = rf"g({head + 1}) = \lceil {head + 1} \cdot {config.kv_heads} / {config.heads} \rceil"
    formulas.formula(symbols, rf"{group} = {head // config.group + 1},\quad {total} = {value}")


def look_for(shown: Sharing) -> list[str]:
    """What is worth noticing about who shares, what that spares, and what it changes."""
    view, facts = shown.view, sharing.facts(shown.at)
    sentences = [
        _("Every query head keeps its own Q and its own weights. Query head {head} reads KV head {kv}.").format(
            head=view.head + 1, kv=facts.kv_head + 1)
        if len(facts.readers) == 1 else
        _("Query heads {readers} read KV head {kv}: {count} neighbours share one K and one V.").format(
            readers=i18n.listed(str(head + 1) for head in facts.readers), kv=facts.kv_head + 1,
            count=len(facts.readers)),
    ]
    if facts.furthest is not None:
        sentences.append(_("Sharing K does not make them equal: the weights of heads {one} and {other} differ by up to "
                           "{apart}, since their queries differ.").format(
                               one=facts.furthest[0] + 1, other=facts.furthest[1] + 1,
                               apart=format_number(facts.apart, shown.bench.decimals)))
    sentences += _saved(shown.found.wiring, facts)
    sentences += _changed(shown)
    if view.trace.config.positions == "rope":
        sentences.append(_("K is turned by RoPE after it was shared out, once for each KV head."))
    return sentences


def _saved(made: shared.Wiring, facts: SharingFacts) -> list[str]:
    """What MHA keeps, and what of it GQA and MQA spare."""
    if made.kind == "MHA":
        return [_("For each token this layer keeps {numbers} numbers of K and V. That is the most there can be: every "
                  "query head has a KV head of its own, so nothing is shared and nothing is saved.").format(
                      numbers=facts.numbers),
                _("WQ, WK and WV have equally many columns, and Q, K and V equally many heads.")]
    return [_("For each token this layer keeps {numbers} numbers of K and V; with a KV head for every query head it "
              "would keep {full}. The number of query heads, of weights and of outputs is the same.").format(
                  numbers=facts.numbers, full=facts.of),
            _("Q and O keep their shapes: only WK and WV get fewer columns, and K and V fewer heads.")
            if made.kind == "GQA" else
            _("Q and O keep their shapes: only WK and WV get fewer columns, those of a single head, which K and V then "
              "have.")]


def _changed(shown: Sharing) -> list[str]:
    """What was done to the layer's own K and V, and whether that is free."""
    own, kv_heads, found = shown.resolved.trace.config.kv_heads, shown.found.wiring.kv_heads, shown.found
    sentences = []
    if found.change == "copied":
        sentences.append((_("The layer has {own} KV heads; here each was copied for the heads that read it. More "
                            "memory, the same output.") if own > 1 else
                          _("The layer has one KV head; here it was copied for all heads that read it. More memory, "
                            "the same output.")).format(own=own))
    elif found.change == "pooled" and kv_heads > own:
        sentences.append(_("The layer's {own} KV heads cannot be divided evenly into {count} groups. So the K and V "
                           "that the query heads of a group read before were brought together into the K and V of that "
                           "group.").format(own=own, count=kv_heads))
    elif found.change == "pooled" and shown.way == "mean":
        sentences.append(_("K and V of each group were averaged here, on the same input and the same queries: that is "
                           "how a trained model is turned into one with fewer KV heads, before it is trained further."))
    elif found.change == "pooled":
        sentences.append(_("Of each group the first K and V were kept here and the others dropped, on the same input "
                           "and the same queries."))
    if found.difference and kv_heads < own:
        sentences.append(_("The output changes: fewer KV heads save memory, but not for free."))
    return sentences


def predict(shown: Sharing) -> None:
    """The KV head that a query head reads."""
    config = shown.view.trace.config

    def ask(question: Question) -> str:
        return _("{heads} query heads, {kv_heads} KV heads. Which KV head does query head {head} read? Answer with its "
                 "number. The picture is hidden until you answer.").format(
                     heads=config.heads, kv_heads=config.kv_heads, head=question.row + 1)

    def reveal(question: Question) -> str:
        return _("Query head {head} reads KV head {kv}.").format(head=question.row + 1, kv=int(question.answer))

    if shown.exercise is None:
        return
    shown.exercise.draw(ask, reveal, {
        "tiled": _("That deals them out in turn. In fact neighbours share a KV head: the groups follow one another."),
        "from_zero": _("Heads count from one here."),
    })


def weights(shown: Sharing) -> None:
    """The weights of the query heads that read one KV head."""
    view, bench, facts = shown.view, shown.bench, sharing.facts(shown.at)
    pictures = weight_maps.by_head(view.trace[view.name("weights")][view.batch], facts.readers)
    chosen = weight_maps.choice(pictures, view, "sharing-maps",
                                (bench.source, bench.scope, view.layer, view.batch, *facts.readers))
    weight_maps.enlarged(bench, shown.resolved, view, facts.readers[chosen], key="sharing-map")
    if len(facts.readers) == 1:
        st.caption(_("With as many KV heads as query heads no head shares: choose fewer above."))
    else:
        st.caption(_("All of these heads read KV head {kv}. Each has its own Q, so each has its own weights and makes "
                     "another weighted sum of the same V.").format(kv=facts.kv_head + 1))


def choices(shown: Sharing) -> None:
    """Every number of KV heads on this input."""
    tables.every_choice(shown.resolved.trace, shown.bench.layer, shown.way, shown.bench.decimals)


def document_sizes(shown: Sharing) -> None:
    """The document's model with many, few and one KV head."""
    tables.document_sizes()


def mistakes(shown: Sharing) -> None:
    """KV heads copied in the wrong order, and what the query heads read then."""
    view, config = shown.view, shown.view.trace.config
    found = sharing.copies(config.heads, config.kv_heads)
    numbers = {way: i18n.listed(str(kv + 1) for kv in order)
               for way, order in (("right", found.right), ("tiled", found.tiled))}
    prose.table(["", _("KV heads that the query heads read, in order")],
                 [["`repeat_interleave`", numbers["right"]], ["`repeat`", numbers["tiled"]]])
    if not found.wrong:
        st.markdown(_("Here both orders are the same: there is one KV head, or one for each query head. Choose a "
                      "number between, or an example or toy with four query heads."))
        return
    result = sharing.MISTAKES["tiled"](shown.at)
    head = view.head if view.head in found.wrong else found.wrong[0]
    beside(View(view.trace, layer=0, batch=view.batch, head=head, editable=False), result, view.name("context"),
           key="sharing-mistake", bench=shown.bench, batch=view.batch, head=head)
    st.markdown(_("Copies made with `repeat` have the right shape, so nothing fails, but these query heads read the "
                  "K and V of another group: {wrong}. Largest difference in head {head}: {value}.").format(
                      wrong=i18n.listed(str(head + 1) for head in found.wrong), head=head + 1,
                      value=format_number(result.largest(view.batch, head), shown.bench.decimals)))


def program(shown: Sharing) -> None:
    """The PyTorch program from Q, K and V to AV."""
    code.program(sharing.program(shown.at), [shared.read_by, shared.pool, ops.attend], key="sharing")


def save(shown: Sharing) -> None:
    """The link, the state file and the numbers."""
    share.share(shown.bench, shown.resolved.trace, key="sharing")


def checks(shown: Sharing) -> list[Check | None]:
    """The mixing against float64, and the whole against the fused kernel."""
    return [shown.view.trace.check_step(shown.view.name("context")), shown.view.trace.check(0)]
