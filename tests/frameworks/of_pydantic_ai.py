"""pydantic-ai: its tools, its agent and its deferred tools."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import showcase
import toolschema
from bench import USER, Given, Ran, Way, served
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    BinaryContent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessagesTypeAdapter,
    ModelRetry,
    RunContext,
    Tool,
    ToolApproved,
    ToolDenied,
)
from pydantic_ai.mcp import MCPToolset
from toolschema.integrations.pydantic_ai import from_toolschema

from toolshape import CallError, Registry, tool
from toolshape.bridges.pydantic_ai import to_pydantic_ai

NAME = "pydantic-ai"
PROVIDER = "openai"


def who(ctx: RunContext[str]) -> str:
    """Say who asks."""
    return f"I see {ctx.deps}"


REGISTRY = showcase.tools | Registry([tool(who)])


def _mine(ctx: RunContext[str]) -> str:
    """Say whose orders these are."""
    return f"orders of {ctx.deps}"


def _picture() -> BinaryContent:
    """Take a picture."""
    return BinaryContent(showcase.PICTURE, media_type="image/png")


def _find_order(number: int) -> str:
    """Find an order."""
    raise ModelRetry(f"There is no order {number}: ask for its number.")


def _pay(ctx: RunContext[str], amount: int, to: str) -> str:
    """Pay somebody."""
    if amount > 100 and not ctx.tool_call_approved:
        raise ApprovalRequired
    return showcase.pay(amount, to)


OWN = {
    "who": Tool(who),
    "mine": Tool(_mine, name="mine"),
    "picture": Tool(_picture, name="picture"),
    "find_order": Tool(_find_order, name="find_order"),
    "pay": Tool(_pay, name="pay"),
    "shop.find": Tool(showcase.weather, name="shop.find"),
    "endless": Tool(showcase.endless, timeout=0.3),
    "forever": Tool(showcase.endless, name="forever"),
    "slow_write": Tool(showcase.slow_write, sequential=True),
}


def _wrapper(ours: Any) -> Tool[Any]:
    ours = tool(ours.function) if ours.name == "pay" else ours  # the framework asks for approval

    async def call(**arguments: Any) -> Any:
        try:
            return await ours.acall(arguments)
        except CallError as error:
            raise ModelRetry(str(error)) from error

    made: Tool[Any] = Tool.from_schema(call, ours.name, ours.description, ours.input_schema)
    made.requires_approval = ours.name == "pay"
    return made


def _toolschema(tool: Any) -> Tool[Any]:
    function = toolschema.tool(name=tool.name)(tool.function)
    return from_toolschema(toolschema.schema(function), function)


@contextmanager
def give(way: Way, tools: Registry, options: Mapping[str, Any]) -> Iterator[Given]:
    if way == "own":
        yield Given([OWN.get(tool.name) or Tool(tool.function) for tool in tools])
    elif way == "wrapper":
        yield Given(list(map(_wrapper, tools)))
    elif way == "toolschema":
        yield Given(list(map(_toolschema, tools)))
    elif way == "bridge":
        yield Given(to_pydantic_ai(tools, **options))
    else:
        toolset = MCPToolset(served()).filtered(lambda _, definition: definition.name in tools)
        yield Given([], {"toolsets": [toolset]})


def run(given: Given, *, within: float | None = None) -> Ran:
    return asyncio.run(_run(given, within, "Do it.", {}))


def resume(given: Given, waiting: Any, decision: Any) -> Ran:
    call_ids, _, history = waiting
    kinds = {
        str: lambda text: ToolDenied(text),
        dict: lambda edited: ToolApproved(override_args=edited),
    }
    decisions = decision if isinstance(decision, list) else [decision]
    decided = [kinds.get(type(decision), lambda _: True)(decision) for decision in decisions]
    results = DeferredToolResults(approvals=dict(zip(call_ids, decided, strict=True)))
    return asyncio.run(
        _run(given, None, None, {"message_history": history, "deferred_tool_results": results})
    )


def stored(waiting: Any) -> Any:
    call_ids, shown, history = waiting
    return (
        call_ids,
        shown,
        ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(history)),
    )


async def _run(
    given: Given, within: float | None, prompt: str | None, options: dict[str, Any]
) -> Ran:
    agent = Agent(
        "openai-chat:gpt-5",
        deps_type=str,
        tools=given.tools,
        output_type=[str, DeferredToolRequests],
        **given.besides,
    )
    try:
        ran = await asyncio.wait_for(agent.run(prompt, deps=USER, **options), within)
    except Exception as error:  # whatever ends the run is what a user would see
        return Ran(error=error)
    if isinstance(ran.output, str):
        return Ran(text=ran.output)
    asked = ran.output.approvals
    shown = [ran.output.metadata.get(call.tool_call_id) or call.args_as_dict() for call in asked]
    return Ran(waiting=([call.tool_call_id for call in asked], shown, ran.all_messages()))
