"""Passes tools to LangChain and LangGraph agents, and imports LangChain tools.

Tested with langchain-core 1.8 and langgraph 1.2.
"""

import base64
import typing
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

try:
    from langchain_core.messages import ToolMessage
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import (
        BaseTool,
        InjectedToolArg,
        InjectedToolCallId,
        StructuredTool,
        ToolException,
    )
    from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
    from langgraph.runtime import Runtime, get_runtime
    from langgraph.types import interrupt
except ImportError as error:
    raise ImportError(
        "toolshape.bridges.langchain needs langchain-core and langgraph: pip install "
        f"langchain-core langgraph ({error})"
    ) from error

from pydantic import AfterValidator, Field
from pydantic.fields import FieldInfo
from typing_extensions import NotRequired, TypedDict

from toolshape._plan.approval import Decision, Deny
from toolshape._plan.steps import HERE, IN_LOOP, Steps, run_here
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
    approval_request,
    bridge,
    check_edit,
    details,
    needs_approval,
    refusal,
    run_call,
)
from toolshape.bridges._foreign import import_tool, part_at

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from toolshape._bound.registry import Registry
    from toolshape._families.wire.provider import AnyProvider
    from toolshape._tools.options import ToolOptions

__all__ = ["from_langchain", "to_langchain"]
_RUNTIME = "toolshape_runtime"
_SEVERAL = (
    "several calls in this response need approval, and LangGraph could mix up their answers in "
    "one node: "
    "call one tool at a time"
)
_NOBODY_TO_ASK = "the call needs approval, which is only possible inside a LangGraph graph"


def to_langchain(
    tools: "Registry",
    *,
    provider: "AnyProvider" = "openai",
    strict: Strictness = False,
    **options: "Unpack[BridgeOptions]",
) -> list[BaseTool]:
    """Convert a registry's tools to the form that ``create_agent(tools=...)``,
    ``bind_tools`` and ``ToolNode`` accept.

    toolshape validates and coerces each call, and runs it with the ``ledger`` and the registry's
    hooks and limits. The result is a ``ToolMessage``. It has ``status="error"`` if the call failed,
    images and files as content blocks, and the coercions in ``artifact``. If a tool is invoked with
    plain arguments instead of a tool call, it returns the content or raises ``ToolException``.

    If a call needs approval, it interrupts the graph. The interrupt's value has the form that
    ``HumanInTheLoopMiddleware`` uses for single calls
    (``{"type": "tool_approval", "name": ..., "args": ...}``). Resume the graph with one of that
    middleware's decisions, such as ``Command(resume={"type": "approve"})``. ``args`` are the
    validated arguments that the tool receives, both in the interrupt and in an edit. Outside a
    graph, the call is denied. A graph without a checkpointer cannot be resumed.

    Args:
        tools: The registry. Tools added to it later are not included.
        provider: The provider to export the schemas for.
        strict: See ``Registry.bind``. LangChain sends ``strict`` only on request: if you pass
            ``True``, also call ``bind_tools(..., strict=True)``.
        **options: See ``BridgeOptions``. The functions ``inject`` and ``scope`` take a
            ``ToolRuntime``.

    Raises:
        UsageError: A tool writes and needs approval, and there is no ledger.
        ExportError: One of the tools cannot be exported to the provider.
    """
    packages = ["langchain", "langchain_core", "langgraph"]
    bridged = bridge(tools, provider, strict, options, packages, _is_filled)
    return [_tool(bridged, definition) for definition in bridged.definitions.values()]


