"""Passes tools to agents in the OpenAI Agents SDK, and imports tools from this SDK.

Tested with openai-agents 0.24.
"""

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

try:
    from agents import (
        FunctionTool,
        RunContextWrapper,
        Tool as AgentsTool,
        ToolOutputFileContent,
        ToolOutputImage,
        ToolOutputText,
    )
    from agents.tool_context import ToolContext
except ImportError as error:
    raise ImportError(
        f"toolshape.bridges.openai_agents needs openai-agents: pip install openai-agents ({error})"
    ) from error

from toolshape._plan.approval import Decision, Deny
from toolshape._records.calls import Strictness
from toolshape._records.errors import UsageError
from toolshape._records.parts import File, Image, Part, Text
from toolshape._records.result import PendingCall
from toolshape._tools.tool import Tool
from toolshape.bridges._delivery import (
    Bridge,
    BridgeOptions,
    Delivered,
    FrameworkDefinition,
    bridge,
    must_request_approval,
    run_call,
)
from toolshape.bridges._foreign import import_tool, part_at

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from toolshape._bound.registry import Registry
    from toolshape._families.wire.provider import AnyProvider
    from toolshape._tools.options import ToolOptions

__all__ = ["from_openai_agents", "to_openai_agents"]
_NOT_APPROVED = "the call needs approval and was not approved"


def to_openai_agents(
    tools: "Registry",
    *,
    provider: "AnyProvider" = "openai-responses",
    strict: Strictness | None = None,
    **options: "Unpack[BridgeOptions]",
) -> list[AgentsTool]:
    """Convert a registry's tools to the form that ``Agent(tools=...)`` in
    the OpenAI Agents SDK accepts.

    toolshape validates and coerces the arguments as the model wrote them, and runs the call with
    the ``ledger`` and the registry's hooks and limits. If a call fails, the model receives the
    error text. Images and files become ``ToolOutputImage`` and ``ToolOutputFileContent``.

    If a call needs approval, the SDK interrupts the run, and you approve or reject the call in its
    ``RunState`` as usual. A call that the ledger has recorded needs no second approval. The SDK
    cannot edit arguments. If the arguments are not JSON, the SDK requests approval before the model
    receives the error.

    Args:
        tools: The registry. Tools added to it later are not included.
        provider: The provider to export the schemas for: ``"openai-responses"`` for the SDK's
            default model, ``"openai"`` for ``OpenAIChatCompletionsModel``, or the provider behind
            another model.
        strict: See ``Registry.bind``.
        **options: See ``BridgeOptions``. The functions ``inject`` and ``scope`` take a
            ``ToolContext`` (or, before approval, a ``RunContextWrapper``).

    Raises:
        UsageError: A tool writes and needs approval, and there is no ledger.
        ExportError: One of the tools cannot be exported to the provider.
    """
    bridged = bridge(tools, provider, strict, options, ["agents"])
    return [_tool(bridged, definition) for definition in bridged.definitions.values()]


def _tool(bridged: Bridge, definition: FrameworkDefinition) -> FunctionTool:
    def make_delivered(context: Any, call_id: str, arguments: Any) -> Delivered:
        return Delivered(call_id, definition.wire_name, arguments, context, lambda _: context)

    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        def decide(waiting: PendingCall) -> Decision:  # noqa: ARG001 - the SDK has already asked about this call
            is_approved = context.is_tool_approved(definition.wire_name, context.tool_call_id)
            return True if is_approved else Deny(_NOT_APPROVED)

        call = make_delivered(context, context.tool_call_id, arguments)
        result = await run_call(bridged.plan(call), bridged.run_options(call), decide)
        if result.error is None and result.parts:
            return [_output(part) for part in bridged.sendable(result.parts)]
        return result.text

    async def must_wait(
        context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str
    ) -> bool:
        return await must_request_approval(bridged, make_delivered(context, call_id, arguments))

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
    return ToolOutputFileContent(
        file_data=f"data:{part.media_type};base64,{data}", filename=part.name
    )


def from_openai_agents(
    tool: FunctionTool, *, context: Any = None, **options: "Unpack[ToolOptions]"
) -> Tool[..., Any]:
    """Convert a ``FunctionTool`` from the OpenAI Agents SDK to a toolshape tool.

    Needs the extra ``schema``.

    toolshape first validates each call against the tool's JSON Schema. Then the SDK validates the
    call, and returns its own errors as text. ``needs_approval`` becomes ``approve=True``, even if
    ``needs_approval`` is a function, because that function can only run inside the SDK.

    Args:
        tool: The tool.
        context: The value of ``context`` in the function's ``ToolContext``. This object is not part
            of an agent run.
        **options: See ``toolshape.tool``.

    Raises:
        DefinitionError: The schema is not valid for a tool.
        UsageError: ``tool`` is not a ``FunctionTool``, or has guardrails or ``is_enabled``, which
            the SDK checks only during a run.
    """
    given_tool: Any = tool
    if not isinstance(given_tool, FunctionTool):
        raise UsageError(
            f"from_openai_agents takes a FunctionTool, not {type(given_tool).__name__}: use "
            "@function_tool"
        )
    if tool.tool_input_guardrails or tool.tool_output_guardrails or tool.is_enabled is not True:
        raise UsageError(
            f"{tool.name} cannot be imported: it has guardrails or is_enabled=, which the SDK "
            "checks only during a run"
        )

    async def call(arguments: dict[str, Any], call_id: str) -> Any:
        text = json.dumps(arguments)
        tool_context: ToolContext[Any] = ToolContext(
            context, tool_name=tool.name, tool_call_id=call_id or tool.name, tool_arguments=text
        )
        return _from_sdk_output(await tool.on_invoke_tool(tool_context, text))

    approval_option = {} if tool.needs_approval is False else {"approve": True}
    timeout_option = {} if tool.timeout_seconds is None else {"timeout": tool.timeout_seconds}
    return import_tool(
        tool.name,
        tool.description,
        tool.params_json_schema,
        call,
        {**approval_option, **timeout_option, **options},
    )


def _from_sdk_output(value: Any) -> Any:
    """Convert an SDK output to a toolshape return value."""
    if isinstance(value, list):
        return [_from_sdk_output(item) for item in value]
    if isinstance(value, ToolOutputText):
        return Text(value.text)
    if isinstance(value, ToolOutputImage) and value.image_url:
        return part_at(value.image_url, Image)
    if isinstance(value, ToolOutputFileContent) and (value.file_data or value.file_url):
        file = part_at(value.file_data or value.file_url or "", File)
        return replace(file, name=value.filename or file.name)
    return value
