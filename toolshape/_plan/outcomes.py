"""Makes the ``Result`` of a call from what its tool returned or raised."""

import json
import logging
from collections.abc import Callable
from time import perf_counter
from typing import Any

from toolshape._function.calling.failures import RemoteError, as_call_error, hide_error
from toolshape._records.calls import Call, Coercion, new_record
from toolshape._records.errors import ToolError, UsageError
from toolshape._records.mcp_results import (
    McpParts,
    is_mcp_result,
    mcp_contents,
    mcp_parts,
    mcp_structured,
    mcp_value,
)
from toolshape._records.parts import Part, parts_of
from toolshape._records.result import Result
from toolshape._tools.handler import Handler

LARGE_RESULT = 100_000
"""A result with at least this many characters is logged as large, unless
the tool sets ``longest_result``.
"""
_PLAIN = frozenset({str, int, float, bool, type(None), dict})


def failed_result(
    call: Call,
    handler: Handler,
    coercions: tuple[Coercion, ...],
    error: BaseException,
    started: float,
) -> Result:
    """Return the result of a call whose tool raised an exception.

    Raises:
        BaseException: The error is an interrupt or a cancellation from outside, which must not
            become a result.
    """
    if isinstance(error, RemoteError):
        error.text = handler.framed(error.text)
    answer = as_call_error(error, tool=call.wire_name, timeout=handler.timeout)
    return Result(call, None, answer, coercions, perf_counter() - started, str(answer))


def successful_result(
    call: Call, handler: Handler, coercions: tuple[Coercion, ...], value: Any, elapsed: float
) -> Result:
    """Return the result of a call whose tool returned a value; if the value cannot
    be sent, the result is an error.
    """
    if (  # most tools return a short text that is sent as it is
        type(value) is str and handler.says_text and value.isascii() and len(value) < LARGE_RESULT
    ):
        return new_record(
            Result, (call, value, None, coercions, elapsed, value, False, (), True, None)
        )
    return _written_result(call, handler, coercions, value, elapsed)


def _written_result(
    call: Call, handler: Handler, coercions: tuple[Coercion, ...], value: Any, elapsed: float
) -> Result:
    parts: tuple[Part, ...] = ()
    is_text: bool | None = None
    try:
        parts = () if type(value) in _PLAIN else _parts_in(value)
        if parts:
            if handler.check_output is not None:
                _check_structured(handler.check_output, value)
            text, sent = handler.framed_parts(parts)
            text.encode()  # raises for half a surrogate pair
            if not isinstance(parts, McpParts):
                parts = sent
            elif handler.is_framed:
                parts = parts.changed(sent)
            if is_mcp_result(value):
                value = mcp_value(value)
        else:
            text, is_text = handler.write(value)
            if handler.is_looked_at:
                text, is_text = handler.looked_at(text, is_text)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a serialiser of the user's types may raise anything
        misuse = UsageError(
            f"{handler.name} returned a ToolError: raise the error, so the model reads its text"
        )
        cause = misuse if isinstance(value, ToolError) else error
        answer = hide_error("unserialisable_result", cause, tool=call.wire_name)
        return Result(call, value, answer, coercions, elapsed, str(answer))
    if len(text) >= LARGE_RESULT and handler.longest_result is None:
        _warn_of_size(handler, len(text))
    return new_record(
        Result, (call, value, None, coercions, elapsed, text, False, parts, is_text, None)
    )


def _warn_of_size(handler: Handler, length: int) -> None:
    logging.getLogger("toolshape").warning(
        "tool %r returned %s characters, which every later request of the conversation sends "
        "again: return less text, "
        "or set longest_result=",
        handler.name,
        f"{length:,}",
    )


def _parts_in(value: Any) -> tuple[Part, ...]:
    """Return the parts that a tool returned, as toolshape's parts or MCP
    content; empty for a plain value.
    """
    if is_mcp_result(value):
        return mcp_parts(value)
    return mcp_contents(value) or parts_of(value)


def _check_structured(check: Callable[[str, bool], None], value: Any) -> None:
    """Check the structured content of an MCP result against the output schema.

    Raises:
        TypeError: The result has no structured content, only text, images or files, which no schema
            describes.
    """
    structured = mcp_structured(value)
    if structured is None:
        raise TypeError(
            "the tool returned only text, images or files, but its output schema describes a value"
        )
    check(json.dumps(structured), False)
