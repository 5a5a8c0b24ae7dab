"""Turns an exception into the ``CallError`` that answers the call: its text is hidden, and logged under a reference."""

import sys
import uuid

from toolshape._errors import CallError, CallErrorCode, ToolError


class RemoteError(ToolError):
    """A server that the tool asked said that the call failed: its text is as trusted as the tool's results are."""


class TimedOutError(Exception):
    """The tool did not finish in its time."""


class OwnCancellationError(Exception):
    """The tool cancelled its own task; nobody else did."""


def is_cancellation(error: BaseException) -> bool:
    """Whether something was cancelled; where nobody has loaded asyncio, nothing can have been."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and isinstance(error, asyncio.CancelledError)


def as_call_error(error: BaseException, *, tool: str, timeout: float | None = None) -> CallError:
    """Turn an exception from a tool into the error that the model reads; the log keeps the details for the developer.

    Raises:
        BaseException: An interrupt or a cancellation from outside answers no call, and is raised again.
    """
    if isinstance(error, KeyboardInterrupt) or is_cancellation(error):
        raise error
    if isinstance(error, ToolError):
        answer = _of_tool_error(error, tool)
    elif isinstance(error, OwnCancellationError):
        answer = CallError("cancelled", tool=tool)
    elif isinstance(error, TimedOutError) and timeout is not None:
        answer = CallError("tool_timeout", tool=tool, text=f"{timeout:g} s")
    else:
        answer = hidden("tool_crashed", error, tool=tool)
    answer.__cause__ = error
    return answer


def _of_tool_error(error: ToolError, tool: str) -> CallError:
    try:
        return CallError("tool_error", tool=tool, text=str(error.text), retryable=bool(error.retryable))
    except Exception as odd:  # what was given for a text cannot be one
        return hidden("tool_crashed", odd, tool=tool)


def validation_error(error: BaseException, *, tool: str) -> CallError:
    """Turn an exception from validation into a ``CallError``: invalid arguments, or a user validator that crashed.

    Raises:
        KeyboardInterrupt: It answers no call, and is raised again.
    """
    if isinstance(error, CallError):
        return error
    if isinstance(error, KeyboardInterrupt):
        raise error
    return as_call_error(error, tool=tool) if isinstance(error, ToolError) else hidden("tool_crashed", error, tool=tool)


def hidden(code: CallErrorCode, error: BaseException, *, tool: str) -> CallError:
    """An error whose text stays in the log, under the reference that the model is given."""
    import logging  # noqa: PLC0415 - only what goes wrong needs it

    reference = uuid.uuid4().hex[:12]
    logging.getLogger("toolshape").error("tool %r: %s (reference %s)", tool, code, reference, exc_info=error)
    answer = CallError(code, tool=tool, reference=reference)
    answer.__cause__ = error
    return answer
