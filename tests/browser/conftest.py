"""A real Streamlit server and a real Chromium.

A page that logs an error, or asks anyone but this machine, fails its test.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from benchmarks.browser import ARGUMENTS, chromium
from tests.browser.tabs import PATIENCE, Tabs
from tests.server_logs import LATE, Server, Servers

ROOT = Path(__file__).parents[2]
expect.set_options(timeout=PATIENCE)
LOCAL = {"127.0.0.1", ""}  # "" is a data: or blob: address


@pytest.fixture(scope="session")
def servers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """All servers of this process; what they log after the last test is reported by `LateLines`."""
    found = Servers(tmp_path_factory.mktemp("server"))
    request.config.stash[LATE] = found.late
    yield found
    found.close()


@pytest.fixture(autouse=True)
def quiet_servers(servers: Servers, request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail on a traceback or a deprecation that a server logs during the test; all its pages are closed by then."""
    servers.begin()
    yield
    fault = servers.end(request.node.nodeid)
    assert not fault, fault


@pytest.fixture(scope="session")
def serve(servers: Servers) -> Callable[[Path], str]:
    """A function from a script to the address it is served at; each script is started once per session."""
    running: dict[Path, str] = {}

    def served(script: Path) -> str:
        if script not in running:
            running[script] = servers.start(script).address
        return running[script]

    return served


@pytest.fixture
def own_server(servers: Servers) -> Iterator[Callable[[Path], str]]:
    """A function that serves a script, in the environment of that moment, for this test alone. Tests name it before
    `open_page`, so that it outlives their pages: a page whose server is gone complains."""
    started: list[Server] = []

    def served(script: Path) -> str:
        started.append(servers.start(script))
        return started[-1].address

    yield served
    for server in started:
        servers.stop(server)


@pytest.fixture(scope="session")
def app_url(serve: Callable[[Path], str], browser: Browser) -> str:
    """The address of `app.py`, after one visit to its home.

    In the first session of a process that was not started by `serve.py`, Streamlit takes an address other than the
    home for a page that does not exist.
    """
    address = serve(ROOT / "app.py")
    with browser.new_page() as page:
        page.set_default_timeout(PATIENCE)
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
        launched = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def tabs(browser: Browser) -> Tabs:
    """The pages of that Chromium."""
    return Tabs(browser)


@pytest.fixture
def open_page(tabs: Tabs) -> Iterator[Callable[..., Page]]:
    """A function that opens a new page (keywords as `Tabs.open`). When the test ends it fails on errors in the console,
    uncaught exceptions, and requests that left this machine."""
    complaints: list[str] = []

    def opened(**options: object) -> Page:
        page = tabs.open(**{"viewport": {"width": 1280, "height": 800}, **options})
        page.on("console", lambda m: complaints.append(f"console: {m.text}") if is_error(m) else None)
        page.on("pageerror", lambda e: complaints.append(f"page error: {e}"))
        page.on("request", lambda r: complaints.append(f"left this machine: {r.url}") if outside(r.url) else None)
        return page

    yield opened
    tabs.clear()
    assert not complaints


@pytest.fixture
def own_page(open_page: Callable[..., Page]) -> Page:
    """A page like `page` that shares nothing, for who stops its clock, which all pages of a context have in common, or
    stands between it and its server, which Playwright cannot do in a window that another page opened."""
    return open_page(shared=False)


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
