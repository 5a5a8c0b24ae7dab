"""LangChain: its tools, its agent on LangGraph, and its interrupts."""

import asyncio
import base64
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx
import showcase
import toolschema
from bench import USER, Given, Ran, Way, served
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import ToolRuntime
from langchain_core.tools import StructuredTool, ToolException, tool as langchain_tool
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command
from toolschema.integrations.langchain import from_toolschema

from toolshape import CallError, Registry, tool
from toolshape.bridges.langchain import to_langchain

NAME = "LangChain"
PROVIDER = "openai"


def who(runtime: ToolRuntime[str]) -> str:
    """Say who asks."""
    return f"I see {runtime.context}"


REGISTRY = showcase.tools | Registry([tool(who)])


@langchain_tool("mine")
def _mine(runtime: ToolRuntime[str]) -> str:
    """Say whose orders these are."""
    return f"orders of {runtime.context}"


@langchain_tool("picture")
def _picture() -> list[dict[str, Any]]:
    """Take a picture."""
    return [
        {
            "type": "image",
            "base64": base64.b64encode(showcase.PICTURE).decode(),
            "mime_type": "image/png",
        }
    ]


@langchain_tool("find_order")
def _find_order(number: int) -> str:
    """Find an order."""
    raise ToolException(f"There is no order {number}: ask for its number.")


_find_order.handle_tool_error = True
OWN = {
    "mine": _mine,
    "picture": _picture,
    "find_order": _find_order,
    "forever": langchain_tool("forever")(showcase.endless),
    "shop.find": langchain_tool("shop.find")(showcase.weather),
}


def _wrapper(ours: Any) -> Any:
    ours = tool(ours.function) if ours.name == "pay" else ours  # the framework asks for approval

    async def call(**arguments: Any) -> Any:
        try:
            return await ours.acall(arguments)
        except CallError as error:
            raise ToolException(str(error)) from error

    return StructuredTool(
        name=ours.name,
        description=ours.description,
        args_schema=ours.input_schema,
        coroutine=call,
        handle_tool_error=True,
    )


def _toolschema(ours: Any) -> Any:
    function = toolschema.tool(name=ours.name)(ours.function)
    return from_toolschema(toolschema.schema(function), function)


def _asks() -> HumanInTheLoopMiddleware[Any, Any, Any]:
    """What a user of LangChain puts around tools that need approval."""
    decisions = ["approve", "edit", "reject"]
    above = {
        "allowed_decisions": decisions,
        "when": lambda request: showcase.above(request.tool_call["args"]),
    }
    return HumanInTheLoopMiddleware(interrupt_on={"pay": above})


@contextmanager
def give(way: Way, tools: Registry, options: Mapping[str, Any]) -> Iterator[Given]:
    besides = {
        "path": f"{tempfile.mkdtemp()}/checkpoints.db",
        "middleware": [] if way in ("bridge", "mcp") else [_asks()],
    }
    if way == "own":
        made = [
            OWN.get(tool.name) or langchain_tool(parse_docstring=False)(tool.function)
            for tool in tools
        ]
        yield Given(made, besides)
    elif way == "wrapper":
        yield Given(list(map(_wrapper, tools)), besides)
    elif way == "toolschema":
        yield Given(list(map(_toolschema, tools)), {**besides, "middleware": []})
    elif way == "bridge":
        yield Given(to_langchain(tools, **options), besides)
    else:
        client = MultiServerMCPClient({"shop": {"transport": "streamable_http", "url": served()}})
        yield Given(
            [made for made in asyncio.run(client.get_tools()) if made.name in tools], besides
        )


def run(given: Given, *, within: float | None = None) -> Ran:
    return asyncio.run(_run(given, within, {"messages": [("user", "Do it.")]}, None))


def resume(given: Given, waiting: Any, decision: Any) -> Ran:
    config, asked = waiting
    decisions = list(map(_answer, decision if isinstance(decision, list) else [decision]))
    if "action_requests" in asked[0].value:  # the middleware asks once for all
        return asyncio.run(_run(given, None, Command(resume={"decisions": decisions}), config))
    answers = {interrupt.id: answer for interrupt, answer in zip(asked, decisions, strict=True)}
    return asyncio.run(_run(given, None, Command(resume=answers), config))


def _answer(decision: Any) -> dict[str, Any]:
    if isinstance(decision, str):
        return {"type": "reject", "message": decision}
    if decision is True:
        return {"type": "approve"}
    return {"type": "edit", "edited_action": {"name": "pay", "args": decision}}


def stored(waiting: Any) -> Any:
    return waiting  # the checkpoints are in a file, and each run opens it anew


async def _run(given: Given, within: float | None, start: Any, config: Any) -> Ran:
    path = given.besides["path"]
    async with AsyncSqliteSaver.from_conn_string(path) as saver, httpx.AsyncClient() as client:
        agent = create_agent(
            ChatOpenAI(
                model="gpt-5", http_async_client=client
            ),  # its own would be kept for a loop that is closed
            tools=given.tools,
            middleware=given.besides["middleware"],
            checkpointer=saver,
            context_schema=str,
        )
        try:
            config = config or {"configurable": {"thread_id": "1"}}
            ran = await asyncio.wait_for(agent.ainvoke(start, config, context=USER), within)
        except Exception as error:  # whatever ends the run is what a user would see
            return Ran(error=error)
        if asked := ran.get("__interrupt__"):
            state = await agent.aget_state(config)
            return Ran(waiting=(state.config, asked))
    return Ran(text=ran["messages"][-1].content)
