"""Runs a task up to its first wait when it is created, on Python 3.10 and 3.11, whose tasks begin with the next loop iteration.

Later Pythons have ``Task(eager_start=True)``; this module is imported on the earlier ones alone.
"""

import asyncio
import contextvars
from asyncio import futures, tasks
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_PythonTask: Any = vars(tasks)["_PyTask"]  # asyncio's own task, in Python
_PythonFuture: Any = vars(futures)["_PyFuture"]  # its base


class _StartedTask(_PythonTask):  # type: ignore[misc]
    """A task of asyncio's own kind, which differs in when its first step is made.

    Stepping the coroutine by hand before a task exists is not the same: in the first step ``current_task`` would be the
    caller's, so that a tool that cancels itself, or enters a timeout, would act on the caller. Here the task is the
    current one in each step, as ``eager_start`` does it: the caller's task is left, the first step runs in a copy of the
    context, and the caller's task is entered again. ``__init__`` sets what that of asyncio's task sets, but for the
    call that schedules the first step. Python 3.10 and 3.11 are no longer changed.
    """

    def __init__(self, work: Coroutine[Any, Any, Any], loop: asyncio.AbstractEventLoop) -> None:
        _PythonFuture.__init__(self, loop=loop)
        if self._source_traceback:
            del self._source_traceback[-1]
        self._name = "toolshape"
        self._num_cancels_requested = 0
        self._must_cancel = False
        self._fut_waiter = None
        self._coro = work
        self._context = contextvars.copy_context()
        asyncio._register_task(self)  # noqa: SLF001 - documented for libraries that extend asyncio, as the two below
        caller = asyncio.current_task(loop)
        if caller is not None:
            asyncio._leave_task(loop, caller)  # noqa: SLF001
        try:
            self._context.run(self._Task__step)
        finally:
            if caller is not None:
                asyncio._enter_task(loop, caller)  # noqa: SLF001


def start_task(work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
    """Start a task for a coroutine; it runs at once, up to its first wait, so that one that never waits is done."""
    started: asyncio.Task[T] = _StartedTask(work, asyncio.get_running_loop())
    return started
