"""An id without a row, a place taken for an id, rows that no token uses."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from core import comparison, embedding
from core.comparison import Comparison
from core.errors import TokenOutOfRange


class Outside(NamedTuple):
    """What becomes of an id in three hands: the error of this project, what torch's own embedding says, and the row
    that NumPy gives without complaint (case A1); None for those that do the other thing."""

    error: TokenOutOfRange | None
    torch_error: str | None
    numpy_row: tuple[float, ...] | None


def outside(table: Tensor, token: int) -> Outside:
    """Really try an id, negative or too large say, on a table (V, D)."""
    error = None
    try:
        embedding.lookup(table, torch.tensor([token]))
    except TokenOutOfRange as refused:
        error = refused
    rows = table.detach().cpu()
    said = comparison.refusal(lambda: torch.nn.functional.embedding(torch.tensor([token]), rows))
    row = None if comparison.refusal(lambda: rows.numpy()[token]) else tuple(rows.numpy()[token].tolist())
    return Outside(error, said, row)


def by_place(table: Tensor, ids: Tensor) -> Comparison:
    """Row t for token t in place of the row of its id: right and wrong (B, T, D) of a table (V, D), ids (B, T). Of a
    table with fewer rows than tokens the error stands in place of the wrong rows."""
    right = embedding.lookup(table, ids)
    places = torch.arange(ids.shape[-1]).expand(ids.shape)
    said = comparison.refusal(lambda: table.cpu()[places])
    wrong = None if said else table[places.to(table.device)]
    return Comparison(right, wrong, None if wrong is None else wrong - right, None, said)


class Padded(NamedTuple):
    """Rows of a table that no token uses, since the table was made larger than the vocabulary (case A2)."""

    rows: int
    beyond_base: int
    beyond_all: int


def padded(rows: int, base: int, added: int = 0) -> Padded:
    """`rows` of the table, `base` tokens of the tokenizer and `added` special ones."""
    return Padded(rows, rows - base, rows - base - added)
