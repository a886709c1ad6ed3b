"""The servers that browser tests start, and what those write into their logs.

A traceback or a deprecation fails the test during which it was written. What comes after that test has ended is an
error of its own in the end, with the server's name and the test's.
"""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FAULT = re.compile(r"(?i)deprecat|traceback")
# What Streamlit 1.67 logs when a browser leaves in the moment in which it is being sent something: it reads on from the
# closed socket, takes that for a text frame, and closes it once more. Nobody is there any more to be harmed.
LEFT = re.compile(
    r"Exception in ASGI application\n(?:(?!Exception in ASGI).*\n)*?"
    r".*WebSocketDisconnected: Cannot call \"send\" once a close message has been sent\.\n?")
START = 120  # seconds that a server may take to answer, before something must be wrong
LATE = pytest.StashKey[dict[str, str]]()


class Server:
    """A script served by Streamlit in a process of its own.

    Raises:
        RuntimeError: it ended, or did not answer within `START` seconds, or logged a fault on the way.
    """

    def __init__(self, script: Path, log: Path) -> None:
        self.script, self.log = script, log
        self.address = f"http://127.0.0.1:{free_port()}"
        self.after = ""  # the test at whose end the log was last read
        self._read = 0
        with log.open("wb") as output:
            self._process = subprocess.Popen(self._command(), cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + START
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"{script.name} did not start:\n{self.news()}")
            time.sleep(0.05)

    def _command(self) -> list[str]:
        return [sys.executable, "-m", "streamlit", "run", str(self.script), "--server.headless=true",
                f"--server.port={self.address.rpartition(':')[2]}", "--server.address=127.0.0.1",
                "--server.fileWatcherType=none", "--browser.gatherUsageStats=false"]

    def answers(self) -> bool:
        """Whether it answers a request; by then it has also taken notice of every page that was closed before."""
        with suppress(OSError), urllib.request.urlopen(f"{self.address}/_stcore/health", timeout=20):
            return True
        return False

    def news(self) -> str:
        """What it has written since this was last asked."""
        with self.log.open("rb") as file:
            file.seek(self._read)
            written = file.read()
        self._read += len(written)
        return written.decode(errors="replace")

    def stop(self) -> None:
        """End it, with everything that it writes while ending."""
        self._process.terminate()
        self._process.wait(timeout=60)


class Servers:
    """All servers of a test process: which test their logs belong to."""

    def __init__(self, folder: Path) -> None:
        self.running: list[Server] = []
        self.late: dict[str, str] = {}  # which log, after which test -> what it then said
        self._folder = folder
        self._ended: list[Server] = []  # within the present test

    def start(self, script: Path) -> Server:
        """Serve a script on a free port."""
        count = len(list(self._folder.iterdir()))
        server = Server(script, self._folder / f"{count}-{script.stem}.log")
        self.running.append(server)
        return server

    def stop(self, server: Server) -> None:
        """End a server; what it wrote still counts for the test that is running."""
        server.stop()
        self.running.remove(server)
        self._ended.append(server)

    def begin(self) -> None:
        """A test begins: what was written since another has ended was caused by neither of the next ones."""
        for server in self.running:
            if server.after:
                self._note_late(server)

    def end(self, test: str) -> str:
        """A test has ended and closed its pages; returns what the servers wrote meanwhile, where a fault is in it."""
        for server in self.running:
            if not server.answers():
                return f"{server.script.name} no longer answers:\n{server.news()}"
        written = [(server, server.news()) for server in [*self.running, *self._ended]]
        self._ended.clear()
        for server in self.running:
            server.after = test
        return "\n".join(f"{server.script.name} logged:\n{text}" for server, text in written if has_fault(text))

    def close(self) -> None:
        """End all servers."""
        for server in self.running:
            server.stop()
            self._note_late(server)

    def _note_late(self, server: Server) -> None:
        text = server.news()
        if has_fault(text):
            where = f"log of {server.script.name} after {server.after or 'its start'}"
            self.late[where] = self.late.get(where, "") + text


class LateLines:
    """The plugin that turns what came too late for its test into errors of their own, at the session's end."""

    def __init__(self) -> None:
        self._found: list[tuple[str, str]] = []

    @pytest.hookimpl(optionalhook=True)  # of pytest-xdist
    def pytest_testnodedown(self, node: object) -> None:
        """Take over what a worker noted."""
        self._found += getattr(node, "workeroutput", {}).get("late_lines", {}).items()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand it on where tests are handed out; report it otherwise."""
        here = session.config.stash.get(LATE, {})
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["late_lines"] = here
            return
        for where, text in [*self._found, *here.items()]:
            session.config.hook.pytest_runtest_logreport(report=pytest.TestReport(
                nodeid=where, location=(where, None, where), keywords={}, outcome="failed", longrepr=text,
                when="teardown"))
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def has_fault(text: str) -> bool:
    """Whether a traceback or a deprecation is in what a server wrote."""
    return FAULT.search(LEFT.sub("", text)) is not None


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
