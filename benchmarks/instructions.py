"""Counts the instructions of a call with callgrind: unlike times, the counts are the same on every run."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rows import Row
from timing import Spread

__all__ = ["instruction_rows"]

_FEW, _MANY = 50, 150
_TOTAL = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)


def instruction_rows() -> Iterator[Row]:
    """Count in child processes that each repeat one call; yield no rows if valgrind is not installed."""
    if shutil.which("valgrind") is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={folder}/%p",
            sys.executable,
            __file__,
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
    instructions_per_call = {
        key: (counted[_MANY] - counted[_FEW]) / (_MANY - _FEW) for key, counted in totals.items()
    }
    for (subject, call_name), counted in instructions_per_call.items():
        ratio = counted / instructions_per_call[subject, "floor"]
        note = (
            ""
            if call_name != "floor"
            else "in thousands: "
            + ", ".join(
                f"{subject} {value / 1000:.1f}"
                for (subject, kind), value in instructions_per_call.items()
                if kind == "floor"
            )
        )
        spread = Spread(median=ratio, low=ratio, high=ratio)
        yield Row(part="instructions", what=call_name, subject=subject, spread=spread, note=note)


def _count_each() -> None:
    import gc
    import inspect

    from calls import floor_of, ours
    from subjects import SUBJECTS, WITH_CODE

    calls = {
        (subject.name, what): call
        for subject in (*SUBJECTS, *WITH_CODE)
        for what, call in {"floor": floor_of(subject), **ours(subject)}.items()
        if not inspect.iscoroutinefunction(call)
    }
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
    _count_each()
