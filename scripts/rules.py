"""The project's own rules, which ruff and mypy cannot know. tests/test_project.py runs them over the tree.

Each rule takes a `Source` and yields sentences that name the line and say what to do instead, so it can be
tried on a sample as well.

**Nothing is invented** (`invented_numbers`, `random_draws`). What a learner sees must come from `core`, so in
`app.py`, `pages/` and `ui/` a number in the code is allowed only where it cannot be one of the values shown:

- 0, 1, 2, -1 and -2, as they are needed to index and to count from 1;
- in a keyword argument that is about layout, a limit or a place (`LAYOUT_KEYWORDS`: `height=`, `row=` …), and
  in the arguments of `columns`, `grid` and `range`;
- in `ui/`, a whole number that is named in capitals at module level, that is the default of a parameter or a
  dataclass field, or that something is only compared with: limits and starting positions;
- in `ui/shell/theme.py`, `ui/shell/numbers.py` and, at module and class level, in `ui/bench`: the look, the printing
  rule, and the ranges of the controls.

Never allowed, not even with 0, 1 and 2: a literal given to a call that shows it (`st.metric(label, 2)`), and
a list or tuple of more than two numbers, since that is an invented vector. A decimal number inside a string
that is no web address is a number as well. In `core`, matrices written out by hand stand in `core/worked.py` only.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]

LAYERS = {"core": 0, "ui": 1, "pages": 2, "app": 3, "serve": 3, "server": 3}
# What a layer may not import. `plotly` has its places in ui, so that figures stay pure functions.
FORBIDDEN = {
    "core": {"streamlit", "plotly", "gettext", "babel"},
    "ui": {"random", "secrets"},
    "server": {"ui", "pages", "app", "serve"},
    "pages": {"torch", "numpy", "plotly", "random", "secrets", "gettext", "babel"},
    "app": {"torch", "numpy", "plotly", "random", "secrets", "gettext", "babel"},
}
PLOTLY_FILES = ("ui/furniture/figures.py", "ui/stages/*/figure.py", "ui/shell/theme.py", "serve.py")  # patterns
SESSION_FILES = {
    *(f"ui/bench/{name}.py"
      for name in ("arrival", "controls", "edits", "location", "parameters", "pins", "session")), "ui/shell/i18n.py",
}
NUMBER_FILES = {"ui/shell/theme.py", "ui/shell/numbers.py"}
RANGE_FILES = {"ui/bench/limits.py"}
WORKED_FILE = "core/worked.py"
LANGUAGE_FILE = "ui/shell/i18n.py"

LAYOUT_KEYWORDS = {
    "height", "width", "min_column_width", "gap", "padding", "margin", "pad", "thickness", "line_width",
    "size", "dash", "opacity", "l", "r", "t", "b", "decimals", "precision", "step", "min_value",
    "max_value", "max_chars", "max_size", "max_entries", "maxsize", "ttl", "timeout", "expanded",
    "run_every", "row", "col", "layer", "head", "batch", "level", "limit", "indent", "wbits",
}  # fmt: skip
LAYOUT_CALLS = {"columns", "grid", "range"}
SMALL = {0, 1, 2}
LONGEST_FREE_LIST = 2
SHOWING_CALLS = {
    "badge", "caption", "code", "dataframe", "data_editor", "error", "header", "html", "info", "json",
    "latex", "markdown", "metric", "plotly_chart", "progress", "subheader", "success", "table", "text",
    "title", "toast", "warning", "write",
}  # fmt: skip
LABELLED_CALLS = {
    "button", "checkbox", "dialog", "download_button", "expander", "file_uploader", "link_button",
    "number_input", "page_link", "pills", "popover", "radio", "segmented_control", "select_slider",
    "selectbox", "slider", "spinner", "status", "text_area", "text_input", "toggle", "Page",
}  # fmt: skip
LABEL_KEYWORDS = {"label", "help", "placeholder", "title", "body", "caption", "alt"}
NOT_SHOWN_AS_WRITTEN = {"html", "code", "json", "latex"}
MARKUP = re.compile(
    r"`[^`]*`|\$\$?[^$]*\$\$?|<[^>]*>|\{[^{}]*\}|:material/\w+:|:\w+-?\w*\[|https?://\S+|&\w+;"
)
WORD = re.compile(r"[A-Za-z]{2,}")
CJK = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
DECIMAL_IN_TEXT = re.compile(r"(?<![\w.#§-])\d+\.\d+(?![\w.%])")

TORCH_DRAWS = {
    "rand", "rand_like", "randn", "randn_like", "randint", "randint_like", "randperm", "normal", "bernoulli",
    "multinomial", "poisson", "manual_seed", "seed", "Generator",
}  # fmt: skip
DRAWING_METHODS = {
    "default_rng",
    "RandomState",
    "manual_seed",
    "normal_",
    "uniform_",
    "random_",
    "bernoulli_",
}
LEAVING_OUT = {"skip", "skipif", "skipIf", "skipUnless", "SkipTest", "xfail", "importorskip"}


@dataclass
class Source:
    """A Python file: its path from the root, with forward slashes, and its text."""

    path: str
    text: str
    tree: ast.Module = field(init=False)
    parents: dict[ast.AST, ast.AST] = field(init=False)

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.text, filename=self.path)
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @property
    def layer(self) -> str:
        """`core`, `ui`, `pages`, `app`, `serve`, or the name of another top-level folder."""
        return PurePosixPath(self.path).parts[0].removesuffix(".py")

    @property
    def shown(self) -> bool:
        """Whether what stands in the file can reach the screen as it is."""
        return self.layer in {"app", "pages", "ui"}

    def above(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """(child, parent) from the node up to the module."""
        while node in self.parents:
            yield node, self.parents[node]
            node = self.parents[node]

    def docstrings(self) -> set[ast.AST]:
        """The constants that are docstrings."""
        owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        bodies = [node.body for node in ast.walk(self.tree) if isinstance(node, owners)]
        return {body[0].value for body in bodies if body and isinstance(body[0], ast.Expr)}

    def strings(self) -> Iterator[ast.Constant]:
        """Every string literal that is not a docstring, the literal parts of f-strings included."""
        docstrings = self.docstrings()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
                yield node


def sources(root: Path = ROOT) -> list[Source]:
    """Every Python file of the project."""
    return [
        Source(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
        for path in text_files(root)
        if path.suffix == ".py"
    ]


def text_files(root: Path = ROOT) -> list[Path]:
    """Every file that people write: no tool's cache, no virtual environment, no picture."""
    folders = {".ci", ".streamlit"}
    kinds = {".py", ".js", ".css", ".md", ".toml", ".txt", ".po", ".pot", ".json", ""}
    found = []
    for path in root.rglob("*"):
        parts = path.relative_to(root).parts
        if any((part.startswith(".") and part not in folders) or part == "__pycache__" for part in parts):
            continue
        if path.is_file() and path.suffix in kinds:
            found.append(path)
    return sorted(found)


