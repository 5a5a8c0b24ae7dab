"""The tools of the worker: their effects are lines of a file, and the process may die in them."""

import os
import signal
import time
from typing import Any

from toolshape import Registry, tool

ENV = os.environ
DIE = tuple((ENV.get("DIE") or "- -").split())


def meet(point: str, name: str) -> None:
    if (point, name) == DIE:
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)


def effect(name: str) -> None:
    meet("before_effect", name)
    handle = os.open(ENV["OUT"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{name}\n".encode())
    os.fsync(handle)
    os.close(handle)
    time.sleep(float(ENV.get("SLOW", "0")))
    meet("after_effect", name)


@tool(effects=["write"])
def reserve(sku: str) -> str:
    """Reserve an article."""
    effect("reserve")
    return f"reserved {sku}"


@tool(effects=["write"], approve=ENV.get("APPROVE") == "1")
def pay(amount: int, to: str = ENV.get("DEFAULT_TO", "ann")) -> str:
    """Pay somebody."""
    effect("pay")
    return f"paid {amount} to {to}"


@tool(effects=["write"])
async def mail(to: str) -> dict[str, str]:
    """Mail somebody."""
    effect("mail")
    return {"mailed": to}


tools = Registry([reserve, pay, mail])


def call(number: int, name: str, arguments: str) -> dict[str, Any]:
    return {
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


CALLS = [
    call(0, "reserve", '{"sku": "B-1"}'),
    call(1, "pay", '{"amount": 5}'),
    call(2, "mail", '{"to": "ann"}'),
]
RESPONSE = {
    "choices": [
        {"finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": CALLS}}
    ]
}
