"""Limits how many calls run at the same time in an event loop.

This module is imported at first use, because asyncio is slow to import.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from toolshape._function.calling.aio import finish, wait_for_all
from toolshape._function.calling.concurrency import ConcurrencyLimit, Slot
from toolshape._function.calling.failures import TimedOutError
from toolshape._function.calling.returned import collect, is_async, is_asynchronous
from toolshape._function.invoke import Invoke
from toolshape._function.signature import Kind

T = TypeVar("T")


async def run_in_turn(
    limit: ConcurrencyLimit,
    kind: Kind,
    invoke: Invoke,
    run: Callable[[Invoke], Coroutine[Any, Any, Any]],
) -> Any:
    """Run a tool when the call's turn begins.

    Work that misses its deadline keeps the turn until the work ends.

    Args:
        limit: The tool's limit on concurrent calls.
        kind: The kind of the tool's function.
        invoke: The function that calls the tool.
        run: A function that runs the tool, for example with ``aio.run_async``. It receives a
            replacement for ``invoke``, which also begins and ends the turn.
    """
    await _wait_for_turn(limit)
    slot = Slot(limit.release)

    def in_slot(model: BaseModel, inject: Mapping[str, Any]) -> Any:
        if not slot.begin():
            raise TimedOutError
        try:
            value = invoke(model, inject)
            if is_asynchronous(value):
                return value
            return collect(value)
        finally:
            slot.end()

    async def in_slot_async(value: Any) -> Any:
        if not slot.begin():
            raise TimedOutError
        try:
            return await finish(value)
        # The waiter cancels a late task but does not wait for it, so the task may outlive its
        # deadline.
        finally:
            slot.end()

    def begin_async(model: BaseModel, inject: Mapping[str, Any]) -> Any:
        return in_slot_async(invoke(model, inject))

    try:
        return await run(begin_async if is_async(kind) else in_slot)
    finally:
        slot.give_up()


async def _wait_for_turn(limit: ConcurrencyLimit) -> None:
    """Wait for a turn; if the wait is cancelled, take no turn."""
    # The turn may begin in any thread, so ``wake`` notifies this loop. If the turn begins after the
    # loop was closed, or while the wait is being cancelled, this call cannot use its turn. In both
    # cases, release the turn for the next call.
    future = limit.ask()
    if future.done():
        return
    loop = asyncio.get_running_loop()
    turn: asyncio.Future[None] = loop.create_future()

    def begin() -> None:
        if not turn.done():
            turn.set_result(None)

    def wake(_: Any) -> None:
        if future.cancelled():
            return
        try:
            loop.call_soon_threadsafe(begin)
        except RuntimeError:  # the loop is closed, so give the turn to the next call
            limit.release()

    future.add_done_callback(wake)
    try:
        await turn
    except asyncio.CancelledError:
        if not future.cancel():  # the turn had already begun
            limit.release()
        raise


async def run_limited(
    most: int, items: Sequence[T], work: Callable[[T], Coroutine[Any, Any, None]]
) -> None:
    """Do the work for each item, for at most ``most`` items at once; handle
    exceptions as ``wait_for_all`` does.
    """
    semaphore = asyncio.Semaphore(most)

    async def in_its_turn(item: T) -> None:
        async with semaphore:
            await work(item)

    await wait_for_all([in_its_turn(item) for item in items])
