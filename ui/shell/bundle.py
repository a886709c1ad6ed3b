"""ES modules of a component as the one module that Streamlit takes: each in a scope of its own, none twice.

There is no build step: the files are read when the app starts. They import one another by relative path and by name,
and not in a circle, so that each can stand before those that use it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function (\w+)|(?:const|let|class) (\w+))", re.MULTILINE)
_BLOCK_COMMENT = re.compile(r"^[ \t]*/\*\*(?:(?!\*/).)*\*/\n", re.MULTILINE | re.DOTALL)


class CircularImport(ValueError):
    """Modules that import each other: no order puts each before those that use it."""

    def __init__(self, circle: tuple[Path, ...]) -> None:
        self.circle = circle
        super().__init__(" → ".join(path.name for path in circle))


def imports(path: Path) -> dict[Path, list[str]]:
    """The modules that a module imports, and the names that it takes from each."""
    text = path.read_text("utf-8")
    return {(path.parent / where).resolve(): [name.strip() for name in names.split(",") if name.strip()]
            for names, where in _IMPORT.findall(text)}


def ordered(*entries: Path) -> list[Path]:
    """The modules that the entries need, each after those that it imports. Raises CircularImport."""
    found: list[Path] = []

    def visit(path: Path, above: tuple[Path, ...]) -> None:
        if path in above:
            raise CircularImport((*above[above.index(path):], path))
        if path not in found:
            for needed in imports(path):
                visit(needed, (*above, path))
            found.append(path)

    for entry in entries:
        visit(entry.resolve(), ())
    return found


def bundle(entry: Path) -> str:
    """`entry` and all that it imports, as one module that exports what `entry` does."""
    paths = ordered(entry)
    names = {path: f"module_{number}" for number, path in enumerate(paths)}
    parts = [_scoped(path, names) for path in paths[:-1]]
    return "\n".join([*parts, _taken(paths[-1], names), _plain(paths[-1])])


def _scoped(path: Path, names: Mapping[Path, str]) -> str:
    text = _plain(path)
    given = ", ".join(first or second for first, second in _EXPORT.findall(text))
    body = "\n".join([_taken(path, names), _EXPORT.sub("", text), f"return {{ {given} }};"])
    return f"const {names[path]} = (() => {{\n{body}\n}})();"


def _taken(path: Path, names: Mapping[Path, str]) -> str:
    return "\n".join(f"const {{ {', '.join(wanted)} }} = {names[needed]};" for needed, wanted in imports(path).items())


def _plain(path: Path) -> str:
    """A module without imports, comment lines and indentation."""
    text = _BLOCK_COMMENT.sub("", _IMPORT.sub("", path.read_text("utf-8")))
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))
