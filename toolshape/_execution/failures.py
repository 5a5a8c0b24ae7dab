"""Turns an exception into the ``CallError`` that answers the call; unexpected exceptions are logged and hidden."""

import sys
import uuid

from toolshape._errors import CallError, CallErrorCode, ToolError


class RemoteError(ToolError):
    """The server that the tool called reported a failure; the server's text is trusted like the tool's results."""


class TimedOutError(Exception):
    """The tool did not finish before its deadline."""


class OwnCancellationError(Exception):
    """The tool cancelled its own task; the caller did not."""


def is_cancellation(error: BaseException) -> bool:
    """Whether an error is asyncio's cancellation; always false if asyncio was never imported."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and isinstance(error, asyncio.CancelledError)


def as_call_error(error: BaseException, *, tool: str, timeout: float | None = None) -> CallError:
    """Turn an exception from a tool into the error that the model reads; the log keeps the details for the developer.

    Raises:
        BaseException: The error is an interrupt or a cancellation from outside, so no call is answered.
    """
    if isinstance(error, KeyboardInterrupt) or is_cancellation(error):
        raise error
    if isinstance(error, ToolError):
        answer = _convert_tool_error(error, tool)
    elif isinstance(error, OwnCancellationError):
        answer = CallError("cancelled", tool=tool)
    elif isinstance(error, TimedOutError) and timeout is not None:
        answer = CallError("tool_timeout", tool=tool, text=f"{timeout:g} s")
    else:
        answer = hide_error("tool_crashed", error, tool=tool)
    answer.__cause__ = error
    return answer


def _convert_tool_error(error: ToolError, tool: str) -> CallError:
    try:
        return CallError("tool_error", tool=tool, text=str(error.text), retryable=bool(error.retryable))
    except Exception as conversion_error:  # ``str()`` of the tool's text failed
        return hide_error("tool_crashed", conversion_error, tool=tool)


def validation_error(error: BaseException, *, tool: str) -> CallError:
    """Turn an exception from validation into a ``CallError``: invalid arguments, or a user validator that crashed.

    Raises:
        KeyboardInterrupt: The error is an interrupt, so no call is answered.
    """
    if isinstance(error, CallError):
        return error
    if isinstance(error, KeyboardInterrupt):
        raise error
    return (
        as_call_error(error, tool=tool)
        if isinstance(error, ToolError)
        else hide_error("tool_crashed", error, tool=tool)
    )


def hide_error(code: CallErrorCode, error: BaseException, *, tool: str) -> CallError:
    """Log an exception under a reference, and return an error that tells the model only this reference."""
    import logging  # noqa: PLC0415 - only failures need it

    reference = uuid.uuid4().hex[:12]
    logging.getLogger("toolshape").error("tool %r: %s (reference %s)", tool, code, reference, exc_info=error)
    answer = CallError(code, tool=tool, reference=reference)
    answer.__cause__ = error
    return answer
