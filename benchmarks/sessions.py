"""A class on one server: N students, each changing something every 3 s, three of them on the live model.

Students speak the browser's protocol (`benchmarks.student`), all from this one process. On the Worked pages each types
a number that is only theirs into the equation and, in turn, moves the slider of decimals; after every run the number on
their page must still be theirs. Then classes of two and of 32 take turns on one server, each student changing something
every second. Last, sessions come and go, and the server's memory is looked at on the way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from benchmarks.interaction import process, processor
from benchmarks.report import Result, median
from benchmarks.student import Student, first_number

CLASSES = (1, 10, 30, 100)
EVERY = 3.0  # seconds between two changes of a student
CHANGES = 10  # of each student; the first is not counted
GENERATING = 3
PAIR = (2, 32)  # classes that take turns on one server, to be held against each other
QUICK, ROUNDS = 1.0, 3  # seconds between two changes of a student of theirs; how often each class comes
WORKED = ("scores", "mask", "mixing", "projections")
COMING, AT_ONCE = 500, 20  # sessions that come and go, so many at a time
SETTLE = 8.0  # seconds after which sessions that left are forgotten, with the option below
FORGET = ("--server.disconnectedSessionTTL", "5")
MIB = 2**20

T = TypeVar("T")
Change = Callable[[Student, int, int], Awaitable[float]]


class Lesson(NamedTuple):
    """What was measured of one class: seconds of the changes of those who do not generate and of those who do, the
    server's seconds of processor for each change, its memory before and with the class in it, and what went wrong."""

    worked: list[float]
    live: list[float]
    cpu: float
    before: int
    within: int
    errors: list[str]


