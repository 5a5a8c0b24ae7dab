"""Tools do not affect each other: cancellation, context variables, exits; one call alone behaves as one of several."""

import asyncio
import contextvars

import pytest

from toolshape import CallError, Registry, tool

SET = contextvars.ContextVar("SET", default=0)


async def cancelling() -> None:
    asyncio.current_task().cancel()
    await asyncio.sleep(1)


async def cancelled() -> None:
    raise asyncio.CancelledError


async def setting() -> int:
    SET.set(SET.get() + 1)
    await asyncio.sleep(0)
    return SET.get()


async def waiting() -> None:
    await asyncio.sleep(30)


def body(name, times):
    calls = [
        {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for i in range(times)
    ]
    return {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": calls}}]}


TIMES = pytest.mark.parametrize("times", [1, 2, 3])


@TIMES
@pytest.mark.parametrize("function", [cancelling, cancelled])
def test_a_tool_that_cancels_itself_is_answered(function, times):
    """In a loop and without one, by itself too; whoever called goes on."""
    bound = Registry([function]).bind("openai")

    async def main():
        results = await bound.adispatch(body(function.__name__, times))
        await asyncio.sleep(0)  # we are not cancelled
        with pytest.raises(CallError, match="was cancelled"):
            await tool(function).acall("{}")
        return results

    for results in (asyncio.run(main()), bound.dispatch(body(function.__name__, times))):
        assert [result.error.code for result in results] == ["cancelled"] * times
    with pytest.raises(CallError, match="was cancelled"):
        tool(function).call("{}")


@TIMES
def test_what_a_tool_sets_stays_its_own(times):
    """Its context is a copy, as a task's is."""
    bound = Registry([setting]).bind("openai")

    async def main():
        results = await bound.adispatch(body("setting", times))
        value = await tool(setting).acall("{}")
        return [result.value for result in results], value, SET.get()

    assert asyncio.run(main()) == ([1] * times, 1, 0)


@TIMES
@pytest.mark.parametrize("timeout", [None, 20])
def test_cancelled_from_outside(times, timeout):
    """We are; every call has its answer all the same."""
    bound = Registry([tool(timeout=timeout)(waiting)]).bind("openai")

    async def main():
        plan = bound.plan(body("waiting", times))
        task = asyncio.create_task(plan.arun())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(bound.adispatch(body("waiting", times)), 0.01)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(tool(waiting).acall("{}"), 0.01)
        return plan.results

    results = asyncio.run(main())
    assert [result.error.code for result in results] == ["cancelled"] * times
