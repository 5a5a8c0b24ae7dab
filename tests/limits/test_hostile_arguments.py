"""Hostile arguments are answered within bounds of time and memory, and the answer is short."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="bounds of memory are POSIX's")
HOSTILE = Path(__file__).parents[1] / "hostile_arguments.py"
LONGEST_ANSWER = 6_000


def test_hostile_arguments_are_answered_in_bounds():
    """Each by itself: a decorated tool with the default rules, and one from a definition with every rule."""
    from hostile_arguments import SECONDS, cases

    path = os.pathsep.join([str(HOSTILE.parent), *sys.path])
    done = subprocess.run(
        [sys.executable, str(HOSTILE)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {name for name, *_ in rows} == set(cases())
    slow = [(name, made, seconds) for name, made, seconds, _, _ in rows if seconds > SECONDS]
    assert not slow
    assert [row for row in rows if row[4] > LONGEST_ANSWER] == []
    crashed = [(name, made) for name, made, _, code, _ in rows if code == "tool_crashed"]
    assert not crashed
