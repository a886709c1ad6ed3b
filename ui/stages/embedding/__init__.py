"""What only the embedding page draws: ids, the table, the rows that are looked up, and what positions add to them."""

from __future__ import annotations

import streamlit as st

from core import embedding as lookups
from core.check import Check
from core.questions import Question
from core.stages import embedding
from core.stages.embedding import rows
from core.stages.embedding.rows import ActsOn
from ui import bench as bench_module
from ui.furniture import code, formulas, notices, prose, share
from ui.furniture.equations import drawn
from ui.furniture.exercise import Exercise
from ui.shell import i18n
from ui.shell.i18n import _
from ui.shell.numbers import format_number
from ui.stages.embedding import choices, lookup
from ui.stages.embedding.sections import kind_names
from ui.stages.embedding.subject import Embedded

_NAMES = ("tokens", "embed", "pos_embed", "blocks.0.in")


def controls(shown: Embedded) -> None:
    """Which positions are added; the source's own at first."""
    trace, bench = shown.view.trace, shown.bench
    possible = {"learned": "position_table" in trace, "sinusoidal": trace.config.width % 2 == 0}
    labels = {kind: label for kind, label in kind_names().items() if possible.get(kind, True)}
    with st.container(horizontal=True, vertical_alignment="center", key="controls"):
        kind = choices.POSITIONS.draw(st.segmented_control, _("Positions"), labels, required=True,
                                      default=trace.config.positions, label_visibility="collapsed")
        prose.tried(kind != trace.config.positions)
    shown.placed = rows.placed(trace, kind)
    shown.window = bench_module.window("D", trace.config.width)
    shown.exercise = Exercise(
        "embedding-question", (bench.source, bench.scope, bench.batch, bench.seed, bench.text, kind),
        lambda number: embedding.ask(shown.at, number),
        lambda question, answer: embedding.judge(shown.at, question, answer, bench.decimals))


def draw(shown: Embedded) -> None:
    """ids → E → E[ids] (+ P = X)."""
    view, asked = shown.view, shown.asked
    own = shown.placed.kind == view.trace.config.positions
    frames, rules = lookup.looked_up(view, shown.placed, own=own, window=shown.window)
    hidden = [(id, asked.row, asked.column) for id in ("embed", "total")] if asked else []
    made = next(found for found in frames if found.id == "embed")
    shown.pin = drawn(frames, rules, key="embedding", bench=shown.bench, resolved=shown.resolved, view=view,
                      telling=view.pin(made, row=1, col=0), hidden=hidden)


def formula(shown: Embedded) -> None:
    """X in symbols, and the pinned cell in digits while no question is open."""
    view, placed, decimals = shown.view, shown.placed, shown.bench.decimals
    pin = None if shown.asked else shown.pin
    symbols = r"X = E[\mathrm{ids}]" + (r" + P[\mathrm{pos}]" if placed.added is not None else "")
    if pin is None or pin.id not in ("embed", "total"):
        formulas.formula(symbols, "")
        return
    token, at = int(view.trace["tokens"][view.batch, pin.row]), (view.batch, pin.row, pin.col)
    row, column = pin.row + 1, pin.col + 1
    read = rf"E[\mathrm{{id}}\,{token}]_{{{column}}}"
    looked = formulas.number(float(view.trace["embed"][at]), decimals)
    if pin.id == "embed" or placed.added is None:
        formulas.formula(symbols, rf"E[\mathrm{{ids}}_{{{row}}}]_{{{column}}} = {read} = {looked}")
        return
    added, total = (formulas.number(float(value), decimals)
                    for value in (placed.added[pin.row, pin.col], placed.total[at]))
    formulas.formula(symbols, rf"X_{{{row},{column}}} = {read} + P[\mathrm{{pos}}\,{pin.row}]_{{{column}}} = "
                            rf"{looked} + ({added}) = {total}")


def _acts(on: ActsOn) -> str:
    return {
        "nothing": _("No position is added: the same token gives the same row of X wherever it stands."),
        "rows": _("P[pos] depends on the place alone, E[ids] on the token alone; X is their sum, and its shape stays "
                  "what it was."),
        "queries and keys": _("RoPE adds nothing here: X is E[ids]. The place comes in later, when the rows of Q and K "
                              "are turned."),
        "scores": _("A relative bias adds nothing here: X is E[ids]. The place comes in later, as a number added to "
                    "each score."),
    }[on]


def look_for(shown: Embedded) -> list[str]:
    """What is worth noticing in the rows of this text."""
    view, config = shown.view, shown.view.trace.config
    facts = embedding.facts(shown.at, positions=shown.placed.kind)
    last = len(facts.ids) - 1
    sentences = [
        _("The id of a token is the number of a row: {token} has id {id}, so it gets row {id} of E, number for number; "
          "nothing is multiplied and nothing is summed.").format(token=view.token_name(last), id=facts.ids[last]),
        _("E has {vocab} rows of {width} numbers, {numbers} in all. Tokens here: {tokens}. Each reads one row, "
          "{read} numbers together; {rows} different rows are read.").format(
              vocab=f"{config.vocab:,}", width=config.width, numbers=f"{facts.work.table:,}",
              tokens=len(facts.ids), rows=facts.different, read=f"{facts.work.read:,}"),
    ]
    sentences += [
        _("Tokens {places} have the same id {id}, and so the same row.").format(
            places=i18n.listed(str(place + 1) for place in places), id=token)
        for token, places in facts.repeated.items()]
    sentences.append(_acts(facts.acts_on))
    if shown.resolved.scope is not None:
        sentences.append(_("The rows of E are parameters. Change a number in a marked row: it moves in every place "
                           "that has this id, and nowhere else."))
    if shown.resolved.source == "live":
        sentences.append(notices.live_note())
    return sentences


def predict(shown: Embedded) -> None:
    """A number of a row."""
    view = shown.view

    def ask(question: Question) -> str:
        return _("What is {symbol}[{row},{column}]? Its cell shows ? until you answer.").format(
            symbol=i18n.symbol("embed"), row=question.row + 1, column=question.column + 1)

    def reveal(question: Question) -> str:
        return _("{token} has id {id}, and {symbol}[id {id},{column}] = {value}.").format(
            token=view.token_name(question.row), id=int(view.trace["tokens"][view.batch, question.row]),
            symbol=i18n.symbol("embedding"), column=question.column + 1,
            value=format_number(question.answer, shown.bench.decimals))

    if shown.exercise is not None:
        shown.exercise.draw(ask, reveal, {
            "place": _("That is the row at the token's place. The id names the row, not the place."),
            "with_position": _("That is X, with the position added already. The looked-up row comes before it."),
        })


def program(shown: Embedded) -> None:
    """The PyTorch program from ids to the rows that enter the first block."""
    code.program(embedding.program(shown.at), [lookups.lookup, lookups.one_hot_product, lookups.sinusoidal],
                 key="embedding")


def shared(shown: Embedded) -> None:
    """The link, the state file and the numbers."""
    share.share(shown.bench, shown.view.trace, key="embedding", names=_NAMES)


def checks(shown: Embedded) -> list[Check | None]:
    """The rows against the one-hot product in float64."""
    return [shown.view.trace.check_step("embed")]
