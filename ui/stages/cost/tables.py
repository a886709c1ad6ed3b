"""The tables of the page on costs: parts with their shares as bars, growth, shares by length; as HTML and as CSV."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Mapping, Sequence

import streamlit as st

from core.machine.datasheet import Device
from core.machine.ledger import Factor, Growth, Line, Saving
from core.notation import as_latex
from ui.shell import i18n
from ui.shell.i18n import _
from ui.shell.numbers import percent, quantity

ASKED = "?"
_COLUMNS = ("parameters", "prefill_flops", "prefill_bytes", "decode_flops", "decode_bytes")
_UNITS = {"parameters": "", "prefill_flops": "FLOP", "prefill_bytes": "B", "decode_flops": "FLOP", "decode_bytes": "B"}


def part_names() -> dict[str, str]:
    """The lines of the ledger in words."""
    return {
        "embedding": _("Embedding E, looked up"), "positions": _("Position table"),
        "projections": _("Projections WQ, WK, WV, WO"), "pairs": _("QKᵀ and AV, reading the cache"),
        "kept": _("New rows of K and V, kept"), "ffn": _("Feed-forward"), "norms": _("Norms"),
        "head": _("Vocabulary head W_vocab"), "total": _("Total"),
    }


def product_names() -> dict[str, str]:
    """The parts that are matrix products, in short; the one that grows with T·T first."""
    return {"pairs": _("QKᵀ and AV"), "projections": _("projections"), "ffn": _("feed-forward"),
            "head": _("vocabulary head")}


def growth_names() -> dict[str, str]:
    """The amounts of `core.ledger.doubling` in words."""
    return {
        "scores": _("Numbers in S of one layer, B·H·T·T"), "projections": _("Prefill: projections"),
        "pairs": _("Prefill: QKᵀ and AV"), "ffn": _("Prefill: feed-forward"),
        "head": _("Prefill: vocabulary head, last token"),
        "cache": _("KV cache"), "decode_pairs": _("Decode step: QKᵀ and AV"),
        "decode_ffn": _("Decode step: feed-forward"), "weights": _("Decode step: weights read"),
    }


def bounds() -> dict[str, str]:
    """What bounds a pass, in words."""
    return {"memory": _("memory"), "compute": _("arithmetic")}


def figures_of(device: Device, stored: str) -> str:
    """What a device does, and where the figures are from."""
    text = _("{device}: {flops} in {dtype}, {bandwidth}, {memory} of memory.").format(
        device=device.name, flops=quantity(device.peak(stored), "FLOP/s"), dtype=stored,
        bandwidth=quantity(device.bandwidth, "B/s"), memory=quantity(device.memory, "B"))
    if device.note == "measured":
        return text + " " + _("Measured on this machine.")
    notes = {"": "", "halved": _("halved where it counts sparsity"),
             "units": _("cores × clock × multiply-adds of all units in a cycle")}
    return text + " " + _("Source: {source}.").format(
        source="; ".join(filter(None, (device.source, notes[device.note]))))


def ledger_table(lines: Sequence[Line], lit: str) -> None:
    """Every part with its amounts, each with its share of the total as a thin bar; the line `lit` is marked."""
    names, total = part_names(), lines[-1]
    rows = []
    for line in lines:
        if line is not total and not any(line[1:]):
            continue
        cells = "".join(_amount(getattr(line, column), _UNITS[column], getattr(total, column), line is not total)
                        for column in _COLUMNS)
        kind = "lit" if line.part == lit else "total" if line is total else ""
        rows.append(f'<tr class="{kind}"><th scope="row">{html.escape(names[line.part])}</th>{cells}</tr>')
    passes = [(_("Prefill"), 2), (_("Decode step"), 2)]
    top = "".join(f'<th scope="colgroup" colspan="{span}">{html.escape(text)}</th>' for text, span in passes)
    second = "".join(f'<th scope="col">{html.escape(text)}</th>'
                     for text in (_("arithmetic"), _("bytes moved")) * len(passes))
    held = html.escape(_("parameters"))
    _scrolling(f'<thead><tr><td rowspan="2"></td><th scope="col" rowspan="2">{held}</th>{top}'
               f"</tr><tr>{second}</tr></thead><tbody>{''.join(rows)}</tbody>", _("What each part costs"))


def _amount(value: int, unit: str, total: int, barred: bool) -> str:
    """A cell: the amount in short, in full when pointed at, and its share of the column."""
    if not value:
        return "<td></td>"
    share = value / total if total else 0.0
    bar = f'<i style="width:{share:.2%}"></i>' if barred else ""
    part = f" · {percent(share)}" if barred else ""
    return f'<td title="{value:,} {unit}{part}"><span>{quantity(value, unit)}</span>{bar}</td>'


def growth_table(found: Sequence[Growth], tokens: int, asked: int | None) -> None:
    """What twice as many tokens do; the line that is `asked` for is hidden."""
    names = growth_names()
    rows = []
    for place, line in enumerate(found):
        hidden = place == asked
        twice = ASKED if hidden else quantity(line.twice, line.unit)
        factor = ASKED if hidden else f"×{line.factor:.5g}"
        rows.append(f'<tr class="{"lit" if hidden else ""}"><th scope="row">{html.escape(names[line.name])}</th>'
                    f"<td>{quantity(line.once, line.unit)}</td><td>{twice}</td><td>{factor}</td></tr>")
    head = [f"{i18n.axis('T')} = {count:,}" for count in (tokens, 2 * tokens)]
    _scrolling("<thead><tr><td></td>" + "".join(f'<th scope="col">{html.escape(text)}</th>'
                                                for text in (*head, _("factor")))
               + f"</tr></thead><tbody>{''.join(rows)}</tbody>", _("Twice as many tokens"))


def shares_table(by_length: Mapping[int, Mapping[str, float]], lit: int) -> None:
    """For each length the shares of the products as one bar; the length on screen is marked."""
    names, rows = product_names(), []
    for tokens, found in by_length.items():
        parts = {part: found[part] for part in names}
        bars = "".join(f'<i class="{part}" style="width:{share:.3%}" title="{html.escape(names[part])} '
                       f'{percent(share)}"></i>' for part, share in parts.items())
        cells = "".join(f"<td>{percent(share)}</td>" for share in parts.values())
        rows.append(f'<tr class="{"lit" if tokens == lit else ""}"><th scope="row">{tokens:,}</th>'
                    f'<td class="stack"><div>{bars}</div></td>{cells}</tr>')
    heads = "".join(f'<th scope="col"><i class="{part}"></i> {html.escape(name)}</th>' for part, name in names.items())
    _scrolling(f'<thead><tr><th scope="col">{html.escape(i18n.axis("T"))}</th><td></td>{heads}</tr></thead>'
               f"<tbody>{''.join(rows)}</tbody>", _("Shares of the arithmetic of a prefill"))


def rows_table(head: Sequence[str], rows: Sequence[Sequence[str]], label: str) -> None:
    """A table of texts, numbers in it printed already; the first column names the rows."""
    tops = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in head)
    body = "".join(f'<tr><th scope="row">{html.escape(row[0])}</th>'
                   + "".join(f"<td>{html.escape(text)}</td>" for text in row[1:]) + "</tr>" for row in rows)
    _scrolling(f"<thead><tr>{tops}</tr></thead><tbody>{body}</tbody>", label)


def _scrolling(table: str, label: str) -> None:
    st.html(f'<div class="ledger" role="region" tabindex="0" aria-label="{html.escape(label)}"><table>{table}</table>'
            "</div>")


def product_latex(found: Sequence[Factor]) -> str:
    """The product in letters, "FLOP = 4\\,L\\,B\\,…": the default's, which `formulas.formula` rewrites."""
    return r"\text{FLOP} = " + r"\,".join(_letter(factor) for factor in found)


