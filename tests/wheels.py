"""Wheels that tests install: made here, so that no index is asked."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path


def write_wheel(folder: Path, name: str, file: str, content: bytes) -> Path:
    """A wheel of version 1.0 whose package holds one file."""
    package = name.replace("-", "_")
    about = f"{package}-1.0.dist-info"
    files = {f"{package}/{file}": content,
             f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
             f"{about}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    records = [f"{inside},sha256={_digest(data)},{len(data)}" for inside, data in files.items()]
    path = folder / f"{package}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for inside, data in files.items():
            wheel.writestr(inside, data)
        wheel.writestr(f"{about}/RECORD", "\n".join([*records, f"{about}/RECORD,,"]))
    return path


def pin(file: Path, name: str, digest: str) -> Path:
    """A requirements file that takes the wheel with that SHA-256 and no other."""
    file.write_text(f"{name}==1.0 --hash=sha256:{digest}\n")
    return file


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
