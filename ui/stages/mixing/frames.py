"""Equations of the page on mixing: a row of weights chosen by hand, and the whole chain from X to the output."""

from __future__ import annotations

from dataclasses import replace

from core.stages.mixing.blend import Blend
from ui.bench import Bench
from ui.equation import Axis, Frame, Matmul, Rule, Transpose, default_strings, equation
from ui.equation.views import View, projected
from ui.shell import i18n
from ui.shell.i18n import _

WRITTEN_OUT = 16  # up to this width the chain from X to O begins with X and ends with O


def blended(view: View, made: Blend, *, key: str, bench: Bench) -> None:
    """A row of weights chosen by hand × V = the blend."""
    v = view.frame("v", view.name("v"), sign="×")
    frames = [
        Frame("chosen", "chosen", _("your weights"), "weight", made.weights.numpy(), Axis("1"),
              Axis("T", _("value →"), v.rows.labels, letter=i18n.axis("Tk")), row_sums=True),
        v,
        Frame("blend", "blend", _("weighted sum"), "value", made.mixed.numpy(), Axis("1"), v.cols, sign="="),
    ]
    equation(frames, [Matmul("blend", "chosen", "v", "T")], key=key, decimals=bench.decimals,
             strings=default_strings(_))


def chain(view: View) -> tuple[list[Frame], list[Rule]]:
    """One head from X to the output, every step a frame: from Q, K and V on where X is wide, to AV where there is no
    WO that can be written out."""
    trace, name = view.trace, view.name
    frames: list[Frame] = []
    rules: list[Rule] = []
    wide = trace.config.width > WRITTEN_OUT
    if not wide:
        frames, rules = projected(view, "qkv", None)
    q, k = trace.steps[name("scores")].reads
    ids = {name(letter): f"{letter}_made" for letter in "qkv" if not wide}
    turned = _("RoPE:") if trace.config.positions == "rope" and not wide else ""
    if q not in ids:
        ids[q] = "q"
        frames.append(view.frame("q", q, sign=turned))
    if k in ids:
        rules.append(Transpose("k", ids[k]))
    frames.append(view.frame("k", k, transposed=True, sign="×" if ids[q] == "q" else f"{i18n.symbol('q')} ×"))
    masked = bool((trace["mask"] != 0).any())
    steps = [("scores", "="), ("scaled", f"÷ {view.root()} ="), *([("masked", "=")] if masked else []),
             ("weights", _("softmax →"))]
    ids |= {k: "k", "mask": "mask"} | {name(short): short for short, _sign in steps}
    if not masked:
        ids[name("masked")] = "scaled"  # without a mask S + M is S
    for short, sign in steps:
        if short == "masked":
            frames.append(view.frame("mask", "mask", sign="+"))
        frames.append(view.frame(short, name(short), sign=sign, row_sums=short == "weights"))
        rules.append(view.rule(name(short), ids))
    if name("v") not in ids:
        ids[name("v")] = "v"
        frames.append(view.frame("v", name("v"), sign="×"))
    ids[name("context")] = "context"
    frames.append(view.frame("context", name("context"), sign="=" if wide else f"× {i18n.symbol('v')} ="))
    rules.append(view.rule(name("context"), ids))
    if not wide and name("attn_out") in trace:
        made = name("attn_out")
        concat, *parameters = trace.steps[made].reads
        ids |= {read: read.rsplit(".", 1)[-1] for read in (concat, *parameters, made)}
        signs = [_("all heads:"), "×", "+"]
        frames += [view.frame(ids[read], read, sign=sign)
                   for read, sign in zip((concat, *parameters), signs, strict=False)]
        frames.append(view.frame(ids[made], made, sign="="))
        rules.append(view.rule(made, ids))
    return [replace(frame, compact=True, editable=False) for frame in frames], rules
