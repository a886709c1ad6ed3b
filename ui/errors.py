"""What went wrong and what to do, in the user's language: one wording for each type in `core.errors`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core import errors
from core.live import errors as live_errors
from core.notation import AXES
from ui import i18n
from ui.i18n import N_, _

_LONGEST_NAME = 40  # characters of a name from a file that a message repeats
_SIZE_NAMES = {
    "width": "D", "heads": "H", "kv_heads": "Hkv", "head_dim": "Dh", "ffn_width": "F", "vocab": "V", "layers": "L",
    "batch": "B", "tokens": "T", "seed": N_("seed"),
    "axes": N_("number of axes"), "axis": N_("size of an axis"), "numbers": N_("count of numbers"),
}


def explain(error: errors.WorkbenchError) -> str:
    """One or two sentences: the offending value, and what would work. Markdown-safe: typed text never enters it."""
    for kind, words in _WORDS.items():
        if isinstance(error, kind):
            return words(error)
    return _("Something in the computation does not fit together. The last good numbers stay on screen.")


def _size(field: str) -> str:
    name = _SIZE_NAMES.get(field, field)
    return i18n.axis(name) if name in AXES else _(name)


def _indivisible(error: Any) -> str:
    fits = _(" or ").join(str(n) for n in error.fits)
    text = _("{field} = {value} cannot be shared out evenly over {by} = {divisor}. {field} = {fits} would work, and so "
             "would {by} = {divisors}.")
    return text.format(
        field=_size(error.field), value=error.value, by=_size(error.by), divisor=error.divisor, fits=fits,
        divisors=", ".join(str(n) for n in error.divisors))


def _out_of_range(error: Any) -> str:
    return _("{field} = {value} is out of range. It must be a whole number from {low} to {high}.").format(
        field=_size(error.field), value=error.value, low=error.low, high=error.high)


def _missing(error: Any) -> str:
    return _("The live model is not installed here. This command, run once in the app's folder, installs it:") + \
        f"\n\n```\n{error.command}\n```\n\n" + \
        _("Then press Try again. Worked and Toy do everything without it.")


def _too_long(error: Any) -> str:
    return _("The text has {length} characters; at most {limit} are read. Shorten it and try again.").format(
        length=error.length, limit=error.limit)


def _too_many_tokens(error: Any) -> str:
    return _("The text has {count} tokens; a page can follow {limit}. Shorten it and try again.").format(
        count=error.count, limit=error.limit)


def _not_covered(error: Any) -> str:
    return _("The model's vocabulary cannot write {count} of these characters. Take them out and try again.").format(
        count=len(error.characters))


def _unknown_option(error: Any) -> str:
    return _("{field} is set to `{value}`, which is not possible here. Possible: {known}.").format(
        field=error.field, value=error.value, known=", ".join(str(option) for option in error.known))


def _invalid(error: Any) -> str:
    return _("The model file cannot be used: it is damaged or not of a kind that this app reads. "
             "Install the model package again.")


def _not_json(error: Any) -> str:
    if error.length > error.limit:
        return _("The text has {length} characters; a config has at most {limit}.").format(
            length=error.length, limit=error.limit)
    return _("This is no JSON text. Copy the whole file, from the first brace to the last.")


def _unsupported(error: Any) -> str:
    kind = "".join(letter for letter in str(error.model_type) if letter.isalnum() or letter in "-_. ")[:_LONGEST_NAME]
    return _("The model type “{kind}” cannot be used here. Supported: {supported}.").format(
        kind=kind or "?", supported=", ".join(error.supported))


_WORDS: dict[type[errors.WorkbenchError], Callable[[Any], str]] = {
    errors.Indivisible: _indivisible,
    errors.SizeOutOfRange: _out_of_range,
    errors.UnknownOption: _unknown_option,
    errors.NotJson: _not_json,
    errors.UnsupportedModel: _unsupported,
    live_errors.ModelMissing: _missing,
    live_errors.TextEmpty: lambda error: _("There is no text, or only spaces. Type at least one letter."),
    live_errors.TextTooLong: _too_long,
    live_errors.TooManyTokens: _too_many_tokens,
    live_errors.TextNotCovered: _not_covered,
    live_errors.CheckpointInvalid: _invalid,
}


# What another attempt may cure, once something was installed or set right.
TRY_AGAIN = (live_errors.ModelMissing, live_errors.CheckpointInvalid)
