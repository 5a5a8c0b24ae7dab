"""Runs a new task immediately up to its first wait, on Python 3.10 and 3.11.

In these versions, a task begins in the next iteration of the loop. Later versions have
``Task(eager_start=True)``, so they do not import this module.
"""

import asyncio
import contextvars
from asyncio import futures, tasks
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_PythonTask: Any = vars(tasks)["_PyTask"]  # asyncio's task, implemented in Python
_PythonFuture: Any = vars(futures)["_PyFuture"]  # the base class of _PythonTask


class _StartedTask(_PythonTask):  # type: ignore[misc]
    """An asyncio task whose first step runs when the task is created.

    It is not enough to run the coroutine's first step by hand, before its task exists. In this
    step, ``current_task`` would return the caller's task. A tool that cancels itself or enters a
    timeout would then act on the caller. Here, as with ``eager_start``, the new task is the current
    task in each step. ``__init__`` leaves the caller's task, runs the first step in a copy of the
    context, and enters the caller's task again. ``__init__`` sets the same attributes as asyncio's
    task, but does not schedule the first step. This is safe, because Python 3.10 and 3.11 no longer
    change.
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
        asyncio._register_task(self)  # noqa: SLF001 - documented for libraries that extend asyncio, like the two below
        caller = asyncio.current_task(loop)
        if caller is not None:
            asyncio._leave_task(loop, caller)  # noqa: SLF001
        try:
            self._context.run(self._Task__step)
        finally:
            if caller is not None:
                asyncio._enter_task(loop, caller)  # noqa: SLF001


def start_task(work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
    """Start a task and immediately run its coroutine up to the first wait,
    or to the end if it never waits.
    """
    task: asyncio.Task[T] = _StartedTask(work, asyncio.get_running_loop())
    return task
