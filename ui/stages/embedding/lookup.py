"""Looking rows up on a page: ids, the table with the rows that are read, the rows, and what positions add to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from torch import Tensor

from core import worked
from core.comparison import Comparison
from core.stages.embedding.rows import Looked, Placed
from core.trace import Trace
from ui.bench import Bench
from ui.equation import Add, Axis, Difference, Frame, Lookup, Matmul, Rule, default_strings, equation
from ui.equation.views import View
from ui.shell import i18n
from ui.shell.i18n import _

WHOLE_TABLE = 12  # rows; of a longer table only those that are read are shown
ONE_HOT = 32  # rows; up to here the product with one-hot rows is written out


def looked_up(
    view: View, placed: Placed, *, own: bool, window: tuple[int, int] | None,
) -> tuple[list[Frame], list[Rule]]:
    """ids → E → E[ids], and the positions of `placed` added; `own` says that they are those of the trace itself.
    `window` (first, count) is the part of D that is sent."""
    trace = view.trace
    ids = trace["tokens"][view.batch]
    made = view.frame("embed", "embed", sign="=", words=(_("token ↓"), ""), columns=window,
                      shade=view.extent("embed") if window else None)
    upright = view.frame("ids", "tokens", transposed=True, words=("", _("one text ↓")))
    frames = [replace(upright, label=i18n.symbol("tokens"), whole=True, vector=True),
              replace(_table(trace, ids, window), editable=view.editable), made]
    rules: list[Rule] = [Lookup("embed", "ids", "table")]
    if own and "pos_embed" in trace:
        frames += [_from_zero(view.frame("added", "pos_embed", sign="+", columns=window)),
                   view.frame("total", "blocks.0.in", sign="=", columns=window)]
    elif placed.added is not None:
        added, total = (_part(tensor, window) for tensor in (placed.added, placed.total[view.batch]))
        frames += [_from_zero(replace(made, id="added", name="added", label=i18n.symbol("pos_embed"), values=added,
                                      sign="+", role="position", slice="")),
                   replace(made, id="total", name="total", label=i18n.symbol("in"), values=total)]
    if len(frames) > len(("ids", "table", "embed")):
        rules.append(Add("total", "embed", "added"))
    return frames, rules


def _table(trace: Trace, ids: Tensor, window: tuple[int, int] | None = None, *, most: int = WHOLE_TABLE) -> Frame:
    """E whole where it has up to `most` rows, else the rows of these ids, brought together in the order of their
    numbers."""
    table = trace["embedding"]
    vocab = table.shape[0]
    places = list(range(vocab)) if vocab <= most else sorted(set(ids.tolist()))
    pieces = _pieces(trace)
    labels = [f"{place} {pieces[place]}" if place in pieces else str(place) for place in places]
    columns = Axis("D", "", (), window[0] if window else 0, table.shape[1], i18n.axis("D"))
    rows = table[places]
    shade = (min(0.0, float(rows.min())), max(0.0, float(rows.max()))) if window else None
    return Frame("table", "embedding", i18n.symbol("embedding"), "parameter", _part(rows, window),
                 Axis("V", "", labels, 0, vocab, i18n.axis("V"), places, index="id "), columns, "→", shade=shade)


def _from_zero(frame: Frame) -> Frame:
    """With rows under the numbers of their positions."""
    rows = replace(frame.rows, word=_("position ↓"), labels=(), places=range(len(frame.values)))
    return replace(frame, rows=rows)


def _pieces(trace: Trace) -> dict[int, str]:
    """The piece of each id, as far as it is known and says more than the id."""
    example = worked.EXAMPLES.get(trace.source)
    if example is not None and example.prompt:
        return dict(enumerate(example.words))
    pieces = dict(zip(trace["tokens"][0].tolist(), trace.tokens, strict=False))
    return {token: piece for token, piece in pieces.items() if piece != f"#{token}"}


def _part(tensor: Tensor, window: tuple[int, int] | None) -> np.ndarray:
    first, count = window or (0, tensor.shape[-1])
    return np.ascontiguousarray(tensor[..., first:first + count].detach().float().cpu().numpy())


def _ids(ids: Tensor, labels: Sequence[str]) -> Frame:
    """ids (T,) as a column."""
    return Frame("ids", "ids", i18n.symbol("tokens"), "token", ids.float().cpu().numpy()[:, None],
                 Axis("T", _("one text ↓"), labels, letter=i18n.axis("T")), Axis("1"), whole=True, vector=True)


def _labels(trace: Trace, ids: Tensor) -> list[str]:
    """The pieces of ids (1, T)."""
    pieces = _pieces(trace)
    return [pieces.get(token, f"#{token}") for token in ids[0].tolist()]


def repeated(trace: Trace, ids: Tensor, rows: Tensor, *, key: str, bench: Bench) -> None:
    """Rows of ids (1, T) of their own, looked up."""
    first, table = _ids(ids[0], _labels(trace, ids)), _table(trace, ids[0])
    made = Frame("rows", "rows", i18n.symbol("embed"), "residual", _part(rows[0], None), first.rows, table.cols,
                 "=")
    equation([first, table, made], [Lookup("rows", "ids", "table")], key=key, decimals=bench.decimals,
             strings=default_strings(_))


def one_hot(view: View, found: Looked, *, key: str, bench: Bench) -> None:
    """The one-hot rows × E = the same rows; only for a vocabulary of up to `ONE_HOT`."""
    trace, vocab = view.trace, found.one_hot.shape[-1]
    table = replace(_table(trace, trace["tokens"][view.batch], most=ONE_HOT), sign="×")
    rows = Axis("T", _("token ↓"), view.labels("T", found.rows.shape[1]), letter=i18n.axis("T"))
    frames = [
        Frame("one_hot", "one_hot", _("one-hot"), "token", _part(found.one_hot[view.batch], None), rows,
              Axis("V", _("one column for each id"), letter=i18n.axis("V"), places=range(vocab))),
        table,
        Frame("product", "product", i18n.symbol("embed"), "residual", _part(found.product[view.batch], None), rows,
              table.cols, "="),
    ]
    equation(frames, [Matmul("product", "one_hot", "table", "V")], key=key, decimals=bench.decimals,
             strings=default_strings(_))


def compared(
    trace: Trace, ids: Tensor, found: Comparison, window: tuple[int, int] | None, *, key: str, bench: Bench,
) -> None:
    """Rows of ids (1, T) of their own: the wrong ones, the right ones and the difference, on one scale."""
    if found.wrong is None or found.difference is None:
        return
    parts = [_part(tensor[0], window) for tensor in (found.wrong, found.right, found.difference)]
    bound = float(np.abs(np.stack(parts[:2])).max())
    rows, columns = _ids(ids[0], _labels(trace, ids)).rows, _table(trace, ids[0], window).cols
    texts = (("wrong", "", _("wrong {symbol}")), ("right", "", _("right {symbol}")),
             ("difference", _("wrong − right ="), _("difference")))
    frames = [Frame(id, id, label.format(symbol=i18n.symbol("embed")), "residual", values, rows, columns, sign,
                    shade=(-bound, bound))
              for (id, sign, label), values in zip(texts, parts, strict=True)]
    equation(frames, [Difference("difference", "wrong", "right")], key=key, decimals=bench.decimals,
             strings=default_strings(_))
