"""What only one stage draws: a module, or a folder, under the stage's slug."""

from __future__ import annotations

import importlib
from functools import cache
from importlib.util import find_spec

from ui.shell.syllabus import STAGES


@cache
def load() -> None:
    """Import the module of every stage that has one, so that all that it declares is known."""
    for stage in STAGES:
        name = f"{__name__}.{stage.slug}"
        if find_spec(name) is not None:
            importlib.import_module(name)
