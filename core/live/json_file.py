"""JSON from a folder that anybody may have filled: bounded in size, an object, and never trusted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core.live.errors import CheckpointInvalid, TooLarge

MAX_BYTES = 64 * 2**20  # the largest tokenizer.json published so far has 35 MB


def read_text(path: Path) -> str:
    """A text file in UTF-8. Raises TooLarge before reading, CheckpointInvalid when it cannot be read."""
    try:
        if (size := path.stat().st_size) > MAX_BYTES:
            raise TooLarge(path, size, MAX_BYTES)
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise CheckpointInvalid(path, f"cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise CheckpointInvalid(path, "is not UTF-8") from error


def read_object(path: Path) -> dict[str, Any]:
    """The object that a JSON file holds. Raises TooLarge, CheckpointInvalid."""
    try:
        found = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        if isinstance(error, CheckpointInvalid):
            raise
        raise CheckpointInvalid(path, f"is not JSON ({error!s:.100})") from error
    if not isinstance(found, dict):
        raise CheckpointInvalid(path, f"holds {type(found).__name__}, not a JSON object")
    return found


def optional_object(path: Path) -> dict[str, Any]:
    """As `read_object`; an empty object where there is no such file."""
    return read_object(path) if path.is_file() else {}
