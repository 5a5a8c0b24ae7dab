"""Runs a lane: draws cases from a fresh seed, asks a judge that is not our code, and keeps each failing case as a row.

A lane is two functions. ``draw(random)`` returns a case as JSON data: everything the check needs, so that a kept row
still means the same after the draw has changed. ``check(case)`` returns the difference between our code and the judge
as a sentence, or ``None``.

``TOOLSHAPE_SEED`` repeats a run, ``TOOLSHAPE_CASES`` is the number of cases for each lane (a small sample by default).
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

BLOCKS = 8
"""The number of tests that share the cases of a lane, so that several processes can run it."""
SAMPLE = 400
KEPT = Path(__file__).parent / "kept"
_MOST_SHOWN = 10

Case = dict[str, Any]
Draw = Callable[[Random], "Case | None"]
Check = Callable[[Case], "str | None"]

in_blocks = pytest.mark.parametrize("block", range(BLOCKS))


def seed() -> str:
    """The seed of this run, which ``conftest.py`` chooses and prints."""
    return os.environ["TOOLSHAPE_SEED"]


def cases() -> int:
    """The number of cases for each lane."""
    return int(os.environ.get("TOOLSHAPE_CASES", SAMPLE))


def kept(lane: str) -> list[Case]:
    """The cases that failed once: every run checks them first."""
    path = KEPT / f"{lane}.jsonl"
    return (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if path.exists()
        else []
    )


def check_kept(lane: str, check: Check) -> None:
    """Check the rows that are kept.

    Raises:
        AssertionError: One of them fails again.
    """
    found = [(case, difference) for case in kept(lane) if (difference := check(case)) is not None]
    assert not found, _told(lane, found)


def check_drawn(lane: str, block: int, draw: Draw, check: Check) -> None:
    """Draw the cases of one block, check them, and keep those that fail.

    Args:
        lane: The name of the lane, which names the file of its rows.
        block: Which share of the cases, from 0 to ``BLOCKS - 1``.
        draw: Makes a case; ``None`` where what was drawn is not worth a check: another one is drawn instead.
        check: Judges it.

    Raises:
        AssertionError: Some cases fail; the error shows the first of them.
    """
    found: list[tuple[Case, str]] = []
    random = Random(f"{lane} {seed()} {block}")
    wanted = len(range(block, cases(), BLOCKS))
    checked = tried = 0
    while checked < wanted:
        tried += 1
        assert tried <= 20 * wanted + 100, (
            f"{lane}: only {checked} of {tried} drawn cases were worth a check"
        )
        case = draw(random)
        if case is None:
            continue
        checked += 1
        difference = check(case)
        if difference is not None:
            found.append((case, difference))
            if len(found) == _MOST_SHOWN:
                break
    if found:
        with (KEPT / f"{lane}.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(case, ensure_ascii=True) + "\n" for case, _ in found)
    assert not found, _told(lane, found)


def _told(lane: str, found: list[tuple[Case, str]]) -> str:
    shown = "\n".join(
        f"  {difference}\n    {json.dumps(case)[:2_000]}"
        for case, difference in found[:_MOST_SHOWN]
    )
    return f"lane {lane}, seed {seed()}: {len(found)} cases differ\n{shown}"
