"""What only the RoPE page draws: Q or K turned pair by pair. Its folded sections are in `sections`."""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st

from core import rope as engine
from core import steps
from core.check import Check
from core.questions import Question
from core.stages import rope
from core.stages.rope import meetings, rotation, scaling
from core.stages.rope.rotation import Rope
from ui.bench.parameters import MANY, Choice, Decimals, Whole
from ui.equation import Pin
from ui.equation.views import View
from ui.furniture import code, formulas, notices, prose, share
from ui.furniture.equations import Control, Made, choice, number, switched
from ui.furniture.exercise import Exercise
from ui.furniture.page import Subject, on_bench
from ui.shell import documents, i18n
from ui.shell.i18n import _
from ui.shell.numbers import format_difference, format_double, format_number, full_value
from ui.stages.rope import frames

LETTER = Choice("letter", "q", codes=("q", "k"), stage="rope")
MOVED = Whole("moved", 0, low=0, high=rotation.FARTHEST, stage="rope")
BASE = Choice("base", "own", codes=tuple(map(full_value, rotation.BASES)), stage="rope")
PAIRING = Choice("pairing", "own", codes=("adjacent", "half"), stage="rope")
TURNED = Choice("turned", "own", codes=Decimals(2, MANY), stage="rope")
SCALING = Choice("scaling", "own", codes=scaling.KINDS, stage="rope")
FACTOR = Choice("factor", full_value(scaling.LLAMA_31["factor"]), codes=tuple(map(full_value, scaling.FACTORS)),
                stage="rope")

LLAMA = "Llama 3"


@dataclass
class Rotated(Subject):
    """A layer whose Q and K are turned as `how` says, all positions `moved` on: the view is of that. `control` says
    which of the two is shown, `shift` how far all are moved, `positions` are those of the tokens, `pin` is the cell
    that is spoken of."""

    control: Control = field(init=False)
    shift: Control = field(init=False)
    how: Rope = field(init=False)
    positions: list[int] = field(init=False)
    pin: Pin | None = None

    @property
    def letter(self) -> str:
        """The short name of the one that is shown."""
        return self.control.code

    @property
    def moved(self) -> int:
        """By how much all positions are moved on."""
        return int(self.shift.code)

    def turned(self, moved: int) -> View:
        """The layer with all positions moved on by so many."""
        trace = rotation.under(self.resolved.trace, self.bench.layer, self.how, moved)
        if trace is self.resolved.trace:
            return View(trace, layer=self.bench.layer, batch=self.bench.batch, head=self.bench.head,
                        editable=self.resolved.scope is not None)
        return View(trace, layer=0, batch=self.bench.batch, head=self.bench.head, editable=False)


def subject() -> Rotated:
    """The layer that the bench selects."""
    return on_bench(Rotated)


def controls(shown: Rotated) -> None:
    """Which of Q and K is shown, by how much all positions are moved on, and how it is turned."""
    config, bench = shown.resolved.trace.config, shown.bench
    own = rotation.settings(config)
    shown.control = choice(LETTER, _("Turned"), {name: i18n.symbol(name) for name in "qk"})
    shown.shift = number(MOVED, _("All positions move on by"), rotation.MOVES)
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        bases = {full_value(base): full_value(base) for base in sorted({*rotation.BASES, own.base})}
        base = BASE.draw_own(st.select_slider, _("Base"), bases, own=full_value(own.base), width=200)
        with st.popover(_("More")):
            shown.how = _more(own._replace(base=float(base)), config.head_dim)
        prose.tried(bool(shown.moved) or shown.how != own)
    shown.view = shown.turned(shown.moved)
    shown.positions = rotation.positions_of(shown.view.trace, bench.batch)
    shown.exercise = Exercise(
        "rope-question", (bench.source, bench.scope, bench.layer, bench.batch, bench.head, shown.how, shown.moved),
        lambda number: rope.ask(shown.at, number),
        lambda question, answer: rope.judge(shown.at, question, answer, bench.decimals))


