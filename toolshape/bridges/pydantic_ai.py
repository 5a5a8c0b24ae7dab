"""Gives tools to agents of pydantic-ai, and imports its tools. Tested with pydantic-ai 2.68."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

try:
    from pydantic_ai import (
        ApprovalRequired,
        BinaryContent,
        DocumentUrl,
        ImageUrl,
        ModelRetry,
        RunContext,
        ToolFailed,
        ToolReturn,
    )
    from pydantic_ai import Tool as PydanticTool
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.usage import RunUsage
except ImportError as error:
    raise ImportError(f"toolshape.bridges.pydantic_ai needs it: pip install pydantic-ai-slim ({error})") from error

from pydantic_core import from_json

from toolshape._calls import Strictness
from toolshape._dispatch.approval import Decision
from toolshape._errors import ToolError, UsageError
from toolshape._parts import File, Image, Part, Text
from toolshape._results import PendingCall, Result
from toolshape._tool import Tool
from toolshape._wire.provider import ProviderName
from toolshape.bridges._delivery import (
    Bridge,
    BridgeOptions,
    Definition,
    Delivered,
    aanswered,
    bridge,
    details,
    put,
    question,
)
from toolshape.bridges._foreign import imported

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from toolshape._options import ToolOptions
    from toolshape._registry import Registry
    from toolshape._wire.provider import AnyProvider

__all__ = ["from_pydantic_ai", "to_pydantic_ai"]
_PROVIDERS: Mapping[str, str] = {
    "AnthropicModel": "anthropic", "BedrockConverseModel": "bedrock", "CerebrasModel": "cerebras",
    "CohereModel": "cohere", "GoogleModel": "gemini", "GroqModel": "groq", "HuggingFaceModel": "huggingface",
    "MistralModel": "mistral", "OllamaModel": "ollama", "OpenAIChatModel": "openai",
    "OpenAIResponsesModel": "openai-responses", "OpenRouterModel": "openrouter", "XaiModel": "xai",
}  # fmt: skip
"""The provider whose form a model class of pydantic-ai 2.68 sends, seen in its source on 2026-11-26."""
_ELSE = "json-schema"


def to_pydantic_ai(
    tools: "Registry",
    *,
    provider: "AnyProvider | None" = None,
    strict: Strictness | None = None,
    **options: "Unpack[BridgeOptions]",
) -> list[PydanticTool[Any]]:
    """Return tools as ``Agent(tools=...)`` takes them.

    Each request has the schemas of the provider of its model. A call comes back as the model wrote it, is validated and
    coerced, and runs under the hooks, limits and the ledger of the tools. If it fails, the model is told the text of the
    error: as ``ModelRetry`` if another call may succeed, else as ``ToolFailed``. Images and files are ``BinaryContent``.
    The metadata of the result holds the coercions.

    If a call needs approval, the run ends with ``DeferredToolRequests``, which the agent must have among its output
    types. Their ``metadata`` shows the arguments as the tool would get them.

    Args:
        tools: The registry. Tools that are added later are not seen.
        provider: The provider whose form the model is sent; by default that of the agent's model; plain JSON Schema
            for a model that is not known, and for several models of different providers.
        strict: As for ``Registry.bind``.
        **options: As in ``BridgeOptions``; ``inject`` and ``scope`` may be functions of the ``RunContext``.

    Raises:
        UsageError: A tool needs approval and writes, and there is no ledger.
        ExportError: The provider cannot be sent one of the tools.
    """
    bridges: dict[Any, Bridge] = {}
    snapshot = tools.subset(exclude=())

    def bridge_for(context: RunContext[Any] | None) -> Bridge:
        chosen: Any = provider or (_ELSE if context is None else _provider_of(context.model))
        if chosen not in bridges:
            bridges[chosen] = bridge(snapshot, chosen, strict, options, ["pydantic_ai"])
        return bridges[chosen]

    return [_tool(definition.tool.name, bridge_for) for definition in bridge_for(None).definitions.values()]


def _provider_of(model: Any) -> str:
    while hasattr(model, "wrapped"):  # a model around another, as for spans
        model = model.wrapped
    if models := getattr(model, "models", ()):  # one after the other, in case one fails: all are sent the same schemas
        providers = set(map(_provider_of, models))
        return providers.pop() if len(providers) == 1 else _ELSE
    found = next((found for kind in type(model).__mro__ if (found := _PROVIDERS.get(kind.__name__))), _ELSE)
    # A class for OpenAI's form also talks to others; ``system`` says to whom.
    return str(model.system) if found == "openai" and model.system in get_args(ProviderName) else found


def _tool(name: str, bridge_for: Any) -> PydanticTool[Any]:
    def definition_for(context: RunContext[Any] | None) -> Definition:
        definitions: Mapping[str, Definition] = bridge_for(context).definitions
        return next(definition for definition in definitions.values() if definition.tool.name == name)

    async def call(context: RunContext[Any], /, **arguments: Any) -> Any:
        found = bridge_for(context)
        return _returned(await _answer(found, definition_for(context).wire_name, arguments, context))

    async def prepare(context: RunContext[Any], given: ToolDefinition) -> ToolDefinition:
        definition = definition_for(context)
        return replace(
            given,
            name=definition.wire_name,
            parameters_json_schema=dict(definition.schema),
            description=definition.description or None,
            strict=definition.is_strict,
            sequential=definition.runs_alone,
        )

    default = definition_for(None)
    made: PydanticTool[Any] = PydanticTool.from_schema(
        call, default.wire_name, default.description, dict(default.schema), takes_ctx=True
    )
    made.prepare = prepare
    unchecked: Any = _Unchecked()  # arguments are validated by the tool, which says what is wrong with them
    made.function_schema.validator = unchecked
    return made


class _Unchecked:
    """A validator that takes any arguments: ``call`` reads what the model wrote."""

    def validate_json(self, given: str | bytes | bytearray, **_: Any) -> dict[str, Any]:
        return _as_dict(given)

    def validate_python(self, given: Any, **_: Any) -> dict[str, Any]:
        return _as_dict(given)


def _as_dict(written: Any) -> dict[str, Any]:
    """Return arguments as pydantic-ai passes them on; an empty dict for a text that is not the JSON of an object."""
    if isinstance(written, (str, bytes, bytearray)):
        try:
            written = json.loads(written)
        except (ValueError, RecursionError):
            return {}
    return written if isinstance(written, dict) else {}


async def _answer(found: Bridge, wire_name: str, arguments: dict[str, Any], context: RunContext[Any]) -> Result:
    written = _written(context)
    given = arguments if written is None else written
    call = Delivered(context.tool_call_id or "", wire_name, given, context, lambda _: context)
    plan = found.plan(call)
    is_changed = written is not None and _as_dict(written) != arguments  # by the person who approved, or by a hook
    if is_changed and context.tool_call_approved and plan.results.answers[0] is None:
        # The ledger knows the call by what the model wrote.
        back = getattr(plan.calls[0].reader, "back", None)
        put(plan, plan.calls[0], arguments if back is None else back(arguments))
    elif is_changed:
        call = call._replace(arguments=arguments)
        plan = found.plan(call)

    def decide(waiting: PendingCall) -> Decision:
        if context.tool_call_approved:
            return True
        raise ApprovalRequired(metadata=question(waiting))

    return await aanswered(found, call, plan, decide)


def _written(context: RunContext[Any]) -> Any:
    """Return the arguments of the running call as the model wrote them, or ``None`` if no message holds the call."""
    for message in reversed(context.messages):
        for part in message.tool_calls if isinstance(message, ModelResponse) else ():
            if part.tool_call_id == context.tool_call_id:
                return part.args or {}
    return None


def _returned(result: Result) -> Any:
    if result.error is not None:
        raise (ModelRetry if result.error.retryable else ToolFailed)(result.text)
    value: Any = result.text if result.is_text is not False else from_json(result.text)
    if result.parts:
        value = [_content(part) for part in result.parts]
    return ToolReturn(value, metadata=details(result)) if result.coercions or result.replayed else value


def _content(part: Part) -> Any:
    if isinstance(part, Text):
        return part.text
    if part.url:
        return ImageUrl(part.url) if isinstance(part, Image) else DocumentUrl(part.url)
    return BinaryContent(bytes(part.data), media_type=part.media_type)


def from_pydantic_ai(tool: PydanticTool[Any], *, deps: Any = None, **options: "Unpack[ToolOptions]") -> Tool[..., Any]:
    """Make a tool of a tool of pydantic-ai. Needs the extra ``schema``.

    Calls are validated by its JSON Schema, and then by pydantic-ai. ``ModelRetry`` and ``ToolFailed`` are a
    ``ToolError``, ``requires_approval`` is ``approve=True``.

    Args:
        tool: The tool.
        deps: The ``deps`` of the ``RunContext`` that the function is given, which belongs to no run.
        **options: As for ``toolshape.tool``.

    Raises:
        DefinitionError: The schema cannot be that of a tool.
        UsageError: It is not a tool of pydantic-ai.
    """
    given: Any = tool
    if not isinstance(given, PydanticTool):
        raise UsageError(
            f"from_pydantic_ai takes a Tool of pydantic-ai, not {type(given).__name__}: write Tool(function)"
        )

    async def call(arguments: dict[str, Any], call_id: str) -> Any:
        context: RunContext[Any] = RunContext(
            deps=deps,
            model=TestModel(),
            usage=RunUsage(),
            tool_name=tool.name,
            tool_call_id=call_id,
            tool_call_approved=True,
        )
        try:
            validated = tool.function_schema.validator.validate_python(arguments)
            return _taken(await tool.function_schema.call(validated, context))
        except (ModelRetry, ToolFailed) as error:
            raise ToolError(error.message, retryable=isinstance(error, ModelRetry)) from error

    schema = tool.function_schema.json_schema
    waits = {"approve": True} if tool.requires_approval else {}
    limits = {} if tool.timeout is None else {"timeout": tool.timeout}
    return imported(tool.name, tool.description, schema, call, {**waits, **limits, **options})


def _taken(value: Any) -> Any:
    """Return what a function of pydantic-ai returned as a tool of ours returns it."""
    if isinstance(value, ToolReturn):
        value = value.return_value
    if isinstance(value, list) and any(isinstance(item, (BinaryContent, ImageUrl, DocumentUrl)) for item in value):
        return [item if isinstance(item, str) else _taken(item) for item in value]
    if isinstance(value, BinaryContent):
        kind = Image if value.is_image else File
        return kind(value.data, value.media_type)
    if isinstance(value, (ImageUrl, DocumentUrl)):
        return Image(url=value.url) if isinstance(value, ImageUrl) else File(url=value.url)
    return value
