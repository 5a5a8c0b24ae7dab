"""The tools that the tests of servers serve and take in."""

import asyncio
import os
import threading
import time
from typing import Any

from pydantic import BaseModel, SecretStr

from toolshape import CallContext, Image, Injected, Registry, Text, ToolError, tool

PNG = b"\x89PNG\r\n\x1a\n"


class Weather(BaseModel):
    """The weather."""

    degrees: float
    sky: str = "clear"


@tool(effects=["read"])
def weather(city: str, days: int = 1) -> Weather:
    """Say what the weather will be.

    Args:
        city: Where.
        days: For how long.
    """
    return Weather(degrees=days)


@tool
def shout(text: str) -> str:
    """Say it louder."""
    print("noise, which is no message")
    return text.upper()


@tool
async def count(to: int, context: CallContext) -> list[int]:
    """Count, and say how far."""
    for number in range(to):
        context.progress(number, to, "counting")
        await asyncio.sleep(0)
    return list(range(to))


@tool
def count_in_a_thread(to: int, context: CallContext) -> str:
    """The same, in a thread."""
    for number in range(to):
        context.progress(number, to, "counting")
    return threading.current_thread().name


@tool
def fail(how: str) -> str:
    """Fail."""
    if how == "told":
        raise ToolError("there is no such thing")
    raise ValueError("secret details")


@tool
def picture() -> list[Text | Image]:
    """Show a picture."""
    return [Text("Look:"), Image(PNG, "image/png")]


@tool(validate_result=True)
def lie() -> dict[str, int]:
    """Return what does not fit."""
    wrong: Any = {"n": "not a number"}
    return wrong


@tool(effects=["destructive"], approve=lambda arguments: arguments["amount"] > 10)
def pay(amount: int, to: str = "bob") -> str:
    """Pay."""
    PAID.append((amount, to))
    return f"paid {amount} to {to}"


@tool(approve=True)
def log_in(password: SecretStr) -> str:
    """Log in."""
    return f"in with {len(password.get_secret_value())} characters"


@tool
def whoami(user: Injected[str]) -> str:
    """Say who asks."""
    return user


@tool
def wait(seconds: float, context: CallContext) -> int:
    """Wait in a thread, as long as somebody wants it."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and not context.cancelled:
        time.sleep(0.01)
    CANCELLED.append(context.cancelled)
    return os.getpid()


@tool(timeout=0.05)
async def too_slow() -> str:
    """Take longer than it may."""
    await asyncio.sleep(9)
    return "late"


PAID: list[tuple[int, str]] = []
CANCELLED: list[bool] = []
ALL = (weather, shout, count, count_in_a_thread, fail, picture, lie, pay, log_in, wait, too_slow)
tools = Registry(ALL)
