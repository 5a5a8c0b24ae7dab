"""Calls a tool's function, or raises the ``CallError`` that the model is told."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from toolshape._function import calling
from toolshape._function.calling.failures import as_call_error, is_cancellation, validation_error
from toolshape._function.calling.returned import SETTLED, collect, is_async, is_asynchronous
from toolshape._function.invoke import Invoke
from toolshape._function.signature import Kind
from toolshape._records.errors import CallError, UsageError

NOTHING_INJECTED: Mapping[str, Any] = MappingProxyType({})


def final_value(value: Any) -> Any:
    """Return a tool's final value in synchronous code: await its return value in a
    new event loop, or collect it.
    """
    if not is_asynchronous(value):
        return collect(value)
    return calling.aio.run(calling.aio.await_value(value))


def refuse_running_loop(kind: Kind, name: str) -> None:
    """Raise an error if synchronous code would run an async tool while an event
    loop is running in this thread.

    Raises:
        UsageError: The tool is async, and a loop is running. The tool has not run: await the async
            method instead.
    """
    if not is_async(kind):
        return
    if calling.aio.is_running():
        raise UsageError(
            f"{name} is async and an event loop is running: await adispatch, arun or acall instead"
        )


def compile_call(
    validate: Callable[[Any], tuple[Any, Any]],
    invoke: Invoke,
    name: str,
    check: Callable[..., None] | None,
    extend: Callable[..., Mapping[str, Any]] | None = None,
) -> Callable[..., Any]:
    """Compile ``Tool.call``: it validates the arguments, and returns the tool's
    value or raises a ``CallError``.

    Args:
        validate: The function that validates the arguments from a model.
        invoke: The function that calls the tool with the validated arguments.
        name: The tool's name, for errors.
        check: A function that raises an error if the tool cannot be called with the injected
            values; ``None`` if no check is needed.
        extend: A function that takes the valid arguments, and adds the library's own values to the
            injected values.
    """

    def call(_tool: Any, arguments: Any, *, inject: Mapping[str, Any] = NOTHING_INJECTED) -> Any:
        if check is not None:
            check(inject)
        try:
            model, _ = validate(arguments)
        except BaseException as error:
            call_error = validation_error(error, tool=name)
            raise call_error from call_error.__cause__
        try:
            value = invoke(model, inject if extend is None else extend(_tool, model, inject))
            if type(value) is str or type(value) in SETTLED:
                return value
            return final_value(value)
        except BaseException as error:
            if is_cancellation(error):  # no caller can cancel us here: the tool cancelled itself
                raise CallError("cancelled", tool=name) from error
            raise as_call_error(error, tool=name) from error

    return call
