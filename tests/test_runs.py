"""What makes a run of the tests fail, tried on small suites under this project's own conftests and settings."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from scripts.rules import ROOT
from tests import second_run, server_logs

SHARED = ["pyproject.toml", "tests/conftest.py", "tests/second_run.py", "tests/server_logs.py",
          "tests/browser/conftest.py", "tests/browser/tabs.py", "benchmarks/browser.py"]
PASSES = "def test_x():\n    pass\n"
FAILS = "def test_x():\n    assert 0\n"
# Fails first and passes then.
FLAKY = """
from pathlib import Path

def test_x():
    tried = Path(__file__).with_suffix(".tried")
    first = not tried.exists()
    tried.touch()
    assert not first
"""


def run(folder: Path, files: Mapping[str, str], *options: str, ci: str = "") -> subprocess.CompletedProcess[str]:
    """pytest on these files, each under its path."""
    for name in SHARED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, "CI": ci}, capture_output=True, text=True, check=False)


# --- left out, deprecated --------------------------------------------------------------------------------

SAMPLES = {
    "passes": PASSES,
    "left out": "import pytest\n\n@pytest.mark.skip\ndef test_x():\n    pass\n\ndef test_y():\n    pass\n",
    "expected to fail": "import pytest\n\n@pytest.mark.xfail\ndef test_x():\n    assert False\n",
    "left out as a file": "import pytest\n\npytest.skip(allow_module_level=True)\n",
    "deprecated": (
        "from streamlit.deprecation_util import show_deprecation_warning\n\n"
        "def test_x():\n    show_deprecation_warning('use width')\n"
    ),
}


@pytest.mark.parametrize(
    ("sample", "ci", "succeeds"),
    [
        ("passes", "true", True),
        ("left out", "true", False),
        ("left out", "", True),
        ("expected to fail", "true", False),
        ("left out as a file", "true", False),
        ("deprecated", "", False),
    ],
)
def test_what_is_left_out_in_ci_and_what_is_deprecated_fails(
    tmp_path: Path, sample: str, ci: str, succeeds: bool,
) -> None:
    done = run(tmp_path, {"tests/test_other.py": PASSES, "tests/test_sample.py": SAMPLES[sample]}, ci=ci)
    assert (done.returncode == 0) is succeeds, done.stdout


# --- the second run --------------------------------------------------------------------------------------


def test_a_few_browser_tests_that_pass_only_then_are_named_and_do_not_fail_the_run(tmp_path: Path) -> None:
    """Each is run by itself: what another one spoils in its process does not matter."""
    spoils = FLAKY.replace("assert not first", "import sys; sys.spoilt = True; assert not first")
    spoilt = "import sys\n\ndef test_x():\n    assert not hasattr(sys, 'spoilt')\n"
    files = {"tests/browser/test_a.py": spoils, "tests/browser/test_b.py": spoilt, "tests/browser/test_c.py": PASSES}
    done = run(tmp_path, files, "--second-run", "-n1")
    assert done.returncode == 0, done.stdout
    assert f"1 passed, 2 {second_run.PASSED_THEN}" in done.stdout
    assert {"tests/browser/test_a.py::test_x", "tests/browser/test_b.py::test_x"} <= set(done.stdout.splitlines())


@pytest.mark.parametrize(("count", "code"), [(second_run.MOST, 0), (second_run.MOST + 1, 1)])
def test_many_of_them_fail_the_run(tmp_path: Path, count: int, code: int) -> None:
    done = run(tmp_path, {f"tests/browser/test_{n}.py": FLAKY for n in range(count)}, "--second-run")
    assert done.returncode == code, done.stdout
    assert f"{count} {second_run.PASSED_THEN}" in done.stdout


SET_UP = FLAKY.replace("def test_x():", """
import pytest

def test_x(broken):
    pass

@pytest.fixture
def broken():""")
TEAR_DOWN = FLAKY.replace("def test_x():", """
import pytest

def test_x(broken):
    assert 0

