"""The programs of the pages on input, heads and position: each stands alone and runs in an interpreter of its own."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from core import worked
from core.programs import Program
from core.stage import At
from core.stages import heads, order, rope, sharing
from core.stages.embedding import programs as embedding_programs
from core.stages.matmul import practice, product
from core.toy import ToySizes, toy
from tests.waiting import LONGEST

LARGE = toy(ToySizes(batch=2, tokens=7, width=24, heads=6, kv_heads=2, ffn_width=8, vocab=64, layers=3), 7)


PROGRAMS: dict[str, Program] = {
    f"{name} {size}": program
    for size, trace, turned in (("small", worked.block(1), worked.rope_pairs()), ("large", LARGE, LARGE))
    for name, program in {
        "heads": heads.program(At(trace)), "splitting": heads.splitting(At(trace)),
        "sharing": sharing.program(At(trace)), "rope": rope.program(At(turned)),
        "embedding": embedding_programs.embedding(trace),
        "order": order.program(At(trace), order=[*range(1, len(trace.tokens)), 0], mask="causal"),
        "matmul": practice.program(product.numbers((4, len(trace.tokens)), 0),
                                          product.numbers((len(trace.tokens), 32), 1)),
    }.items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_stands_alone(name: str) -> None:
    """It imports math, torch and NumPy only, fits a page's width, and reads a file exactly if it offers one."""
    program = PROGRAMS[name]
    tree = ast.parse(program.code)
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {"math", "torch"} <= imported <= {"math", "torch", "numpy"}
    assert bool(program.file) == ("np.load" in program.code) == bool(program.arrays)
    assert max(map(len, program.code.splitlines())) <= 140


def test_the_programs_run_in_an_interpreter_of_their_own(tmp_path: Path) -> None:
    """One after the other, each in an empty namespace, warnings being errors."""
    runs = []
    for number, program in enumerate(PROGRAMS.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "program.py").write_text(program.code, encoding="utf-8")
        if program.file:
            np.savez(folder / program.file, **program.arrays)
        runs.append(f"os.chdir({str(folder)!r}); runpy.run_path('program.py', run_name='__main__')")
    script = "import os, runpy\n" + "\n".join(runs)
    done = subprocess.run([sys.executable, "-I", "-W", "error", "-c", script], capture_output=True, text=True,
                          check=False, timeout=LONGEST)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("tensor(") == len(PROGRAMS)
