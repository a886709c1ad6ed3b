"""What the README and the recipe say can be done as it stands there: commands, files, links, variables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import tree as file_tree
from scripts.rules import ROOT, text_files

PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
FIRST_SCREEN = 25


def commands(text: str) -> list[str]:
    """The command lines of the shell blocks, without comments."""
    blocks = [body for kind, body in BLOCK.findall(text) if kind == "sh"]
    lines = [line.partition("  #")[0].strip() for body in blocks for line in body.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def tree() -> list[str]:
    """The paths of the file tree, put together from the indentation."""
    body = next(body for kind, body in BLOCK.findall(README) if kind == "text")
    paths: list[str] = []
    folders: list[str] = []
    for line in body.splitlines():
        depth, name = (len(line) - len(line.lstrip())) // 2, line.split()[0]
        folders = [*folders[:depth], name]
        paths.append("".join(folders))
    return paths


def test_the_first_screen_has_a_picture_and_the_two_commands() -> None:
    first = "\n".join(README.splitlines()[:FIRST_SCREEN])
    assert re.search(r"!\[[^\]]+\]\([^)]+\)", first)
    assert commands(first + "\n```")[:2] == ["make run", "make test"]


def test_every_make_command_has_a_target() -> None:
    named = {
        t
        for name in PAGES
        for t in re.findall(
            r"\bmake ([a-z-]+)",
            "\n".join(
                [
                    *commands((ROOT / name).read_text(encoding="utf-8")),
                    *re.findall(r"`(make [^`]+)`", (ROOT / name).read_text(encoding="utf-8")),
                ]
            ),
        )
    }
    assert {"run", "test"} <= named <= TARGETS


def test_every_variable_of_a_make_command_is_one_of_the_makefiles() -> None:
    given = {
        variable
        for name in PAGES
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines()
        if "make " in line
        for variable in re.findall(r"\b([A-Z_]{4,})=", line)
    }
    assert given <= set(re.findall(r"^([A-Z_]+) *\?=", MAKEFILE, re.MULTILINE))


def test_what_make_installs_stands_beside_it_as_raw_commands() -> None:
    by_make = {
        re.sub(r" --retries \d+", "", found)
        for found in re.findall(r"\$\(PIP\) (install [^;\n]*-r [\w.-]+)", MAKEFILE)
    }
    by_hand = {line.removeprefix("pip ") for line in commands(README) if " -r " in line}
    assert by_make == by_hand


def test_what_make_checks_stands_beside_it_as_raw_commands() -> None:
    checks = [
        "ruff check .",
        "mypy",
        "python scripts/translations.py check",
        "pytest",
        "streamlit run serve.py",
    ]
    assert [check for check in checks if check not in commands(README)] == []


def test_the_tree_is_that_of_the_files() -> None:
    shown = README.split("```text\n")[1].split("\n```")[0]
    assert shown == file_tree.tree(), "python scripts/tree.py writes it"
    assert [path for path in tree() if not (ROOT / path).exists()] == []


def test_every_folder_and_every_page_is_in_the_tree() -> None:
    files = [path.relative_to(ROOT) for path in text_files()]
    folders = {
        f"{path.parts[0]}/" for path in files if len(path.parts) > 1 and not path.parts[0].startswith(".")
    }
    pages = {path.as_posix() for path in files if path.parts[0] == "pages" and path.suffix == ".py"}
    assert folders | pages <= set(tree()) | {"docs/"}


@pytest.mark.parametrize("name", PAGES)
def test_every_link_and_every_named_file_leads_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-")
        for line in text.splitlines()
        if line.startswith("#")
    }
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not link.startswith("https://")]
    named = re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", text)
    lost = [link for link in links if link.startswith("#") and link[1:] not in headings]
    lost += [path for path in [*links, *named] if not path.startswith("#") and not (ROOT / path).exists()]
    assert lost == []


def test_the_variables_of_the_environment_are_all_documented() -> None:
    pattern = re.compile(r"TRANSFORMER_WORKBENCH_[A-Z_]+")
    code = [
        path
        for path in text_files()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in {"core", "ui"}
    ]
    used = {name for path in code for name in pattern.findall(Path(path).read_text(encoding="utf-8"))}
    assert set(pattern.findall(README)) == used


def test_the_versions_named_in_the_text_are_those_required() -> None:
    pins = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    assert [pin for pin in re.findall(r"\b\w+==[\d.]+\d", README) if pin not in pins] == []
