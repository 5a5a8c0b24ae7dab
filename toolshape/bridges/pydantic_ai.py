"""Passes tools to pydantic-ai agents, and imports tools from pydantic-ai.

Tested with pydantic-ai 2.68.
"""

import inspect
import json
import typing
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

try:
    from pydantic_ai import (
        ApprovalRequired,
        BinaryContent,
        CallDeferred,
        DocumentUrl,
        ImageUrl,
        ModelRetry,
        RunContext,
        Tool as PydanticTool,
        ToolFailed,
        ToolReturn,
    )
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.usage import RunUsage
except ImportError as error:
    raise ImportError(
        f"toolshape.bridges.pydantic_ai needs pydantic-ai: pip install pydantic-ai-slim ({error})"
    ) from error

from pydantic_core import from_json

from toolshape._families.names import ProviderName
from toolshape._plan.approval import Decision
from toolshape._plan.results import answers_of
from toolshape._records.calls import Strictness
from toolshape._records.errors import ToolError, UsageError
from toolshape._records.parts import File, Image, Part, Text
from toolshape._records.result import PendingCall, Result
from toolshape._tools.tool import Tool
from toolshape.bridges._delivery import (
    Bridge,
    BridgeOptions,
    Delivered,
    FrameworkDefinition,
    apply_decision,
    approval_request,
    bridge,
    check_arguments,
    details,
    run_call,
)
from toolshape.bridges._foreign import import_tool

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from toolshape._bound.registry import Registry
    from toolshape._families.wire.provider import AnyProvider
    from toolshape._tools.options import ToolOptions

_CANNOT_WAIT = "{} needs approval or an external result, which cannot be requested here"
_NOT_GIVEN: Any = object()
__all__ = ["from_pydantic_ai", "to_pydantic_ai"]
_PROVIDERS: Mapping[str, str] = {
    "AnthropicModel": "anthropic", "BedrockConverseModel": "bedrock", "CerebrasModel": "cerebras",
    "CohereModel": "cohere", "GoogleModel": "gemini", "GroqModel": "groq",
    "HuggingFaceModel": "huggingface",
    "MistralModel": "mistral", "OllamaModel": "ollama", "OpenAIChatModel": "openai",
    "OpenAIResponsesModel": "openai-responses", "OpenRouterModel": "openrouter", "XaiModel": "xai",
}  # fmt: skip
"""Maps the model classes of pydantic-ai to the provider form that they send (source of
pydantic-ai 2.68, 2026-11-26).
"""
_SYSTEMS: Mapping[str, str] = {"moonshotai": "moonshot"}
"""Maps pydantic-ai's names for providers to toolshape's names, where they differ."""
_FALLBACK_PROVIDER = "json-schema"


def to_pydantic_ai(
    tools: "Registry",
    *,
    provider: "AnyProvider | None" = None,
    strict: Strictness | None = None,
    **options: "Unpack[BridgeOptions]",
) -> list[PydanticTool[Any]]:
    """Convert a registry's tools to the form that ``Agent(tools=...)`` accepts.

    Each request uses the schemas for its model's provider. toolshape validates and coerces the
    arguments as the model wrote them, and runs the call with the ``ledger`` and the registry's
    hooks and limits. If a call fails, the model receives the error text: as ``ModelRetry`` if a
    different call may succeed, otherwise as ``ToolFailed``. Images and files become
    ``BinaryContent``, ``ImageUrl`` or ``DocumentUrl``. The metadata of a result contains its
    coercions.

    If a call needs approval, the run ends with ``DeferredToolRequests``, which must be one of the
    agent's output types. The ``metadata`` of these requests contains the validated arguments that
    the tool would receive.

    Args:
        tools: The registry. Tools added to it later are not included.
        provider: The provider to export the schemas for. The default is the provider of the agent's
            model. If this provider is unknown, or if the agent uses models of several providers,
            the default is plain JSON Schema.
        strict: See ``Registry.bind``.
        **options: See ``BridgeOptions``. The functions ``inject`` and ``scope`` take a
            ``RunContext``.

    Raises:
        UsageError: A tool writes and needs approval, and there is no ledger.
        ExportError: One of the tools cannot be exported to the provider.
    """
    check_arguments(tools, options)
    bridges: dict[Any, Bridge] = {}
    snapshot = tools.subset(exclude=())

    def bridge_for(context: RunContext[Any] | None) -> Bridge:
        chosen_provider: Any = provider or (
            _FALLBACK_PROVIDER if context is None else _provider_of(context.model)
        )
        if chosen_provider not in bridges:
            # Plain JSON Schema has no strict form.
            strictness = False if chosen_provider == _FALLBACK_PROVIDER else strict
            bridges[chosen_provider] = bridge(
                snapshot, chosen_provider, strictness, options, ["pydantic_ai"]
            )
        return bridges[chosen_provider]

    return [
        _tool(definition.tool.name, bridge_for)
        for definition in bridge_for(None).definitions.values()
    ]


