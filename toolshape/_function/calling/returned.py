"""Checks whether a returned value must be awaited, and collects the values from an iterator."""

import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any

from toolshape._function.calling.failures import RemoteError
from toolshape._function.signature import Kind
from toolshape._records.mcp_results import is_mcp_result, mcp_error

SETTLED = frozenset({str, int, float, bool, type(None), dict, list, tuple})
"""The types of values that are final, so they need not be awaited or collected."""


def is_async(kind: Kind) -> bool:
    """Return whether a tool of this kind needs an event loop."""
    return kind in ("coroutine", "async_generator")


def is_asynchronous(value: Any) -> bool:
    """Return whether a value must be awaited or iterated in an event loop."""
    return type(value) not in SETTLED and (
        isinstance(value, AsyncIterator) or inspect.isawaitable(value)
    )


def collect(value: Any) -> Any:
    """Convert an iterator to a list of its values, and return any other value unchanged.

    Raises:
        RemoteError: The value is an MCP client's result, and the server reported that the call
            failed.
    """
    if type(value) in SETTLED:
        return value
    if is_mcp_result(value) and (text := mcp_error(value)) is not None:
        raise RemoteError(text)
    if isinstance(value, Iterator):
        return list(value)
    return value
