"""Runs claimed calls and records their results: one after another in this thread, or
concurrently in an event loop.

Both drivers run a call that writes or destroys alone: after all earlier calls, and before all later
calls. ``run_calls`` calls plain tools in this thread, in call order. At the end, it runs the tools
that need an event loop, in a new loop.

For speed, the functions that run calls take their arguments by position. If a plan has no controls,
they also record its results directly, without calling another function. One more function call per
step would cost a twentieth of a scalar dispatch.
"""

import functools
import itertools
from collections.abc import Callable, Coroutine, Mapping, Sequence
from time import perf_counter
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from toolshape._function.calling.call import final_value
from toolshape._function.calling.failures import is_cancellation
from toolshape._function.calling.returned import SETTLED, collect
from toolshape._plan import hooks, state
from toolshape._plan.claims import (
    Ready,
    Stage,
    calls_after,
    calls_still_to_run,
    check_runnable,
    claim_calls,
    group_stages,
    is_mixed,
    release_on_error,
)
from toolshape._plan.outcomes import LARGE_RESULT, failed_result, successful_result
from toolshape._plan.results import Controls, Results
from toolshape._plan.run_options import OnProgress
from toolshape._records.calls import new_record
from toolshape._records.result import Result
from toolshape._tools.hook_kinds import is_loop_hook

if TYPE_CHECKING:
    import asyncio


def run_unshared(
    results: Results, inject: Mapping[str, Any], limit: int | None, on_progress: OnProgress | None
) -> Results:
    """Run all calls of a plan that no other thread uses."""
    if results._is_plain and limit is None:
        run_calls(results, None, state.claim_whole(results), inject, None, on_progress)
        return results
    ready = claim_calls(results, None, inject, limit, is_async=False)
    with state.open_run(results, ready):
        run_calls(results, results._controls, ready, inject, limit, on_progress)
    return results


def run_calls(  # noqa: C901, PLR0912 - a function for each step would cost a twentieth of a scalar dispatch
    results: Results,
    controls: Controls | None,
    ready: Sequence[Ready],
    inject: Mapping[str, Any],
    limit: int | None,
    on_progress: OnProgress | None,
) -> None:
    """Run claimed calls in this thread.

    Raises:
        UsageError: A tool is async, and an event loop is running.
    """
    if not results._is_plain and not isinstance(ready, Stage) and is_mixed(ready):
        for number, stage in enumerate(groups := group_stages(ready)):
            with release_on_error(results, calls_after(groups, number)):
                run_calls(results, controls, stage, inject, limit, on_progress)
        return
    answers = results._answers
    for entry in ready:
        position, call, handler, model, coercions = entry
        if handler.is_indirect:
            if not handler.runs_last:
                with release_on_error(results, calls_still_to_run(ready, position)):
                    _run_under_hooks(results, controls, entry, inject, on_progress)
            continue
        if controls is not None:
            state.begin(controls, position)
        started = perf_counter()
        try:
            value = handler.invoke(model, inject)
            if type(value) is not str and type(value) not in SETTLED:
                value = final_value(value)
        except BaseException as error:
            if is_cancellation(
                error
            ):  # the tool raised the error: a call without an answer reads as cancelled
                continue
            with release_on_error(results, calls_still_to_run(ready, position)):
                answer = failed_result(call, handler, coercions, error, started)
        else:
            elapsed = perf_counter() - started
            if (
                type(value) is str
                and handler.says_text
                and value.isascii()
                and len(value) < LARGE_RESULT
            ):
                answer = new_record(
                    Result, (call, value, None, coercions, elapsed, value, False, (), True, None)
                )
            else:
                answer = successful_result(call, handler, coercions, value, elapsed)
        if controls is None:
            answers[position] = answer
        else:
            state.answer(results, position, answer)
    if not results._is_plain and (last_entries := [entry for entry in ready if entry[2].runs_last]):
        _run_last(results, controls, last_entries, inject, limit, on_progress)


def _run_under_hooks(
    results: Results,
    controls: Controls | None,
    entry: Ready,
    inject: Mapping[str, Any],
    on_progress: OnProgress | None,
) -> None:
    if controls is not None:
        state.begin(controls, entry[0], asks=entry[2].is_guarded)
    state.answer(results, entry[0], hooks.answer(_make_work(entry, inject, on_progress)))


