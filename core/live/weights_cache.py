"""Dequantised weights on disk: written once, memory-mapped by every later start and shared by all processes.

One safetensors file per model and format, named by the content of the model file it was made from. It is
written under another name in the same folder, flushed to the disk and renamed, so that no reader ever sees half
a file; a lock file lets one process build while others wait for it.

Before a file is mapped, all of it is checked against a digest in its header (about 0.1 s for 540 MB that the
system holds in memory; the first forward would have to read them anyway). Noticed: a file cut short or extended,
a changed header, any single changed byte, blocks zeroed or swapped. Not noticed: several changes within one block
of 1 MiB whose 64-bit words happen to add up to the same sum, and a file altered on purpose: the digest protects
against accidents.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from filelock import FileLock, Timeout
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from core.live.errors import CacheDamaged, CacheUnavailable

VARIABLE = "TRANSFORMER_WORKBENCH_CACHE"
FORMAT = 2  # raise it when names, layout or metadata change; older files are then built again
WAIT_SECONDS = 600.0

Progress = Callable[[str, float | None], None]

_BLOCK = 2**20
_MAX_HEADER = 100 * 2**20  # the limit of the safetensors format
_UNSIGNED = "0" * 64


@dataclass(frozen=True)
class Weights:
    """Texts by key and float32 tensors by parameter name."""

    texts: Mapping[str, str]
    tensors: Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class Build:
    """What a cache file is made of: `parameters` yields one array per entry of `shapes`, in its order."""

    texts: Mapping[str, str]
    shapes: Mapping[str, tuple[int, ...]]
    parameters: Callable[[], Iterator[tuple[str, NDArray[np.float32]]]]

    def in_memory(self, progress: Progress) -> Weights:
        """The same weights without a file, private to this process."""
        tensors = {name: torch.from_numpy(array.copy()) for name, array in self.values(progress)}
        return Weights(self.texts, tensors)

    def values(self, progress: Progress) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """The parameters, reporting the stage "dequantise"."""
        done, total = 0, sum(math.prod(shape) for shape in self.shapes.values())
        for name, array in self.parameters():
            yield name, array
            done += array.size
            progress("dequantise", done / total)


def folder() -> Path:
    """Where cache files lie: the folder that the environment variable names, else the platform's place."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "transformer-workbench"


def fingerprint(*paths: Path) -> str:
    """A name for the content of model files: 32 hexadecimal digits of BLAKE2b over all of it."""
    digests = []
    for path in paths:
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "blake2b"))
    whole = digests[0] if len(digests) == 1 else hashlib.blake2b(b"".join(digest.digest() for digest in digests))
    return whole.hexdigest()[:32]


def fetch(key: str, make: Callable[[], Build], progress: Progress) -> Weights:
    """The weights stored under `key`, mapped; a file that is missing or damaged is built with `make` first.

    `progress` hears of the stages "wait" (another process builds), "dequantise", "write" and "map". Raises
    CacheUnavailable when the folder cannot be used, and whatever `make` raises.
    """
    place = folder()
    path = place / f"{key}.v{FORMAT}.safetensors"
    try:
        if path.is_file():
            with contextlib.suppress(CacheDamaged):
                return _map(path, progress)
        place.mkdir(parents=True, exist_ok=True)
        with _alone(place / f"{key}.lock", progress):
            if path.is_file():  # another process may have built it while this one waited
                with contextlib.suppress(CacheDamaged):
                    return _map(path, progress)
            _discard(place, key)
            _write(path, make(), progress)
        return _map(path, progress)
    except CacheDamaged as error:
        why = f"what was just written does not read back: {error.what}"
        raise CacheUnavailable(place, why, VARIABLE) from error
    except Timeout as error:
        why = f"another process has been busy with it for {WAIT_SECONDS:.0f} s"
        raise CacheUnavailable(place, why, VARIABLE) from error
    except (OSError, NotImplementedError) as error:
        raise CacheUnavailable(place, getattr(error, "strerror", None) or str(error), VARIABLE) from error