def imports(source: Source) -> Iterator[tuple[str, int]]:
    """(module, line) of every import, those inside functions included."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                folder = PurePosixPath(source.path).parents[node.level - 1].parts
                module = ".".join((*folder, *filter(None, [module])))
            yield module, node.lineno


def import_direction(source: Source) -> Iterator[str]:
    """app → pages → ui → core: never back, never sideways between pages, each library in its layer. What stands before
    Streamlit lies beside them: it knows the core, and only the entry points know it."""
    own = LAYERS.get(source.layer)
    for module, line in imports(source):
        top = module.split(".")[0]
        if own is not None and top in {"tests", "scripts", "benchmarks"}:
            yield f"{source.path}:{line} imports {module}: the app does not depend on its tools"
        if own is not None and top in LAYERS and LAYERS[top] > own:
            yield f"{source.path}:{line} imports {module}: imports go app → pages → ui → core, never back"
        if source.layer == "pages" and top == "pages":
            yield f"{source.path}:{line} imports {module}: what two pages share belongs in ui"
        if top in FORBIDDEN.get(source.layer, ()):
            yield f"{source.path}:{line} imports {module}, which {source.layer} may not know"
        elif top == "plotly" and own is not None and not any(map(PurePosixPath(source.path).match, PLOTLY_FILES)):
            yield f"{source.path}:{line} imports {module}: figures are made in ui/stages/<slug>/figure.py"


def session_access(source: Source) -> Iterator[str]:
    """Session state and the address are read in one place, so that pages cannot disagree about them."""
    if not source.shown or source.path in SESSION_FILES:
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and node.attr in {"session_state", "query_params"}:
            yield f"{source.path}:{node.lineno} touches {node.attr}: only ui/bench does"


def dotted(node: ast.expr) -> str:
    """`a.b.c` for an attribute chain; "" where it starts with anything but a name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""


