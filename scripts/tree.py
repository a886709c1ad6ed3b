"""The file tree in README.md, made from the files and the first sentence of each module.

    python scripts/tree.py          write the tree into README.md
    python scripts/tree.py check    fail when it is not the tree of the files (tests/test_readme.py does)
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
# What is listed file by file; the other folders have one line each.
WHOLE = ("app.py", "serve.py", "server", "pages", "ui", "core")
FOLDERS = {
    "locale": "the Chinese texts",
    "scripts": "translations, the project's own rules, this tree, the record of old links",
    "tests": "core: laws and parity; ui: every page in every language; browser: real Chromium",
    "benchmarks": "how long things take, beside their peers",
}
TREE = re.compile(r"(?<=```text\n)app\.py .*?(?=\n```)", re.DOTALL)
LONGEST = 96  # characters of a description
COLUMN = 34


def described(file: Path) -> str:
    """The first sentence of a module, without its full stop; what follows a semicolon or a colon goes where it is long.
    """
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    sentence = re.split(r"(?<=[^.])\.(?:\s|$)", text.split("\n\n")[0].replace("\n", " "))[0].rstrip(".")
    for mark in (":", ";", ","):
        if len(sentence) > LONGEST:
            sentence = sentence.rsplit(mark, 1)[0]
    return sentence


def entries(path: Path, depth: int = 0) -> Iterator[str]:
    """The lines of a file, or of a folder and all that is in it. JavaScript and styles are what their folder says."""
    indent = "  " * depth
    if path.is_file():
        yield f"{indent}{path.name:<{COLUMN - len(indent)}} {described(path)}".rstrip()
        return
    init = path / "__init__.py"
    about = described(init) if init.exists() else PAGES.get(path.name, "")
    yield f"{indent}{path.name + '/':<{COLUMN - len(indent)}} {about}".rstrip()
    inside = [file for file in path.iterdir() if file.name not in ("__init__.py", "__pycache__")]
    for file in sorted(inside, key=lambda file: (file.is_dir(), file.name)):
        if file.suffix == ".py" or (file.is_dir() and any(file.rglob("*.py"))):
            yield from entries(file, depth + 1)


PAGES = {"pages": "one file per stage: what is shown, in what order"}


def tree() -> str:
    """The whole tree as text."""
    lines = [line for name in WHOLE if (ROOT / name).exists() for line in entries(ROOT / name)]
    lines += [f"{name + '/':<{COLUMN}} {about}" for name, about in FOLDERS.items()]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Write the tree, or check it; the exit status."""
    text = README.read_text(encoding="utf-8")
    wanted = TREE.sub(lambda _match: tree(), text)
    if arguments == ["check"]:
        if wanted != text:
            print("README.md: the tree is not that of the files; python scripts/tree.py writes it")
        return int(wanted != text)
    README.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
