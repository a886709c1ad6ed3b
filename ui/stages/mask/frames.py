"""Equations of the mask stage: the mask in its four places, the softmax in five steps, how a mask is broadcast."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from core import masks, ops
from core.stage import At
from core.stages import mask
from ui.bench import Bench
from ui.equation import (
    Add,
    Axis,
    Difference,
    Divide,
    Exp,
    Frame,
    Multiply,
    RowMax,
    RowSum,
    Rule,
    Softmax,
    default_strings,
    equation,
)
from ui.equation.views import View
from ui.shell import i18n
from ui.shell.i18n import _

Equation = tuple[list[Frame], list[Rule]]


def masked(view: View, at: At, where: str) -> Equation:
    """From S to the weights with the mask in one of `core.stages.mask.PLACES`."""
    words = (_("query ↓"), _("key →"))
    if where == "none":
        return _unmasked(view, at, words)
    if where in ("after", "renormalised"):
        return _masked_after(view, at, words, renormalised=where == "renormalised")
    scaled, masked, weights = (view.name(short) for short in ("scaled", "masked", "weights"))
    frames = [
        view.frame("scaled", scaled, editable=True, words=words),
        view.frame("mask", "mask", sign="+", words=words),
        view.frame("masked", masked, sign="=", words=words),
        view.frame("weights", weights, sign=_("softmax"), words=words, row_sums=True, shade=(0.0, 1.0)),
    ]
    ids = {frame.name: frame.id for frame in frames}
    return frames, [view.rule(masked, ids), view.rule(weights, ids)]


def _unmasked(view: View, at: At, words: tuple[str, str]) -> Equation:
    """S and its softmax without the mask."""
    values = mask.masking(at, "none").weights
    frames = [view.frame("scaled", view.name("scaled"), editable=True, words=words),
              _weights(view, "weights", values, words, sign=_("softmax"), label=f"softmax({i18n.symbol('scaled')})")]
    return frames, [Softmax("weights", "scaled")]


def _masked_after(view: View, at: At, words: tuple[str, str], *, renormalised: bool) -> Equation:
    """softmax(S), times what the mask keeps, and with `renormalised` over what is left of each row."""
    plain, left, again = (mask.masking(at, place) for place in ("none", "after", "renormalised"))
    kept = replace(view.frame("keep", "mask", sign="×", words=words), name="keep", shade=(0.0, 1.0),
                   label=f"[{i18n.symbol('mask')}=0]", values=view.matrix(mask.keep(at.trace["mask"])))
    frames = [_weights(view, "plain", plain.weights, words, label=f"softmax({i18n.symbol('scaled')})"), kept,
              _weights(view, "left", left.weights, words, sign="=", label=_("what is left"))]
    rules: list[Rule] = [Multiply("left", "plain", "keep")]
    if renormalised:
        sums = replace(_column(view, "sums", left.sums[..., None], sign="÷", label="Σ"), role="weight")
        frames += [sums, _weights(view, "weights", again.weights, words, sign="=", label=i18n.symbol("weights"))]
        rules += [RowSum("sums", "left"), Divide("weights", "left", "sums")]
    return frames, rules


def opened(view: View, where: str, *, key: str, bench: Bench) -> None:
    """The softmax of every row as its five steps: maximum, difference, exponential, sum, quotient; of S + M, or where
    the mask is not put before it, of S."""
    name = view.name("masked" if where == "before" else "scaled")
    symbol, weights = i18n.symbol(name), i18n.symbol("weights")
    steps = ops.softmax_steps(view.trace[name])
    masked = replace(view.frame("masked", name), editable=False)
    frames = [
        masked,
        _column(view, "top", steps.top, sign="−", label="max"),
        replace(masked, id="shifted", name="shifted", label=f"{symbol}−max", sign="=",
                values=view.matrix(steps.shifted), cut=False),
        replace(masked, id="powers", name="powers", label="exp", sign="e^", values=view.matrix(steps.exponentials),
                role="weight", cut=False),
        _column(view, "sums", steps.total, sign="÷", label="Σ"),
        _weights(view, "weights", steps.weights, ("", ""), sign="=",
                 label=weights if where in ("before", "none") else f"softmax({symbol})"),
    ]
    rules: list[Rule] = [
        RowMax("top", "masked"), Difference("shifted", "masked", "top"),
        Exp("powers", "shifted"), RowSum("sums", "powers"),
        Divide("weights", "powers", "sums"),
    ]
    equation(frames, rules, key=key, decimals=bench.decimals, strings=default_strings(_))


def broadcast(view: View, bench: Bench, *, key: str) -> None:
    """A causal mask [T,T] plus a padding mask of one row gives the whole mask: the row serves every query."""
    tokens = view.trace["mask"].shape[-1]
    hidden = min(bench.mask.number, tokens)
    rows = view.frame("mask", "mask")
    frames = [
        replace(rows, id="causal", name="causal", label=_("causal"),
                values=masks.build("causal", tokens)[0, 0].numpy()),
        replace(rows, id="padding", name="padding", label=_("padding"), sign="+", rows=Axis("1"),
                values=masks.padding(tokens, hidden)[0, 0].numpy()),
        replace(rows, id="sum", name="sum", label=i18n.symbol("mask"), sign="=",
                values=masks.build("both", tokens, hidden)[0, 0].numpy()),
    ]
    equation(frames, [Add("sum", "causal", "padding")], key=key, decimals=bench.decimals, strings=default_strings(_))


def _weights(
    view: View, id: str, values: Tensor, words: tuple[str, str], *, sign: str = "", label: str,
) -> Frame:
    """Weights (B, H, Tq, Tk) that are not those of the trace, as a frame with row sums."""
    frame = view.frame(id, view.name("weights"), sign=sign, words=words, row_sums=True, shade=(0.0, 1.0))
    return replace(frame, name=id, label=label, values=view.matrix(values), cut=False)


def _column(view: View, id: str, values: Tensor, *, sign: str, label: str) -> Frame:
    """One number for each row, (B, H, Tq, 1), as a narrow frame."""
    frame = view.frame(id, view.name("masked"), sign=sign)
    return replace(frame, name=id, label=label, values=view.matrix(values), cols=Axis("1"), cut=False)