def _run_last(
    results: Results,
    controls: Controls | None,
    ready: Sequence[Ready],
    inject: Mapping[str, Any],
    limit: int | None,
    on_progress: OnProgress | None,
) -> None:
    """Run async tools and tools under hooks: in one loop or, if a hook cannot
    be awaited, one after another.
    """
    from toolshape._function.calling import aio  # noqa: PLC0415 - asyncio takes a sixth as long to import as pydantic

    if not all(is_loop_hook(hook) for hook in ready[0][2].hooks):
        for number, entry in enumerate(ready):
            with release_on_error(results, itertools.islice(ready, number + 1, None)):
                _run_under_hooks(results, controls, entry, inject, on_progress)
        return

    async def run_all() -> None:
        for entry in ready:
            if not entry[
                2
            ].is_async:  # in its own task: a tool that cancels its task cancels only itself
                await aio.wait_for_all(
                    [_answer(results, controls, entry, inject, None, on_progress)]
                )
        in_loop = [entry for entry in ready if entry[2].is_async]
        await _run_in_loop(results, controls, in_loop, inject, limit, on_progress)

    aio.run(run_all())


async def arun_unshared(
    results: Results, inject: Mapping[str, Any], limit: int | None, on_progress: OnProgress | None
) -> Results:
    """Run all calls of a plan that no other task uses, in the running loop.

    Raises:
        UsageError: No event loop of asyncio is running, or a call cannot run with these options. No
            call was run.
    """
    loop_check()()
    waiting_entries = results._waiting
    if limit is None and (
        results._is_plain or (len(waiting_entries) == 1 and waiting_entries[0][2].is_plain_async)
    ):
        ready = state.claim_whole(results)
        if len(ready) != 1:
            await _run_in_loop(results, None, ready, inject, None, on_progress)
            return results
        task = _start_task(results, None, ready[0], inject, on_progress)
        if task is not None:
            await _finish(task)
        return results
    ready = claim_calls(results, None, inject, limit, is_async=True)
    with state.open_run(results, ready):
        await arun_calls(results, results._controls, ready, inject, limit, on_progress)
    return results


async def arun_calls(
    results: Results,
    controls: Controls | None,
    ready: Sequence[Ready],
    inject: Mapping[str, Any],
    limit: int | None,
    on_progress: OnProgress | None,
) -> None:
    """Run claimed calls in the running loop.

    Raises:
        CancelledError: The caller was cancelled. ``results`` still has a result for each call.
    """
    if len(ready) != 1:
        await _run_in_loop(results, controls, ready, inject, limit, on_progress)
        return
    task = _start_task(results, controls, ready[0], inject, on_progress)
    if task is not None:
        await _finish(task)


def _start_task(
    results: Results,
    controls: Controls | None,
    entry: Ready,
    inject: Mapping[str, Any],
    on_progress: OnProgress | None,
) -> "asyncio.Task[None] | None":
    """Start the task of a single call, which runs up to its first wait; return the
    task, or ``None`` if it is done.

    The task gives the call its own copy of the caller's context variables, and a tool that cancels
    its task cancels only itself. A tool that never waits costs no iteration of the loop.
    """
    task = _task_starter()(_answer(results, controls, entry, inject, None, on_progress))
    if not task.done():
        return task
    if not task.cancelled():  # a call that cancelled itself has no answer: it reads as cancelled
        task.result()
    return None


async def _finish(task: "asyncio.Task[None]") -> None:
    """Wait until the task of a call is done; if the caller is cancelled, cancel the call.

    Raises:
        CancelledError: The caller was cancelled.
    """
    from toolshape._function.calling import aio  # noqa: PLC0415 - asyncio takes a sixth as long to import as pydantic

    await aio.wait_until_done(task)
    if not task.cancelled():  # a call that cancelled itself has no answer: it reads as cancelled
        task.result()


async def run_in_this_task(
    results: Results, inject: Mapping[str, Any], on_progress: OnProgress | None
) -> Results:
    """Run a single-call plan in the current task, saving one loop iteration.

    The caller must own the task.

    Raises:
        CancelledError: The tool or a caller cancelled the task. ``results`` still has a result for
            each call.
    """
    controls = results._controls
    if controls is None:
        check_runnable(results._waiting, inject, is_async=True)
        ready = state.claim_whole(results)
        if ready:
            await _answer(results, None, ready[0], inject, None, on_progress)
        return results
    ready = claim_calls(results, None, inject, None, is_async=True)
    with state.open_run(results, ready):
        if ready:
            await _answer(results, controls, ready[0], inject, None, on_progress)
    return results


