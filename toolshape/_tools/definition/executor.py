"""One function that runs the calls of many tools from definitions."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

from toolshape._records.calls import JsonObject
from toolshape._records.context import CallContext

Executor: TypeAlias = Callable[[str, JsonObject, CallContext], Any]
"""Takes the name in a definition, the arguments and the context of a call; returns the value."""


def function_of(executor: Executor, name: str) -> Callable[..., Any]:
    """Return the function of one tool; it is async if the executor is.

    Args:
        executor: The executor.
        name: The name in the tool's definition.
    """
    call = getattr(executor, "__call__", None)  # noqa: B004 - a callable object may be async
    if inspect.iscoroutinefunction(executor) or inspect.iscoroutinefunction(call):
        return functools.partial(_aexecute, executor, name)
    return functools.partial(_execute, executor, name)


# The parameters before the slash are filled by ``partial``, and the name of the last one is no name
# that a definition has, so every name is free for arguments.
def _execute(
    executor: Executor, name: str, /, *, toolshape_call_context: CallContext, **arguments: Any
) -> Any:
    return executor(name, arguments, toolshape_call_context)


async def _aexecute(
    executor: Executor, name: str, /, *, toolshape_call_context: CallContext, **arguments: Any
) -> Any:
    return await cast("Awaitable[Any]", executor(name, arguments, toolshape_call_context))
