"""Runs tools in an event loop or a thread, with deadlines.

Imported at first use, because asyncio is slow to import.
"""

import asyncio
import contextlib
import contextvars
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel

from toolshape._function.calling.failures import OwnCancellationError, TimedOutError
from toolshape._function.calling.returned import collect, is_async, is_asynchronous
from toolshape._function.invoke import Invoke
from toolshape._function.signature import Kind
from toolshape._records.errors import UsageError

_MOST_THREADS = 32
T = TypeVar("T")


def is_running() -> bool:
    """Return whether an event loop is running in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def require_loop() -> None:
    """Check that asyncio's event loop is running in this thread.

    Raises:
        UsageError: There is none, as under trio. No call has begun.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise UsageError(
            "calls are awaited in asyncio's event loop, and none is running here: "
            "use asyncio.run, or call dispatch in a thread (under trio: trio.to_thread.run_sync)"
        ) from None


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in a new event loop."""
    try:
        return asyncio.run(work)
    finally:
        work.close()


async def run_alone(
    work: Coroutine[Any, Any, Any], given_up: Callable[[], None] | None = None
) -> Any:
    """Run a coroutine in its own task, so its context and cancellations stay
    separate, as in a parallel call.

    Args:
        work: The coroutine.
        given_up: A function to call if the caller is cancelled, before the task is cancelled.

    Raises:
        OwnCancellationError: The coroutine cancelled itself.
        CancelledError: The caller was cancelled, so the task was also cancelled.
    """
    task = start_task(_capture_async(work))
    if not task.done():
        await wait_until_done(task, given_up)
    if task.cancelled():
        raise OwnCancellationError
    return _release(task.result())


async def wait_until_done(
    task: asyncio.Task[Any], given_up: Callable[[], None] | None = None
) -> None:
    """Wait until a task is done; if the caller is cancelled, call
    ``given_up``, then cancel the task.

    Raises:
        CancelledError: The caller was cancelled.
    """
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        if given_up is not None:
            given_up()
        task.cancel()
        await asyncio.wait({task})
        raise


def thread_limit() -> asyncio.Semaphore:
    """Return the limit on threads for tools with a deadline.

    A tool that misses its deadline keeps its thread.
    """
    return asyncio.Semaphore(_MOST_THREADS)


if sys.version_info >= (3, 12):

    def start_task(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a task and immediately run its coroutine up to the first wait,
        or to the end if it never waits.
        """
        return asyncio.Task(work, loop=asyncio.get_running_loop(), eager_start=True)

else:
    from toolshape._function.calling import eager

    start_task = eager.start_task


async def wait_for_all(works: Sequence[Awaitable[Any]]) -> None:
    """Wait for all awaitables, then raise the first exception, if any; ignore
    awaitables that were cancelled.
    """
    # An exception here is a bug in this library.
    for outcome in await asyncio.gather(*works, return_exceptions=True):
        if isinstance(outcome, BaseException) and not isinstance(outcome, asyncio.CancelledError):
            raise outcome


async def run_async(
    kind: Kind,
    invoke: Invoke,
    model: BaseModel,
    inject: Mapping[str, Any],
    timeout: float | None,
    thread_limit: asyncio.Semaphore | None = None,
    given_up: Callable[[], None] | None = None,
) -> Any:
    """Call an async tool in the running loop, or any other tool in a thread with
    the caller's context variables.

    Raises:
        TimedOutError: The tool, or the wait for a free thread, took longer than ``timeout``
            seconds. This function cancels an async tool, but does not wait for the tool to end. A
            thread cannot be stopped: it keeps running, and this function ignores its outcome.
    """
    if timeout is None:
        return await _call_tool(kind, invoke, model, inject)
    if is_async(kind):
        return await _wait_with_deadline(timeout, _call_tool(kind, invoke, model, inject), given_up)
    thread_slots = thread_limit or asyncio.Semaphore(1)
    try:
        await asyncio.wait_for(thread_slots.acquire(), timeout)
    except asyncio.TimeoutError:
        raise TimedOutError from None
    return await _wait_with_deadline(
        timeout, _call_tool(kind, invoke, model, inject, left=thread_slots.release), given_up
    )