async def on_worked(student: Student, number: int, turn: int) -> float:
    """Type a number that no other student has, or move the decimals; then look whose number is on the page."""
    own = float(1000 * (number + 1) + turn - turn % 2)
    if turn % 2:
        seconds = await student.change("decimals", string_array_value=[str(2 + turn // 2 % 2)])
    else:
        seconds = await student.edit(student.equation, own, turn + 1)
    found = first_number(student.sent(student.equation))
    if found != own:
        student.errors.append(f"student {number} typed {own:g} and sees {found:g}")
    return seconds


async def on_live(student: Student, number: int, turn: int) -> float:
    """The next token of the live model, or from time to time another prompt."""
    if turn % 4:
        return await student.press("run-step")
    return await student.change("text", string_value=f"Student {number} writes sentence number {turn} of this lesson.")


LIVE: tuple[str, Change] = ("generation?lang=en&source=live", on_live)


def run() -> Result:
    """Each class on a fresh server, then the coming and going on another."""
    rows: dict[str, list[float | str]] = {}
    for count in CLASSES:
        with process("serve.py") as (address, pid):
            lesson = asyncio.run(_lesson(address, pid, count, GENERATING if count > GENERATING else 0, EVERY))
        rows[f"{count} students"] = _row(lesson, count)
    pair = at_one_pace()
    for count, lesson in pair.items():
        rows[f"{count} students, every {QUICK:.0f} s"] = _row(lesson, count)
    few, many = (median(lesson.worked) for lesson in pair.values())
    with process("serve.py", *FORGET) as (address, pid):
        held = asyncio.run(_coming_and_going(address, pid))
    flat = ", ".join(f"{size / MIB:.0f}" for size in held)
    return Result(
        ["p50, ms", "p95, ms", "p50 on live, ms", "CPU per change, ms", "MiB per session", "errors"], rows,
        [f"Each changes something every {EVERY:.0f} s, {CHANGES} times, {GENERATING} of them (of 1 none) on the live "
         "model; p50 and p95 are those of the others. Aims at 100: p95 250 ms, no error.",
         f"Every {QUICK:.0f} s: the two classes take turns on one server, {ROUNDS} times each, without the live model; "
         f"p50 of {PAIR[1]} is {many / few:.2f} times that of {PAIR[0]}. Aim: under 3.",
         f"Memory of the server before, and after each {COMING // 5} of {COMING} sessions that came and went, MiB: "
         f"{flat}. Aim: flat."])


def _row(lesson: Lesson, count: int) -> list[float | str]:
    """A lesson's row of the table; what went wrong in it is printed."""
    for error in sorted(set(lesson.errors)):
        print(f"{count} students: {error}")
    return [1000 * median(lesson.worked), 1000 * _p95(lesson.worked),
            1000 * median(lesson.live) if lesson.live else "", 1000 * lesson.cpu,
            (lesson.within - lesson.before) / MIB / count, str(len(lesson.errors))]


def at_one_pace() -> dict[int, Lesson]:
    """Classes of both sizes in turn on one server, each student on a Worked page with a change every `QUICK` seconds;
    the lessons of each size as one."""
    rounds: dict[int, list[Lesson]] = {count: [] for count in PAIR}
    with process("serve.py") as (address, pid):
        for _round in range(ROUNDS):
            for count in PAIR:
                rounds[count].append(asyncio.run(_lesson(address, pid, count, 0, QUICK)))
    return {count: Lesson(
        _flat([lesson.worked for lesson in lessons]), [], sum(lesson.cpu for lesson in lessons) / ROUNDS,
        lessons[-1].before, lessons[-1].within, _flat([lesson.errors for lesson in lessons]))
        for count, lessons in rounds.items()}


async def _lesson(address: str, pid: int, count: int, generating: int, every: float) -> Lesson:
    """A class comes, works, and leaves; the first `generating` of it are on the live model."""
    first = Student(address, "scores?lang=en&source=live" if generating else "scores?lang=en")
    await first.arrive()
    if generating:
        await _until_loaded(first)
    await first.leave()
    before = memory(pid)
    students = [Student(address, LIVE[0] if k < generating else f"{WORKED[k % len(WORKED)]}?lang=en")
                for k in range(count)]
    for student in students:
        await student.arrive()
    changes = [LIVE[1] if k < generating else on_worked for k in range(count)]
    began = processor(pid)
    times = await asyncio.gather(*(
        _work(student, change, k, every, k / count * every)
        for k, (student, change) in enumerate(zip(students, changes, strict=True))))
    cpu, within = (processor(pid) - began) / (count * CHANGES), memory(pid)
    for student in students:
        await student.leave()
    return Lesson(_flat(times[generating:]), _flat(times[:generating]), cpu, before, within,
                  _flat([student.errors for student in students]))


async def _until_loaded(student: Student) -> None:
    """Ask again until the equation holds the live model's numbers, whose sentence has more tokens than the example."""
    for turn in range(120):
        await student.change("text", string_value=f"Is it there yet, for the time {turn}?")
        if student.sent("scores")["frames"][0]["rows"]["size"] > len(WORKED):
            return
        await asyncio.sleep(0.5)
    raise RuntimeError("the live model did not load")


async def _work(student: Student, change: Change, number: int, every: float, wait: float) -> list[float]:
    """One change every so many seconds, whatever the others do; the seconds of all but the first."""
    clock = asyncio.get_running_loop()
    began, times = clock.time() + wait, []
    for turn in range(CHANGES):
        await asyncio.sleep(max(0.0, began + turn * every - clock.time()))
        try:
            times.append(await change(student, number, turn))
        except (OSError, TimeoutError, KeyError) as problem:
            student.errors.append(f"{type(problem).__name__}: {problem}")
    return times[1:]


async def _coming_and_going(address: str, pid: int) -> list[int]:
    """Memory after each fifth of the sessions; each arrives, types a number and leaves."""
    async def visit(number: int) -> None:
        student = Student(address, f"{WORKED[number % len(WORKED)]}?lang=en")
        await student.arrive()
        await on_worked(student, number, 0)
        await student.leave()

    held = []
    for start in range(0, COMING + 1, AT_ONCE):
        if start % (COMING // 5) == 0:
            await asyncio.sleep(SETTLE)
            await visit(start)  # a session that comes makes the server forget those that left
            held.append(memory(pid))
        if start < COMING:
            await asyncio.gather(*(visit(start + k) for k in range(AT_ONCE)))
    return held


def memory(pid: int) -> int:
    """Bytes that a process holds and no other one shares with it, as Linux says; mapped weights are left out."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) * 1024


def _flat(lists: list[list[T]]) -> list[T]:
    return [item for found in lists for item in found]


def _p95(values: list[float]) -> float:
    return sorted(values)[int(0.95 * (len(values) - 1))] if values else float("nan")
