"""The scores stage: how well each query matches each key, and why the sum is divided by √Dh."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from core.comparison import Comparison, compare, refusal
from core.programs import Program, edited_lines, program_of, projected_lines
from core.questions import BY_HAND, CLOSE, Question, Verdict, equal
from core.stage import At, CarriedOut, Questions


class ScoreFacts(NamedTuple):
    """About one head's scores: the largest (of those that are numbers; −∞ where none is), where it stands first and at
    how many places, how many are negative of how many, whether the table is symmetric, which KV head is read and how
    many query heads share it; from 0."""

    largest: float
    largest_at: tuple[int, int]
    largest_places: int
    negative: int
    cells: int
    symmetric: bool
    kv_head: int
    group: int


def facts(at: At, *, of: str = "scaled") -> ScoreFacts:
    """Facts about the scores of one batch entry and query head, `of` "scaled" or "scores" (raw)."""
    matrix = at.trace[at.block + of][at.slice].nan_to_num(nan=-math.inf, posinf=math.inf, neginf=-math.inf)  # (Tq, Tk)
    rows, columns = matrix.shape
    largest = matrix.max()
    return ScoreFacts(
        float(largest), divmod(int(matrix.argmax()), columns), int((matrix == largest).sum()),
        int((matrix < 0).sum()), matrix.numel(), rows == columns and bool((matrix == matrix.mT).all()),
        at.head // at.trace.config.group, at.trace.config.group)


class FirstTokenFacts(NamedTuple):
    """How many of a layer's query heads give the last query's largest weight to the first token."""

    on_first: int
    heads: int


def first_token(at: At) -> FirstTokenFacts:
    """Whether the heads of a layer look at the first token; needs the trace to reach `weights`."""
    last = at.trace[at.block + "weights"][at.batch, :, -1]  # (H, Tk)
    return FirstTokenFacts(int((last.argmax(dim=-1) == 0).sum()), last.shape[0])


def untransposed(at: At) -> Comparison:
    """Q times K as it stands, compared with QKᵀ; where the shapes do not fit, what torch says."""
    q, k = (at.trace[name] for name in at.trace.steps[at.block + "scores"].reads)
    right = at.trace[at.block + "scores"]
    error = refusal(lambda: q[0, 0] @ k[0, 0])  # one head is enough to hear what torch says
    if error is not None:
        return Comparison(right, None, None, None, error)
    return compare(right, q @ k.repeat_interleave(at.trace.config.group, dim=1))


def _divided(at: At, *, by: str) -> Comparison:
    """The scaled scores with another divisor: 1, √D in place of √Dh, or Dh^−½, which multiplies by √Dh."""
    root = math.sqrt(at.trace.config.head_dim)
    divisor = {"unscaled": 1.0, "model_width": math.sqrt(at.trace.config.width), "times_root": 1 / root}[by]
    wrong = at.trace.with_scale(at.layer, 1 / divisor)[at.block + "scaled"]
    return compare(at.trace[at.block + "scaled"], wrong, divisor)


MISTAKES: Mapping[str, CarriedOut] = {
    **{code: partial(_divided, by=code) for code in ("unscaled", "model_width", "times_root")},
    "untransposed": untransposed,
}


def ask(at: At, number: int) -> Question:
    """The `number`-th question about the raw scores of a head; the questions walk over the matrix, off the diagonal
    first. Where a head is too wide to sum by hand, which key of a row has the largest score."""
    raw = at.trace[at.block + "scores"][at.slice]
    rows, columns = raw.shape
    if at.trace.config.head_dim > BY_HAND:
        row = (rows - 1 - number) % rows
        best = int(raw[row].argmax())
        return Question("largest", row, best, float(raw[row, best]), best + 1.0)
    places = sorted(((r, c) for r in range(rows) for c in range(columns)), key=lambda at: (at[0] == at[1], -at[0]))
    row, column = places[number % len(places)]
    score = float(raw[row, column])
    return Question("value", row, column, score, score)


def judge(at: At, question: Question, answer: float, decimals: int) -> Verdict:
    """Whether an answer is right to the shown decimals, or which slip would give it: √Dh already divided out, query
    and key swapped, the sign lost, digits missing."""
    if question.kind == "largest":
        return "right" if answer == question.answer else "wrong"
    if equal(answer, question.answer, decimals):
        return "right"
    scaled = at.trace[at.block + "scaled"][at.slice]
    if equal(answer, float(scaled[question.row, question.column]), decimals):
        return "scaled"
    raw = at.trace[at.block + "scores"][at.slice]
    swapped = max(question.row, question.column) < min(raw.shape)
    if swapped and equal(answer, float(raw[question.column, question.row]), decimals):
        return "swapped"
    if equal(answer, -question.answer, decimals):
        return "sign"
    return "close" if math.isclose(answer, question.answer, rel_tol=CLOSE) else "wrong"


QUESTIONS: Mapping[str, Questions] = {"score": Questions(ask, judge)}


def program(at: At) -> Program:
    """From X, or from Q and K where one of them was edited or given, to S (B, H, Tq, Tk)."""
    trace, block = at.trace, at.block
    q, k = trace.steps[block + "scores"].reads
    if _cut(at) or trace.attention_input(at.layer) not in trace:
        inputs = {"q": trace[q], "k": trace[k]}
        body = ["# q (B, H, T, Dh) and k (B, Hkv, T, Dh)"]
    else:
        inputs, body = projected_lines(trace, at.layer)
    group = trace.config.group
    if group > 1:
        body.append(f"k = k.repeat_interleave({group}, dim=1)  # (B, H, T, Dh): {group} query heads read one KV head")
    factor = trace.scales.get(at.layer)
    scale = "/ math.sqrt(q.shape[-1])" if factor is None else f"* {factor!r}"
    body += ["raw = q @ k.mT  # (B, H, Tq, Tk)", *edited_lines(trace, block + "scores", "raw"),
             f"result = raw {scale}", *edited_lines(trace, block + "scaled", "result"), "print(result)"]
    return program_of("scores", inputs, body)


def _cut(at: At) -> bool:
    """Whether an edit sits after the projections, so that q or k no longer come from X as a whole."""
    made = ("q_proj", "k_proj", "q", "k", "q_norm", "k_norm", "q_rot", "k_rot")
    return any(at.block + short in at.trace.edits for short in made)
