"""Counts the instructions of a call with callgrind: unlike times, the counts are the same on every run."""

import gc
import inspect
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from calls import floor_of, ours
from loops import loops
from rows import Row
from subjects import SUBJECTS, WITH_CODE
from timing import Spread

__all__ = ["call_instruction_rows", "loop_instruction_rows"]

_FEW, _MANY = 50, 150
_TOTAL = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)


def call_instruction_rows() -> Iterator[Row]:
    """Count one call of each tool; yield no rows if valgrind is not installed."""
    counts = _counts("calls")
    for (subject, what), counted in counts.items():
        ratio = counted / counts[subject, "floor"]
        floors = ", ".join(
            f"{name} {value / 1000:.1f}"
            for (name, kind), value in counts.items()
            if kind == "floor"
        )
        note = f"in thousands: {floors}" if what == "floor" else ""
        spread = Spread(median=ratio, low=ratio, high=ratio)
        yield Row(part="instructions", what=what, subject=subject, spread=spread, note=note)


def loop_instruction_rows() -> Iterator[Row]:
    """Count each loop beside its floor; yield no rows if valgrind is not installed."""
    counts = _counts("loops")
    for loop in loops() if counts else ():
        ratio = counts["run", loop.what] / loop.times / counts["floor", loop.what]
        spread = Spread(median=ratio, low=ratio, high=ratio)
        yield Row(
            part="loop instructions",
            what=loop.what,
            subject="instructions",
            spread=spread,
            goal=loop.goal,
        )


def _counts(which: Literal["calls", "loops"]) -> dict[tuple[str, str], float]:
    """Count in child processes that each repeat one call; return the instructions of one call."""
    if shutil.which("valgrind") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={folder}/%p",
            sys.executable,
            __file__,
            which,
        ]
        completed = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )
        totals: dict[tuple[str, str], dict[int, int]] = {}
        for line in completed.stdout.splitlines():
            child, count, subject, call_name = line.split("\t")
            total_match = _TOTAL.search(Path(folder, child).read_text())
            totals.setdefault((subject, call_name), {})[int(count)] = (
                int(total_match[1]) if total_match else 0
            )
    return {
        key: (counted[_MANY] - counted[_FEW]) / (_MANY - _FEW) for key, counted in totals.items()
    }


def _calls() -> dict[tuple[str, str], Callable[[], Any]]:
    return {
        (subject.name, what): call
        for subject in (*SUBJECTS, *WITH_CODE)
        for what, call in {"floor": floor_of(subject), **ours(subject)}.items()
        if not inspect.iscoroutinefunction(call)
    }


def _loops() -> dict[tuple[str, str], Callable[[], Any]]:
    every = list(loops())
    runs = {("run", loop.what): loop.run for loop in every}
    return runs | {("floor", loop.what): loop.floor for loop in every}


def _count_each(which: str) -> None:
    calls = _calls() if which == "calls" else _loops()
    for call in calls.values():
        for _ in range(40):
            call()
    gc.collect()
    gc.freeze()
    gc.disable()
    for (subject, what), call in calls.items():
        for count in (_FEW, _MANY):
            child = os.fork()
            if not child:
                for _ in range(count):
                    call()
                print(os.getpid(), count, subject, what, sep="\t", flush=True)
                os._exit(0)
            os.waitpid(child, 0)
    os._exit(0)


if __name__ == "__main__":
    _count_each(sys.argv[1])
