"""A server on the official SDK, as users write it; checked by mypy and pyright, never run."""

from typing import Any

from mcp.server.lowlevel import Server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, Tool

from toolshape import Registry, tool


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


bound = Registry([weather]).bind("mcp")


async def listed(context: Any, params: Any) -> ListToolsResult:
    return ListToolsResult(tools=[Tool.model_validate(entry) for entry in bound.export()])


async def called(context: Any, params: CallToolRequestParams) -> CallToolResult:
    [message] = (await bound.adispatch(params)).messages
    return CallToolResult.model_validate(message)


server = Server[Any]("shop", on_list_tools=listed, on_call_tool=called)
