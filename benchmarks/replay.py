"""Times a replay in one process and in two: ``python benchmarks/replay.py`` writes the table to results/replay.md.

The trace holds responses in OpenAI's form with calls of four tools. A fifth of the calls need a coercion or are
rejected. The two ways take turns, five times each, and their workers are started before. The ratio is the ratio of the
medians.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

from commits import commit_of
from pydantic import BaseModel

import toolshape
from toolshape import Registry, tool
from toolshape.trace import record_to, replay

RESULTS = Path(__file__).parent / "results" / "replay.md"
TARGET = f"{Path(__file__).resolve()}:TOOLS"


class Window(BaseModel):
    """From when, and for how long."""

    since: str
    hours: int = 24


@tool
def weather(city: str, days: int = 1, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Say what the weather will be."""
    return f"{city} {days} {unit}"


@tool
def search(
    query: str, tags: list[str] | None = None, limit: int = 10, window: Window | None = None
) -> str:
    """Search."""
    return f"{query} {tags} {limit} {window}"


@tool
def move(to: Literal["left", "right"], steps: int) -> str:
    """Move."""
    return f"{to} {steps}"


@tool
def book(hotel: str, nights: int, guests: list[str]) -> str:
    """Book a room."""
    return f"{hotel} {nights} {guests}"


TOOLS = Registry([weather, search, move, book])
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("weather", {"city": "Bonn", "days": 2}),
    (
        "search",
        {"query": "tea in Bonn", "tags": ["a", "b"], "window": {"since": "2026-11-01", "hours": 3}},
    ),
    ("move", {"to": "left", "steps": 2}),
    ("book", {"hotel": "Ritz", "nights": 2, "guests": ["Ann", "Bob"]}),
    ("weather", {"city": "Bonn", "days": "2", "unit": "Celsius"}),
    ("search", {"query": "tea", "limit": "x"}),
    ("move", {"to": "right", "steps": 1}),
    ("weather", {"city": "Rome"}),
    ("book", {"hotel": "Ritz", "nights": 1, "guests": []}),
    ("search", {"query": "coffee"}),
]


def record_trace(path: Path, responses: int) -> None:
    """Record some responses."""
    TOOLS.observe(record_to(path, keep="all"))
    bound = TOOLS.bind("openai", False)
    for number in range(responses):
        name, arguments = CALLS[number % len(CALLS)]
        call = {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        usage = {"prompt_tokens": 211, "completion_tokens": 30, "total_tokens": 241}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        bound.dispatch(
            {
                "id": f"r{number}",
                "object": "chat.completion",
                "model": "gpt-5",
                "choices": [choice],
                "usage": usage,
            }
        )


def time_replay(path: Path, make: Any) -> float:
    """Return the seconds of one replay, without the start of its workers."""
    with make() as pool:
        list(pool.map(_warm_up, range(8)))
        started = perf_counter()
        report = replay(path, TARGET, pool)
        seconds = perf_counter() - started
    assert not report.changes
    return seconds


def _warm_up(_: int) -> int:
    """Make a worker import everything that it needs."""
    return len(TOOLS)


def main() -> None:
    """Time, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--responses", type=int, default=60_000)
    options = parser.parse_args()
    context = get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "calls.jsonl")
        record_trace(path, options.responses)
        megabytes = path.stat().st_size / 1e6
        pool_factories = {
            worker_count: partial(ProcessPoolExecutor, worker_count, mp_context=context)
            for worker_count in (1, 2)
        }
        seconds: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(5):
            for worker_count, make in pool_factories.items():
                seconds[worker_count].append(time_replay(path, make))
    one_worker, two_workers = (statistics.median(seconds[worker_count]) for worker_count in (1, 2))
    seconds_per_response = one_worker / options.responses
    lines = [
        "# Replay",
        "",
        (
            f"A trace of {options.responses:,} responses ({megabytes:.0f} MB), medians of five; Python {platform.python_version()}, "
            f"{os.cpu_count()} cores. `nox -s 'measure(replay)'` at {commit_of(Path(toolshape.__file__))}."
        ),
        "",
        "| workers | seconds | ratio | a response | a million responses, extrapolated |",
        "|---|---|---|---|---|",
        f"| 1 | {one_worker:.2f} | 1.00 | {seconds_per_response * 1e6:.0f} us | {seconds_per_response * 1e6:.0f} s |",
        f"| 2 | {two_workers:.2f} | {one_worker / two_workers:.2f} | {two_workers / options.responses * 1e6:.0f} us | {two_workers / options.responses * 1e6:.0f} s |",
        "",
    ]
    RESULTS.write_text("\n".join(lines), encoding="utf-8")
    sys.stdout.write(RESULTS.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