def product_in_digits(found: Sequence[Factor], value: int) -> str:
    """The product in numbers, and what it comes to."""
    return r" \times ".join(str(factor.size) for factor in found) + rf" = \text{{{quantity(value, 'FLOP')}}}"


def _letter(factor: Factor) -> str:
    if not factor.name:
        return str(factor.size)
    written = {"new": r"T_{\mathrm{new}}", "read": r"T_{\mathrm{read}}", "heads": "(H + H_{kv})", "Dh": "D_h"}
    if factor.name == "V":  # in a formula V is the value matrix; a notation's own word is not rewritten
        return as_latex(i18n.axis("V"))
    return written.get(factor.name, factor.name)


def saving_texts() -> dict[str, tuple[str, str, str]]:
    """For each of `core.ledger.savings`: its name, what it reduces, and what still has to be looked at (D3 §8)."""
    return {
        "cache": (_("KV cache"), _("computing the old rows of K and V again"),
                  _("the memory it takes, and that every step reads all of it")),
        "sharing": (_("GQA, MQA"), _("heads of K and V, so bytes kept and read"),
                    _("quality: fewer heads have to serve all queries; the model is trained for it")),
        "fused": (_("FlashAttention"), _("writing S and A to memory and reading them back"),
                  _("device, type and shape that have such a kernel; the arithmetic stays T·T")),
        "window": (_("Sliding window of {window}"), _("keys that a query reads, so pairs and cache"),
                   _("what is lost: distant tokens are reached through several layers only")),
        "quantised": (_("Quantisation"), _("bytes of weights, or of the cache"),
                      _("precision, and a kernel for the type; the products are often computed in a wider one")),
        "batching": (_("Batching"), _("reading the weights once for each text"),
                     _("each text waits for the others, and brings its own cache")),
    }


def savings_rows(found: Sequence[Saving]) -> list[list[str]]:
    """Rows of the table of optimisations, with the numbers of this workload."""
    texts = saving_texts()
    return [[texts[saving.name][0].format(window=f"{saving.window or 0:,}"), texts[saving.name][1],
             f"{quantity(saving.before, saving.unit)} → {quantity(saving.after, saving.unit)}", texts[saving.name][2]]
            for saving in found]


def as_csv(lines: Sequence[Line]) -> bytes:
    """The ledger in full numbers."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(Line._fields)
    writer.writerows(lines)
    return buffer.getvalue().encode()
