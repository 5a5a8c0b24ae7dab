"""Runs one coroutine body either synchronously or in the event loop (blocking work goes to threads)."""

import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Steps(Protocol):
    """How a coroutine body does what takes time."""

    @property
    def is_loop(self) -> bool:
        """Whether a loop runs it."""
        ...

    async def blocking(self, work: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:
        """Run blocking work; if we are cancelled meanwhile, wait for it and undo it."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    async def result_of(self, given: Any) -> Any:
        """Return what a function returned, awaited if necessary."""
        ...


class _Here:
    is_loop = False

    async def blocking(self, work: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:  # noqa: ARG002 - nothing can cancel a synchronous step
        return work()

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251 - no loop runs it

    async def result_of(self, given: Any) -> Any:
        return given


class _InLoop:
    is_loop = True

    async def blocking(self, work: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:
        from toolshape._execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

        done: T = await aio.to_the_end(work, undo)
        return done

    async def sleep(self, seconds: float) -> None:
        from toolshape._execution import aio  # noqa: PLC0415 - the same

        await aio.sleep(seconds)

    async def result_of(self, given: Awaitable[Any]) -> Any:
        return await given


HERE: Steps = _Here()
IN_LOOP: Steps = _InLoop()


def done_here(work: Coroutine[Any, Any, T]) -> T:
    """Run a body whose steps are ``HERE`` to its end, and return its result: it never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise AssertionError("nothing of it waits")
