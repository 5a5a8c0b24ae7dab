"""Gives tools to agents of the OpenAI Agents SDK, and imports its tools. Tested with openai-agents 0.24."""

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

try:
    from agents import FunctionTool, RunContextWrapper, ToolOutputFileContent, ToolOutputImage, ToolOutputText
    from agents import Tool as AgentsTool
    from agents.tool_context import ToolContext
except ImportError as error:
    raise ImportError(f"toolshape.bridges.openai_agents needs it: pip install openai-agents ({error})") from error

from toolshape._calls import Strictness
from toolshape._dispatch.approval import Decision, Deny
from toolshape._errors import UsageError
from toolshape._parts import File, Image, Part, Text
from toolshape._results import PendingCall
from toolshape._tool import Tool
from toolshape.bridges._delivery import Bridge, BridgeOptions, Definition, Delivered, aanswered, bridge, needs_approval
from toolshape.bridges._foreign import imported, part_at

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from toolshape._options import ToolOptions
    from toolshape._registry import Registry
    from toolshape._wire.provider import AnyProvider

__all__ = ["from_openai_agents", "to_openai_agents"]
_NOT_ASKED = "it needs approval, which nobody gave"


def to_openai_agents(
    tools: "Registry",
    *,
    provider: "AnyProvider" = "openai-responses",
    strict: Strictness | None = None,
    **options: "Unpack[BridgeOptions]",
) -> list[AgentsTool]:
    """Return tools as ``Agent(tools=...)`` of the OpenAI Agents SDK takes them.

    A call comes back as the model wrote it, is validated and coerced, and runs under the hooks, limits and the ledger of
    the tools. If it fails, the model is told the text of the error. Images and files are ``ToolOutputImage`` and
    ``ToolOutputFileContent``.

    If a call needs approval, the run is interrupted, and its ``RunState`` is approved or rejected as usual. A call that
    the ledger knows needs no approval. The SDK cannot edit arguments; if they are not JSON, it asks for approval first.

    Args:
        tools: The registry. Tools that are added later are not seen.
        provider: The provider whose form the model is sent: ``"openai-responses"``, the SDK's default, ``"openai"`` for
            ``OpenAIChatCompletionsModel``, or that behind another model.
        strict: As for ``Registry.bind``.
        **options: As in ``BridgeOptions``; ``inject`` and ``scope`` may be functions of the ``ToolContext`` (before a
            call is approved, of the ``RunContextWrapper``).

    Raises:
        UsageError: A tool needs approval and writes, and there is no ledger.
        ExportError: The provider cannot be sent one of the tools.
    """
    found = bridge(tools, provider, strict, options, ["agents"])
    return [_tool(found, definition) for definition in found.definitions.values()]


def _tool(found: Bridge, definition: Definition) -> FunctionTool:
    def delivered(context: Any, call_id: str, arguments: Any) -> Delivered:
        return Delivered(call_id, definition.wire_name, arguments, context, lambda _: context)

    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        def decide(waiting: PendingCall) -> Decision:  # noqa: ARG001 - the SDK has asked for this call
            is_approved = context.is_tool_approved(definition.wire_name, context.tool_call_id)
            return True if is_approved else Deny(_NOT_ASKED)

        call = delivered(context, context.tool_call_id, arguments)
        result = await aanswered(found, call, found.plan(call), decide)
        if result.error is None and result.parts:
            return [_output(part) for part in found.sendable(result.parts)]
        return result.text

    async def must_wait(context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
        return await needs_approval(found, delivered(context, call_id, arguments))

    return FunctionTool(
        name=definition.wire_name,
        description=definition.description,
        params_json_schema=dict(definition.schema),
        on_invoke_tool=invoke,
        strict_json_schema=definition.is_strict,
        needs_approval=must_wait if definition.may_wait else False,
    )


def _output(part: Part) -> Any:
    if isinstance(part, Text):
        return ToolOutputText(text=part.text)
    data = base64.b64encode(part.data).decode()
    if isinstance(part, Image):
        return ToolOutputImage(image_url=part.url or f"data:{part.media_type};base64,{data}")
    if part.url:
        return ToolOutputFileContent(file_url=part.url, filename=part.name)
    return ToolOutputFileContent(file_data=f"data:{part.media_type};base64,{data}", filename=part.name)


def from_openai_agents(tool: FunctionTool, *, context: Any = None, **options: "Unpack[ToolOptions]") -> Tool[..., Any]:
    """Make a tool of a ``FunctionTool`` of the OpenAI Agents SDK. Needs the extra ``schema``.

    Calls are validated by its JSON Schema, and then by the SDK, which answers its own errors as texts.
    ``needs_approval`` is ``approve=True``, also where it is a function: that needs a run of the SDK.

    Args:
        tool: The tool.
        context: The ``context`` that the function is given, which belongs to no run.
        **options: As for ``toolshape.tool``.

    Raises:
        DefinitionError: The schema cannot be that of a tool.
        UsageError: It is not a ``FunctionTool``.
    """
    given: Any = tool
    if not isinstance(given, FunctionTool):
        raise UsageError(f"from_openai_agents takes a FunctionTool, not {type(given).__name__}: use @function_tool")

    async def call(arguments: dict[str, Any], call_id: str) -> Any:
        text = json.dumps(arguments)
        made: ToolContext[Any] = ToolContext(
            context, tool_name=tool.name, tool_call_id=call_id or tool.name, tool_arguments=text
        )
        return _taken(await tool.on_invoke_tool(made, text))

    waits = {} if tool.needs_approval is False else {"approve": True}
    limits = {} if tool.timeout_seconds is None else {"timeout": tool.timeout_seconds}
    return imported(tool.name, tool.description, tool.params_json_schema, call, {**waits, **limits, **options})


def _taken(value: Any) -> Any:
    """Return an output of the SDK as a tool of ours returns it."""
    if isinstance(value, list):
        return [_taken(item) for item in value]
    if isinstance(value, ToolOutputText):
        return Text(value.text)
    if isinstance(value, ToolOutputImage) and value.image_url:
        return part_at(value.image_url, Image)
    if isinstance(value, ToolOutputFileContent) and (value.file_data or value.file_url):
        file = part_at(value.file_data or value.file_url or "", File)
        return replace(file, name=value.filename or file.name)
    return value