def _more(own: Rope, head_dim: int) -> Rope:
    """Pairing, how many dimensions are turned, and scaling for longer contexts."""
    pairing = PAIRING.draw_own(
        st.segmented_control, _("Pairs are"), {"adjacent": _("neighbours"), "half": _("half a head apart")},
        own=own.pairing, required=True)
    widths = {str(width): str(width) for width in range(2, head_dim + 1, 2)}
    turned = TURNED.draw_own(st.selectbox, _("Dimensions turned, of {count}").format(count=head_dim), widths,
                             own=str(own.rotary_dim))
    kinds = {"default": _("none"), "linear": _("linear"), "ntk": _("NTK-aware"), "llama3": LLAMA}
    if own.scaling:
        kinds = {"model": _("the model's own"), **kinds}
    kind = SCALING.draw_own(st.selectbox, _("Scaling for longer contexts"), kinds,
                            own="model" if own.scaling else "default")
    scaled = own.scaling
    if kind != "model":
        factors = {full_value(factor): full_value(factor) for factor in scaling.FACTORS}
        factor = FACTOR.draw(st.select_slider, _("Factor"), factors, disabled=kind == "default")
        scaled = scaling.scaling(kind, float(factor))
    return own._replace(pairing="adjacent" if pairing == "adjacent" else "half", rotary_dim=int(turned), scaling=scaled)


def draw(shown: Rotated) -> None:
    """The rotation; while a question is open, without the angle that it asks for."""
    made, pin = switched(
        [shown.control, shown.shift], lambda codes: _made(shown, codes[LETTER.key], int(codes[MOVED.key])), key="rope",
        bench=shown.bench, resolved=shown.resolved, view=shown.view)
    shown.pin = pin if pin is not None and pin.id == "after" else made.telling


def _made(shown: Rotated, letter: str, moved: int) -> Made:
    view, asked = shown.view if moved == shown.moved else shown.turned(moved), shown.asked
    made, rules = frames.rotated(view, letter)
    positions = rotation.positions_of(view.trace, view.batch)
    first = next((row for row, position in enumerate(positions) if position), 0)
    telling = view.pin(made[-1], row=first, col=2)
    hidden: list[tuple[str, int, int]] = []
    if asked:
        row, pair = shown.positions.index(asked.row), rotation.pairs(shown.how)[asked.column]
        hidden = [("cos", row, asked.column), ("sin", row, asked.column),
                  ("after", row, pair.first), ("after", row, pair.second)]
    return Made(made, rules, telling, hidden)


def formula(shown: Rotated) -> None:
    """How a pair turns, and the pinned cell in digits while no question is open."""
    view, pin, decimals = shown.view, shown.pin, shown.bench.decimals
    symbols = (r"a' = a\cos m\theta_i - b\sin m\theta_i,\quad b' = b\cos m\theta_i + a\sin m\theta_i,\quad "
               r"\theta_i = \text{base}^{-2i/d}")
    if shown.asked or pin is None:
        formulas.formula(symbols, "")
        return
    name = frames.names(view, shown.letter)[1]
    index = view.index(name, pin.row, pin.col)
    value = formulas.number(view.value(name, index), decimals)
    edited = index in view.trace.edits.get(name, {})
    total = "" if edited else f"{formulas.sum_in_digits(view.trace, name, index, decimals)} = "
    formulas.formula(symbols, f"{shown.letter.upper()}'_{{{pin.row + 1},{pin.col + 1}}} = {total}{value}")


