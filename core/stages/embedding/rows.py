"""Looking rows up: a lookup beside the one-hot product, what repeats, what positions add, what context changes."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from core import embedding
from core.check import largest_difference
from core.errors import ShapeError, UnknownOption
from core.trace import Trace

KINDS = ("none", "learned", "sinusoidal", "rope", "relative")
ActsOn = Literal["nothing", "rows", "queries and keys", "scores"]
_ELSEWHERE: dict[str, ActsOn] = {"none": "nothing", "rope": "queries and keys", "relative": "scores"}


def acts_on(kind: str) -> ActsOn:
    """What positions of a kind change. Raises UnknownOption."""
    if kind not in KINDS:
        raise UnknownOption("positions", kind, KINDS)
    return _ELSEWHERE.get(kind, "rows")


class Sizes(NamedTuple):
    """ids (B, T) into a table (V, D)."""

    batch: int
    tokens: int
    vocab: int
    width: int


EXAMPLES = {"d0": Sizes(batch=2, tokens=4, vocab=10_000, width=8),  # D0 §3
            "d1": Sizes(batch=1, tokens=10, vocab=32_000, width=4096)}  # D1 §2


class Work(NamedTuple):
    """What the rows of B·T ids take: numbers in the table and its bytes, numbers that a lookup reads, multiplications
    of a product with one-hot rows, and of those the ones by 0, which nobody needs; the others multiply by 1."""

    table: int
    table_bytes: int
    read: int
    multiplications: int
    by_zero: int


def work(batch: int, tokens: int, vocab: int, width: int, dtype: torch.dtype = torch.float32) -> Work:
    """From the sizes alone; no table is made. Raises ShapeError for a size below 1."""
    if min(batch, tokens, vocab, width) < 1:
        raise ShapeError("every size is at least 1", sizes=(batch, tokens, vocab, width))
    read, products = batch * tokens * width, batch * tokens * vocab * width
    return Work(vocab * width, vocab * width * dtype.itemsize, read, products, products - read)


class Looked(NamedTuple):
    """The rows of ids (B, T) in a table (V, D): looked up, and as one-hot (B, T, V) × table; both (B, T, D), with their
    largest difference."""

    rows: Tensor
    one_hot: Tensor
    product: Tensor
    difference: float


def look_up(table: Tensor, ids: Tensor) -> Looked:
    """Both ways, really done. Meant for a small vocabulary: `one_hot` has V numbers for each id. Raises
    TokenOutOfRange."""
    rows = embedding.lookup(table, ids)
    product = embedding.one_hot_product(table, ids)
    one_hot = embedding.one_hot_product(torch.eye(table.shape[0]).to(table), ids)  # the table of one-hot rows itself
    return Looked(rows, one_hot, product, largest_difference(rows, product))


def first_again(ids: Tensor, batch: int) -> Tensor:
    """A batch entry of ids (B, T) with its first id once more at the end: (1, T + 1)."""
    return torch.cat([ids[batch], ids[batch, :1]])[None]


class Repeats(NamedTuple):
    """An id that stands in several places (batch entry, token), from 0, and whether the rows there are equal to the
    last digit."""

    id: int
    places: tuple[tuple[int, int], ...]
    equal: bool


def repeats(ids: Tensor, rows: Tensor) -> tuple[Repeats, ...]:
    """Every id of (B, T) that occurs more than once, in order of first occurrence, with its rows (B, T, D)."""
    places: dict[int, list[tuple[int, int]]] = {}
    for b, line in enumerate(ids.tolist()):
        for t, token in enumerate(line):
            places.setdefault(token, []).append((b, t))
    return tuple(
        Repeats(token, tuple(found), all(torch.equal(rows[found[0]], rows[place]) for place in found))
        for token, found in places.items() if len(found) > 1)


class Placed(NamedTuple):
    """Rows (B, T, D) with what a kind of positions adds here (T, D), and the sum. RoPE and relative biases add nothing
    to the rows: `added` is None, `total` the rows. RoPE acts on Q and K, a relative bias on the scores."""

    kind: str
    added: Tensor | None
    total: Tensor
    acts_on: ActsOn


def place(rows: Tensor, kind: str, table: Tensor | None = None) -> Placed:
    """Add positions 0, 1, … of a kind to rows; "learned" takes the first T rows of `table` (P, D). Raises ShapeError
    for a table that is missing, too short or of another width, or an odd width with "sinusoidal"; UnknownOption."""
    tokens, width = rows.shape[-2:]
    if kind == "learned":
        if table is None or table.shape[0] < tokens or table.shape[1] != width:
            raise ShapeError("a learned table has a row for each position", rows=rows.shape,
                             table=() if table is None else table.shape)
        added = table[:tokens]
    elif kind == "sinusoidal":
        added = embedding.sinusoidal(tokens, width).to(rows)
    else:
        return Placed(kind, None, rows, acts_on(kind))
    return Placed(kind, added, rows + added, acts_on(kind))


def placed(trace: Trace, kind: str) -> Placed:
    """Positions of a kind added to the embedding rows of a trace, from its own table where it has one. Raises as
    `place`."""
    return place(trace["embed"], kind, trace["position_table"] if "position_table" in trace.names() else None)


class Alike(NamedTuple):
    """How alike two tokens are after each layer, as cosines of their rows of the residual stream: `stages` names the
    tensors compared, the embedding rows first, then with positions if any are added; `same_id` says whether both are
    the same token, `same_before` whether the tokens before them are."""

    stages: tuple[str, ...]
    cosines: tuple[float, ...]
    same_id: bool | None
    same_before: bool | None


def alike(one: Trace, at: int, other: Trace, other_at: int, *, batch: int = 0) -> Alike:
    """A token of one trace beside a token of another of the same model, layer by layer; the traces may be the same.
    Without ids neither is known: None. Raises ShapeError where the models differ in layers or width."""
    if (one.config.layers, one.config.width) != (other.config.layers, other.config.width):
        raise ShapeError("both traces are of the same model", one=(one.config.layers, one.config.width),
                         other=(other.config.layers, other.config.width))
    layers = one.config.layers
    first = ["embed", *(["blocks.0.in"] if "pos_embed" in one else [])]
    names = [*first, *(f"blocks.{layer}.in" for layer in range(1, layers)), f"blocks.{layers - 1}.out"]
    names = [name for name in names if name in one and name in other]
    both = [(one[name][batch, at].double(), other[name][batch, other_at].double()) for name in names]
    cosines = [float(torch.cosine_similarity(a, b, dim=0)) for a, b in both]
    if "tokens" not in one or "tokens" not in other:
        return Alike(tuple(names), tuple(cosines), None, None)
    ids, other_ids = one["tokens"][batch, :at + 1], other["tokens"][batch, :other_at + 1]
    return Alike(tuple(names), tuple(cosines), bool(ids[-1] == other_ids[-1]), torch.equal(ids[:-1], other_ids[:-1]))


def shared(one: Trace, other: Trace, *, batch: int = 0) -> dict[int, tuple[int, int]]:
    """Every id that both traces have, with the place of its last token in each, from 0, in the order of the first
    trace: the last one has read the most."""
    places = [{token: place for place, token in enumerate(trace["tokens"][batch].tolist())} for trace in (one, other)]
    return {token: (place, places[1][token]) for token, place in places[0].items() if token in places[1]}


class Waves(NamedTuple):
    """Columns of the sinusoidal table over positions 0, 1, …: `columns` (from 0, the sine of a pair each), `values`
    (positions, columns) and how many positions one wave is long."""

    columns: tuple[int, ...]
    values: Tensor
    lengths: tuple[float, ...]


WAVE_POSITIONS = 64
_WAVES = 4


def waves(width: int) -> Waves:
    """Up to four columns, spread evenly over the pairs of an even width D: fast ones first. Raises ShapeError."""
    table = embedding.sinusoidal(WAVE_POSITIONS, width)
    pairs = width // 2
    chosen = sorted({pairs * wave // _WAVES for wave in range(_WAVES)})
    columns = tuple(2 * pair for pair in chosen)
    return Waves(columns, table[:, list(columns)], tuple(2 * math.pi * 10000.0 ** (c / width) for c in columns))