async def _call_tool(
    kind: Kind,
    invoke: Invoke,
    model: BaseModel,
    inject: Mapping[str, Any],
    *,
    left: Callable[[], None] | None = None,
) -> Any:
    def call() -> Any:
        value = invoke(model, inject)
        if is_asynchronous(value):
            return value
        return collect(value)

    if is_async(kind):
        value = call()
    else:
        value = await _run_in_thread(call, left)
    if is_asynchronous(value):
        return await await_value(value)
    return value


async def finish(value: Any) -> Any:
    """Return the final value of a function that ran in the loop: await its value,
    or collect an iterator's items.
    """
    if is_asynchronous(value):
        return await await_value(value)
    return collect(value)


async def await_value(value: Any) -> Any:
    """Return the final value of an awaitable or an async iterator."""
    if not isinstance(value, AsyncIterator):
        return collect(await value)
    return [item async for item in value]


async def _wait_with_deadline(
    seconds: float, work: Awaitable[Any], given_up: Callable[[], None] | None
) -> Any:
    """Wait for the work until the deadline, and then cancel the work
    without waiting for its clean-up.

    ``asyncio.wait_for`` would also wait for the clean-up.
    """
    task = asyncio.ensure_future(_capture_async(work))
    try:
        done_tasks, _ = await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not done_tasks:
        if given_up is not None:
            given_up()
        task.cancel()
        raise TimedOutError
    return _release(task.result())


async def run_in_thread(work: Callable[[], Any]) -> Any:
    """Run a function in its own thread with the caller's context variables, and
    raise its exceptions in the caller.
    """
    return await _run_in_thread(work, lambda: None)


async def run_to_the_end(work: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:
    """Run a function in an executor thread until it ends; if the caller is
    cancelled meanwhile, undo the result.

    Raises:
        CancelledError: The caller was cancelled, once or several times. If ``work`` succeeded,
            ``undo`` was called with its result.
    """
    # A thread cannot be stopped, and its effect (a claim in a ledger, for example) must not be
    # lost. So a cancellation interrupts only the shield, not the task: we wait for the task, undo
    # its result, and then raise the cancellation.
    task = asyncio.ensure_future(_run_in_thread(work, None))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await _wait_until_over(task)
        if undo is not None and not task.cancelled() and task.exception() is None:
            result = task.result()
            await _wait_until_over(
                asyncio.ensure_future(_run_in_thread(lambda: undo(result), None))
            )
        raise


async def _wait_until_over(task: asyncio.Future[Any]) -> None:
    """Wait until a task is done, even if the caller is cancelled several times meanwhile."""
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({task})
    if not task.cancelled():
        task.exception()  # retrieve the exception, or asyncio logs a warning


async def sleep(seconds: float) -> None:
    """Sleep for ``seconds``, and let other tasks run meanwhile."""
    await asyncio.sleep(seconds)


async def _run_in_thread(work: Callable[[], Any], left: Callable[[], None] | None) -> Any:
    """Run a function in an executor thread.

    If ``left`` is given, use a new thread, and call ``left`` when it ends.
    """
    if left is None:
        return _release(await asyncio.to_thread(_capture, work))
    # When the loop closes, it waits for the threads in its executor. So a thread that may hang must
    # not belong to the executor.
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_Outcome] = loop.create_future()
    context = contextvars.copy_context()

    def deliver(outcome: _Outcome) -> None:
        left()
        if not future.done():
            future.set_result(outcome)

    def body() -> None:
        outcome = context.run(_capture, work)
        with contextlib.suppress(RuntimeError):  # the loop is closed: no task waits
            loop.call_soon_threadsafe(deliver, outcome)

    threading.Thread(target=body, name="toolshape", daemon=True).start()
    return _release(await future)


# A task or a future cannot carry every exception: StopIteration makes it hang, and SystemExit stops
# the loop.
_Outcome: TypeAlias = tuple[Any, BaseException | None]


def _capture(work: Callable[[], Any]) -> _Outcome:
    try:
        return work(), None
    except BaseException as error:
        return None, error


async def _capture_async(work: Awaitable[Any]) -> _Outcome:
    try:
        return await work, None
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return None, error


def _release(outcome: _Outcome) -> Any:
    value, error = outcome
    if error is not None:
        raise error
    return value
