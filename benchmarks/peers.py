"""Drives other libraries as their users drive them: one ``Peer`` for each, with what it leaves out of a call.

We read and ran each library on 2026-11-21, in the versions that the table names. A call begins with the JSON text of
the arguments and ends with the tool's value. If a peer takes a dict, the call includes ``json.loads``.
"""

import asyncio
import functools
import importlib.metadata
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, get_type_hints

from pydantic import BaseModel

__all__ = ["PEERS", "Peer", "installed"]

Run: TypeAlias = Callable[[], Any]
"""Does the work once; a coroutine function if the peer has only an asynchronous way."""


@dataclass(frozen=True, kw_only=True)
class Peer:
    """How to drive a library.

    ``statement`` is the import that a user needs to define a tool. ``define`` makes a tool from a function.
    ``exporter`` returns a function that exports an unchanged set of tools, as for each request. ``caller`` returns a
    function that runs one call. ``is_async``: the tools are async functions, awaited in a running loop. ``validates``:
    the library checks arguments before the function runs. ``leaves_out``: the work that our ``dispatch`` does and this
    library does not.
    """

    name: str
    distribution: str
    statement: str
    define: Callable[[Callable[..., Any]], Any]
    exporter: Callable[[Sequence[Any]], Run]
    caller: Callable[[Any, str], Run]
    is_async: bool = False
    validates: bool = True
    leaves_out: str


