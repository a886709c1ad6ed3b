"""How results are described: the machine, a table in Markdown, medians."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from importlib.metadata import version
from typing import NamedTuple


class Result(NamedTuple):
    """`columns` name the values of each row; `rows` are label → values; `notes` say what was measured and the aims."""

    columns: list[str]
    rows: dict[str, list[float | str]]
    notes: list[str]


def table(result: Result) -> str:
    """The result as a Markdown table with its notes below."""
    lines = ["| | " + " | ".join(result.columns) + " |", "|---|" + "---:|" * len(result.columns)]
    for label, values in result.rows.items():
        lines.append(f"| {label} | " + " | ".join(_cell(value) for value in values) + " |")
    return "\n".join([*lines, "", *result.notes])


def _cell(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def median(values: Sequence[float]) -> float:
    """The median, or NaN where nothing was measured."""
    return statistics.median(values) if values else float("nan")


def describe_machine() -> str:
    """Processor, cores, system and versions, in one line."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("streamlit", "torch", "playwright"))
    system = f"{platform.system()}, Python {platform.python_version()}"
    return f"{_processor()}, {os.cpu_count()} cores, {system}, {versions}"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
