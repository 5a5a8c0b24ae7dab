"""Runs a call under hooks, limits or a ``CallContext``: exactly one result, whatever fails."""

import copy
import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel

from toolshape._function import calling
from toolshape._function.calling.call import final_value
from toolshape._function.calling.failures import (
    OwnCancellationError,
    TimedOutError,
    hide_error,
    is_cancellation,
)
from toolshape._function.calling.returned import collect
from toolshape._function.invoke import Invoke
from toolshape._plan.outcomes import failed_result, successful_result
from toolshape._records.calls import Call, Coercion, JsonObject
from toolshape._records.context import CallContext, CallState, Cancellation, Progress, add_contexts
from toolshape._records.errors import CallError, UsageError
from toolshape._records.result import Result
from toolshape._tools.handler import Handler
from toolshape._tools.hook_kinds import Hook, hook_name, is_async_hook, is_either_hook, is_loop_hook

if TYPE_CHECKING:
    import asyncio


class Work(NamedTuple):
    """One call that will be run, and the options of its run."""

    call: Call
    handler: Handler
    model: BaseModel
    coercions: tuple[Coercion, ...]
    inject: Mapping[str, Any]
    on_progress: Callable[[Progress], object] | None
    thread_limit: "asyncio.Semaphore | None" = None


class _Running(NamedTuple):
    """A call that is running; ``arguments`` were recorded before the tool ran, and
    ``shown`` masks what may be secret.
    """

    work: Work
    arguments: JsonObject
    shown: JsonObject
    state: CallState
    cancellation: Cancellation


def run_work(work: Work) -> Result:
    """Answer a call in a thread without an event loop; a new loop runs its
    async hooks or its async tool.
    """
    return _run_here(_begin(work), work.handler.hooks)


async def run_work_in_loop(work: Work) -> Result:
    """Answer a call in the running loop.

    Raises:
        CancelledError: The caller was cancelled, and the tool was cancelled with it.
    """
    running = _begin(work)
    try:
        return await _answer_under(running, work.handler.hooks, in_loop=True)
    except BaseException:
        running.cancellation.cancel()
        raise


def _begin(work: Work) -> _Running:
    handler, started = work.handler, perf_counter()

    def to_result(value: Any) -> Result:
        result = successful_result(
            work.call, handler, work.coercions, collect(value), perf_counter() - started
        )
        return result._replace(received=shown)

    arguments = handler.written(work.model)
    shown = handler.masked(arguments)
    return _Running(work, arguments, shown, CallState(work.on_progress, to_result), Cancellation())


def _run_here(running: _Running, hooks: Sequence[Hook]) -> Result:
    """Run the hooks and the tool: in a new event loop if the first of these is
    async, otherwise in this thread.
    """
    if is_async_hook(hooks[0]) if hooks else running.work.handler.is_async:
        result: Result = calling.aio.run(_answer_under(running, hooks, in_loop=True))
        return result
    steps = _answer_under(running, hooks, in_loop=False)
    try:
        steps.send(None)
    except StopIteration as stop_iteration:
        outcome: Result = stop_iteration.value
        return outcome
    raise AssertionError("a synchronous run must not wait")


def _context(running: _Running, *, attempt: int) -> CallContext:
    return CallContext(
        call=running.work.call,
        tool=running.work.handler.tool,
        arguments=copy.deepcopy(running.arguments),
        attempt=attempt,
        inject=MappingProxyType(running.work.inject),
        _state=running.state,
        _cancellation=running.cancellation,
    )


async def _answer_under(running: _Running, hooks: Sequence[Hook], *, in_loop: bool) -> Result:
    """Run the first hook around the other hooks and the tool; without
    hooks, return the tool's own result.
    """
    if not hooks:
        return await _run(running, in_loop=in_loop)
    hook: Any = hooks[0]
    inner_hooks = hooks[1:]
    inner_results: list[Result] = []

    def proceed() -> Result:
        inner_results.append(_run_here(running, inner_hooks))
        return inner_results[-1]

    async def proceed_in_loop() -> Result:
        inner_results.append(await _answer_under(running, inner_hooks, in_loop=True))
        return inner_results[-1]

    context = _context(running, attempt=running.state.attempts + 1)
    # The hook may cancel its inner call.
    running = running._replace(cancellation=Cancellation(running.cancellation))
    try:
        if in_loop and is_loop_hook(hook):
            returned: Any = await (hook.acall if is_either_hook(hook) else hook)(
                context, proceed_in_loop
            )
        elif in_loop:  # the hook is under an async hook, and its inner call may need a new loop
            returned = await calling.aio.run_in_thread(lambda: hook(context, proceed))
        else:
            returned = hook(context, proceed)
    except BaseException as error:
        running.cancellation.cancel()
        return _result_of_error(running, error, in_loop=in_loop)
    return _settle_result(running, hook, returned, inner_results)


