"""Work that may wait in; done here, or in the running loop with what blocks in threads, out: one body for both."""

import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Steps(Protocol):
    """How a piece of work does what takes time."""

    @property
    def is_loop(self) -> bool:
        """Whether a loop runs it."""
        ...

    async def blocking(self, work: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:
        """Do what blocks; where we are cancelled meanwhile, it is waited for and undone."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    async def result_of(self, given: Any) -> Any:
        """What a function gave, awaited where that is needed."""
        ...


class _Here:
    is_loop = False

    async def blocking(self, work: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:  # noqa: ARG002 - nobody cancels us meanwhile
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
    """The result of work whose steps are done ``HERE``: nothing of it waits."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise AssertionError("nothing of it waits")
