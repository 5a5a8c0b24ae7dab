"""Makes a ``CallError`` of an exception; logs unexpected ones, and hides them from the model."""

import sys
import uuid
from collections.abc import Mapping

from toolshape._records.errors import CallError, CallErrorCode, ToolError


class RemoteError(ToolError):
    """A failure that a remote server reported to the tool; its text is
    trusted like the tool's results.
    """


class TimedOutError(Exception):
    """The tool did not finish before its deadline."""


class OwnCancellationError(Exception):
    """The tool cancelled its own task; the caller did not cancel it."""


def is_cancellation(error: BaseException) -> bool:
    """Return whether an error is asyncio's cancellation, without importing asyncio."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and isinstance(error, asyncio.CancelledError)


def as_call_error(error: BaseException, *, tool: str, timeout: float | None = None) -> CallError:
    """Convert an exception from a tool to the error that the model reads, and log the
    details of unexpected exceptions.

    Raises:
        BaseException: The error is an interrupt or a cancellation from outside, so the call gets no
            result.
    """
    if isinstance(error, KeyboardInterrupt) or is_cancellation(error):
        raise error
    told = _told_to_the_model(error)
    if told is not None:
        answer = _convert_tool_error(told, tool)
    elif isinstance(error, OwnCancellationError):
        answer = CallError("cancelled", tool=tool)
    elif isinstance(error, TimedOutError) and timeout is not None:
        answer = CallError("tool_timeout", tool=tool, text=f"{timeout:g} s")
    else:
        answer = hide_error("tool_crashed", error, tool=tool)
    answer.__cause__ = error
    return answer


_WORDS_OF_FRAMEWORKS: Mapping[str, Mapping[str, bool]] = {
    "fastmcp": {"ToolError": False},
    "langchain_core": {"ToolException": False},
    "pydantic_ai": {"ModelRetry": True, "ToolFailed": False},
}
"""The exceptions with which a framework's tools talk to the model, by package, and
whether another call may succeed.

A function that was written for a framework raises them wherever it runs. Their text is public: each
framework sends it to the model (seen on 2026-11-26 in fastmcp 4.2.3, langchain-core 1.8 and
pydantic-ai 2.68).
"""


def _told_to_the_model(error: BaseException) -> ToolError | None:
    """Return the error that a tool raised for the model, also out of the tool's
    own task group; else ``None``.
    """
    if isinstance(error, ToolError):
        return error
    for cls in type(error).__mro__:
        words = _WORDS_OF_FRAMEWORKS.get(cls.__module__.partition(".")[0], {})
        if cls.__name__ in words:
            return ToolError(str(getattr(error, "message", error)), retryable=words[cls.__name__])
    # A task group raises a group, even of a single error. An error that is not for the model hides
    # the whole group.
    inner = getattr(error, "exceptions", None)
    if not isinstance(inner, tuple) or not inner:
        return None
    told = [_told_to_the_model(each) for each in inner]
    found = [each for each in told if each is not None]
    if len(found) < len(told):
        return None
    text = "\n".join(each.text for each in found)
    return ToolError(text, retryable=all(each.retryable for each in found))


def _convert_tool_error(error: ToolError, tool: str) -> CallError:
    try:
        return CallError(
            "tool_error", tool=tool, text=str(error.text), retryable=bool(error.retryable)
        )
    except Exception as conversion_error:  # ``str()`` of the tool's text failed
        return hide_error("tool_crashed", conversion_error, tool=tool)


def validation_error(error: BaseException, *, tool: str) -> CallError:
    """Convert an exception from validation to a ``CallError``: invalid arguments,
    or a crash in a user validator.

    Raises:
        KeyboardInterrupt: The error is an interrupt, so the call gets no result.
    """
    if isinstance(error, CallError):
        return error
    if isinstance(error, KeyboardInterrupt):
        raise error
    if isinstance(error, ToolError):
        return as_call_error(error, tool=tool)
    return hide_error("tool_crashed", error, tool=tool)


def hide_error(code: CallErrorCode, error: BaseException, *, tool: str) -> CallError:
    """Log an exception with a reference, and return an error that shows
    only this reference to the model.
    """
    import logging  # noqa: PLC0415 - only failures need it

    reference = uuid.uuid4().hex[:12]
    logging.getLogger("toolshape").error(
        "tool %r: %s (reference %s)", tool, code, reference, exc_info=error
    )
    answer = CallError(code, tool=tool, reference=reference)
    answer.__cause__ = error
    return answer
