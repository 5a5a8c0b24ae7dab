"""Resolves a call of a response to its tool, or makes the error that answers the call."""

import json
from typing import Any, NamedTuple

from toolshape._families.receive import sendable_name
from toolshape._families.wire.ids import made_up_id, sendable_id
from toolshape._function.calling.failures import validation_error
from toolshape._records.calls import (
    Call,
    Coercion,
    JsonObject,
    WireCall,
    WireMessage,
    plain_text,
)
from toolshape._records.errors import CallError, Problem, nearest
from toolshape._records.result import Result
from toolshape._tools.handler import Handler, Handlers
from toolshape._validation.settings import Validate


class Received(NamedTuple):
    """The arguments that a function would get, and the coercions; or the
    error that rejects the arguments.

    The arguments are JSON data that ``is_same_value`` can compare.
    """

    arguments: JsonObject | None
    coercions: tuple[Coercion, ...]
    error: CallError | None


def receive_arguments(
    handler: Handler, arguments: Any, validate: Validate | None = None, *, reveals: bool = False
) -> Received:
    """Validate arguments and return them as the function would get them; no tool is run.

    Args:
        handler: The handler of the tool.
        arguments: The arguments as received.
        validate: Validates the arguments; by default, the validation of the handler.
        reveals: Whether to return secrets instead of their masks.
    """
    try:
        validated, coercions = (validate or handler.validate)(arguments)
        return Received(
            handler.record.source.comparable(validated, reveals=reveals), coercions, None
        )
    except BaseException as error:  # a user validator may raise anything
        return Received(None, (), validation_error(error, tool=handler.wire_name))


def resolve_call(
    provider: str, handlers: Handlers, position: int, wire: WireCall | tuple[str, str, Any, Any]
) -> Call:
    """Resolve a call of a response to its tool. ``plan_calls`` repeats these steps inline."""
    given_id, wire_name, arguments, raw = wire
    call_id = sendable_id(given_id) or made_up_id(wire_name, arguments, position)
    handler = handlers.target(wire_name)
    if handler is None and (handler := handlers.find_meant(wire_name)) is not None:
        wire_name = handler.wire_name
    if handler is None:
        return unknown_call(call_id, wire_name, arguments, provider, raw)
    return Call(call_id, handler.name, wire_name, arguments, provider, raw, handler)


def unknown_call(call_id: str, wire_name: Any, arguments: Any, provider: str, raw: Any) -> Call:
    """Return the call of a tool that is not there; plain text, which
    no tool reads, is left as it is.
    """
    text = plain_text(arguments)
    received = arguments if text is None else text
    return Call(call_id, None, sendable_name(wire_name), received, provider, raw)


def as_meant(
    handlers: Handlers, wire_name: Any, raw: Any, assistant: list[WireMessage]
) -> tuple[Handler | None, Any, Any, list[WireMessage]]:
    """Read a call of an unknown tool as the call of the tool that the model
    must have meant, if there is one.

    The call and the messages of the response are copied, with the name that the tool was sent with.
    So whatever stores the messages, or answers the call, needs to know only that name.

    Returns:
        The handler, whose validation records the name as a coercion; the name, the call and the
        messages. Without such a tool, the handler is ``None``, and the others are as they were
        given.
    """
    handler = handlers.find_meant(wire_name)
    if handler is None:
        return None, wire_name, raw, assistant
    sent_name = handler.wire_name
    renamed = _renamed(raw, wire_name, sent_name)
    messages = [_replaced(message, raw, renamed) for message in assistant]
    if messages == assistant:  # the calls were read out of a text
        messages = [_renamed(message, wire_name, sent_name) for message in assistant]
    return handler, sent_name, renamed, messages


def _renamed(node: Any, wire_name: str, sent_name: str) -> Any:
    """Return a copy of a call in which ``sent_name`` stands where its name
    stood; arguments are not searched.
    """
    if isinstance(node, list):
        return [_renamed(inner, wire_name, sent_name) for inner in node]
    if not isinstance(node, dict):
        return node
    renamed: JsonObject = {}
    for key, value in node.items():
        if key in _NAMES and value == wire_name:
            renamed[key] = sent_name
        else:
            renamed[key] = value if key in _ARGUMENTS else _renamed(value, wire_name, sent_name)
    return renamed


_NAMES = frozenset({"name", "tool_name"})
_ARGUMENTS = frozenset({"arguments", "args", "input"})


def _replaced(node: Any, old: Any, new: Any) -> Any:
    """Return a copy of a message with another object in the place of one of its parts."""
    if node is old:
        return new
    if isinstance(node, dict):
        return {key: _replaced(value, old, new) for key, value in node.items()}
    if isinstance(node, list):
        return [_replaced(value, old, new) for value in node]
    return node


def refuse_cut(is_cut: bool, arguments: Any, name: str) -> None:
    """Reject arguments that are cut off by the end of the response.

    Raises:
        CallError: The arguments are cut off.
    """
    if is_cut and not _are_complete(arguments):
        problem = Problem(
            path="", rule="json_truncated", message="the response ended in the middle of them"
        )
        raise CallError("truncated_arguments", tool=name, problems=[problem])


def _are_complete(arguments: Any) -> bool:
    """Whether the arguments of a cut-off response are complete.

    Only text can be checked: an object may lack fields.
    """
    if not isinstance(arguments, (str, bytes)):
        return False
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def without_tool(
    handlers: Handlers, wire: tuple[str, Any, Any, Any], provider: str, *, has_hint: bool
) -> tuple[Call, Result | None, bool]:
    """Return a call that goes to no tool, the answer to it, and whether a call of an
    unknown tool may hold a secret.

    The call that holds the answer in a type has none yet: its target sets the result, once all
    calls are planned.
    """
    call_id, wire_name, arguments, raw = wire
    if handlers.answer is None:
        answer = None
    else:
        answer = handlers.answer.called(wire_name)
    if answer is not None:
        return Call(call_id, answer.name, wire_name, arguments, provider, raw, answer), None, False
    call = unknown_call(call_id, wire_name, arguments, provider, raw)
    refusal = unknown_tool_result(call, handlers, has_hint=has_hint)
    return call, refusal, handlers.may_hold_secrets


def unknown_tool_result(call: Call, handlers: Handlers, *, has_hint: bool) -> Result:
    """Return the answer to a call of an unknown tool."""
    names = handlers.names
    if has_hint:
        suggestion = nearest(call.wire_name, names) or ""
    else:
        suggestion = ""
    return error_result(
        call, CallError("unknown_tool", tool=call.wire_name, text=suggestion, names=names)
    )


def error_result(call: Call, error: CallError) -> Result:
    """Return the answer to a rejected call."""
    return Result(call, error=error, text=str(error))
