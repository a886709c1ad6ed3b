"""The embedding stage: an id is the number of a row, the row is looked up, and positions may be added to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch

from core import comparison
from core.comparison import Comparison, compare
from core.programs import Program, edited_lines, program_of
from core.questions import BY_HAND, Question, Verdict, equal
from core.stage import At, CarriedOut, Questions
from core.stages.embedding.mistakes import by_place
from core.stages.embedding.rows import ActsOn, Work, acts_on, first_again, repeats, work

ONE_HOT_NUMBERS = 100_000  # up to that many numbers the program makes the one-hot product as well


class EmbeddingFacts(NamedTuple):
    """About the rows of one text: its ids, how many different rows they read, what reading takes, the ids that stand in
    several places of the text with those places, from 0, and what the positions act on."""

    ids: tuple[int, ...]
    different: int
    work: Work
    repeated: dict[int, tuple[int, ...]]
    acts_on: ActsOn


def facts(at: At, *, positions: str | None = None) -> EmbeddingFacts:
    """Facts about a batch entry, with `positions` of a kind, by default the trace's own. Raises UnknownOption."""
    config = at.trace.config
    ids = tuple(at.trace["tokens"][at.batch].tolist())
    places = {entry.id: tuple(place for batch, place in entry.places if batch == at.batch)
              for entry in repeats(at.trace["tokens"], at.trace["embed"])}
    return EmbeddingFacts(
        ids, len(set(ids)), work(1, len(ids), config.vocab, config.width),
        {token: found for token, found in places.items() if len(found) > 1}, acts_on(positions or config.positions))


def _place(at: At) -> Comparison:
    """Row t for token t, in the text with its first token once more at the end."""
    return by_place(at.trace["embedding"], first_again(at.trace["tokens"], at.batch))


def _outside(at: At, *, token: int = -1) -> Comparison:
    """The rows of the text, and what torch says to the id `token` in place of the last."""
    table, ids = at.trace["embedding"].detach().cpu(), at.trace["tokens"][at.batch].cpu()
    right, other = table[ids][None], torch.cat([ids[:-1], torch.tensor([token])])
    error = comparison.refusal(lambda: torch.nn.functional.embedding(other, table))
    return compare(right, table[other][None]) if error is None else Comparison(right, None, None, None, error)


MISTAKES: Mapping[str, CarriedOut] = {"place": _place, "outside": _outside}


def ask(at: At, number: int) -> Question:
    """The `number`-th question about the embedding rows of a batch entry: the value at (`row`, `column`), from 0."""
    rows = at.trace["embed"][at.batch]
    tokens, width = rows.shape
    row, column = (tokens - 1 - number) % tokens, (number + 1) % min(width, BY_HAND)
    value = float(rows[row, column])
    return Question("value", row, column, value, value)


def judge(at: At, question: Question, answer: float, decimals: int) -> Verdict:
    """Whether the value is right, or which slip would give it: the token's place taken for its id, positions added
    already, the sign lost."""
    if equal(answer, question.answer, decimals):
        return "right"
    table = at.trace["embedding"]
    if question.row < table.shape[0] and equal(answer, float(table[question.row, question.column]), decimals):
        return "place"
    cell = (at.batch, question.row, question.column)
    if "pos_embed" in at.trace and equal(answer, float(at.trace["blocks.0.in"][cell]), decimals):
        return "with_position"
    return "sign" if equal(answer, -question.answer, decimals) else "wrong"


QUESTIONS: Mapping[str, Questions] = {"row": Questions(ask, judge)}


def program(at: At) -> Program:
    """From ids to the rows that enter the first block, positions added where they are; `result` (B, T, D). Of a table
    with more rows than there are ids only those that occur are given; the others are never read."""
    trace = at.trace
    ids, table = trace["tokens"], trace["embedding"]
    vocab, width = table.shape
    used = torch.unique(ids)
    if len(used) < vocab:
        inputs = {"ids": ids, "used": used, "rows": table[used]}
        body = [f"table = torch.zeros({vocab}, {width})  # (V, D)", "table[used] = rows  # those that these ids read"]
    else:
        inputs, body = {"ids": ids, "table": table}, ["# table (V, D)"]
    body += ["# ids (B, T)", "result = table[ids]  # (B, T, D): one row for each id"]
    if ids.numel() * vocab <= ONE_HOT_NUMBERS:
        body += [f"one_hot = torch.nn.functional.one_hot(ids, {vocab}).float()  # (B, T, V)",
                 "assert torch.equal(one_hot @ table, result)  # the same, with V times the work"]
    body += edited_lines(trace, "embed", "result")
    if "pos_embed" in trace:
        inputs["positions"], inputs["places"] = trace["positions"], trace["position_table"]
        body += ["added = places[positions]  # (B, T, D)", *edited_lines(trace, "pos_embed", "added"),
                 "result = result + added"]
    body += [*edited_lines(trace, "blocks.0.in", "result"), "print(result)"]
    return program_of("embedding", inputs, body)
