"""The programs that pages offer: each runs by itself and gives the page's numbers."""

from __future__ import annotations

import ast
import contextlib
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core import worked
from core.programs import Program
from core.stage import At
from core.stages import scores
from core.toy import ToySizes, toy
from core.trace import Trace
from tests.core.test_model import LLAMA3, SIZES, random_decoder, random_ids
from tests.waiting import LONGEST

SMALL = ToySizes(batch=1, tokens=3, width=6, heads=3, kv_heads=1, ffn_width=4, vocab=5, layers=2)
LARGE = ToySizes(batch=2, tokens=7, width=24, heads=6, kv_heads=2, ffn_width=8, vocab=9, layers=3)
EDITS = {"blocks.0.q": {(0, 0, 1, 0): 4.25}, "blocks.0.wk": {(0, 1): -1.5}}


def decoder_trace(**choices: Any) -> Trace:
    result = Trace()
    random_decoder(**{**SIZES, **choices})(random_ids(2, 3), trace=result)
    return result


TRACES: dict[str, Callable[[], Trace]] = {
    "single_head": worked.single_head,
    "single_head causal": lambda: worked.single_head("causal"),
    "block": worked.block,
    "block with one KV head": lambda: worked.block(1),
    "single_head edited": lambda: worked.single_head().edited(EDITS),
    "single_head with another X": lambda: worked.single_head().edited({"blocks.0.in": {(0, 2, 1): 0.1}}),
    "single_head with another score": lambda: worked.single_head().edited({
        "blocks.0.scores": {(0, 0, 1, 2): 3.5, (0, 0, 2, 0): -1 / 3}, "blocks.0.scaled": {(0, 0, 0, 1): 1e-9}}),
    "block rescaled": lambda: worked.block().with_scale(0, 0.3),
    "block with another WK": lambda: worked.block(1).edited({"blocks.0.wk": {(2, 1): 1 / 3}}),
    "block cut at K": lambda: worked.block(1).edited({"blocks.0.k_proj": {(0, 2, 1): -0.7}}),
    "block from another embedding": lambda: worked.block().edited({"embedding": {(1, 2): -0.7}}),
    "small toy": lambda: toy(SMALL, 5),
    "small toy with LayerNorm": lambda: toy(SMALL, 6, norm="layer", positions="learned", ffn="gelu"),
    "small toy, post-norm": lambda: toy(SMALL, 6, norm_place="post", positions="sinusoidal"),
    "large toy": lambda: toy(LARGE, 7),
    "large toy edited": lambda: toy(LARGE, 7).edited({"blocks.1.k_rot": {(1, 1, 6, 3): 2.5}}),
    "biases": lambda: decoder_trace(qkv_bias=True, norm="layer"),
    "head norms": lambda: decoder_trace(qk_norm=True, rope_scaling=LLAMA3, rope_base=50.0, norm_eps=0.02),
    "adjacent pairs in part of the head": lambda: decoder_trace(head_dim=6, rope_dim=4, rope_pairing="adjacent"),
    "half pairs in part of the head": lambda: decoder_trace(head_dim=6, rope_dim=2),
}


def run(program: Program, folder: Path, monkeypatch: pytest.MonkeyPatch) -> torch.Tensor:
    """Execute a program in an empty namespace, in a folder that holds the file it names and nothing else."""
    monkeypatch.chdir(folder)
    if program.file:
        np.savez(folder / program.file, **program.arrays)
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(program.code, "program.py", "exec"), names)
    assert printed.getvalue().strip() == str(names["result"])
    return names["result"]


@pytest.mark.parametrize("kind", TRACES)
def test_a_program_gives_the_numbers_of_its_page(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    trace = TRACES[kind]()
    for layer in range(trace.config.layers):
        result = run(scores.program(At(trace, layer)), tmp_path, monkeypatch)
        expected = trace[f"blocks.{layer}.scaled"]
        torch.testing.assert_close(result.float(), expected, atol=1e-6 * max(1.0, float(expected.abs().max())), rtol=0)


@pytest.mark.parametrize("kind", TRACES)
def test_a_program_stands_alone(kind: str) -> None:
    """It imports math, torch and NumPy only, fits a page's width, and reads a file exactly if it offers one."""
    trace = TRACES[kind]()
    for layer in range(trace.config.layers):
        program = scores.program(At(trace, layer))
        tree = ast.parse(program.code)
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        assert {"math", "torch"} <= imported <= {"math", "torch", "numpy"}
        assert bool(program.file) == ("np.load" in program.code) == bool(program.arrays)
        if program.file:
            assert f'"{program.file}"' in program.code
        assert max(map(len, program.code.splitlines())) <= 140


def test_small_numbers_stand_in_the_program_and_large_ones_in_a_file() -> None:
    assert scores.program(At(toy(SMALL))).file == ""
    program = scores.program(At(toy(LARGE)))
    assert program.file.endswith(".npz")
    assert len(program.code) < 2000
    assert "torch.tensor([[[1.0, 0.0]," in scores.program(At(worked.single_head())).code


def test_an_edited_number_stands_in_the_program() -> None:
    """With Q cut from X, Q and K are given as they are; with X edited, the program starts from the new X."""
    cut = scores.program(At(worked.single_head().edited(EDITS))).code
    assert "4.25" in cut
    assert "wq" not in cut
    moved = scores.program(At(worked.single_head().edited({"blocks.0.in": {(0, 2, 1): 0.1}}))).code
    assert "[1.0, 0.1]" in moved
    assert "wq" in moved


@pytest.mark.parametrize("kind", ["block with one KV head", "large toy"])
def test_a_program_runs_in_an_interpreter_of_its_own(kind: str, tmp_path: Path) -> None:
    trace = TRACES[kind]()
    program = scores.program(At(trace))
    script = tmp_path / "program.py"
    script.write_text(program.code + 'torch.save(result, "result.pt")\n', encoding="utf-8")
    if program.file:
        np.savez(tmp_path / program.file, **program.arrays)
    done = subprocess.run([sys.executable, "-I", "-W", "error", script.name], cwd=tmp_path, capture_output=True,
                          text=True, check=False, timeout=LONGEST)
    assert done.returncode == 0, done.stderr
    result = torch.load(tmp_path / "result.pt")
    torch.testing.assert_close(result, trace["blocks.0.scaled"], atol=1e-6, rtol=1e-6)
