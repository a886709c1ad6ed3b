"""What went wrong and what to do, in the user's language: one wording for each type in `core.errors`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core import errors
from core.live import errors as live_errors
from ui.i18n import N_, _

_SIZE_NAMES = {
    "width": "D", "heads": "H", "kv_heads": "Hkv", "head_dim": "Dh", "ffn_width": "F", "vocab": "V", "layers": "L",
    "batch": "B", "tokens": "T", "seed": N_("seed"),
}


def explain(error: errors.WorkbenchError) -> str:
    """One or two sentences: the offending value, and what would work. Markdown-safe: typed text never enters it."""
    for kind, words in _WORDS.items():
        if isinstance(error, kind):
            return words(error)
    return _("Something in the computation does not fit together. The last good numbers stay on screen.")


def _size(field: str) -> str:
    name = _SIZE_NAMES.get(field, field)
    return _(name)


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


def _install_failed(error: Any) -> str:
    return {
        "network": _("The package index could not be reached. Check this machine's network or proxy and try again."),
        "absent": _("The package index does not have the package; a mirror may not carry it. Set another index for pip "
                    "and try again."),
        "hash": _("What was fetched is not the file that this app expects, so it was not installed. A proxy or mirror "
                  "may have changed it or cut it short: try again, or set another index for pip."),
        "space": _("The disk has no room for it. Free some and try again."),
        "read_only": _("This Python environment cannot be written to. Use the command below with the rights to do so, "
                       "or start the app with make run, which makes an environment of its own."),
        "managed": _("The operating system manages this Python and lets nothing be installed into it. Start the app "
                     "with make run, which makes an environment of its own."),
        "no_pip": _("This Python has no pip. Run `python -m ensurepip` with it and try again."),
        "timeout": _("It took too long and was ended. Try again, or use the command below, which has no time limit."),
        "stopped": _("It was stopped; nothing was installed."),
        "unseen": _("It was installed, but where this running server does not look. Start the server anew."),
        "other": _("pip ended with an error; its last lines say more. Set that right and try again."),
    }[error.why]


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


_WORDS: dict[type[errors.WorkbenchError], Callable[[Any], str]] = {
    errors.Indivisible: _indivisible,
    errors.SizeOutOfRange: _out_of_range,
    errors.UnknownOption: _unknown_option,
    live_errors.ModelMissing: _missing,
    live_errors.InstallFailed: _install_failed,
    live_errors.TextEmpty: lambda error: _("There is no text, or only spaces. Type at least one letter."),
    live_errors.TextTooLong: _too_long,
    live_errors.TooManyTokens: _too_many_tokens,
    live_errors.TextNotCovered: _not_covered,
    live_errors.CheckpointInvalid: _invalid,
}


# What another attempt may cure, once something was installed or set right.
TRY_AGAIN = (live_errors.ModelMissing, live_errors.CheckpointInvalid)
