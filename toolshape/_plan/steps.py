"""Runs one coroutine body synchronously, or in the event loop with threads for what blocks."""

import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

from toolshape._function import calling

T = TypeVar("T")


class Steps(Protocol):
    """How a coroutine body waits, and runs blocking work."""

    @property
    def is_loop(self) -> bool:
        """Whether an event loop runs the body."""
        ...

    async def blocking(self, work: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:
        """Run blocking work; if the caller is cancelled meanwhile, wait for the work and undo
        it.
        """
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for this number of seconds."""
        ...

    async def result_of(self, given: Any) -> Any:
        """Return the value that a function returned; in an event loop, await it first."""
        ...


class _Here:
    is_loop = False

    async def blocking(self, work: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:  # noqa: ARG002 - nothing can cancel a synchronous step
        return work()

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251 - no event loop runs it

    async def result_of(self, given: Any) -> Any:
        return given


class _InLoop:
    is_loop = True

    async def blocking(self, work: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:
        result: T = await calling.aio.run_to_the_end(work, undo)
        return result

    async def sleep(self, seconds: float) -> None:
        await calling.aio.sleep(seconds)

    async def result_of(self, given: Awaitable[Any]) -> Any:
        return await given


HERE: Steps = _Here()
IN_LOOP: Steps = _InLoop()


def run_here(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine body to its end and return its result; the body must wait only
    through ``HERE``, which blocks.
    """
    try:
        work.send(None)
    except StopIteration as stop_iteration:
        result: T = stop_iteration.value
        return result
    raise AssertionError("a synchronous run must not wait")
