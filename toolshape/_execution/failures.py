"""Converts an exception to the ``CallError`` for a call; logs unexpected exceptions, and hides them from the model."""

import sys
import uuid

from toolshape._errors import CallError, CallErrorCode, ToolError


class RemoteError(ToolError):
    """A failure that a remote server reported to the tool; its text is trusted like the tool's results."""


class TimedOutError(Exception):
    """The tool did not finish before its deadline."""


class OwnCancellationError(Exception):
    """The tool cancelled its own task; the caller did not cancel it."""


def is_cancellation(error: BaseException) -> bool:
    """Return whether an error is asyncio's cancellation, without importing asyncio."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and isinstance(error, asyncio.CancelledError)


def as_call_error(error: BaseException, *, tool: str, timeout: float | None = None) -> CallError:
    """Convert an exception from a tool to the error that the model reads, and log the details of unexpected exceptions.

    Raises:
        BaseException: The error is an interrupt or a cancellation from outside, so the call gets no result.
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
    """Convert an exception from validation to a ``CallError``: invalid arguments, or a crash in a user validator.

    Raises:
        KeyboardInterrupt: The error is an interrupt, so the call gets no result.
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
    """Log an exception with a reference, and return an error that shows only this reference to the model."""
    import logging  # noqa: PLC0415 - only failures need it

    reference = uuid.uuid4().hex[:12]
    logging.getLogger("toolshape").error("tool %r: %s (reference %s)", tool, code, reference, exc_info=error)
    answer = CallError(code, tool=tool, reference=reference)
    answer.__cause__ = error
    return answer