class _Bridged(StructuredTool):
    """A tool that skips LangChain's validation, so its arguments can have any names."""

    may_wait: bool = Field(default=False, exclude=True)

    def _to_args_and_kwargs(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        arguments: Any = dict(tool_input) if isinstance(tool_input, dict) else tool_input
        runtime = arguments.pop(_RUNTIME, None) if isinstance(arguments, dict) else None
        return (), {"arguments": arguments, "tool_call_id": tool_call_id, _RUNTIME: runtime}


def _tool(bridged: Bridge, definition: FrameworkDefinition) -> BaseTool:
    def run(
        arguments: Any,
        tool_call_id: str | None,
        config: RunnableConfig,
        toolshape_runtime: ToolRuntime[Any, Any] | None,
    ) -> Any:
        runtime = toolshape_runtime or _runtime_outside_graph(config, tool_call_id)
        return run_here(_run_call(bridged, definition, arguments, runtime, HERE))

    async def arun(
        arguments: Any,
        tool_call_id: str | None,
        config: RunnableConfig,
        toolshape_runtime: ToolRuntime[Any, Any] | None,
    ) -> Any:
        runtime = toolshape_runtime or _runtime_outside_graph(config, tool_call_id)
        return await _run_call(bridged, definition, arguments, runtime, IN_LOOP)

    return _Bridged(
        name=definition.wire_name,
        description=definition.description,
        args_schema=dict(definition.schema),
        func=run,
        coroutine=arun,
        may_wait=definition.may_wait,
    )


async def _run_call(
    bridged: Bridge,
    definition: FrameworkDefinition,
    arguments: Any,
    runtime: ToolRuntime[Any, Any],
    how: Steps,
) -> Any:
    call_id = runtime.tool_call_id or ""
    call = Delivered(
        call_id, definition.wire_name, arguments, runtime, lambda kind: _fill(kind, runtime)
    )
    plan, options = bridged.plan(call), bridged.run_options(call)
    decision: Decision = Deny(_NOBODY_TO_ASK)
    if definition.may_wait and await needs_approval(plan, options, how):
        decision = refusal(plan.pending[0], options) or _ask(plan.pending[0], runtime)
    result = await run_call(plan, options, lambda _: decision, how)
    return _to_tool_message(bridged, result, runtime.tool_call_id)


def _runtime_outside_graph(
    config: RunnableConfig, tool_call_id: str | None
) -> ToolRuntime[Any, Any]:
    """Return the runtime for a call that runs outside a graph."""
    return ToolRuntime(
        state={},
        context=None,
        config=config,
        stream_writer=lambda _: None,
        tool_call_id=tool_call_id,
        store=None,
    )


_FILLED_MARKERS = (InjectedToolCallId, InjectedStore, InjectedState)


def _is_filled(annotation: Any) -> bool:
    """Return whether LangGraph knows what to pass: not for a parameter that is only
    hidden, with ``InjectedToolArg``.
    """
    markers = [
        marker if isinstance(marker, type) else type(marker)
        for marker in getattr(annotation, "__metadata__", ())
    ]
    hidden = [kind for kind in markers if issubclass(kind, InjectedToolArg)]
    return not hidden or any(issubclass(kind, _FILLED_MARKERS) for kind in hidden)


def _fill(annotation: Any, runtime: ToolRuntime[Any, Any]) -> Any:
    """Return the value for a parameter that is typed as a part of LangGraph's runtime."""
    for marker in getattr(annotation, "__metadata__", ()):
        kind = marker if isinstance(marker, type) else type(marker)
        if issubclass(kind, InjectedToolCallId):
            return runtime.tool_call_id
        if issubclass(kind, InjectedStore):
            return runtime.store
        if issubclass(kind, InjectedState):
            field = getattr(marker, "field", None)
            return runtime.state if field is None else runtime.state[field]
    if typing.get_origin(annotation) is Annotated:
        return _fill(typing.get_args(annotation)[0], runtime)
    kinds = [typing.get_origin(kind) or kind for kind in (annotation, *typing.get_args(annotation))]
    if RunnableConfig in kinds:
        return runtime.config
    return get_runtime() if Runtime in kinds else runtime


class _Approve(TypedDict):
    type: Literal["approve"]


class _Reject(TypedDict):
    type: Literal["reject"]
    message: NotRequired[str]


class _Action(TypedDict):
    name: str
    args: dict[str, Any]


class _Edit(TypedDict):
    type: Literal["edit"]
    edited_action: _Action


class _Decisions(TypedDict):
    decisions: Annotated[list[_Approve | _Reject | _Edit], Field(min_length=1, max_length=1)]


_Answer: TypeAlias = _Approve | _Reject | _Edit | _Decisions
"""The answer to an interrupt: a ``HumanInTheLoopMiddleware`` decision,
alone or in a list with one item.
"""


def _ask(waiting: PendingCall, runtime: ToolRuntime[Any, Any]) -> Decision:
    """Interrupt the graph to ask for approval; return the decision once the graph is resumed.

    LangGraph matches answers to a task's interrupts by their order. So a call interrupts each time
    that its node runs, even if the ledger has recorded the call. If one task runs several calls at
    the same time, this function denies them.
    """
    if _runs_with_other_calls(runtime):
        return Deny(_SEVERAL)
    value = {
        "type": "tool_approval",
        "tool_call_id": waiting.id,
        "name": waiting.call.wire_name,
        "args": approval_request(waiting)["arguments"],
        "description": f"{waiting.name} needs approval",
    }

    def check_answer(answer: Any) -> Any:
        decision = _unwrap_decision(answer)
        if decision["type"] == "edit":
            if decision["edited_action"]["name"] != waiting.call.wire_name:
                raise ValueError(
                    "an edit cannot change the tool: edited_action.name must be "
                    f"{waiting.call.wire_name!r}"
                )
            check_edit(waiting, decision["edited_action"]["args"])
        return answer

    # LangGraph stores the answer to an interrupt, so an invalid answer could never be corrected.
    # ``response_schema`` validates the answer before LangGraph stores it.
    answer_type: Any = Annotated[_Answer, AfterValidator(check_answer)]
    try:
        answer = interrupt(value, response_schema=answer_type)
    except (KeyError, RuntimeError):  # raised when no graph is running
        return Deny(_NOBODY_TO_ASK)
    return _decision(answer)


def _runs_with_other_calls(runtime: ToolRuntime[Any, Any]) -> bool:
    """Return whether one task runs several calls to tools that may need approval.

    A ``ToolNode`` in your own graph runs all calls in one task. ``create_agent`` sends each call to
    a separate task, which the task's path shows.
    """
    metadata: Mapping[str, Any] = runtime.config.get("metadata") or {}
    path = metadata.get("langgraph_path") or ("",)
    if path[0] == "__pregel_push":
        return False
    state: Any = runtime.state
    messages = state if isinstance(state, list) else ()
    if isinstance(state, dict):
        messages = state.get("messages", ())
    calls = getattr(messages[-1], "tool_calls", ()) if messages else ()
    may_wait = {tool.name for tool in runtime.tools if isinstance(tool, _Bridged) and tool.may_wait}
    return sum(call["name"] in may_wait for call in calls) > 1


def _unwrap_decision(answer: Any) -> Any:
    return answer["decisions"][0] if "decisions" in answer else answer


def _decision(answer: Any) -> Decision:
    decision = _unwrap_decision(answer)
    if decision["type"] == "edit":
        arguments: Mapping[str, Any] = decision["edited_action"]["args"]
        return arguments
    return True if decision["type"] == "approve" else Deny(decision.get("message", ""))


def _to_tool_message(bridged: Bridge, result: Result, tool_call_id: str | None) -> Any:
    content: Any = result.text
    if result.error is None and result.parts:
        content = [_block(part) for part in bridged.sendable(result.parts)]
    if tool_call_id is None:
        if result.error is not None:
            raise ToolException(result.text)
        return content
    return ToolMessage(
        content,
        name=result.call.wire_name,
        tool_call_id=tool_call_id,
        status="success" if result.error is None else "error",
        artifact=details(result),
    )


def _block(part: Part) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    kind = "image" if isinstance(part, Image) else "file"
    name = {} if isinstance(part, Image) else {"filename": part.name}
    if part.url:
        return {"type": kind, "url": part.url, **name}
    return {
        "type": kind,
        "base64": base64.b64encode(part.data).decode(),
        "mime_type": part.media_type,
        **name,
    }


def from_langchain(
    tool: BaseTool,
    *,
    config: RunnableConfig | None = None,
    inject: Collection[str] = (),
    **options: "Unpack[ToolOptions]",
) -> Tool[..., Any]:
    """Convert a LangChain tool to a toolshape tool. Needs the extra ``schema``.

    toolshape validates each call against the tool's JSON Schema before LangChain validates it.
    ``ToolException`` and a ``ToolMessage`` with ``status="error"`` become ``ToolError``.

    What the tool's author hid from the model (``InjectedToolArg``, the state or the store of a
    graph, ``ToolRuntime``) stays hidden: a call in which a model sets it is invalid. Name such a
    parameter in ``inject``, and pass its value to each ``dispatch(inject=)``. A parameter that is
    not named keeps its default.

    Args:
        tool: The tool.
        config: The ``RunnableConfig`` passed to each call.
        inject: The names of hidden parameters whose values ``dispatch(inject=)`` passes.
        **options: See ``toolshape.tool``.

    Raises:
        DefinitionError: The schema is not valid for a tool.
        UsageError: ``tool`` is not a LangChain tool, a hidden parameter has neither a default nor a
            name in ``inject``, or ``inject`` names a parameter that is not hidden.
    """
    given_tool: Any = tool
    if not isinstance(given_tool, BaseTool):
        raise UsageError(
            f"from_langchain takes a LangChain tool, not {type(given_tool).__name__}: decorate "
            "the function with LangChain's @tool"
        )
    tool_schema: Any = tool.tool_call_schema
    schema = tool_schema if isinstance(tool_schema, dict) else tool_schema.model_json_schema()
    hidden = _hidden_fields(tool)
    _check_injected(tool.name, hidden, inject)

    async def call(arguments: dict[str, Any], tool_call_id: str) -> Any:
        allowed = {
            name: value for name, value in arguments.items() if name in inject or name not in hidden
        }
        tool_call = {
            "type": "tool_call",
            "id": tool_call_id or tool.name,
            "name": tool.name,
            "args": allowed,
        }
        try:
            answer = await tool.ainvoke(tool_call, config)
        except ToolException as error:
            raise ToolError(str(error)) from error
        return _from_langchain_answer(answer)

    closed = {**schema, "additionalProperties": False} if hidden else schema
    return import_tool(tool.name, tool.description, closed, call, options, inject)


def _hidden_fields(tool: BaseTool) -> Mapping[str, FieldInfo]:
    """Return the fields of a tool's arguments that LangChain does not show to the model."""
    whole: Any = tool.get_input_schema()
    shown: Any = tool.tool_call_schema
    if isinstance(shown, dict):  # a tool that was made from a JSON Schema hides nothing
        return {}
    return {
        name: field for name, field in whole.model_fields.items() if name not in shown.model_fields
    }


def _check_injected(tool: str, hidden: Mapping[str, FieldInfo], inject: Collection[str]) -> None:
    """Check that somebody fills each hidden parameter.

    Raises:
        UsageError: Nobody does, or a name in ``inject`` is not that of a hidden parameter.
    """
    for name in inject:
        if name not in hidden:
            raise UsageError(f"inject: {tool} hides no parameter {name!r} from the model")
    for name, field in hidden.items():
        kinds = [kind if isinstance(kind, type) else type(kind) for kind in field.metadata]
        is_filled = any(issubclass(kind, InjectedToolCallId) for kind in kinds)
        if field.is_required() and name not in inject and not is_filled:
            raise UsageError(
                f"{tool} hides {name!r} from the model, and nobody fills it here: write "
                f"from_langchain(..., inject=[{name!r}]), and pass its value to dispatch(inject=)"
            )


def _from_langchain_answer(answer: Any) -> Any:
    """Convert a LangChain tool's answer to a toolshape return value."""
    if not isinstance(answer, ToolMessage):
        return answer
    if answer.status == "error":
        raise ToolError(answer.text)
    if isinstance(answer.content, str):
        return answer.content
    return [_part(block) for block in answer.content_blocks]


def _part(block: Mapping[str, Any]) -> Part:
    """Convert a content block, which ``content_blocks`` has normalised to LangChain's form."""
    kinds: Mapping[str, Callable[..., Image | File]] = {"image": Image, "file": File}
    kind = kinds.get(block["type"])
    if kind is None:
        return Text(str(block.get("text", block)))
    if "url" in block:
        return part_at(block["url"], kind)
    return kind(base64.b64decode(block["base64"]), block["mime_type"])
