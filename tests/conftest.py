"""Rules for every test: one thread, repeatable search, no logged deprecation, in CI nothing left out."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read by torch when it is first imported, below the tests

import pytest
from hypothesis import settings

from tests.second_run import SecondRun
from tests.server_logs import LateLines

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

IN_CI = bool(os.environ.get("CI"))
LEFT_OUT: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare what `make test` runs with."""
    parser.addoption("--second-run", action="store_true",
                     help="run a browser test that failed once more, by itself; name what passed only then")


def pytest_configure(config: pytest.Config) -> None:
    """Late lines are reported before the second run decides whether all is well."""
    config.pluginmanager.register(LateLines())
    if config.getoption("second_run") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SecondRun())


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.fixture(autouse=True)
def no_streamlit_deprecation(request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """Fail on a logged deprecation: Streamlit does not warn, so `filterwarnings` never sees them."""
    logger = logging.getLogger("streamlit.deprecation_util")
    collector = _Collector()
    level = logger.level
    logger.addHandler(collector)
    logger.setLevel(logging.DEBUG)
    yield collector.messages
    logger.removeHandler(collector)
    logger.setLevel(level)
    if not request.node.get_closest_marker("streamlit_deprecations_expected"):
        assert not collector.messages, "Streamlit logged a deprecation:\n" + "\n".join(collector.messages)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note every test that was skipped, or that was expected to fail."""
    if report.skipped or hasattr(report, "wasxfail"):
        LEFT_OUT.append(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Note every file that was skipped as a whole."""
    if report.skipped:
        LEFT_OUT.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a test that did not run is a failure: what is left out proves nothing."""
    if IN_CI and LEFT_OUT:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that made the run fail by being left out."""
    if IN_CI and LEFT_OUT:
        terminalreporter.section("left out, which fails the run in CI")
        for nodeid in sorted(set(LEFT_OUT)):
            terminalreporter.line(nodeid)
