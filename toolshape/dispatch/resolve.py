"""A call on the wire in; the call resolved to its tool, or the error that answers it, out."""

import json
from typing import Any

from toolshape.calls import Call, WireCall
from toolshape.dispatch.handler import Handlers
from toolshape.dispatch.receive import sendable_name
from toolshape.errors import CallError, Problem
from toolshape.results import Result
from toolshape.wire.ids import generated_id, id_seed, sendable_id

__all__ = ["call_of", "error_result", "refuse_cut", "unknown"]


def call_of(provider: str, handlers: Handlers, position: int, wire: WireCall | tuple[str, str, Any, Any]) -> Call:
    """A call of a response, resolved to its tool, by its position among the calls; ``Plan.of`` makes the same."""
    given_id, wire_name, arguments, raw = wire
    call_id = sendable_id(given_id) or generated_id(id_seed(raw), position)
    handler = handlers.find(wire_name)
    if handler is None:
        return Call(call_id, None, sendable_name(wire_name), arguments, provider, raw)
    return Call(call_id, handler.name, wire_name, arguments, provider, raw, handler)


def refuse_cut(is_cut: bool, arguments: Any, name: str) -> None:
    """Refuse arguments that the response ended in the middle of.

    Raises:
        CallError: They are not complete.
    """
    if is_cut and not _is_whole(arguments):
        problem = Problem(path="", rule="json_truncated", message="the response ended in the middle of them")
        raise CallError("truncated_arguments", tool=name, problems=[problem])


def _is_whole(arguments: Any) -> bool:
    """Whether arguments of a response that was cut off are complete: an object may have lost some of its fields."""
    if not isinstance(arguments, (str, bytes)):
        return False
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def unknown(call: Call, handlers: Handlers, *, has_hint: bool) -> Result:
    """The answer to a call of a tool that is not there."""
    names, index = handlers.index
    near = (index.nearest(call.wire_name) or "") if has_hint else ""
    return error_result(call, CallError("unknown_tool", tool=call.wire_name, text=near, names=names))


def error_result(call: Call, error: CallError) -> Result:
    """The answer to a call that was refused."""
    return Result(call, error=error, text=str(error))
