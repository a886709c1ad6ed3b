"""Run the benchmarks: `python -m benchmarks [name …]`. Prints a table for each, writes benchmarks/results.json."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from benchmarks import decode, interaction, memory, sessions, startup, trace
from benchmarks.report import Result, describe_machine, table

BENCHMARKS: dict[str, Callable[[], Result]] = {
    "interaction": interaction.run, "startup": startup.run, "trace": trace.run, "decode": decode.run,
    "memory": memory.run, "sessions": sessions.run,
}
JSON = Path(__file__).parent / "results.json"


def main() -> None:
    """Run those named on the command line, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--against", type=Path, metavar="folder",
                        help="another version of the app, for interaction to be measured beside this one")
    parser.add_argument("names", nargs="*", metavar="name", help=f"one of {', '.join(BENCHMARKS)}; all by default")
    arguments = parser.parse_args()
    names = arguments.names or list(BENCHMARKS)
    if unknown := [name for name in names if name not in BENCHMARKS]:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(BENCHMARKS)}")
    machine = describe_machine()
    print(machine)
    results = {name: interaction.run(arguments.against) if name == "interaction" else BENCHMARKS[name]()
               for name in names}
    for name, result in results.items():
        print(f"\n## {name}\n\n{table(result)}")
    JSON.write_text(json.dumps({"machine": machine, **{name: result._asdict() for name, result in results.items()}},
                               indent=1) + "\n")


if __name__ == "__main__":
    main()
