"""A real Streamlit server and a real Chromium.

A page that logs an error, or asks anyone but this machine, fails its test.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

ROOT = Path(__file__).parents[2]
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
expect.set_options(timeout=20_000)  # two browsers and two servers may share one core with each other
LOCAL = {"127.0.0.1", ""}  # "" is a data: or blob: address


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_server(script: Path, log: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Serve `script` on a free port and return it with its address once it answers; RuntimeError if it does not."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.headless=true"]
    command += [f"--server.port={port}", "--server.address=127.0.0.1", "--server.fileWatcherType=none"]
    command += ["--browser.gatherUsageStats=false"]
    with log.open("wb") as output:
        server = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
    address = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        with suppress(OSError), urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):
            return server, address
        time.sleep(0.1)
    server.kill()
    raise RuntimeError(f"{script.name} did not start:\n{log.read_text(errors='replace')}")


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], str]]:
    """A function from a script to the address it is served at; each script is started once per session. In the end
    no server's log may hold a deprecation or a traceback."""
    running: dict[Path, tuple[subprocess.Popen[bytes], str]] = {}
    logs = tmp_path_factory.mktemp("server")

    def served(script: Path) -> str:
        if script not in running:
            running[script] = start_server(script, logs / f"{script.stem}.log")
        return running[script][1]

    yield served
    for server, _ in running.values():
        server.terminate()
    for server, _ in running.values():
        server.wait(timeout=20)
    for log in logs.iterdir():
        assert not re.findall(r"(?i)^.*(?:deprecat|traceback).*$", log.read_text(errors="replace"), re.MULTILINE)


@pytest.fixture(scope="session")
def app_url(serve: Callable[[Path], str], browser: Browser) -> str:
    """The address of `app.py`, after one visit to its home.

    In the first session of a process that was not started by `serve.py`, Streamlit takes an address other than the
    home for a page that does not exist.
    """
    address = serve(ROOT / "app.py")
    with browser.new_page() as page:
        page.goto(address)
        page.locator("[data-testid=stSidebarNav] a").first.wait_for()
    return address


@pytest.fixture(scope="session")
def url(serve: Callable[[Path], str]) -> str:
    """The address of the app as `make run` starts it."""
    return serve(ROOT / "serve.py")


@pytest.fixture(scope="session")
def bench_url(serve: Callable[[Path], str]) -> str:
    """The address of the page with a single equation; `?case=` chooses it."""
    return serve(Path(__file__).with_name("equation_bench.py"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for the whole session."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """A function that opens a page in a context of its own (keywords as `Browser.new_context`). When the test ends
    it fails on errors in the console, uncaught exceptions, and requests that left this machine."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def opened(**options: object) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: complaints.append(f"console: {m.text}") if is_error(m) else None)
        page.on("pageerror", lambda e: complaints.append(f"page error: {e}"))
        page.on("request", lambda r: complaints.append(f"left this machine: {r.url}") if outside(r.url) else None)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not complaints


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    """A page of 1280×800 with the light theme."""
    return open_page()


def is_error(message: ConsoleMessage) -> bool:
    """Whether a line of the console is an error of ours.

    On every page but the home Streamlit first looks for its server beneath the page's own address and finds 404.
    """
    looks_for_server = re.fullmatch(r"/\w+/_stcore/(health|host-config)", urlsplit(message.location["url"]).path)
    return message.type == "error" and not looks_for_server


def outside(url: str) -> bool:
    """Whether a request to this address would leave the machine."""
    return (urlsplit(url).hostname or "") not in LOCAL