def installed() -> dict[str, str]:
    """Return the peers that are installed, and their versions."""
    versions: dict[str, str] = {}
    for peer in PEERS:
        try:
            versions[peer.name] = importlib.metadata.version(peer.distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


# --- pydantic-ai --------------------------------------------------------------------------------------------------


def _ai_context() -> Any:
    from pydantic_ai import RunContext, RunUsage
    from pydantic_ai.models.test import TestModel

    return RunContext(deps=None, model=TestModel(), usage=RunUsage(), run_step=0)


def _ai_define(function: Callable[..., Any]) -> Any:
    from pydantic_ai import Tool

    return Tool(function)


def _ai_exporter(tools: Sequence[Any]) -> Run:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer
    from pydantic_ai.toolsets import FunctionToolset

    toolset, context = FunctionToolset(list(tools)), _ai_context()
    model = TestModel(profile={"json_schema_transformer": OpenAIJsonSchemaTransformer})

    async def export() -> Any:
        tools_by_name = await toolset.get_tools(context)
        definitions = [tool.tool_def for tool in tools_by_name.values()]
        return model.customize_request_parameters(
            ModelRequestParameters(function_tools=definitions)
        ).function_tools

    return export


def _ai_caller(tool: Any, text: str) -> Run:
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.tool_manager import ToolManager
    from pydantic_ai.toolsets import FunctionToolset

    hints = [hint for name, hint in get_type_hints(tool.function).items() if name != "return"]
    if len(hints) == 1 and isinstance(hints[0], type) and issubclass(hints[0], BaseModel):
        # If the only argument is a model, pydantic-ai takes the fields of the model as the arguments.
        text = json.dumps(next(iter(json.loads(text).values())))
    toolset = FunctionToolset([tool], max_retries=1)
    manager = asyncio.run(ToolManager(toolset).for_run_step(_ai_context()))

    async def call() -> Any:
        return await manager.handle_call(
            ToolCallPart(tool_name=tool.name, args=text, tool_call_id="c")
        )

    return call


# --- openai-agents ------------------------------------------------------------------------------------------------


def _agents_define(function: Callable[..., Any]) -> Any:
    from agents import function_tool

    return function_tool(function, failure_error_function=None)


def _agents_exporter(tools: Sequence[Any]) -> Run:
    from agents.models.openai_responses import Converter

    return lambda: Converter.convert_tools(list(tools), []).tools


def _agents_caller(tool: Any, text: str) -> Run:
    from agents.tool import invoke_function_tool
    from agents.tool_context import ToolContext

    async def call() -> Any:
        context = ToolContext(
            context=None, tool_name=tool.name, tool_call_id="c", tool_arguments=text
        )
        return await invoke_function_tool(function_tool=tool, context=context, arguments=text)

    return call


# --- fastmcp and mcp ----------------------------------------------------------------------------------------------


def _fastmcp_define(function: Callable[..., Any]) -> Any:
    from fastmcp.tools import Tool

    return Tool.from_function(function)


def _fastmcp_server(tools: Sequence[Any]) -> Any:
    from fastmcp import FastMCP

    server = FastMCP("x")
    for tool in tools:
        server.add_tool(tool)
    return server


def _fastmcp_exporter(tools: Sequence[Any]) -> Run:
    server = _fastmcp_server(tools)

    async def export() -> Any:
        return [tool.to_mcp_tool(name=tool.name) for tool in await server.list_tools()]

    return export


def _mcp_define(function: Callable[..., Any]) -> Any:
    from mcp.server.mcpserver.tools.base import Tool

    return Tool.from_function(function)


def _mcp_server(tools: Sequence[Any]) -> Any:
    from mcp.server.mcpserver import MCPServer

    return MCPServer("x", tools=list(tools))


def _server_caller(server_of: Callable[[Sequence[Any]], Any], tool: Any, text: str) -> Run:
    server = server_of([tool])

    async def call() -> Any:
        return (await server.call_tool(tool.name, json.loads(text))).structured_content["result"]

    return call


# --- langchain-core -----------------------------------------------------------------------------------------------


def _langchain_define(function: Callable[..., Any]) -> Any:
    from langchain_core.tools import tool

    return tool(function, parse_docstring=True)


def _langchain_exporter(tools: Sequence[Any]) -> Run:
    from langchain_core.utils.function_calling import convert_to_openai_tool

    return lambda: [convert_to_openai_tool(tool) for tool in tools]


def _langchain_caller(tool: Any, text: str) -> Run:
    from langchain_core.output_parsers.openai_tools import parse_tool_call

    tool_call = {"id": "c", "type": "function", "function": {"name": tool.name, "arguments": text}}
    return lambda: tool.invoke(parse_tool_call(tool_call)).content


# --- google-genai -------------------------------------------------------------------------------------------------


def _genai_exporter(tools: Sequence[Any]) -> Run:
    from google.genai.types import FunctionDeclaration

    make = functools.partial(
        FunctionDeclaration.from_callable_with_api_option,
        api_option="GEMINI_API",
        use_json_schema=True,
    )
    return lambda: [make(callable=tool).model_dump(exclude_none=True) for tool in tools]


def _genai_caller(tool: Any, text: str) -> Run:
    from google.genai import types
    from google.genai._extra_utils import get_function_response_parts

    functions = {tool.__name__: tool}

    def call() -> Any:
        function_call = types.FunctionCall(name=tool.__name__, args=json.loads(text))
        content = types.Content(role="model", parts=[types.Part(function_call=function_call)])
        response = types.GenerateContentResponse(candidates=[types.Candidate(content=content)])
        parts: Any = get_function_response_parts(response, functions)
        return parts[0].function_response.response["result"]

    return call


# --- anthropic, mirascope, toolschema, polytools ------------------------------------------------------------------


def _anthropic_define(function: Callable[..., Any]) -> Any:
    from anthropic import beta_tool

    return beta_tool(function)


def _mirascope_define(function: Callable[..., Any]) -> Any:
    from mirascope import llm

    return llm.tool(function)


def _mirascope_exporter(tools: Sequence[Any]) -> Run:
    return lambda: [tool.parameters.model_dump(by_alias=True, exclude_none=True) for tool in tools]


def _mirascope_caller(tool: Any, text: str) -> Run:
    from mirascope import llm

    toolkit = llm.Toolkit([tool])

    def call() -> Any:
        output = toolkit.execute(llm.ToolCall(id="c", name=tool.name, args=text))
        if output.error:
            raise output.error
        return output.result

    return call


def _toolschema_define(function: Callable[..., Any]) -> Any:
    from toolschema import tool

    return tool(function)


def _toolschema_exporter(tools: Sequence[Any]) -> Run:
    from toolschema import schema

    definitions = [schema(tool) for tool in tools]
    return lambda: [definition.to_openai() for definition in definitions]


def _toolschema_caller(tool: Any, text: str) -> Run:
    from toolschema import schema

    definition = schema(tool)

    def call() -> Any:
        validation = definition.validate(json.loads(text))
        if validation.issues:
            raise ValueError(validation.issues)
        return tool(**validation.value)

    return call


def _polytools_define(function: Callable[..., Any]) -> Any:
    from polytools import tool

    return tool(function)


def _with_dict(tool: Any, text: str) -> Run:
    return lambda: tool.call(json.loads(text))


PEERS = (
    Peer(
        name="pydantic-ai",
        distribution="pydantic-ai-slim",
        statement="from pydantic_ai import Tool",
        define=_ai_define,
        exporter=_ai_exporter,
        caller=_ai_caller,
        is_async=True,
        leaves_out="the response around the call, the provider's message",
    ),
    Peer(
        name="openai-agents",
        distribution="openai-agents",
        statement="from agents import function_tool",
        define=_agents_define,
        exporter=_agents_exporter,
        caller=_agents_caller,
        is_async=True,
        leaves_out="the response around the call, finding the tool, the provider's message; runs with unknown arguments",
    ),
    Peer(
        name="fastmcp",
        distribution="fastmcp",
        statement="from fastmcp import FastMCP; FastMCP('x')",
        define=_fastmcp_define,
        exporter=_fastmcp_exporter,
        caller=functools.partial(_server_caller, _fastmcp_server),
        is_async=True,
        leaves_out="the response around the call, JSON-RPC",
    ),
    Peer(
        name="mcp",
        distribution="mcp",
        statement="from mcp.server.mcpserver import MCPServer",
        define=_mcp_define,
        exporter=lambda tools: _mcp_server(tools).list_tools,
        caller=functools.partial(_server_caller, _mcp_server),
        is_async=True,
        leaves_out="the response around the call, JSON-RPC; runs with unknown arguments",
    ),
    Peer(
        name="langchain-core",
        distribution="langchain-core",
        statement="from langchain_core.tools import tool",
        define=_langchain_define,
        exporter=_langchain_exporter,
        caller=_langchain_caller,
        leaves_out="the response around the call, finding the tool; runs with unknown arguments",
    ),
    Peer(
        name="google-genai",
        distribution="google-genai",
        statement="from google.genai import types",
        define=lambda function: function,
        exporter=_genai_exporter,
        caller=_genai_caller,
        leaves_out="constraints and choices: it asks isinstance, and refuses every call of a tool with a Literal",
    ),
    Peer(
        name="anthropic",
        distribution="anthropic",
        statement="from anthropic import beta_tool",
        define=_anthropic_define,
        exporter=lambda tools: lambda: [tool.to_dict() for tool in tools],
        caller=_with_dict,
        leaves_out="the response around the call, finding the tool, errors that say which field, the provider's message",
    ),
    Peer(
        name="mirascope",
        distribution="mirascope",
        statement="from mirascope import llm; llm.tool",
        define=_mirascope_define,
        exporter=_mirascope_exporter,
        caller=_mirascope_caller,
        leaves_out="the response around the call, the provider's message, names of fields in errors",
    ),
    Peer(
        name="toolschema",
        distribution="toolschema",
        statement="from toolschema import tool, schema",
        define=_toolschema_define,
        exporter=_toolschema_exporter,
        caller=_toolschema_caller,
        leaves_out="everything but the check: models arrive as dicts, unchecked inside",
    ),
    Peer(
        name="polytools",
        distribution="polytools",
        statement="from polytools import tool",
        define=_polytools_define,
        exporter=lambda tools: lambda: [tool.to_openai() for tool in tools],
        caller=_with_dict,
        validates=False,
        leaves_out="validation: it calls the function with whatever came",
    ),
)