async def _run_in_loop(
    results: Results,
    controls: Controls | None,
    ready: Sequence[Ready],
    inject: Mapping[str, Any],
    limit: int | None,
    on_progress: OnProgress | None,
) -> None:
    from toolshape._function.calling import aio  # noqa: PLC0415 - asyncio takes a sixth as long to import as pydantic

    thread_limit = aio.thread_limit()
    if len(ready) > 1 and any(entry[2].runs_alone for entry in ready):
        for number, stage in enumerate(groups := group_stages(ready)):
            with release_on_error(results, calls_after(groups, number)):
                await _run_together(
                    results, controls, stage, inject, limit, on_progress, thread_limit
                )
        return
    await _run_together(results, controls, ready, inject, limit, on_progress, thread_limit)


async def _run_together(
    results: Results,
    controls: Controls | None,
    ready: Sequence[Ready],
    inject: Mapping[str, Any],
    limit: int | None,
    on_progress: OnProgress | None,
    thread_limit: "asyncio.Semaphore",
) -> None:
    from toolshape._function.calling import aio  # noqa: PLC0415 - asyncio takes a sixth as long to import as pydantic

    if limit is None:
        await aio.wait_for_all(
            [
                _answer(results, controls, entry, inject, thread_limit, on_progress)
                for entry in ready
            ]
        )
        return
    from toolshape._function.calling import limited  # noqa: PLC0415 - it imports asyncio

    unstarted = {entry[0]: entry for entry in ready}

    async def begin(entry: Ready) -> None:
        del unstarted[entry[0]]
        await _answer(results, controls, entry, inject, thread_limit, on_progress)

    with release_on_error(results, unstarted.values()):
        await limited.run_limited(limit, ready, begin)


async def _answer(
    results: Results,
    controls: Controls | None,
    entry: Ready,
    inject: Mapping[str, Any],
    thread_limit: Any,
    on_progress: OnProgress | None,
) -> None:
    """Run one call in the loop and record its result."""
    position, call, handler, model, coercions = entry
    if controls is not None:
        state.begin(controls, position, asks=handler.is_guarded)
    started = perf_counter()
    try:
        if handler.is_awaited:
            value = handler.invoke(model, inject)
            value = await (value if type(value) is CoroutineType else _finish_value(value))
            if type(value) not in SETTLED:
                value = collect(value)
        elif handler.is_controlled:
            work = _make_work(entry, inject, on_progress, thread_limit)
            state.answer(results, position, await hooks.answer_in_loop(work))
            return
        else:
            from toolshape._function.calling import aio  # noqa: PLC0415 - asyncio takes a sixth as long to import as pydantic

            value = await aio.run_async(
                handler.kind, handler.invoke, model, inject, handler.timeout, thread_limit
            )
    except BaseException as error:
        answer = failed_result(call, handler, coercions, error, started)
    else:
        elapsed = perf_counter() - started
        if (
            type(value) is str
            and handler.says_text
            and value.isascii()
            and len(value) < LARGE_RESULT
        ):
            answer = new_record(
                Result, (call, value, None, coercions, elapsed, value, False, (), True, None)
            )
        else:
            answer = successful_result(call, handler, coercions, value, elapsed)
    if controls is None:
        results._answers[position] = answer
    else:
        state.answer(results, position, answer)


def _make_work(
    entry: Ready,
    inject: Mapping[str, Any],
    on_progress: OnProgress | None,
    thread_limit: Any = None,
) -> hooks.Work:
    _, call, handler, model, coercions = entry
    return hooks.Work(call, handler, model, coercions, inject, on_progress, thread_limit)


@functools.cache
def loop_check() -> "Callable[[], None]":
    """Return ``aio.require_loop``, cached as below."""
    from toolshape._function.calling.aio import require_loop  # noqa: PLC0415 - asyncio takes a sixth as long to import as pydantic

    return require_loop


@functools.cache
def _task_starter() -> "Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]":
    """Return ``aio.start_task``, cached, because an import would cost a
    thirtieth of dispatching an async call.
    """
    from toolshape._function.calling.aio import start_task  # noqa: PLC0415 - asyncio takes a sixth as long to import as pydantic

    return start_task


async def _finish_value(value: Any) -> Any:
    from toolshape._function.calling import aio  # noqa: PLC0415 - asyncio takes a sixth as long to import as pydantic

    return await aio.finish(value)
