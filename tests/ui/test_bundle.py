"""What the browser is sent of a component is one module, made of files that do not import each other in a circle."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.ui.test_operations import ROOT, evaluated
from ui.shell import bundle


@pytest.mark.parametrize("entry", sorted(
    path.relative_to(ROOT).as_posix() for path in (ROOT / "ui").rglob("*.js")))
def test_no_modules_of_the_browser_import_each_other_in_a_circle(entry: str) -> None:
    assert bundle.ordered(ROOT / entry)[-1] == ROOT / entry


def test_a_circle_of_imports_is_noticed(tmp_path: Path) -> None:
    for name, other in (("a", "b"), ("b", "c"), ("c", "a")):
        (tmp_path / f"{name}.js").write_text(f'import {{ {other} }} from "./{other}.js";\nexport const {name} = 1;\n')
    with pytest.raises(bundle.CircularImport, match=r"a\.js → b\.js → c\.js → a\.js"):
        bundle.bundle(tmp_path / "a.js")


def test_modules_of_one_bundle_do_not_see_each_others_names(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text('import { b } from "./b.js";\nimport {\n  c,\n} from "./c.js";\n'
                                   "const own = 1;\nexport const text = [own, b(), c].join();\n")
    (tmp_path / "b.js").write_text("const own = 2;\n/**\n * Two.\n */\nexport function b() {\n  return own;\n}\n")
    (tmp_path / "c.js").write_text("/** @type {number} */\nexport const c = 3;\n")
    made = tmp_path / "bundle.mjs"
    made.write_text(bundle.bundle(tmp_path / "a.js"))
    assert evaluated(f"(await import({json.dumps(made.as_uri())})).text") == "1,2,3"


@pytest.mark.parametrize("entry", [
    "ui/equation/js/equation.js", "ui/equation/js/mount.js", "ui/stages/tokens/merging/merging.js"])
def test_what_is_sent_of_a_component_is_one_module_with_a_default(entry: str, tmp_path: Path) -> None:
    text = bundle.bundle(ROOT / entry)
    made = tmp_path / "bundle.mjs"
    made.write_text(text)
    assert evaluated(f"Object.keys(await import({json.dumps(made.as_uri())}))") == "default"
    assert "\nimport " not in text