def _provider_of(model: Any) -> str:
    while hasattr(model, "wrapped"):  # a wrapper model, such as the instrumented model
        model = model.wrapped
    # A ``FallbackModel`` sends the same schemas to each of its models.
    if models := getattr(model, "models", ()):
        providers = set(map(_provider_of, models))
        return providers.pop() if len(providers) == 1 else _FALLBACK_PROVIDER
    provider = next(
        (
            known_provider
            for model_class in type(model).__mro__
            if (known_provider := _PROVIDERS.get(model_class.__name__))
        ),
        _FALLBACK_PROVIDER,
    )
    # ``OpenAIChatModel`` also serves OpenAI-compatible providers; ``system`` names the provider.
    system = _SYSTEMS.get(model.system, model.system) if provider == "openai" else provider
    return str(system) if system in get_args(ProviderName) else provider


def _tool(name: str, bridge_for: Any) -> PydanticTool[Any]:
    def definition_for(context: RunContext[Any] | None) -> FrameworkDefinition:
        definitions: Mapping[str, FrameworkDefinition] = bridge_for(context).definitions
        return next(
            definition for definition in definitions.values() if definition.tool.name == name
        )

    async def call(context: RunContext[Any], /, **arguments: Any) -> Any:
        bridged = bridge_for(context)
        return _to_tool_return(
            await _run_call(bridged, definition_for(context).wire_name, arguments, context)
        )

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
    pydantic_tool: PydanticTool[Any] = PydanticTool.from_schema(
        call, default.wire_name, default.description, dict(default.schema), takes_ctx=True
    )
    pydantic_tool.prepare = prepare
    unchecked: Any = _Unchecked()
    pydantic_tool.function_schema.validator = unchecked
    return pydantic_tool


class _Unchecked:
    """Accepts all arguments: toolshape validates the model's original arguments later, in
    ``call``.
    """

    def validate_json(self, given: str | bytes | bytearray, **_: Any) -> dict[str, Any]:
        return _as_dict(given)

    def validate_python(self, given: Any, **_: Any) -> dict[str, Any]:
        return _as_dict(given)


def _as_dict(written: Any) -> dict[str, Any]:
    """Return the arguments as a dict, or an empty dict if they are not a JSON object."""
    if isinstance(written, (str, bytes, bytearray)):
        try:
            written = json.loads(written)
        except (ValueError, RecursionError):
            return {}
    return written if isinstance(written, dict) else {}


async def _run_call(
    bridged: Bridge, wire_name: str, arguments: dict[str, Any], context: RunContext[Any]
) -> Result:
    model_arguments = _model_arguments(context)
    call_arguments = arguments if model_arguments is None else model_arguments
    call = Delivered(
        context.tool_call_id or "", wire_name, call_arguments, context, lambda _: context
    )
    # The approver or a hook has changed the arguments.
    is_changed = model_arguments is not None and _as_dict(model_arguments) != arguments
    if is_changed and not context.tool_call_approved:
        call = call._replace(arguments=arguments)
    plan = bridged.plan(call)
    if is_changed and context.tool_call_approved and answers_of(plan.results)[0] is None:
        # The ledger identifies the call by the model's arguments, so the change is applied as an
        # edit.
        to_canonical = getattr(plan.calls[0].reader, "back", None)
        apply_decision(
            plan, plan.calls[0], arguments if to_canonical is None else to_canonical(arguments)
        )
    elif is_changed and context.tool_call_approved:
        # The model's arguments are invalid, so the approver's arguments replace them.
        plan = bridged.plan(call._replace(arguments=arguments))

    def decide(waiting: PendingCall) -> Decision:
        if context.tool_call_approved:
            return True
        raise ApprovalRequired(metadata=approval_request(waiting))

    return await run_call(plan, bridged.run_options(call), decide)


def _model_arguments(context: RunContext[Any]) -> Any:
    """Return the arguments of the running call as the model wrote them, or
    ``None`` if no message holds the call.
    """
    for message in reversed(context.messages):
        for part in message.tool_calls if isinstance(message, ModelResponse) else ():
            if part.tool_call_id == context.tool_call_id:
                return part.args or {}
    return None


def _to_tool_return(result: Result) -> Any:
    if result.error is not None:
        raise (ModelRetry if result.error.retryable else ToolFailed)(result.text)
    value: Any = result.text if result.is_text is not False else from_json(result.text)
    if result.parts:
        value = [_content(part) for part in result.parts]
    return (
        ToolReturn(value, metadata=details(result))
        if result.coercions or result.replayed
        else value
    )


def _content(part: Part) -> Any:
    if isinstance(part, Text):
        return part.text
    if part.url:
        return ImageUrl(part.url) if isinstance(part, Image) else DocumentUrl(part.url)
    return BinaryContent(bytes(part.data), media_type=part.media_type)


