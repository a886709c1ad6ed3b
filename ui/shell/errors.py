"""What went wrong and what to do, in the user's language: one wording for each type in `core.errors`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from core import errors
from core.live import errors as live_errors
from core.notation import AXES
from ui.shell import i18n
from ui.shell.i18n import N_, _

_SIZE_NAMES = {
    "width": "D", "heads": "H", "kv_heads": "Hkv", "head_dim": "Dh", "ffn_width": "F", "vocab": "V", "layers": "L",
    "batch": "B", "tokens": "T", "seed": N_("seed"),
    "axes": N_("number of axes"), "axis": N_("size of an axis"), "numbers": N_("count of numbers"),
}

_LONGEST = 80  # characters quoted from a file or an address
_MOST_NAMES = 3
_GIGABYTE = 1_000_000_000

# What `core` says a model has that it does not compute.
_PARTS = (
    N_("biases in a gated feed-forward"), N_("layers with and without a sliding window"), N_("quantised weights"),
    N_("scores that are not divided by the root of the head width"), N_("scaled RoPE frequencies in a GGUF file"),
)


def explain(error: errors.WorkbenchError) -> str:
    """One or two sentences: the offending value, and what would work. Markdown-safe: typed text never enters it."""
    for kind, words in _WORDS.items():
        if isinstance(error, kind):
            return words(error)
    return _("Something in the computation does not fit together. The last good numbers stay on screen; undo the last "
             "change, or choose other sizes.")


def _size(field: str) -> str:
    name = _SIZE_NAMES.get(field, field)
    return i18n.axis(name) if name in AXES else _(name)


def _indivisible(error: Any) -> str:
    if error.field == "rope_dim":
        return _("With RoPE the numbers of a head are turned in pairs: {width} is odd.").format(width=error.value)
    fits = _(" or ").join(str(n) for n in error.fits)
    text = _("{field} = {value} cannot be shared out evenly over {by} = {divisor}. {field} = {fits} would work, and so "
             "would {by} = {divisors}.")
    return text.format(
        field=_size(error.field), value=error.value, by=_size(error.by), divisor=error.divisor, fits=fits,
        divisors=i18n.listed(str(n) for n in error.divisors))


def _out_of_range(error: Any) -> str:
    return _("{field} = {value} is out of range. It must be a whole number from {low} to {high}.").format(
        field=_size(error.field), value=error.value, low=error.low, high=error.high)


def _missing(error: Any) -> str:
    return _("The live model is not installed here. This command, run once in the app's folder, installs it:") + \
        f"\n\n```\n{error.command}\n```\n\n" + \
        _("Then press Try again. The worked examples and the toy do everything without it.")


def _install_failed(error: Any) -> str:
    return {
        "network": _("The package index could not be reached. Check this machine's network or proxy and try again."),
        "absent": _("The package index does not have the package; a mirror may not carry it. Set another index for pip "
                    "and try again."),
        "hash": _("What was fetched is not the file that this app expects, so it was not installed. A proxy or mirror "
                  "may have changed it or cut it short: try again, or set another index for pip."),
        "space": _("The disk has no room for the package. Free some space and try again."),
        "read_only": _("This Python environment cannot be written to. Use the command below with the rights to do so, "
                       "or start the app with make run, which makes an environment of its own."),
        "managed": _("The operating system manages this Python and lets nothing be installed into it. Start the app "
                     "with make run, which makes an environment of its own."),
        "no_pip": _("This Python has no pip. Run `python -m ensurepip` with it and try again."),
        "timeout": _("The installation took too long and was ended. Try again, or use the command below, which has no "
                     "time limit."),
        "stopped": _("The installation was stopped; nothing was installed."),
        "unseen": _("The package was installed, but where this running server does not look. Start the server anew."),
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
        field=error.field, value=error.value, known=i18n.listed(str(option) for option in error.known))


def _code(value: object) -> str:
    """What stands in a file or an address, as code: shortened, and without what would end the code."""
    text = "".join(char for char in str(value) if char.isprintable() and char != "`")
    return f"`{text if len(text) <= _LONGEST else text[:_LONGEST] + '…'}`"


def _several(names: Sequence[object]) -> str:
    """The first of some names, and an ellipsis for the rest."""
    return i18n.listed(map(_code, names[:_MOST_NAMES])) + ("" if len(names) <= _MOST_NAMES else " …")


def _gigabytes(count: int) -> str:
    return f"{count / _GIGABYTE:.3g} GB"


def _unknown_model(error: Any) -> str:
    return _("There is no model called {name} here. Choose one of these: {known}.").format(
        name=_code(error.name), known=i18n.listed(map(_code, error.known)))


def _invalid(error: Any) -> str:
    return _("The model file {file} cannot be used: it is damaged or not of a kind that this app reads. "
             "Copy it again, or install the model package again.").format(file=_code(error.path.name))


def _files_missing(error: Any) -> str:
    return _("The folder {folder} lacks {files}. A checkpoint has {config}, {tokenizer} and {weights}, or several "
             "safetensors files with their index.").format(
        folder=_code(error.path.name), files=_several(error.names), config="`config.json`",
        tokenizer="`tokenizer.json`", weights="`model.safetensors`")


def _pickles(error: Any) -> str:
    return _("The weights in {folder} are stored in {files}. Such a file can run code when it is read, so it is not "
             "opened. Safetensors and GGUF files are read; save the model in one of these formats.").format(
        folder=_code(error.path.name), files=_several(error.names))


def _architecture(error: Any) -> str:
    text = _("{file} holds a model of the kind {kind}, which this app does not compute. Choose one of these kinds: "
             "{supported}.")
    if error.why:
        text = _("{file} holds a model of the kind {kind} with a part that this app does not compute ({part}). Choose "
                 "a model without that part, of one of these kinds: {supported}.")
    return text.format(file=_code(error.path.name), kind=_code(error.architecture), part=_(error.why),
                       supported=i18n.listed(error.supported))


def _tokenizer(error: Any) -> str:
    return _("The tokenizer in {file} is of the kind {kind}, which this app does not read. Choose one of these kinds: "
             "{supported}."
             ).format(file=_code(error.path.name), kind=_code(error.kind), supported=i18n.listed(error.supported))


def _sizes_invalid(error: Any) -> str:
    return _("The configuration in {file} cannot work.").format(file=_code(error.path.name)) + " " + \
        explain(error.problem)


def _too_large(error: Any) -> str:
    text = _("{file} needs {size}; this app reads at most {limit}.")
    if error.variable:
        text += " " + _("Whoever runs this app can set another limit with the environment variable {variable}.")
    return text.format(file=_code(error.path.name), size=_gigabytes(error.size), limit=_gigabytes(error.limit),
                       variable=_code(error.variable))


def _tensors_missing(error: Any) -> str:
    return _("{file} lacks {count} of the tensors that its configuration asks for: {names}. Check that the file is "
             "complete and that configuration and weights belong to the same model.").format(
        file=_code(error.path.name), count=len(error.names), names=_several(error.names))


def _tensors_unexpected(error: Any) -> str:
    return _("{file} holds {count} tensors for which its configuration has no place: {names}. Check that configuration "
             "and weights belong to the same model.").format(
        file=_code(error.path.name), count=len(error.names), names=_several(error.names))


def _misshapen(error: Any) -> str:
    return _("The tensor {name} in {file} has the shape {found}; its configuration asks for {needed}. Check that "
             "configuration and weights belong to the same model.").format(
        name=_code(error.name), file=_code(error.path.name), found=_shape(error.found), needed=_shape(error.needed))


def _shape(sizes: Sequence[int]) -> str:
    return "[" + ", ".join(str(size) for size in sizes) + "]"


def _tensor_type(error: Any) -> str:
    return _("The numbers of the tensor {name} in {file} are stored as {kind}, which this app does not read. Convert "
             "them to one of these: {supported}.").format(
        name=_code(error.name), file=_code(error.path.name), kind=_code(error.kind),
        supported=i18n.listed(error.supported))


def _not_finite(error: Any) -> str:
    return _("The tensor {name} in {file} contains NaN or infinity; nothing can be computed with it. Copy the file "
             "again, or choose another checkpoint.").format(
        name=_code(error.name), file=_code(error.path.name))


def _vocabulary(error: Any) -> str:
    return _("The tokenizer in {file} has the token id {token}, but the embedding has only {vocab} rows. They do not "
             "belong together: use the tokenizer and the weights of the same model.").format(
                 file=_code(error.path.name), token=error.token, vocab=error.vocab)


def _chat_refused(error: Any) -> str:
    return _("The model's chat template does not take this conversation. The template "
             "says: {why}").format(why=_code(error.why))


def _not_json(error: Any) -> str:
    if error.length > error.limit:
        return _("The text has {length} characters; a config has at most {limit}.").format(
            length=error.length, limit=error.limit)
    return _("This is no JSON text. Copy the whole file, from the first brace to the last.")


def _unsupported(error: Any) -> str:
    return _("This app cannot use a model of the kind {kind}. Choose one of these kinds: {supported}.").format(
        kind=_code(error.model_type or "?"), supported=i18n.listed(error.supported))


_WORDS: dict[type[errors.WorkbenchError], Callable[[Any], str]] = {
    errors.Indivisible: _indivisible,
    errors.SizeOutOfRange: _out_of_range,
    errors.UnknownOption: _unknown_option,
    errors.NotJson: _not_json,
    errors.UnsupportedModel: _unsupported,
    live_errors.ModelMissing: _missing,
    live_errors.InstallFailed: _install_failed,
    live_errors.TextEmpty: lambda error: _("There is no text, or only spaces. Type at least one letter."),
    live_errors.TextTooLong: _too_long,
    live_errors.TooManyTokens: _too_many_tokens,
    live_errors.TextNotCovered: _not_covered,
    live_errors.ChatUnavailable: lambda error: _("This model has no chat template. Its text can still be continued."),
    live_errors.ChatRefused: _chat_refused,
    live_errors.ModelUnknown: _unknown_model,
    live_errors.FilesMissing: _files_missing,
    live_errors.PicklesRefused: _pickles,
    live_errors.ArchitectureUnsupported: _architecture,
    live_errors.TokenizerUnsupported: _tokenizer,
    live_errors.SizesInvalid: _sizes_invalid,
    live_errors.TooLarge: _too_large,
    live_errors.TensorsMissing: _tensors_missing,
    live_errors.TensorsUnexpected: _tensors_unexpected,
    live_errors.TensorMisshapen: _misshapen,
    live_errors.TensorTypeUnsupported: _tensor_type,
    live_errors.TensorNotFinite: _not_finite,
    live_errors.VocabularyTooLarge: _vocabulary,
    live_errors.CheckpointInvalid: _invalid,
}


# What another attempt may cure, once something was installed or set right.
TRY_AGAIN = (live_errors.ModelMissing, live_errors.CheckpointInvalid)


def why_elsewhere(source: str) -> str:
    """Why what was chosen has nothing here. Only worked examples lack stages; a toy or a model lacks at most RoPE."""
    return {
        "worked": _("The chosen example has no numbers for this stage, so you see this page's own. Your choice is "
                    "kept."),
        "toy": _("A head of the chosen toy has an odd width: its numbers cannot be paired, so nothing is turned. You "
                 "see this page's own example; your choice is kept. Where D/H is even, the toy has RoPE."),
        "live": _("The chosen model does not turn Q and K, so you see this page's own example. Your choice is kept."),
    }[source]
