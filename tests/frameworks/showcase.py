"""Functions that show behaviours, and tools of them; what they did stands in a file, as they may run in another process.

``toolshape mcp tests/frameworks/showcase.py:tools`` serves them.
"""

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from toolshape import CallContext, Image, Injected, Registry, Result, ToolError, tool

PICTURE = b"\x89PNG\r\n\x1a\n"


def did(name: str, *what: Any) -> None:
    """Note that a tool had an effect."""
    with Path(os.environ["TOOLSHAPE_EFFECTS"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps([name, *what]) + "\n")


class Line(BaseModel):
    """A line of an order."""

    sku: str
    quantity: int = 1


class Order(BaseModel):
    """An order."""

    number: int
    lines: list[Line]


class Node(BaseModel):
    """A node of a tree."""

    value: int
    children: list["Node"] = []


def weather(city: str, days: int = 1) -> str:
    """Say what the weather will be.

    Args:
        city: The name of the city.
        days: How many days ahead.
    """
    did("weather", city, days)
    return f"{city}: sun for {days} days"


def distance(start: str, end: str) -> str:
    """Measure a distance.

    Parameters
    ----------
    start : str
        Where it begins.
    end : str
        Where it ends.
    """
    return f"{start} to {end}"


def order(lines: list[Line], number: int = 7) -> Order:
    """Order things."""
    did("order", [line.sku for line in lines])
    return Order(number=number, lines=lines)


def tag(words: list[str]) -> str:
    """Tag with words."""
    did("tag", words)
    return f"{len(words)} words"


def paint(colour: Literal["red", "green"], coats: Annotated[int, Field(gt=0)] = 1) -> str:
    """Paint the wall."""
    did("paint", colour, coats)
    return f"{coats} coats of {colour}"


def total(tree: Node) -> int:
    """Sum a tree."""
    did("total", type(tree).__name__)
    return tree.value + sum(map(total, tree.children))


def book(day: date) -> str:
    """Book a day."""
    did("book", type(day).__name__)
    return str(day)


def ping() -> None:
    """Ping."""
    did("ping")


def settings(config: str, run_manager: str, context: str) -> str:
    """Set three things, whose names frameworks use themselves."""
    did("settings", config, run_manager, context)
    return "set"


def picture() -> Image:
    """Take a picture."""
    return Image(PICTURE, "image/png")


def find_order(number: int) -> str:
    """Find an order."""
    raise ToolError(f"There is no order {number}: ask for its number.")


def crash() -> str:
    """Crash."""
    raise RuntimeError("the password is swordfish")


def long_text() -> str:
    """Return a long text."""
    return "word " * 4000


async def fetch(url: str) -> str:
    """Fetch a page."""
    await asyncio.sleep(0)
    return f"page {url}"


async def slow_read(number: int) -> str:
    """Read slowly."""
    did("begin", number)
    await asyncio.sleep(0.15)
    did("end", number)
    return f"read {number}"


async def slow_write(number: int) -> str:
    """Write slowly."""
    did("begin", number)
    await asyncio.sleep(0.15)
    did("end", number)
    return f"wrote {number}"


def slow_plain(number: int) -> str:
    """Read slowly, without async."""
    did("begin", number)
    time.sleep(0.15)
    did("end", number)
    return f"read {number}"


async def endless() -> str:
    """Never end."""
    did("begin")
    try:
        await asyncio.sleep(3)
    except asyncio.CancelledError:
        did("cancelled")
        raise
    return "ended"


def pay(amount: int, to: str) -> str:
    """Pay somebody."""
    did("pay", amount, to)
    return f"paid {amount} to {to}"


def mine(*, user: Injected[str]) -> str:
    """Say whose orders these are."""
    return f"orders of {user}"


def above(arguments: dict[str, Any]) -> bool:
    """Whether a payment needs approval."""
    return bool(arguments["amount"] > 100)


OPTIONS: dict[str, dict[str, Any]] = {
    "weather": {"effects": ["read"]},
    "slow_read": {"effects": ["read"]},
    "slow_plain": {"effects": ["read"]},
    "slow_write": {"effects": ["write"]},
    "endless": {"effects": ["read"], "timeout": 0.3},
    "long_text": {"longest_result": 1000},
    "pay": {"effects": ["write"], "approve": above},
}
FUNCTIONS = {
    function.__name__: function
    for function in (
        weather, distance, order, tag, paint, total, book, ping, settings, picture, find_order, crash, long_text,
        fetch, slow_read, slow_write, slow_plain, endless, pay, mine,
    )
}  # fmt: skip
TOOLS = {name: tool(**OPTIONS.get(name, {}))(function) for name, function in FUNCTIONS.items()}
tools = Registry(
    [
        *TOOLS.values(),
        tool(name="shop.find")(weather),
        tool(name="forever", effects=["read"])(endless),
    ]
)


@tools.around
async def note(context: CallContext, run: Callable[[], Awaitable[Result]]) -> Result:
    """Note each call and its coercions, if somebody wants to know."""
    result = await run()
    if Path(os.environ["TOOLSHAPE_EFFECTS"]).with_suffix(".hooks").exists():
        did("hook", context.tool.name, [coercion.rule for coercion in result.coercions])
    return result


def user() -> str:
    """Return the user whom ``toolshape mcp --inject user=...`` injects."""
    return "ann"
