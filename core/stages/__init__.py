"""What each stage is about, as data: facts to notice, mistakes carried out, questions with their judges, programs.

A stage is a module or a package of this folder under its slug; being here is what lists it in `STAGES`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import cast

from core.stage import Stage


class _Stages(Mapping[str, Stage]):
    """Slug -> the stage's module, imported when it is asked for."""

    def __init__(self) -> None:
        self._slugs = tuple(found.name for found in pkgutil.iter_modules(__path__))

    def __getitem__(self, slug: str) -> Stage:
        if slug not in self._slugs:
            raise KeyError(slug)
        return cast(Stage, import_module(f"{__name__}.{slug}"))

    def __iter__(self) -> Iterator[str]:
        return iter(self._slugs)

    def __len__(self) -> int:
        return len(self._slugs)


STAGES: Mapping[str, Stage] = _Stages()
