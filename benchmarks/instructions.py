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
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/%p", sys.executable, __file__]
        ran = subprocess.run(
            command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": "0"}
        )
        totals: dict[tuple[str, str], dict[int, int]] = {}
        for line in ran.stdout.splitlines():
            child, count, subject, what = line.split("\t")
            found = _TOTAL.search(Path(folder, child).read_text())
            totals.setdefault((subject, what), {})[int(count)] = int(found[1]) if found else 0
    each = {key: (counted[_MANY] - counted[_FEW]) / (_MANY - _FEW) for key, counted in totals.items()}
    for (subject, what), counted in each.items():
        ratio = counted / each[subject, "floor"]
        note = (
            ""
            if what != "floor"
            else "in thousands: "
            + ", ".join(f"{subject} {value / 1000:.1f}" for (subject, item), value in each.items() if item == "floor")
        )
        spread = Spread(median=ratio, low=ratio, high=ratio)
        yield Row(part="instructions", what=what, subject=subject, spread=spread, note=note)


def _count_each() -> None:
    import gc
    import inspect

    from calls import floor_of, ours
    from subjects import SUBJECTS

    calls = {
        (subject.name, what): call
        for subject in SUBJECTS
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