@pytest.fixture
def broken():
    yield""")


def test_what_fails_twice_fails_and_other_failures_are_never_run_again(tmp_path: Path) -> None:
    files = {"tests/browser/test_flaky.py": FLAKY, "tests/browser/test_twice.py": FAILS, "tests/core/test_a.py": FLAKY,
             "tests/browser/test_set_up.py": SET_UP, "tests/browser/test_tear_down.py": TEAR_DOWN}
    done = run(tmp_path, files, "--second-run")
    assert done.returncode == 1, done.stdout
    assert f"3 failed, 2 errors, 1 {second_run.PASSED_THEN}" in done.stdout
    assert "tests/browser/test_flaky.py::test_x" in done.stdout.splitlines()


def test_nothing_is_run_again_unless_it_is_asked_for(tmp_path: Path) -> None:
    assert run(tmp_path, {"tests/browser/test_a.py": FLAKY}).returncode == 1


# --- a server's log --------------------------------------------------------------------------------------

# Scripts that the servers of small suites serve: what they write, on request.
SCRIPT = """
import atexit
import sys

import streamlit as st

@st.cache_resource
def at_the_end():
    atexit.register(print, "Traceback (at the end)", file=sys.stderr)

if st.query_params.get("say") == "end":
    at_the_end()
elif "say" in st.query_params:
    print(st.query_params["say"], file=sys.stderr)
st.markdown("done")
"""
VISITS = """
import asyncio
from pathlib import Path
from urllib.parse import urlencode

import pytest

from benchmarks.student import Student

async def visit(address, **parts):
    student = Student(address, "?" + urlencode(parts))
    await student.arrive()
    await student.leave()

@pytest.mark.parametrize("say", {says})
def test_x(serve, say):
    asyncio.run(visit(serve(Path(__file__).with_name("script.py")), say=say))
"""


def served(folder: Path, *says: str) -> subprocess.CompletedProcess[str]:
    """Run a test that lets its server write each of these, one after another, into its log."""
    files = {"tests/browser/script.py": SCRIPT, "tests/browser/test_a.py": VISITS.format(says=list(says)),
             "benchmarks/student.py": (ROOT / "benchmarks/student.py").read_text("utf-8")}
    return run(folder, files, "--second-run", "-n1")


def test_a_traceback_or_a_deprecation_in_a_log_fails_the_test_that_caused_it(tmp_path: Path) -> None:
    done = served(tmp_path, "one", "Traceback (of two)", "three", "this is deprecated", "five")
    assert done.returncode == 1
    assert "5 passed, 2 errors" in done.stdout
    assert "ERROR tests/browser/test_a.py::test_x[Traceback (of two)]" in done.stdout
    assert "ERROR tests/browser/test_a.py::test_x[this is deprecated]" in done.stdout
    assert second_run.PASSED_THEN not in done.stdout


def test_what_a_log_says_after_every_test_is_an_error_of_its_own(tmp_path: Path) -> None:
    done = served(tmp_path, "end", "two")
    assert done.returncode == 1
    assert "2 passed, 1 error" in done.stdout
    assert "ERROR log of script.py after tests/browser/test_a.py::test_x[two]" in done.stdout


GONE = """Exception in ASGI application
Traceback (most recent call last):
  File "starlette_websocket.py", line 516, in _websocket_endpoint
starlette.websockets.WebSocketDisconnected: WebSocket is not connected. Need to call "accept" first.

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "starlette_websocket.py", line 524, in _websocket_endpoint
starlette.websockets.WebSocketDisconnected: Cannot call "send" once a close message has been sent.
"""
OTHER = """Exception in ASGI application
Traceback (most recent call last):
  File "starlette_websocket.py", line 530, in _websocket_endpoint
ValueError: too much
"""


@pytest.mark.parametrize(("text", "is_fault"), [
    (GONE, False), (f"one\n{GONE}{GONE}two\n", False), (OTHER, True), (OTHER + GONE, True), (GONE + OTHER, True),
    (GONE.replace('"send"', '"receive"'), True), ("", False)])
def test_a_browser_that_left_while_it_was_sent_something_is_no_fault(text: str, is_fault: bool) -> None:
    assert server_logs.has_fault(text) is is_fault
