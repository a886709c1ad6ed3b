"""`--second-run`: a browser test that failed is run once more, by itself; nothing else ever is.

Browser, server and test share the cores with one another, so that now and then a page misses its time. That is no
reason to believe what passed only then: it is named at the end, and more than `MOST` of it fail the run. An error in
set-up, in tear-down or in a server's log is never run again.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

FOLDER = "tests/browser/"
MOST = 3  # tests that may pass in their second run only
RUNS = 10  # what failed beyond these is not run again: then something is broken
PASSED_THEN = "passed only when run again"


class SecondRun:
    """The plugin. It works where reports come together: in the only process, or in the one that hands tests out."""

    def __init__(self) -> None:
        self.failed: dict[str, pytest.TestReport] = {}
        self.final: set[str] = set()
        self.passed_then: list[pytest.TestReport] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell failures of a browser test itself from all others."""
        if report.failed and report.when == "call" and report.nodeid.startswith(FOLDER):
            self.failed[report.nodeid] = report
        elif report.failed:
            self.final.add(report.nodeid)

    @pytest.hookimpl(trylast=True)  # once the processes of the first run, with their servers and browsers, have ended
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Run again what may be. What then passes is no failure; the run is green if it was few and nothing else."""
        if session.exitstatus != pytest.ExitCode.TESTS_FAILED:
            return
        again = [report for nodeid, report in self.failed.items() if nodeid not in self.final][:RUNS]
        self.passed_then = [report for report in again if passes(report.nodeid, session.config)]
        reporter: pytest.TerminalReporter = session.config.pluginmanager.getplugin("terminalreporter")
        for report in self.passed_then:
            reporter.stats["failed"].remove(report)
        if self.passed_then:
            reporter.stats = {kind: found for kind, found in reporter.stats.items() if found}
            reporter.stats[PASSED_THEN] = list(self.passed_then)
        session.testsfailed -= len(self.passed_then)
        if not session.testsfailed and len(self.passed_then) <= MOST:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name what passed only in its second run, with how it failed in the first."""
        if not self.passed_then:
            return
        too_many = f": more than {MOST}, which fails the run" if len(self.passed_then) > MOST else ""
        terminalreporter.section(PASSED_THEN + too_many)
        for report in self.passed_then:
            terminalreporter.line(report.longreprtext)
        for report in self.passed_then:
            terminalreporter.line(report.nodeid)


def passes(nodeid: str, config: pytest.Config) -> bool:
    """Whether a test passes in a process of its own, its set-up, tear-down and server's log included."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", nodeid]
    return subprocess.run(command, cwd=config.rootpath, check=False, capture_output=True).returncode == 0
