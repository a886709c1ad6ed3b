"""The rooms of the house: imports go one way, never sideways between pages or stages, and never in a circle."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.stages import STAGES as CORE_STAGES
from scripts.rules import ROOT
from ui.equation.ops import OPERATIONS
from ui.shell.syllabus import STAGES
from ui.shell.syllabus import stage as in_syllabus

PACKAGES = ("core", "server", "ui", "pages")
GENERAL = "general"  # what belongs to no stage


def modules() -> dict[str, Path]:
    """Dotted name -> file, packages under their own name."""
    files = [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]
    named = {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in files}
    return named | {name: ROOT / f"{name}.py" for name in ("app", "serve")}


MODULES = modules()


def imported(name: str) -> Iterator[str]:
    """The modules of the project that a module imports, those inside functions and for types alone included."""
    for node in ast.walk(ast.parse(MODULES[name].read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in MODULES or node.module in MODULES:
                    yield inner if inner in MODULES else node.module


IMPORTS = {name: set(imported(name)) - {name} for name in MODULES}


def circles() -> list[list[str]]:
    """Groups of modules that import one another, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in IMPORTS[name]:
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            group = []
            while not group or group[-1] != name:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(sorted(group))

    for name in MODULES:
        if name not in index:
            visit(name)
    return found


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert circles() == []


def room(name: str) -> tuple[str, str] | None:
    """The (package, slug) whose room a module stands in; None for engine, furniture and shell."""
    parts = name.split(".")
    if parts[0] == "pages" and len(parts) == 3:
        return "pages", parts[2]
    if parts[:2] in (["core", "stages"], ["ui", "stages"]) and len(parts) > 2:
        return ".".join(parts[:2]), parts[2]
    return None


def test_no_stage_imports_another_stage_and_no_page_another_page() -> None:
    sideways = {name: other for name, others in IMPORTS.items() for other in others
                if (mine := room(name)) and (theirs := room(other)) and mine[1] != theirs[1]}
    assert sideways == {}


def test_only_stages_import_from_the_rooms_of_stages() -> None:
    """What several rooms need is engine or furniture; `core.stages` itself lists them by what lies there."""
    intruders = {name: other for name, others in IMPORTS.items() for other in others if room(other) and not room(name)}
    assert intruders == {}


@pytest.mark.parametrize("package", ["core.stages", "ui.stages", "pages"])
def test_every_room_bears_the_slug_of_a_stage(package: str) -> None:
    slugs = {found[1] for name in MODULES if (found := room(name)) and found[0] == package}
    assert slugs <= {entry.slug for entry in STAGES} | {GENERAL, "classroom"}


def test_every_page_stands_where_the_syllabus_says_and_has_its_rooms() -> None:
    pages = {file.relative_to(ROOT).as_posix(): file.stem for file in (ROOT / "pages").rglob("*.py")}
    for file, slug in pages.items():
        assert in_syllabus(slug).page == file
        assert f"ui.stages.{slug}" in MODULES
        assert slug in CORE_STAGES or slug == "home"
        wanted = [f"tests/{kind}/stages/test_{slug}*.py" for kind in ("core", "browser") if slug != "home"]
        assert [pattern for pattern in wanted if not list(ROOT.glob(pattern))] == []


# The recipe of CONTRIBUTING.md.

MOST_FILES = 14  # for a page with a new operation
RECIPE = re.findall(r"^\| `([^`]+)` \|", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)


def stands(path: str) -> bool:
    """Whether there is such a file, or where a stage has several files, such a folder."""
    file = ROOT / path
    return file.exists() or file.with_suffix("").is_dir() or bool(list(file.parent.glob(f"{file.stem}_*{file.suffix}")))


def test_the_recipe_names_few_files() -> None:
    assert 0 < len(RECIPE) <= MOST_FILES
    assert len(set(RECIPE)) == len(RECIPE)


@pytest.mark.parametrize("slug", CORE_STAGES)
def test_every_stage_has_the_files_of_the_recipe(slug: str) -> None:
    filled = [path.replace("<slug>", slug).replace("<section>", in_syllabus(slug).section) for path in RECIPE]
    assert [path for path in filled if "<op>" not in path and not stands(path)] == []


@pytest.mark.parametrize("op", OPERATIONS)
def test_every_operation_has_the_files_of_the_recipe_and_stands_in_its_registries(op: str) -> None:
    own = [path.replace("<op>", op) for path in RECIPE if "<op>" in path]
    assert len(own) == 2
    assert [path for path in own if not stands(path)] == []
    for registry in ("ui/equation/ops/__init__.py", "ui/equation/js/operations.js"):
        assert registry in RECIPE
        assert re.search(rf"\b{op}\b", (ROOT / registry).read_text("utf-8"))
