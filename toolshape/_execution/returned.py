"""Whether a returned value must be awaited, and the values that a generator or iterator holds."""

import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any

from toolshape._execution.failures import RemoteError
from toolshape._function.signature import Kind
from toolshape._mcp_results import is_mcp_result, mcp_error

SETTLED = frozenset({str, int, float, bool, type(None), dict, list, tuple})
"""The types of values that are what they are: nothing has to be awaited or collected."""


def is_async(kind: Kind) -> bool:
    """Whether a tool of this kind needs an event loop."""
    return kind in ("coroutine", "async_generator")


def is_asynchronous(value: Any) -> bool:
    """Whether a value has to be awaited."""
    return type(value) not in SETTLED and (isinstance(value, AsyncIterator) or inspect.isawaitable(value))


def collected(value: Any) -> Any:
    """The list of what a generator or another iterator yields; any other value as it is.

    Raises:
        RemoteError: It is what an MCP client gave of a call that failed at its server.
    """
    if type(value) in SETTLED:
        return value
    if is_mcp_result(value) and (said := mcp_error(value)) is not None:
        raise RemoteError(said)
    return list(value) if isinstance(value, Iterator) else value
