"""Runs the function with validated arguments and returns its value, or raises the ``CallError`` that answers the call."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from toolshape._errors import CallError, UsageError
from toolshape._execution.failures import as_call_error, is_cancellation, validation_error
from toolshape._execution.returned import SETTLED, collected, is_async, is_asynchronous
from toolshape._function.invoke import Invoke
from toolshape._function.signature import Kind

NOTHING_INJECTED: Mapping[str, Any] = MappingProxyType({})


def final_value(value: Any) -> Any:
    """The final value of what a tool returned, in synchronous code; an awaitable runs in an event loop of its own."""
    if not is_asynchronous(value):
        return collected(value)
    from toolshape._execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

    return aio.run(aio.awaited_value(value))


def refuse_running_loop(kind: Kind, name: str) -> None:
    """Refuse to run an async tool from synchronous code while a loop runs in this thread.

    Raises:
        UsageError: Await the async way instead; nothing has been run.
    """
    if not is_async(kind):
        return
    from toolshape._execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

    if aio.is_running():
        raise UsageError(f"{name} is async and an event loop is running: await adispatch, arun or acall instead")


def compile_call(
    validate: Callable[[Any], tuple[Any, Any]],
    invoke: Invoke,
    name: str,
    check: Callable[..., None] | None,
    extend: Callable[..., Mapping[str, Any]] | None = None,
) -> Callable[..., Any]:
    """Compile ``Tool.call``, the whole way of one call: arguments in, the tool's value out, or its ``CallError``.

    Args:
        validate: From what a model sent to valid arguments.
        invoke: From these to what the tool returns.
        name: The tool's, for errors.
        check: Says whether it can be called, given the injected values; ``None`` where it always can.
        extend: Adds to the injected values what toolshape itself injects, given the tool and the valid arguments.
    """

    def call(_tool: Any, arguments: Any, *, inject: Mapping[str, Any] = NOTHING_INJECTED) -> Any:
        if check is not None:
            check(inject)
        try:
            model, _ = validate(arguments)
        except BaseException as error:
            refused = validation_error(error, tool=name)
            raise refused from refused.__cause__
        try:
            value = invoke(model, inject if extend is None else extend(_tool, model, inject))
            return value if type(value) is str or type(value) in SETTLED else final_value(value)
        except BaseException as error:
            if is_cancellation(error):  # nobody cancels us here: it is the tool's own
                raise CallError("cancelled", tool=name) from error
            raise as_call_error(error, tool=name) from error

    return call