async def _run(running: _Running, *, in_loop: bool) -> Result:
    """Run the tool once; a tool with a limit waits for its turn."""
    work, state = running.work, running.state
    handler = work.handler
    state.attempts += 1
    running = running._replace(cancellation=Cancellation(running.cancellation))
    started = perf_counter()
    try:
        if state.attempts > 1:  # the previous attempt may have changed the arguments
            work = work._replace(model=_validate_again(work, running.arguments))
        if handler.contexts:
            context = _context(running, attempt=state.attempts)
            work = work._replace(inject=add_contexts(handler.contexts, context, work.inject))
        value = (
            await _call_in_loop(work, running.cancellation)
            if in_loop
            else _call_here(work, running.cancellation)
        )
    except BaseException as error:
        if isinstance(error, TimedOutError) or is_cancellation(error):
            running.cancellation.cancel()
        if in_loop and is_cancellation(error):
            raise
        cause = OwnCancellationError() if is_cancellation(error) else error
        result = failed_result(work.call, handler, work.coercions, cause, started)
    else:
        result = successful_result(
            work.call, handler, work.coercions, value, perf_counter() - started
        )
    return result._replace(received=running.shown)


def _validate_again(work: Work, arguments: JsonObject) -> BaseModel:
    """Validate the arguments again, so this attempt gets the same arguments as the first attempt.

    Raises:
        UsageError: The arguments change each time they are validated.
    """
    handler = work.handler
    for candidate, raw_arguments in (
        (handler, work.call.arguments_raw),
        (handler.canonical, copy.deepcopy(arguments)),
    ):
        try:
            model: BaseModel = candidate.validate(raw_arguments)[0]
        except CallError:
            continue
        if handler.written(model) == arguments:
            return model
    raise UsageError(
        f"a call of {handler.name} cannot be tried again: its arguments change when they are "
        "validated a second time"
    )


def _call_here(work: Work, cancellation: Cancellation) -> Any:
    handler = work.handler
    if handler.limit is None:
        return final_value(handler.invoke(work.model, work.inject))
    with handler.limit.turn():
        if cancellation.is_cancelled:  # a hook cancelled the call meanwhile
            raise OwnCancellationError
        return final_value(handler.invoke(work.model, work.inject))


async def _call_in_loop(work: Work, cancellation: Cancellation) -> Any:
    handler, on_give_up = work.handler, cancellation.cancel

    def run(invoke: Invoke) -> Coroutine[Any, Any, Any]:
        run_arguments = (
            handler.kind,
            invoke,
            work.model,
            work.inject,
            handler.timeout,
            work.thread_limit,
            on_give_up,
        )
        return calling.aio.run_async(*run_arguments)

    if handler.limit is None:
        coroutine = run(handler.invoke)
    else:
        coroutine = calling.limited.run_in_turn(handler.limit, handler.kind, handler.invoke, run)
    # In its own task: a tool that cancels its task cancels only itself.
    return await calling.aio.run_alone(coroutine, on_give_up)


def _result_of_error(running: _Running, error: BaseException, *, in_loop: bool) -> Result:
    """Return the result of a call whose hook raised an error; errors other than
    call and tool errors are hidden.
    """
    work = running.work
    if isinstance(error, CallError):
        text = str(error)
        return Result(
            work.call, error=error, coercions=work.coercions, text=text, received=running.shown
        )
    if in_loop and is_cancellation(error):
        raise error
    cause = OwnCancellationError() if is_cancellation(error) else error
    return failed_result(work.call, work.handler, work.coercions, cause, perf_counter())._replace(
        received=running.shown
    )


def _settle_result(running: _Running, hook: Hook, made: Any, given: Sequence[Result]) -> Result:
    """Return the result that the hook returned; if it returned nothing, return
    the last result of ``proceed()``.
    """
    work = running.work
    if isinstance(made, Result):
        if any(made is result for result in given):
            return made
        return _adopt_result(running, made)
    if made is None and given:
        return given[-1]
    name = hook_name(hook)
    if made is None:
        returned_kind = "nothing, and did not get an answer from proceed()"
    else:
        returned_kind = type(made).__name__
    way_out = "return the result of proceed(), or context.result(value)"
    if inspect.iscoroutine(made):
        made.close()
        returned_kind = "a coroutine"
    if is_async_hook(hook):
        way_out = "return the result of await proceed(), or context.result(value)"
    message = f"the hook {name} returned {returned_kind}: {way_out}"
    return failed_result(
        work.call, work.handler, work.coercions, UsageError(message), perf_counter()
    )._replace(received=running.shown)


def _adopt_result(running: _Running, made: Result) -> Result:
    """Turn a result that a hook made or kept into a result of this call, and
    check it against the output schema.
    """
    work = running.work
    check_output = work.handler.check_output
    made = made._replace(call=work.call, coercions=work.coercions, received=running.shown)
    if check_output is None or made.error is not None or made.is_text is None:
        return made
    try:
        check_output(made.text, made.is_text)
    except ValueError as error:
        hidden_error = hide_error("unserialisable_result", error, tool=work.call.wire_name)
        return made._replace(error=hidden_error, text=str(hidden_error), parts=(), is_text=None)
    return made
