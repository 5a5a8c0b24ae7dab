"""A single async call runs in a task of its own that starts at once: what ``asyncio.create_task`` gives is the oracle."""

import asyncio
import contextvars
import importlib.util
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from toolshape import Registry, Results, tool

SET = contextvars.ContextVar("SET", default="outside")
NEW = sys.version_info >= (3, 11)  # timeout, TaskGroup


async def never_waits() -> str:
    return "done"


async def yields_to_the_loop() -> str:
    await asyncio.sleep(0)
    return "done"


async def sleeps() -> str:
    await asyncio.sleep(0.001)
    return "done"


async def stays_in_one_task() -> list[bool]:
    task, found = asyncio.current_task(), list[bool]()
    for seconds in (0, 0.001, 0):
        await asyncio.sleep(seconds)
        found.append(asyncio.current_task() is task)
    return found


async def sets_a_variable() -> list[str]:
    found = [SET.get()]
    SET.set("inside")
    await asyncio.sleep(0)
    return [*found, SET.get()]


async def enters_move_on_after() -> bool:
    with anyio.move_on_after(0.001) as scope:
        await anyio.sleep(5)
    return scope.cancelled_caught


async def enters_fail_after() -> str:
    try:
        with anyio.fail_after(0.001):
            await anyio.sleep(5)
    except TimeoutError:
        return "too late"
    return "in time"


async def cancels_a_scope_before_it_waits() -> bool:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await anyio.lowlevel.checkpoint()
    return scope.cancelled_caught


async def works_in_a_thread() -> int:
    return await anyio.to_thread.run_sync(lambda: 5)


async def has_a_group_of_anyio() -> list[int]:
    found: list[int] = []

    async def add(number: int) -> None:
        await anyio.lowlevel.checkpoint()
        found.append(number)

    async with anyio.create_task_group() as group:
        group.start_soon(add, 1)
        group.start_soon(add, 2)
    return sorted(found)


async def has_a_timeout() -> str:
    try:
        async with asyncio.timeout(0.001):  # type: ignore[attr-defined]
            await asyncio.sleep(5)
    except TimeoutError:
        return "too late"
    return "in time"


async def has_a_group() -> int:
    async with asyncio.TaskGroup() as group:  # type: ignore[attr-defined]
        task = group.create_task(sleeps())
    return len(task.result())


async def waits_for_a_future() -> int:
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, 7)
    return int(await future)


BEHAVIOURS: list[Callable[[], Awaitable[Any]]] = [
    never_waits, yields_to_the_loop, sleeps, stays_in_one_task, sets_a_variable, enters_move_on_after, enters_fail_after,
    cancels_a_scope_before_it_waits, works_in_a_thread, has_a_group_of_anyio, waits_for_a_future,
    *([has_a_timeout, has_a_group] if NEW else []),
]  # fmt: skip


def uv_loop() -> Any:
    import uvloop

    return uvloop.new_event_loop()


LOOPS = [asyncio.new_event_loop, *([uv_loop] if importlib.util.find_spec("uvloop") else [])]


@pytest.fixture(params=LOOPS, ids=lambda made: made.__name__)
def loop(request: pytest.FixtureRequest) -> Iterator[asyncio.AbstractEventLoop]:
    made = request.param()
    yield made
    made.run_until_complete(made.shutdown_default_executor())
    made.close()


def body(name: str) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": "{}"}}
    return {
        "choices": [
            {"finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [call]}}
        ]
    }


def bound(function: Callable[..., Any]) -> Any:
    return Registry([tool(function)]).bind("openai")


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda function: function.__name__)
def test_a_call_behaves_as_in_a_task_of_its_own(loop, behaviour):
    """Its result is that of a task; the caller's task, its context and its cancellations are what they were."""

    async def compared() -> tuple[Any, Any]:
        expected = await asyncio.create_task(behaviour())
        me = asyncio.current_task()
        [result] = await bound(behaviour).adispatch(body(behaviour.__name__))
        assert result.error is None, result.error
        assert asyncio.current_task() is me
        assert SET.get() == "outside"
        if NEW:
            assert me.cancelling() == 0  # type: ignore[union-attr]
        return expected, result.value

    expected, actual = loop.run_until_complete(compared())
    assert actual == expected


@pytest.mark.parametrize("waits_first", [False, True])
def test_a_tool_that_cancels_itself_cancels_nobody_else(loop, waits_first):
    """It reads as cancelled, whether it does so in its first step or later; the caller goes on."""

    async def cancels_itself() -> None:
        """Cancel."""
        if waits_first:
            await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(5)

    async def caller() -> Results:
        results = await bound(cancels_itself).adispatch(body("cancels_itself"))
        await asyncio.sleep(0)  # a cancellation of the caller would come here
        return results

    [result] = loop.run_until_complete(caller())
    assert result.error.code == "cancelled"


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_the_caller_is_cancelled_and_the_tool_with_it(loop, turns):
    """Whenever that happens; what the tool does in its ``finally`` is waited for."""
    seen: list[str] = []

    async def waits() -> None:
        """Wait."""
        try:
            await asyncio.sleep(5)
        finally:
            await asyncio.sleep(0)
            seen.append("cleaned up")

    async def cancelled() -> bool:
        task = asyncio.ensure_future(bound(waits).adispatch(body("waits")))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return task.cancelled()

    assert loop.run_until_complete(cancelled())
    assert seen == (
        ["cleaned up"] if turns else []
    )  # a coroutine that never began has nothing to clean up


def test_a_scope_of_the_caller_reaches_the_tool(loop):
    """``move_on_after`` around ``adispatch`` ends the tool in time."""

    async def waits() -> None:
        """Wait."""
        await anyio.sleep(5)

    async def scoped() -> bool:
        with anyio.move_on_after(0.01) as scope:
            await bound(waits).adispatch(body("waits"))
        return scope.cancelled_caught

    assert loop.run_until_complete(scoped())


def test_a_tool_that_never_waits_costs_no_turn_of_the_loop(loop):
    """What was due in the loop before has not run when the result is there."""

    async def counted() -> int:
        seen: list[str] = []
        asyncio.get_running_loop().call_soon(seen.append, "a turn")
        await bound(never_waits).adispatch(body("never_waits"))
        return len(seen)  # the loop goes on after this

    assert loop.run_until_complete(counted()) == 0