@contextlib.contextmanager
def _alone(path: Path, progress: Progress) -> Iterator[None]:
    """Hold the lock file. The system releases it when a process ends, however it ends."""
    lock = FileLock(path, timeout=WAIT_SECONDS)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress("wait", None)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _discard(place: Path, key: str) -> None:
    """Remove what is left of earlier attempts and formats. Only the holder of the lock calls this."""
    for path in place.glob(f"{key}.*"):
        if path.suffix != ".lock":
            with contextlib.suppress(OSError):  # Windows keeps a file that is still mapped
                path.unlink()


def _write(path: Path, build: Build, progress: Progress) -> None:
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        with part.open("w+b") as file:
            file.write(_header(build, _UNSIGNED))
            for name, array in build.values(progress):
                if array.shape != build.shapes[name] or array.dtype != np.float32:
                    raise ValueError(f"{name} is {array.dtype}{array.shape}, not float32{build.shapes[name]}")
                file.write(array.astype("<f4", copy=False).data)
            progress("write", None)
            file.flush()
            header = _header(build, _digest(file, _read_header(file, part)[0]))
            file.seek(0)
            file.write(header)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        _sync_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _header(build: Build, digest: str) -> bytes:
    """The safetensors header: its length in 8 bytes, then JSON, padded so that data start at a multiple of 64."""
    entries: dict[str, Any] = {"__metadata__": {"digest": digest, **build.texts}}
    start = 0
    for name, shape in build.shapes.items():
        end = start + 4 * math.prod(shape)
        entries[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [start, end]}
        start = end
    text = json.dumps(entries, ensure_ascii=False).encode("utf-8")
    text += b" " * (-(8 + len(text)) % 64)
    return len(text).to_bytes(8, "little") + text


def _read_header(file: BinaryIO, path: Path) -> tuple[bytes, dict[str, Any]]:
    """The header's bytes, length included, and its JSON. Leaves the file at the first byte of data."""
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if not 2 <= length <= _MAX_HEADER:
        raise CacheDamaged(path, f"a header of {length} bytes")
    raw = file.read(length)
    try:
        entries = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise CacheDamaged(path, "the header is no JSON") from error
    if not isinstance(entries, dict):
        raise CacheDamaged(path, "the header is no JSON object")
    return length.to_bytes(8, "little") + raw, entries


def _digest(file: BinaryIO, header: bytes) -> str:
    """SHA-256 over the header and the sums of the data's blocks of 1 MiB, each added up as 64-bit words."""
    total = hashlib.sha256(header)
    buffer = bytearray(_BLOCK)
    while count := file.readinto(buffer):  # type: ignore[attr-defined]
        if count < _BLOCK:
            buffer[count:] = bytes(_BLOCK - count)
        total.update(np.frombuffer(buffer, dtype="<u8").sum(dtype=np.uint64).tobytes())
        total.update(count.to_bytes(4, "little"))
    return total.hexdigest()


def _map(path: Path, progress: Progress) -> Weights:
    """Check the file and map it: pages come from the disk when they are used. Raises CacheDamaged."""
    progress("map", None)
    with path.open("rb") as file:
        header, entries = _read_header(file, path)
        digest = _stored_digest(entries)
        if not digest or _digest(file, header.replace(digest.encode(), _UNSIGNED.encode(), 1)) != digest:
            raise CacheDamaged(path, "the contents do not match their digest")
    try:
        with safe_open(path, framework="pt", device="cpu") as mapped:
            names = [name for name in entries if name != "__metadata__"]
            return Weights(mapped.metadata(), {name: mapped.get_tensor(name) for name in names})
    except SafetensorError as error:
        raise CacheDamaged(path, str(error)) from error


def _stored_digest(entries: dict[str, Any]) -> str:
    texts = entries.get("__metadata__")
    digest = texts.get("digest") if isinstance(texts, dict) else None
    return digest if isinstance(digest, str) else ""


def _sync_folder(place: Path) -> None:
    """Make the rename itself durable; Windows has no such call."""
    if os.name == "posix":
        descriptor = os.open(place, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