def from_pydantic_ai(
    tool: PydanticTool[Any], *, deps: Any = _NOT_GIVEN, **options: "Unpack[ToolOptions]"
) -> Tool[..., Any]:
    """Convert a pydantic-ai tool to a toolshape tool. Needs the extra ``schema``.

    toolshape validates each call against the tool's JSON Schema before pydantic-ai validates it.
    ``ModelRetry`` and ``ToolFailed`` become ``ToolError``. ``requires_approval`` becomes
    ``approve=True``. If the function itself raises ``ApprovalRequired`` or ``CallDeferred``, the
    call fails, because it cannot wait here. If you pass ``approve=``, the function sees
    ``tool_call_approved=True``.

    A function that takes a ``RunContext`` with ``deps`` gets them at each call, from
    ``dispatch(inject={"deps": ...})``, so each user of a web app can have their own. If you pass
    ``deps=`` here, every call gets these.

    Args:
        tool: The tool.
        deps: The ``deps`` of every call. The function's ``RunContext`` is not part of an agent run.
        **options: See ``toolshape.tool``.

    Raises:
        DefinitionError: The schema is not valid for a tool.
        UsageError: ``tool`` is not a pydantic-ai tool, or it has an argument named ``deps`` and
            ``deps=`` is missing.
    """
    given_tool: Any = tool
    if not isinstance(given_tool, PydanticTool):
        raise UsageError(
            f"from_pydantic_ai takes a pydantic-ai Tool, not {type(given_tool).__name__}: write "
            "Tool(function)"
        )

    # An agent has one ``deps`` for each run, a registry has none: the app passes them with each
    # dispatch, where it knows the user. Only deps that are given here are the same for every call.
    needs_approval = tool.requires_approval or bool(options.get("approve"))
    schema = tool.function_schema.json_schema
    injected = ("deps",) if deps is _NOT_GIVEN and _takes_deps(tool) else ()
    if injected and "deps" in schema.get("properties", {}):
        raise UsageError(
            f"{tool.name} has an argument named 'deps', so its RunContext cannot get its deps "
            "from inject=: "
            "write from_pydantic_ai(..., deps=...)"
        )

    async def call(arguments: dict[str, Any], call_id: str) -> Any:
        given_deps = None if deps is _NOT_GIVEN else deps
        if injected:
            given_deps = arguments.pop("deps")
        context: RunContext[Any] = RunContext(
            deps=given_deps,
            model=TestModel(),
            usage=RunUsage(),
            tool_name=tool.name,
            tool_call_id=call_id,
            tool_call_approved=needs_approval,
        )
        if tool.prepare is not None and await tool.prepare_tool_def(context) is None:
            raise ToolError(f"{tool.name} is not available")
        try:
            validated = tool.function_schema.validator.validate_python(arguments)
            validator_result = (
                None if tool.args_validator is None else tool.args_validator(context, **validated)
            )
            if inspect.isawaitable(validator_result):
                await validator_result
            return _from_pydantic_value(await tool.function_schema.call(validated, context))
        except (ModelRetry, ToolFailed) as error:
            raise ToolError(error.message, retryable=isinstance(error, ModelRetry)) from error
        except (ApprovalRequired, CallDeferred) as error:
            raise ToolError(_CANNOT_WAIT.format(tool.name)) from error

    approval_option = {"approve": True} if tool.requires_approval else {}
    timeout_option = {} if tool.timeout is None else {"timeout": tool.timeout}
    return import_tool(
        tool.name,
        tool.description,
        schema,
        call,
        {**approval_option, **timeout_option, **options},
        injected,
    )


def _takes_deps(tool: PydanticTool[Any]) -> bool:
    """Return whether a tool's function takes a ``RunContext`` that may hold
    deps: any but ``RunContext[None]``.
    """
    if not tool.takes_ctx:
        return False
    try:
        hints = typing.get_type_hints(tool.function)
    except Exception:  # annotations of a user's function may refer to anything
        return True
    parameters = [name for name in inspect.signature(tool.function).parameters if name != "self"]
    annotation = hints.get(parameters[0]) if parameters else None
    return typing.get_args(annotation) != (type(None),)


def _from_pydantic_value(value: Any) -> Any:
    """Convert a pydantic-ai return value to a toolshape return value."""
    if isinstance(value, ToolReturn):
        value = value.return_value
    if isinstance(value, list) and any(
        isinstance(item, (BinaryContent, ImageUrl, DocumentUrl)) for item in value
    ):
        return [item if isinstance(item, str) else _from_pydantic_value(item) for item in value]
    if isinstance(value, BinaryContent):
        kind = Image if value.is_image else File
        return kind(value.data, value.media_type)
    if isinstance(value, (ImageUrl, DocumentUrl)):
        return Image(url=value.url) if isinstance(value, ImageUrl) else File(url=value.url)
    return value
