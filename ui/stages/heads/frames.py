"""Frames of the heads page: a tensor on its way between [T, H·Dh] and [H, T, Dh], through WO, and what a head adds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from core.stages.heads import index_map
from ui import bench as bench_module
from ui.equation import MAX_SIDE, Add, Frame, Matmul, Move, Rule
from ui.equation.views import View
from ui.furniture.stacks import names, stack
from ui.shell import i18n
from ui.shell.i18n import _


def side_by_side(view: View, id: str, name: str, *, told: bool = True, **more: Any) -> Frame:
    """A tensor (B, T, H·Dh) with the heads side by side in its columns, a line where the next head begins; `told` says
    whose each column is."""
    config = view.trace.config
    total = view.trace[name].shape[-1]
    window = bench_module.window("H·Dh", total, view.head * config.head_dim)
    frame = view.frame(id, name, columns=window, shade=view.extent(name) if window else None, **more)
    if not told:
        return frame
    first, count = window or (0, total)
    names = [f"h{column // config.head_dim + 1}·{column % config.head_dim + 1}"
             for column in range(first, first + count)]
    return replace(frame, rows=replace(frame.rows, index="t"),
                   cols=replace(frame.cols, labels=names, index="c", band=config.head_dim))


def _split(view: View) -> index_map.SplitMerge:
    return index_map.split_and_merge(view.trace[view.name("q_proj")][view.batch], view.trace.config.heads)


def split(view: View) -> tuple[list[Frame], list[Rule]]:
    """Q [T, H·Dh] → reshape [T, H, Dh] → transpose [H, T, Dh]."""
    found, config, tokens = _split(view), view.trace.config, view.trace.sizes["T"]
    frames = [
        side_by_side(view, "before", view.name("q_proj"), editable=True),
        stack(view, "reshaped", found.reshaped, ("T", "H", "Dh"), label=i18n.symbol("q"), role="query",
              sign=_("reshape →")),
        stack(view, "split", found.split, ("H", "T", "Dh"), label=i18n.symbol("q"), role="query",
              sign=_("transpose →"), first=view.head * tokens),
    ]
    return frames, [Move("reshaped", "before"), Move("split", "reshaped", (tokens, config.heads, config.head_dim))]


def viewed(view: View) -> tuple[list[Frame], list[Rule]]:
    """The same Q read as [H, T, Dh] without the transpose, beside what is right; each wrong row says whose it is."""
    found, config, tokens = _split(view), view.trace.config, view.trace.sizes["T"]
    labels = names(view, "T", tokens)
    mixed = index_map.index_map(tokens, config.heads, config.head_dim).mixed()
    notes = tuple("" if held == (place,) else _("from {token}").format(token=i18n.listed(labels[one] for one in held))
                  for head in mixed for place, held in enumerate(head))
    wrong, right = (
        stack(view, id, tensor, ("H", "T", "Dh"), label=label.format(symbol=i18n.symbol("q")), role="query", sign=sign,
              first=view.head * tokens, notes=said)
        for id, tensor, label, sign, said in (
            ("viewed", found.viewed, _("wrong {symbol}"), _("view →"), notes),
            ("split", found.split, _("right {symbol}"), _("but"), ())))
    bound = float(np.abs(wrong.values).max())
    frames = [side_by_side(view, "before", view.name("q_proj"), editable=True),
              replace(wrong, shade=(-bound, bound)), replace(right, shade=(-bound, bound))]
    return frames, [Move("viewed", "before"), Move("split", "before", (tokens, config.heads, config.head_dim))]


def merged(view: View) -> tuple[list[Frame], list[Rule]]:
    """AV [H, T, Dh] → transpose [T, H, Dh] → reshape → Z [T, H·Dh]."""
    config, tokens = view.trace.config, view.trace.sizes["T"]
    context = view.trace[view.name("context")][view.batch]  # (H, T, Dh)
    symbol = i18n.symbol("context")
    frames = [
        stack(view, "heads", context, ("H", "T", "Dh"), label=symbol, role="value", first=view.head * tokens),
        stack(view, "turned", context.transpose(0, 1), ("T", "H", "Dh"), label=symbol, role="value",
              sign=_("transpose →")),
        side_by_side(view, "concat", view.name("concat"), sign=_("reshape →")),
    ]
    return frames, [Move("turned", "heads", (config.heads, tokens, config.head_dim)), Move("concat", "turned")]


def through_wo(view: View) -> tuple[list[Frame], list[Rule]]:
    """Z × WO = O, a line between the columns and rows of one head and those of the next; of wide ones a part of the
    sum, and what the rest adds up to."""
    made = view.name("attn_out")
    _concat, *parameters = view.trace.steps[made].reads
    z = side_by_side(view, "concat", view.name("concat"))
    inner = (z.cols.offset, z.values.shape[1])
    columns = bench_module.window("D", view.trace.config.width)
    ids = {view.name("concat"): "concat", made: "attn_out"} | {name: name[-2:] for name in parameters}
    frames = [z]
    for name, sign in zip(parameters, ("×", "+"), strict=False):
        part = inner if name == parameters[0] else None
        frames.append(view.frame(ids[name], name, editable=True, sign=sign, columns=columns, part=part,
                                 shade=view.extent(name) if columns or z.shape[1] > inner[1] else None))
    frames[1] = replace(frames[1], rows=replace(frames[1].rows, labels=z.cols.labels, band=z.cols.band))
    frames.append(view.frame("attn_out", made, sign="=", columns=columns))
    rule = view.rule(made, ids)
    if isinstance(rule, Matmul) and z.shape[1] > inner[1]:
        first, count = columns or (0, view.trace.config.width)
        before, after = (part[:, first:first + count].float().numpy() for part in index_map.outside(
            view.trace, view.layer, view.batch, inner[0], sum(inner)))
        rule = replace(rule, rest=(before, after))
    return [replace(frame, rows=replace(frame.rows, index=""), cols=replace(frame.cols, index=""))
            for frame in frames], [rule]


def blocks_of_wq(view: View) -> tuple[list[Frame], list[Rule]] | None:
    """X × WQ = Q for all heads, with a line where the columns of the next head begin; None where X is too wide."""
    x, made = view.trace.attention_input(view.layer), view.name("q_proj")
    if max(view.trace[x].shape[-1], view.trace[made].shape[-1]) > MAX_SIDE:
        return None
    _x, parameter, *bias = view.trace.steps[made].reads
    ids = {x: "x", parameter: "w", made: "made", **dict.fromkeys(bias, "bias")}
    frames = [view.frame("x", x), side_by_side(view, "w", parameter, sign="×"),
              *(side_by_side(view, "bias", name, sign="+") for name in bias),
              side_by_side(view, "made", made, sign="=")]
    frames = [replace(frame, rows=replace(frame.rows, index=""), cols=replace(frame.cols, index=""))
              for frame in frames]
    return frames, [view.rule(made, ids)]


def added(view: View) -> tuple[list[Frame], list[Rule]]:
    """This head's AV × its rows of WO = its part; plus what the others add = O."""
    trace, made = view.trace, view.name("attn_out")
    found = index_map.added(trace, view.layer, view.batch, view.head)
    width = trace.config.head_dim
    context = view.frame("context", view.name("context"))
    window = bench_module.window("D", trace.config.width)
    w = view.frame("wo", view.name("wo"), sign="×", part=(view.head * width, width), columns=window)
    total = view.frame("attn_out", made, sign="=", columns=window)
    first, count = window or (0, trace.config.width)

    def part(id: str, label: str, tensor: Tensor, sign: str) -> Frame:
        values = np.ascontiguousarray(tensor[:, first:first + count].detach().float().cpu().numpy())
        return replace(total, id=id, name=id, label=label, values=values, sign=sign, cut=False)

    symbol = i18n.symbol("attn_out")
    frames = [
        context,
        replace(w, name="wo_block", rows=replace(w.rows, axis="Dh", letter=i18n.axis("Dh"), total=None, offset=0),
                slice=f"h={view.head + 1}"),
        part("part", _("{symbol} of head {head}").format(symbol=symbol, head=view.head + 1), found.part, "="),
        part("others", _("{symbol} of the others").format(symbol=symbol), found.others, "+"),
        total,
    ]
    return frames, [Matmul("part", "context", "wo", "Dh"), Add("attn_out", "part", "others")]