def look_for(shown: Rotated) -> list[str]:
    """What is worth noticing about the rotation."""
    facts = rope.facts(shown.at)
    sentences = [
        _("In the formula (a, b) is a pair, m the position, i the pair counted from zero, d how many dimensions are "
          "turned."),
        (_("Each pair of numbers is drawn as a clock hand: dashed before the turn, thick after it. {pairs} hands turn "
           "at {pairs} speeds: the fastest comes round every {fastest} positions, the slowest "
           "every {slowest}.") if facts.pairs > 1 else
         _("The pair of numbers is drawn as a clock hand: dashed before the turn, thick after it. It comes round every "
           "{fastest} positions.")).format(
              pairs=facts.pairs, fastest=format_double(facts.fastest, shown.bench.decimals),
              slowest=format_double(facts.slowest, shown.bench.decimals)),
        _("Positions count from zero, tokens from one: {token} stands at position {position}.").format(
            token=shown.view.token_name(0), position=shown.positions[0]),
    ]
    if facts.origin:
        sentences.append(_("At position zero the angle is zero: that row stays as it is."))
    if facts.pairs > 1 and facts.span:
        sentences.append(_("From the first token here to the last the position grows by {span}. Hands that make less "
                           "than one full turn on that way: {count} of {pairs}.").format(
                               count=facts.under_one_turn, pairs=facts.pairs, span=facts.span))
    sentences.append(_("Turning keeps the length of a row: no row of Q or K grew or shrank by more "
                       "than {difference}.").format(
        difference=format_difference(facts.stretch)))
    sentences.append(_("Only Q and K are turned. V is not: it says what is taken, not from where."))
    if facts.still:
        sentences.append(_("The last {count} dimensions of the head are not turned; they meet without a "
                           "position.").format(count=facts.still))
    drift = meetings.drift(shown.resolved.trace, shown.bench.layer, shown.moved or rotation.ELSEWHERE)
    sentences.append(_("Moving all positions on by {moved} turns every hand and changes no score of this layer by more "
                       "than {difference}: only distances reach the scores.").format(
                           moved=shown.moved or rotation.ELSEWHERE, difference=format_difference(drift)))
    if shown.resolved.source == "worked" and shown.bench.example == "rope_pairs":
        sentences.append(_("Positions and θ come from {section}; the numbers in Q, K and V are this app's own. Each of "
                           "the first two tokens appears twice, with the same vectors, so only the positions "
                           "differ.").format(section=documents.named("D1 §8")))
    if shown.resolved.source == "live":
        sentences.append(_("These are the model's real queries and keys, before and after its own rotation."))
        sentences.append(notices.live_note())
    return sentences


def predict(shown: Rotated) -> None:
    """The angle by which a pair turns."""
    def ask(question: Question) -> str:
        return _("By what angle, in radians, does pair {pair} turn at position {position}? Its cells show ? until you "
                 "answer.").format(pair=question.column + 1, position=question.row)

    def reveal(question: Question) -> str:
        return _("Pair {pair} turns by {value} at position {position}.").format(
            pair=question.column + 1, position=question.row, value=format_number(question.answer, shown.bench.decimals))

    if shown.exercise is None:
        return
    shown.exercise.draw(ask, reveal, {
        "degrees": _("That is in degrees: the formula is in radians."),
        "from_one": _("That counts positions from one; they count from zero."),
        "half_exponent": _("That takes half the exponent. The right one is {exponent}, since there are only {pairs} "
                           "pairs.").format(
            exponent="−2i/d", pairs="d/2"),
    })


def program(shown: Rotated) -> None:
    """The PyTorch program from Q and K before the rotation to the raw scores."""
    code.program(rope.program(shown.at), [steps.rotate, engine.rotate, engine.turn, engine.frequencies], key="rope")


def save(shown: Rotated) -> None:
    """The link, the state file and the numbers."""
    share.share(shown.bench, shown.view.trace, key="rope")


def checks(shown: Rotated) -> list[Check | None]:
    """Both rotations against float64, and the whole against the fused kernel."""
    view = shown.view
    return [*(view.trace.check_step(view.name(f"{letter}_rot")) for letter in "qk"), view.trace.check(view.layer)]
