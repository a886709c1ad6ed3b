"""Undo and redo: what was chosen and edited, one moment after the other."""

from __future__ import annotations

from typing import NoReturn

from ui.bench.choices import BIAS, EXAMPLE, MASK, SEED, SIZES, SOURCE, TEXT, TYPED, count_of
from ui.bench.limits import SIZE_LETTERS
from ui.bench.location import acted
from ui.bench.session import Moment, ScopedEdits, session
from ui.bench.state import Bench, choose

MOST = 100  # moments that can be gone back


def record(bench: Bench) -> None:
    """Note what is chosen and edited now, if it is not what was noted last."""
    history, now = session().history, _now(bench)
    if history.now == now:
        return
    if history.now is not None:
        history.past = [*history.past, history.now][-MOST:]
        history.future = []
    history.now = now


def can_undo() -> bool:
    """Whether something was changed before."""
    return bool(session().history.past)


def can_redo() -> bool:
    """Whether a change was undone and nothing was changed since."""
    return bool(session().history.future)


def undo() -> None:
    """Go back to the moment before the last change, in the next run."""
    history = session().history
    if history.past and history.now is not None:
        history.future.append(history.now)
        _go_to(history.past.pop())


def redo() -> None:
    """Go on to the moment that was left by the last `undo`, in the next run."""
    history = session().history
    if history.future and history.now is not None:
        history.past.append(history.now)
        _go_to(history.future.pop())


def reset(scope: str | None) -> None:
    """Take back the edits of a scope, the chosen mask, the typed words and the order, so that the example is as it was
    built; in the next run."""
    edits = {name: cells for name, cells in session().bench.edits.items() if name != scope}
    _put(Moment(edits, {MASK.key: "", TYPED.key: ""}, None))


def is_reset(bench: Bench, scope: str | None) -> bool:
    """Whether `reset` would change nothing."""
    held = session().bench
    return not (held.edits.get(scope or "") or bench.mask.kind or bench.typed or held.order)


def _now(bench: Bench) -> Moment:
    """The source and the example as chosen, whatever stands in for them on a page; the rest from the bench."""
    held, counted = session().bench, count_of(bench.mask.kind)
    choices: dict[str, str | int] = {
        SOURCE.key: SOURCE.value(), EXAMPLE.key: EXAMPLE.value(), TYPED.key: bench.typed, TEXT.key: bench.text,
        BIAS.key: "on" if bench.bias else "", MASK.key: bench.mask.kind, SEED.key: bench.seed,
        **{SIZES[letter].key: getattr(bench.sizes, name) for letter, name in SIZE_LETTERS.items()},
        **({counted.key: bench.mask.number} if counted else {})}
    return Moment(_copied(held.edits), choices, held.order)


def _go_to(moment: Moment) -> NoReturn:
    session().history.now = moment
    _put(moment)


def _put(moment: Moment) -> NoReturn:
    held = session()
    acted()
    held.bench.edits, held.bench.order = _copied(moment.edits), moment.order
    held.replaced()
    choose(moment.choices)


def _copied(edits: ScopedEdits) -> ScopedEdits:
    return {scope: {name: dict(cells) for name, cells in names.items() if cells} for scope, names in edits.items()
            if any(names.values())}
