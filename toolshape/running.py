"""Validated arguments in, the tool's value out, or the ``CallError`` that says what became of the call."""

import asyncio
import contextlib
import contextvars
import inspect
import logging
import threading
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from pydantic import BaseModel

from toolshape.binding import Invoke
from toolshape.errors import CallError, CallErrorCode, ToolError, UsageError
from toolshape.signature import Kind

__all__ = [
    "NOTHING_INJECTED",
    "TimedOutError",
    "as_call_error",
    "hidden",
    "is_async",
    "refuse_running_loop",
    "run",
    "run_async",
    "validator_failed",
]

NOTHING_INJECTED: Mapping[str, Any] = MappingProxyType({})
_log = logging.getLogger("toolshape")
_SETTLED = frozenset({str, int, float, bool, type(None), dict, list, tuple})


class TimedOutError(Exception):
    """The tool did not finish in its time."""


def run(kind: Kind, invoke: Invoke, model: BaseModel, inject: Mapping[str, Any]) -> Any:
    """Call the tool where we stand; an async tool runs in an event loop of its own."""
    value = invoke(model, inject)
    if type(value) in _SETTLED:
        return value
    if not _is_asynchronous(value):
        return _collected(kind, value)
    settling = _settled(kind, value)
    try:
        return asyncio.run(settling)
    finally:
        settling.close()


async def run_async(
    kind: Kind, invoke: Invoke, model: BaseModel, inject: Mapping[str, Any], timeout: float | None, threads: bool
) -> Any:
    """Call the tool from a running loop: an async tool in it, any other in a thread with our context variables.

    Raises:
        TimedOutError: ``timeout`` seconds are over. An async tool has been asked to stop and is not waited for; a
            thread cannot be stopped and goes on unseen.
    """
    work = _work(kind, invoke, model, inject, threads=threads and not is_async(kind), leave=timeout is not None)
    return await (work if timeout is None else _within(timeout, work))


async def _work(
    kind: Kind, invoke: Invoke, model: BaseModel, inject: Mapping[str, Any], *, threads: bool, leave: bool
) -> Any:
    def call() -> Any:
        value = invoke(model, inject)
        return value if _is_asynchronous(value) else _collected(kind, value)

    value = await _in_thread(call, can_be_left=leave) if threads else call()
    return await _settled(kind, value) if _is_asynchronous(value) else value


def is_async(kind: Kind) -> bool:
    """Whether a tool of this kind needs an event loop."""
    return kind in ("coroutine", "async_generator")


def _is_asynchronous(value: Any) -> bool:
    return type(value) not in _SETTLED and (isinstance(value, AsyncIterator) or inspect.isawaitable(value))


def refuse_running_loop(kind: Kind, name: str) -> None:
    """Refuse to run an async tool from synchronous code while a loop runs in this thread.

    Raises:
        UsageError: Await the async way instead; nothing has been run.
    """
    if not is_async(kind):
        return
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError(f"{name} is async and an event loop is running: await adispatch, arun or acall instead")


def as_call_error(error: BaseException, *, tool: str, timeout: float | None = None) -> CallError:
    """Say what an exception from a tool means to the model; the log keeps what it means to the developer.

    Raises:
        BaseException: An interrupt from outside, which is nobody's answer, is raised again.
    """
    if isinstance(error, (KeyboardInterrupt, asyncio.CancelledError)):
        raise error
    if isinstance(error, ToolError):
        answer = _of_tool_error(error, tool)
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


def validator_failed(error: BaseException, *, tool: str) -> CallError:
    """Say what an exception from a validator of the author's means: a ``ToolError`` is for the model here too."""
    return as_call_error(error, tool=tool) if isinstance(error, ToolError) else hidden("tool_crashed", error, tool=tool)


def hidden(code: CallErrorCode, error: BaseException, *, tool: str) -> CallError:
    """An error whose text stays in the log, under the reference that the model is given."""
    reference = uuid.uuid4().hex[:12]
    _log.error("tool %r: %s (reference %s)", tool, code, reference, exc_info=error)
    answer = CallError(code, tool=tool, reference=reference)
    answer.__cause__ = error
    return answer


def _collected(kind: Kind, value: Any) -> Any:
    """The last value that a generator yielded; the list of what any other iterator holds."""
    if type(value) in _SETTLED or not isinstance(value, Iterator):
        return value
    if kind != "generator":
        return list(value)
    last: Any = None
    for last in value:  # noqa: B007 - the last one is what we are after
        pass
    return last


async def _settled(kind: Kind, value: Any) -> Any:
    if not isinstance(value, AsyncIterator):
        return _collected(kind, await value)
    collected = [item async for item in value] if kind == "function" else None
    last: Any = None
    async for last in value:  # noqa: B007
        pass
    return last if collected is None else collected


async def _within(seconds: float, work: Awaitable[Any]) -> Any:
    """Wait for the work, but not for its clean-up: ``asyncio.wait_for`` would."""
    task = asyncio.ensure_future(_captured_async(work))
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not done:
        task.cancel()
        raise TimedOutError
    return _released(task.result())


async def _in_thread(work: Callable[[], Any], *, can_be_left: bool) -> Any:
    if not can_be_left:
        return _released(await asyncio.to_thread(_captured, work))
    # The loop waits for the threads of its executor when it closes; one that hangs must not be among them.
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_Outcome] = loop.create_future()
    context = contextvars.copy_context()

    def deliver(outcome: _Outcome) -> None:
        if not future.done():
            future.set_result(outcome)

    def body() -> None:
        outcome = context.run(_captured, work)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(deliver, outcome)

    threading.Thread(target=body, name="toolshape", daemon=True).start()
    return _released(await future)


# A task or a future cannot carry every exception: StopIteration hangs it, SystemExit takes the loop down.
_Outcome: TypeAlias = tuple[Any, BaseException | None]


def _captured(work: Callable[[], Any]) -> _Outcome:
    try:
        return work(), None
    except BaseException as error:
        return None, error


async def _captured_async(work: Awaitable[Any]) -> _Outcome:
    try:
        return await work, None
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return None, error


def _released(outcome: _Outcome) -> Any:
    value, error = outcome
    if error is not None:
        raise error
    return value
