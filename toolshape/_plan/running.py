"""Runs claimed calls and records their results, in this thread or in an event loop.

Both drivers run a call that writes or destroys alone: after all earlier calls, and before all later
calls. ``run_calls`` calls plain tools in this thread, in call order. At the end, it runs the tools
that need an event loop, in a new loop.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from toolshape._function import calling
from toolshape._function.calling.call import NOTHING_INJECTED, final_value
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
from toolshape._plan.outcomes import failed_result, successful_result
from toolshape._plan.results import Controls, Results
from toolshape._plan.run_options import OnProgress
from toolshape._tools.hook_kinds import is_loop_hook

if TYPE_CHECKING:
    import asyncio


@dataclass(frozen=True, slots=True)
class Run:
    """What the caller of a run asked for, and the running loop's limit of threads once a loop runs
    the calls.
    """

    inject: Mapping[str, Any]
    limit: int | None
    on_progress: OnProgress | None
    thread_limit: "asyncio.Semaphore | None" = None


USUAL_RUN = Run(NOTHING_INJECTED, None, None)
"""The run of a dispatch without options; to make it for each dispatch would cost a twentieth."""


def run_unshared(results: Results, run: Run) -> Results:
    """Run all calls of a plan that no other thread uses."""
    if results._is_plain and run.limit is None:
        run_calls(results, run, state.claim_whole(results))
        return results
    ready = claim_calls(results, None, run.inject, run.limit, is_async=False)
    with state.open_run(results, ready):
        run_calls(results, run, ready)
    return results


def run_calls(  # noqa: C901, PLR0912 - a function for each step would cost a twentieth of a scalar dispatch
    results: Results,
    run: Run,
    ready: Sequence[Ready],
) -> None:
    """Run claimed calls in this thread.

    Raises:
        UsageError: A tool is async, and an event loop is running.
    """
    is_plain = results._is_plain
    if not is_plain and not isinstance(ready, Stage) and is_mixed(ready):
        for number, stage in enumerate(groups := group_stages(ready)):
            with release_on_error(results, calls_after(groups, number)):
                run_calls(results, run, stage)
        return
    controls: Controls | None = results._controls
    inject = run.inject
    for entry in ready:
        position, call, handler, model, coercions = entry
        if handler.is_indirect:
            if not handler.runs_last:
                with release_on_error(results, calls_still_to_run(ready, position)):
                    _run_under_hooks(results, run, entry)
            continue
        if controls is not None and not state.begin(controls, position):
            continue
        started = perf_counter()
        try:
            value = handler.invoke(model, inject)
            if type(value) is not str and type(value) not in SETTLED:
                value = final_value(value)
        except BaseException as error:
            # The tool raised the error: a call without an answer reads as cancelled.
            if is_cancellation(error):
                continue
            with release_on_error(results, calls_still_to_run(ready, position)):
                answer = failed_result(call, handler, coercions, error, started)
        else:
            elapsed = perf_counter() - started
            answer = successful_result(call, handler, coercions, value, elapsed)
        if controls is None:
            results._answers[position] = answer
        else:
            state.answer(results, position, answer)
    if not is_plain and (last_entries := [entry for entry in ready if entry[2].runs_last]):
        _run_last(results, run, last_entries)


def _run_under_hooks(
    results: Results,
    run: Run,
    entry: Ready,
) -> None:
    controls = results._controls
    if controls is not None and not state.begin(controls, entry[0], asks=entry[2].is_guarded):
        return
    state.answer(results, entry[0], hooks.run_work(_make_work(run, entry)))


def _run_last(
    results: Results,
    run: Run,
    ready: Sequence[Ready],
) -> None:
    """Run async tools and tools under hooks: in one loop or, if a hook cannot
    be awaited, one after another.
    """
    if not all(is_loop_hook(hook) for hook in ready[0][2].hooks):
        for number, entry in enumerate(ready):
            with release_on_error(results, itertools.islice(ready, number + 1, None)):
                _run_under_hooks(results, run, entry)
        return

    async def run_all() -> None:
        for entry in ready:
            if not entry[
                2
            ].is_async:  # in its own task: a tool that cancels its task cancels only itself
                await calling.aio.wait_for_all([_answer(results, run, entry)])
        in_loop = [entry for entry in ready if entry[2].is_async]
        await _run_in_loop(results, run, in_loop)

    calling.aio.run(run_all())


async def arun_unshared(results: Results, run: Run) -> Results:
    """Run all calls of a plan that no other task uses, in the running loop.

    Raises:
        UsageError: No event loop of asyncio is running, or a call cannot run with these options. No
            call was run.
    """
    calling.aio.require_loop()
    waiting_entries = results._waiting
    if run.limit is None and (
        results._is_plain or (len(waiting_entries) == 1 and waiting_entries[0][2].is_plain_async)
    ):
        ready = state.claim_whole(results)
        await arun_calls(results, run, ready)
        return results
    ready = claim_calls(results, None, run.inject, run.limit, is_async=True)
    with state.open_run(results, ready):
        await arun_calls(results, run, ready)
    return results


async def arun_calls(
    results: Results,
    run: Run,
    ready: Sequence[Ready],
) -> None:
    """Run claimed calls in the running loop.

    Raises:
        CancelledError: The caller was cancelled. ``results`` still has a result for each call.
    """
    if len(ready) != 1:
        await _run_in_loop(results, run, ready)
        return
    task = _start_task(results, run, ready[0])
    if task is not None:
        await _finish(task)


def _start_task(
    results: Results,
    run: Run,
    entry: Ready,
) -> "asyncio.Task[None] | None":
    """Start the task of a single call, which runs up to its first wait; return the
    task, or ``None`` if it is done.

    The task gives the call its own copy of the caller's context variables, and a tool that cancels
    its task cancels only itself. A tool that never waits costs no iteration of the loop.
    """
    task = calling.aio.start_task(_answer(results, run, entry))
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
    await calling.aio.wait_until_done(task)
    if not task.cancelled():  # a call that cancelled itself has no answer: it reads as cancelled
        task.result()


async def run_in_this_task(results: Results, run: Run) -> Results:
    """Run a single-call plan in the current task, saving one loop iteration.

    The caller must own the task.

    Raises:
        CancelledError: The tool or a caller cancelled the task. ``results`` still has a result for
            each call.
    """
    controls = results._controls
    if controls is None:
        check_runnable(results._waiting, run.inject, is_async=True)
        ready = state.claim_whole(results)
        if ready:
            await _answer(results, run, ready[0])
        return results
    ready = claim_calls(results, None, run.inject, None, is_async=True)
    with state.open_run(results, ready):
        if ready:
            await _answer(results, run, ready[0])
    return results


async def _run_in_loop(
    results: Results,
    run: Run,
    ready: Sequence[Ready],
) -> None:
    run = replace(run, thread_limit=calling.aio.thread_limit())
    if len(ready) > 1 and any(entry[2].runs_alone for entry in ready):
        for number, stage in enumerate(groups := group_stages(ready)):
            with release_on_error(results, calls_after(groups, number)):
                await _run_together(results, run, stage)
        return
    await _run_together(results, run, ready)


async def _run_together(
    results: Results,
    run: Run,
    ready: Sequence[Ready],
) -> None:
    if run.limit is None:
        await calling.aio.wait_for_all([_answer(results, run, entry) for entry in ready])
        return
    unstarted = {entry[0]: entry for entry in ready}

    async def begin(entry: Ready) -> None:
        del unstarted[entry[0]]
        await _answer(results, run, entry)

    with release_on_error(results, unstarted.values()):
        await calling.limited.run_limited(run.limit, ready, begin)


async def _answer(
    results: Results,
    run: Run,
    entry: Ready,
) -> None:
    """Run one call in the loop and record its result."""
    position, call, handler, model, coercions = entry
    inject = run.inject
    controls = results._controls
    if controls is not None and not state.begin(controls, position, asks=handler.is_guarded):
        return
    started = perf_counter()
    try:
        if handler.is_awaited:
            value = handler.invoke(model, inject)
            value = await (value if type(value) is CoroutineType else calling.aio.finish(value))
            if type(value) not in SETTLED:
                value = collect(value)
        elif handler.is_controlled:
            answer = await hooks.run_work_in_loop(_make_work(run, entry))
            state.answer(results, position, answer)
            return
        else:
            value = await calling.aio.run_async(
                handler.kind, handler.invoke, model, inject, handler.timeout, run.thread_limit
            )
    except BaseException as error:
        answer = failed_result(call, handler, coercions, error, started)
    else:
        elapsed = perf_counter() - started
        answer = successful_result(call, handler, coercions, value, elapsed)
    state.answer(results, position, answer)


def _make_work(run: Run, entry: Ready) -> hooks.Work:
    _, call, handler, model, coercions = entry
    return hooks.Work(
        call, handler, model, coercions, run.inject, run.on_progress, run.thread_limit
    )
