"""Starts an emulator of providers that others wrote, and says what its fixtures hold."""

import contextlib
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from toolshape import Registry, tool

HERE = Path(__file__).parent
REASON = "the emulator is not installed: nox -s emulator"
_LONGEST_START = 120  # seconds
FIXTURES = json.loads((HERE / "fixtures.json").read_text(encoding="utf-8"))["fixtures"]
CALLS: dict[str, list[tuple[str, Any]]] = {
    fixture["match"]["userMessage"]: [
        (call["name"], call["arguments"]) for call in fixture["response"]["toolCalls"]
    ]
    for fixture in FIXTURES
    if "toolCalls" in fixture["response"]
}
SAID: dict[str, str] = {
    fixture["match"].get("userMessage", ""): fixture["response"].get("content", "")
    for fixture in FIXTURES
}


class Trip(BaseModel):
    to: str
    stops: list[str]
    price: float


@tool
def weather(city: str, days: int = 1) -> str:
    """The weather of a city."""
    return f"{days} sunny days in {city}"


@tool
def book(trip: Trip) -> str:
    """Book a trip."""
    return f"booked to {trip.to}"


@tool
def now() -> str:
    """The time."""
    return "12:30"


TOOLS = Registry([weather, book, now])


def free_port() -> int:
    with contextlib.closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextlib.contextmanager
def started(words: Sequence[str], url: str, **environment: str) -> Iterator[str]:
    """Start a server, wait until it answers, and stop it at the end."""
    process = subprocess.Popen(words, env={**os.environ, **environment})
    try:
        end = time.monotonic() + _LONGEST_START
        while True:
            with contextlib.suppress(httpx.TransportError):
                httpx.get(url)
                break
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        yield url.partition("/health")[0]
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def emulator(piece: int) -> Iterator[str]:
    """The address of the emulator, whose streams come in pieces of so many characters."""
    script = os.environ.get("TOOLSHAPE_EMULATOR")
    if not script:
        pytest.skip(REASON)
    port = free_port()
    options = ["--port", str(port), "--fixtures", str(HERE / "fixtures.json")]
    sizes = ["--chunk-size", str(piece), "--log-level", "silent"]
    with started(["node", script, *options, *sizes], f"http://127.0.0.1:{port}/health") as url:
        yield url
