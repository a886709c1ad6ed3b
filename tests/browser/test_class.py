"""Several students on one server at once, by the browser's protocol: each sees their own numbers, and no error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.sessions import WORKED, on_worked
from benchmarks.student import Student

ROOT = Path(__file__).parents[2]
STUDENTS, TURNS = 8, 6


async def lesson(address: str) -> list[Student]:
    """Everyone arrives and then changes something at the same time as the others, again and again."""
    students = [Student(address, f"{WORKED[k % len(WORKED)]}?lang={('en', 'zh')[k % 2]}") for k in range(STUDENTS)]
    await asyncio.gather(*(student.arrive() for student in students))
    for turn in range(TURNS):
        await asyncio.gather(*(on_worked(student, k, turn) for k, student in enumerate(students)))
    await asyncio.gather(*(student.leave() for student in students))
    return students


def test_nobody_s_numbers_are_on_anybody_else_s_page(serve: Callable[[Path], str]) -> None:
    address = serve(ROOT / "serve.py")
    with ThreadPoolExecutor(1) as other:  # this thread may have a loop already, Playwright's
        students = other.submit(lambda: asyncio.run(lesson(address))).result()
    assert [error for student in students for error in student.errors] == []
    for k, student in enumerate(students):
        payload = student.sent(student.equation)
        assert payload["decimals"] == 2 + (TURNS - 1) // 2 % 2
        assert [list(cells.values()) for cells in payload["edits"].values()] == [[1000.0 * (k + 1) + TURNS - 2]]
