"""Resolves a call of a response to its tool, or makes the error that answers the call."""

import json
from typing import Any, NamedTuple

from toolshape._families.receive import sendable_name
from toolshape._families.wire.ids import generated_id, id_seed, sendable_id
from toolshape._function.calling.failures import validation_error
from toolshape._records.calls import Call, Coercion, JsonObject, WireCall
from toolshape._records.errors import CallError, Problem, nearest
from toolshape._records.result import Result
from toolshape._tools.handler import Handler, Handlers
from toolshape._validation.settings import Validate


class Received(NamedTuple):
    """The arguments that a function would get, and the coercions; or the error that rejects the arguments.

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
    call_id = sendable_id(given_id) or generated_id(id_seed(raw), position)
    handler = handlers.find(wire_name)
    if handler is None:
        return Call(call_id, None, sendable_name(wire_name), arguments, provider, raw)
    return Call(call_id, handler.name, wire_name, arguments, provider, raw, handler)


def refuse_cut(is_cut: bool, arguments: Any, name: str) -> None:
    """Reject arguments that are cut off by the end of the response.

    Raises:
        CallError: The arguments are cut off.
    """
    if is_cut and not _is_whole(arguments):
        problem = Problem(
            path="", rule="json_truncated", message="the response ended in the middle of them"
        )
        raise CallError("truncated_arguments", tool=name, problems=[problem])


def _is_whole(arguments: Any) -> bool:
    """Whether the arguments of a cut-off response are complete. Only text can be checked: an object may lack fields."""
    if not isinstance(arguments, (str, bytes)):
        return False
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def unknown_tool_result(call: Call, handlers: Handlers, *, has_hint: bool) -> Result:
    """Return the answer to a call of an unknown tool."""
    names = handlers.names
    suggestion = (nearest(call.wire_name, names) or "") if has_hint else ""
    return error_result(
        call, CallError("unknown_tool", tool=call.wire_name, text=suggestion, names=names)
    )


def error_result(call: Call, error: CallError) -> Result:
    """Return the answer to a rejected call."""
    return Result(call, error=error, text=str(error))
