"""Times calls to MCP servers (ours, fastmcp's and the official SDK's) and to a floor, the SDK's lowlevel server.

``python benchmarks/mcp_servers.py`` needs toolshape[mcp] and fastmcp. The servers take turns of fifty calls, all in one
run, through the official client in the same process (2025-11-25, over streams in memory). The floor's handler takes the
arguments unchecked, calls the function and returns its text. The time that a server adds to the floor is its overhead.
"""

import asyncio
import contextlib
import gc
import importlib.metadata
import statistics
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import mcp_types as types
from commits import commit_of
from fastmcp import FastMCP
from mcp import Client
from mcp.client._memory import InMemoryTransport
from mcp.server import Server
from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel

import toolshape
from toolshape import Registry
from toolshape.mcp import server

TURNS, IN_A_ROW = 40, 50


class Line(BaseModel):
    """A line of an order."""

    sku: str
    quantity: int = 1


class Receipt(BaseModel):
    """What is to be paid."""

    total: float
    lines: int


async def order(customer: str, lines: list[Line], note: str = "") -> Receipt:  # noqa: ARG001 - what is validated
    """Order goods."""
    return Receipt(total=sum(line.quantity for line in lines), lines=len(lines))


async def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def shout(text: str) -> str:
    """Say it louder: a plain function, which each server runs in a thread."""
    return text.upper()


CALLS: dict[str, dict[str, Any]] = {
    "add": {"a": 1, "b": 2},
    "order": {"customer": "ann", "lines": [{"sku": "a", "quantity": 2}, {"sku": "b"}]},
    "shout": {"text": "hello"},
}


async def _floor_add(a: int, b: int) -> tuple[str, Any]:
    return str(a + b), {"result": a + b}


async def _floor_order(customer: str, lines: list[dict[str, Any]]) -> tuple[str, Any]:  # noqa: ARG001 - the same
    total = float(sum(line.get("quantity", 1) for line in lines))
    return f'{{"total":{total},"lines":{len(lines)}}}', {"total": total, "lines": len(lines)}


async def _floor_shout(text: str) -> tuple[str, Any]:
    shouted = await asyncio.to_thread(text.upper)
    return shouted, {"result": shouted}


FLOORS: dict[str, Any] = {"add": _floor_add, "order": _floor_order, "shout": _floor_shout}


def floor_server() -> "Server[Any]":
    """Return the smallest server that answers the calls, on the SDK's lowlevel server."""
    listing_server = server(Registry([add, order, shout]), "listed")

    async def handle_call(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        text, structured = await FLOORS[params.name](**(params.arguments or {}))
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)],
            structured_content=structured,
            is_error=False,
        )

    list_handler = listing_server.get_request_handler("tools/list")
    assert list_handler is not None
    return Server("floor", on_list_tools=list_handler.handler, on_call_tool=handle_call)


def servers() -> dict[str, Any]:
    """Return each server, with the same three tools."""
    fast_server, sdk_server = FastMCP("fast"), MCPServer("own")
    for function in (add, order, shout):
        fast_server.tool(function)
        sdk_server.tool()(function)
    return {
        "floor": InMemoryTransport(floor_server()),
        "toolshape": InMemoryTransport(server(Registry([add, order, shout]), "ours")),
        f"fastmcp {importlib.metadata.version('fastmcp')}": _fastmcp_transport(fast_server),
        f"mcp {importlib.metadata.version('mcp')}, MCPServer": InMemoryTransport(
            sdk_server._lowlevel_server
        ),
    }


def _fastmcp_transport(made: FastMCP) -> Any:
    lowlevel = made._mcp_server
    return InMemoryTransport(lowlevel)


async def measure() -> dict[str, dict[str, float]]:
    """Return the median time of a call in microseconds, by server and tool."""
    times: dict[str, dict[str, list[float]]] = {}
    async with contextlib.AsyncExitStack() as stack:
        clients = {
            name: await stack.enter_async_context(Client(server, mode="legacy"))
            for name, server in servers().items()
        }
        for client in clients.values():
            await client.list_tools()
        gc.disable()
        for tool, arguments in CALLS.items():
            for turn in range(TURNS + 1):
                for name, client in clients.items():
                    for _ in range(
                        IN_A_ROW
                    ):  # a real process has one server, with its code in the caches
                        started = perf_counter()
                        result = await client.call_tool(tool, arguments)
                        elapsed = perf_counter() - started
                        assert not result.is_error, (name, result)
                        if turn:
                            times.setdefault(name, {}).setdefault(tool, []).append(elapsed * 1e6)
        gc.enable()
    return {
        name: {tool: statistics.median(call_times) for tool, call_times in tool_times.items()}
        for name, tool_times in times.items()
    }


def main() -> None:
    """Measure, print the table, and save it."""
    medians = asyncio.run(measure())
    floor_medians = medians["floor"]
    lines = [
        "# What a server of MCP costs per call",
        "",
        f"Medians of {TURNS * IN_A_ROW:,} calls in microseconds through the official client, Python {sys.version_info[0]}.{sys.version_info[1]};",
        f"in brackets what the server adds to the floor, which takes the arguments as they are. `nox -s 'measure(mcp_servers)'` at {commit_of(Path(toolshape.__file__))}.",
        "",
        "| | " + " | ".join(CALLS) + " |",
        "|---|" + "---|" * len(CALLS),
    ]
    for name, server_medians in medians.items():
        cells = [
            f"{server_medians[tool]:,.0f}"
            + (f" ({server_medians[tool] - floor_medians[tool]:+,.0f})" if name != "floor" else "")
            for tool in CALLS
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    text = "\n".join(lines) + "\n"
    print(text)
    Path(__file__).parent.joinpath("results", "mcp_servers.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
