"""Runs tools in an event loop, so many at once. Loaded at first use: asyncio is slow to import."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from toolshape.execution.aio import all_of, finished, run_async
from toolshape.execution.concurrency import Limit, Slot
from toolshape.execution.failures import TimedOutError
from toolshape.execution.returned import collected, is_async, is_asynchronous
from toolshape.function.invoke import Invoke
from toolshape.function.signature import Kind

__all__ = ["run_limited", "within"]


async def run_limited(
    limit: Limit,
    kind: Kind,
    invoke: Invoke,
    model: BaseModel,
    inject: Mapping[str, Any],
    timeout: float | None,
    thread_limit: asyncio.Semaphore | None = None,
    given_up: Callable[[], None] | None = None,
) -> Any:
    """The same as ``run_async`` once it is the call's turn; a thread that was left behind keeps its turn until it ends."""
    await _turn(limit)
    slot = Slot(limit.release)

    def in_slot(model: BaseModel, inject: Mapping[str, Any]) -> Any:
        if not slot.begin():
            raise TimedOutError
        try:
            value = invoke(model, inject)
            return value if is_asynchronous(value) else collected(value)
        finally:
            slot.end()

    async def in_slot_async(value: Any) -> Any:
        if not slot.begin():
            raise TimedOutError
        try:
            return await finished(value)
        finally:  # the task may outlive its deadline: it is cancelled, and not waited for
            slot.end()

    def begin_async(model: BaseModel, inject: Mapping[str, Any]) -> Any:
        return in_slot_async(invoke(model, inject))

    try:
        begin = begin_async if is_async(kind) else in_slot
        return await run_async(kind, begin, model, inject, timeout, thread_limit, given_up)
    finally:
        slot.give_up()


async def _turn(limit: Limit) -> None:
    """Wait for one's turn; whoever is cancelled meanwhile has none."""
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
        except RuntimeError:  # the loop is closed, and nobody waits: the next has the turn
            limit.release()

    future.add_done_callback(wake)
    try:
        await turn
    except asyncio.CancelledError:
        if not future.cancel():  # it had come
            limit.release()
        raise


async def within(most: int | None, works: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Wait for all of them, of which so many run at once; see ``all_of``."""
    if most is None or len(works) <= most:
        return await all_of(works)
    turns = asyncio.Semaphore(most)
    begun: set[int] = set()

    async def in_turn(position: int) -> None:
        async with turns:
            begun.add(position)
            await works[position]

    try:
        await all_of([in_turn(position) for position in range(len(works))])
    finally:
        for position, work in enumerate(works):
            if position not in begun:
                work.close()
    return None