def random_draws(source: Source) -> Iterator[str]:
    """No random numbers where things are shown; `core` draws them, from a seed that the page states."""
    if not source.shown:
        return
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Attribute):
            continue
        first, _, rest = dotted(node).partition(".")
        drawn = (
            (first in {"np", "numpy"} and rest.split(".")[0] == "random")
            or (first == "torch" and rest.split(".")[0] in TORCH_DRAWS)
            or (first in {"random", "secrets"} and rest)
            or node.attr in DRAWING_METHODS
        )
        if drawn:
            yield f"{source.path}:{node.lineno} draws random numbers by {node.attr}: core does that"


def is_number(node: ast.AST | None) -> bool:
    """Whether the node is a number literal, with or without a sign."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float | complex)
        and not isinstance(node.value, bool)
    )


def called_name(call: ast.Call) -> str:
    """The last part of the name that is called."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func)


def is_layout(source: Source, number: ast.AST) -> bool:
    """Whether the literal is an index, or an argument that is about layout, a limit or a place."""
    for child, parent in source.above(number):
        if isinstance(parent, ast.keyword) and parent.arg in LAYOUT_KEYWORDS:
            return True
        if isinstance(parent, ast.Call) and child is not parent.func and called_name(parent) in LAYOUT_CALLS:
            return True
        if (
            isinstance(parent, ast.Subscript)
            and child is parent.slice
            and not isinstance(parent.slice, ast.Call)
        ):
            return all(value in SMALL for value in numbers_in(child))
        if isinstance(parent, ast.stmt | ast.Call):
            return False
    return False


def numbers_in(node: ast.AST) -> list[complex]:
    """The values of all number literals in the node."""
    return [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and is_number(part)]


def is_named_limit(source: Source, number: ast.Constant) -> bool:
    """Whether, in ui, the literal is named in capitals, or is a default, or is only compared with."""
    if source.layer != "ui" or number.value != int(number.value.real):
        return False
    for child, parent in source.above(number):
        if isinstance(parent, ast.BinOp | ast.UnaryOp):
            continue
        if isinstance(parent, ast.Compare):
            return True
        if isinstance(parent, ast.arguments):
            return child in parent.defaults or child in parent.kw_defaults
        if isinstance(parent, ast.Assign | ast.AnnAssign):
            target = parent.targets[0] if isinstance(parent, ast.Assign) else parent.target
            scope = source.parents[parent]
            named = isinstance(target, ast.Name) and target.id.isupper() and isinstance(scope, ast.Module)
            return named or isinstance(scope, ast.ClassDef)
        return False
    return False


def at_module_or_class_level(source: Source, node: ast.AST) -> bool:
    """Whether no function stands round the node."""
    return not any(isinstance(parent, ast.FunctionDef | ast.Lambda) for _, parent in source.above(node))


