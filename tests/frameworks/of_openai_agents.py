"""openai-agents: its tools, its runner and its interruptions."""

import asyncio
import base64
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import showcase
import toolschema
from agents import (
    Agent,
    FunctionTool,
    OpenAIResponsesModel,
    RunContextWrapper,
    Runner,
    RunState,
    ToolOutputImage,
    function_tool,
    set_tracing_disabled,
)
from agents.mcp import MCPServerStreamableHttp, create_static_tool_filter
from bench import USER, Given, Ran, Way, served
from openai import AsyncOpenAI
from toolschema.integrations.openai_agents import to_agents_function_tool

from toolshape import CallError, Registry, tool
from toolshape.bridges.openai_agents import to_openai_agents

NAME = "openai-agents"
PROVIDER = "openai-responses"
set_tracing_disabled(True)


def who(ctx: RunContextWrapper[str]) -> str:
    """Say who asks."""
    return f"I see {ctx.context}"


REGISTRY = showcase.tools | Registry([tool(who)])


@function_tool(name_override="mine")
def _mine(ctx: RunContextWrapper[str]) -> str:
    """Say whose orders these are."""
    return f"orders of {ctx.context}"


@function_tool(name_override="picture")
def _picture() -> ToolOutputImage:
    """Take a picture."""
    return ToolOutputImage(
        image_url=f"data:image/png;base64,{base64.b64encode(showcase.PICTURE).decode()}"
    )


async def _above(context: Any, arguments: dict[str, Any], call_id: str) -> bool:
    return bool(arguments["amount"] > 100)


OWN = {
    "mine": _mine,
    "find_order": function_tool(
        showcase.find_order, failure_error_function=lambda _, error: str(error)
    ),
    "picture": _picture,
    "pay": function_tool(showcase.pay, needs_approval=_above),
    "endless": function_tool(showcase.endless, timeout=0.3),
    "forever": function_tool(showcase.endless, name_override="forever"),
    "shop.find": function_tool(showcase.weather, name_override="shop.find"),
}


def _wrapper(ours: Any) -> FunctionTool:
    approves = ours.name == "pay"
    ours = tool(ours.function) if approves else ours  # the framework asks for approval

    async def call(context: Any, arguments: str) -> Any:
        try:
            return await ours.acall(arguments)
        except CallError as error:
            return str(error)

    schema = json.loads(json.dumps(ours.input_schema))
    return FunctionTool(
        ours.name, ours.description, schema, call, strict_json_schema=False, needs_approval=approves
    )


def _toolschema(ours: Any) -> FunctionTool:
    function = toolschema.tool(name=ours.name)(ours.function)
    return to_agents_function_tool(toolschema.schema(function), function)


@contextmanager
def give(way: Way, tools: Registry, options: Mapping[str, Any]) -> Iterator[Given]:
    if way == "own":
        yield Given([OWN.get(tool.name) or function_tool(tool.function) for tool in tools])
    elif way == "wrapper":
        yield Given(list(map(_wrapper, tools)))
    elif way == "toolschema":
        yield Given(list(map(_toolschema, tools)))
    elif way == "bridge":
        yield Given(to_openai_agents(tools, **options))
    else:
        yield Given([], {"names": [tool.name for tool in tools]})


def run(given: Given, *, within: float | None = None) -> Ran:
    return asyncio.run(_run(given, within, None, None))


def resume(given: Given, waiting: Any, decision: Any) -> Ran:
    return asyncio.run(_run(given, None, waiting, decision))


def stored(waiting: Any) -> Any:
    return json.loads(json.dumps(waiting))


async def _run(given: Given, within: float | None, waiting: Any, decision: Any) -> Ran:
    names = given.besides.get("names")
    if names is None:
        return await _ran(given, [], within, waiting, decision)
    tool_filter = create_static_tool_filter(allowed_tool_names=names)
    try:
        async with MCPServerStreamableHttp({"url": served()}, tool_filter=tool_filter) as server:
            return await _ran(given, [server], within, waiting, decision)
    except Exception as error:  # as below
        return Ran(error=error)


async def _ran(
    given: Given, servers: list[Any], within: float | None, waiting: Any, decision: Any
) -> Ran:
    model = OpenAIResponsesModel("gpt-5", AsyncOpenAI())
    agent: Agent[str] = Agent("clerk", model=model, tools=[*given.tools], mcp_servers=servers)
    try:
        start: Any = "Do it." if waiting is None else await _decided(agent, waiting, decision)
        context = USER if waiting is None else None
        ran = await asyncio.wait_for(Runner.run(agent, start, context=context), within)
    except Exception as error:  # whatever ends the run is what a user would see
        return Ran(error=error)
    if ran.interruptions:
        return Ran(waiting=ran.to_state().to_json())
    return Ran(text=ran.final_output)


async def _decided(agent: Agent[str], waiting: Any, decision: Any) -> Any:
    state = await RunState.from_json(agent, waiting, context_override=RunContextWrapper(USER))
    decisions = decision if isinstance(decision, list) else [decision]
    for asked, decided in zip(state.get_interruptions(), decisions, strict=True):
        if isinstance(decided, str):
            state.reject(asked, rejection_message=decided)
        elif decided is True:
            state.approve(asked)
        else:
            raise TypeError("the SDK has no edits")
    return state