def invented_numbers(source: Source) -> Iterator[str]:
    """Numbers in the code that could be shown as if they had been computed; see the module's docstring."""
    if not source.shown or source.path in NUMBER_FILES:
        return
    for node in ast.walk(source.tree):
        if source.path in RANGE_FILES and at_module_or_class_level(source, node):
            continue
        where = f"{source.path}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Call) and called_name(node) in SHOWING_CALLS:
            for argument in node.args:
                if is_number(argument):
                    yield f"{where} shows the literal {ast.unparse(argument)}: show what core returned"
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            written = [part for part in node.elts if is_number(part)]
            if len(written) > LONGEST_FREE_LIST and not is_layout(source, node):
                yield f"{where} writes out {ast.unparse(node)}: worked numbers stand in core/worked.py"
                continue
        if isinstance(node, ast.Constant) and is_number(node):
            allowed = node.value in SMALL or is_layout(source, node) or is_named_limit(source, node)
            if not allowed:
                yield (
                    f"{where} has the literal {node.value!r}: take it from core, or, if it is layout, "
                    "pass it by a layout keyword or name it in ui/shell/theme.py"
                )
    for text in source.strings():
        if str(text.value).startswith("https://"):
            continue
        for number in DECIMAL_IN_TEXT.findall(str(text.value)):
            yield f"{source.path}:{text.lineno} has the number {number} in a text: format a value from core"


def hand_written_matrices(source: Source) -> Iterator[str]:
    """In core, a matrix of literals stands in core/worked.py only."""
    if source.layer != "core" or source.path == WORKED_FILE:
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.List | ast.Tuple) and len(node.elts) > 1:
            rows = [row for row in node.elts if isinstance(row, ast.List | ast.Tuple) and row.elts]
            if len(rows) == len(node.elts) and all(is_number(cell) for row in rows for cell in row.elts):
                yield f"{source.path}:{node.lineno} writes a matrix out: those stand in {WORKED_FILE}"


def prose(node: ast.expr) -> str:
    """The words of a literal or f-string that a reader would see; "" for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
    elif isinstance(node, ast.JoinedStr):
        text = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    else:
        return ""
    return " ".join(WORD.findall(MARKUP.sub(" ", text)))


def untranslated_text(source: Source) -> Iterator[str]:
    """Texts reach the screen through `_()`, given a literal or a marked name; no Chinese in the code."""
    for text in source.strings():
        in_code = source.layer in LAYERS and source.path not in {WORKED_FILE, LANGUAGE_FILE}
        if in_code and CJK.search(str(text.value)):
            yield f"{source.path}:{text.lineno} has Chinese in the code: it belongs in locale/zh_CN"
    if not source.shown:
        return
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call):
            continue
        name = called_name(node)
        if name in {"_", "N_", "ngettext"} and source.path != LANGUAGE_FILE:
            for argument in node.args[:2] if name == "ngettext" else node.args[:1]:
                literal = isinstance(argument, ast.Constant) or (name == "_" and dotted(argument))
                if not (literal or isinstance(argument, ast.Subscript)):
                    where = f"{source.path}:{node.lineno}"
                    yield f"{where} translates {ast.unparse(argument)}: only a literal is found"
        if name in (SHOWING_CALLS - NOT_SHOWN_AS_WRITTEN) | LABELLED_CALLS:
            first = node.args[:1] if name != "Page" else []
            labels = [item.value for item in node.keywords if item.arg in LABEL_KEYWORDS]
            for argument in [*first, *labels]:
                if prose(argument):
                    yield f'{source.path}:{node.lineno} shows "{prose(argument)}": wrap it in _()'


def left_out_tests(source: Source) -> Iterator[str]:
    """A test runs, or it is deleted."""
    if source.layer != "tests":
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and node.attr in LEAVING_OUT:
            yield f"{source.path}:{node.lineno} uses {node.attr}: a test that does not run proves nothing"


RULES = (
    import_direction,
    session_access,
    random_draws,
    invented_numbers,
    hand_written_matrices,
    untranslated_text,
    left_out_tests,
)
