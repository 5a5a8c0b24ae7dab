"""A call that hooks, limits or a ``CallContext`` take part in: run, and answered with one result whatever they do."""

import copy
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from pydantic import BaseModel

from toolshape.calls import Call, Coercion, JsonObject
from toolshape.context import CallContext, CallState, Progress
from toolshape.dispatch.handler import Handler
from toolshape.dispatch.outcomes import failed, succeeded
from toolshape.errors import CallError, UsageError
from toolshape.execution.failures import OwnCancellationError, is_cancellation
from toolshape.execution.run import final_value
from toolshape.results import Result

if TYPE_CHECKING:
    import asyncio

__all__ = ["Hook", "Work", "answer", "answer_in_loop", "check_hooks", "is_async_hook"]

Hook: TypeAlias = (
    Callable[[CallContext, Callable[[], Result]], Result | None]
    | Callable[[CallContext, Callable[[], Awaitable[Result]]], Awaitable[Result | None]]
)
"""``def hook(context, proceed)``, or ``async def``: ``proceed()`` runs the rest and gives its ``Result``."""


class Work(NamedTuple):
    """One call to be answered, and what the application gave for it."""

    call: Call
    handler: Handler
    model: BaseModel
    coercions: tuple[Coercion, ...]
    inject: Mapping[str, Any]
    on_progress: Callable[[Progress], object] | None
    thread_limit: "asyncio.Semaphore | None" = None


class _Running(NamedTuple):
    """A call while it is answered; ``arguments`` were taken before the tool ran."""

    work: Work
    arguments: JsonObject
    state: CallState


def is_async_hook(hook: Hook) -> bool:
    """Whether a hook is ``async def``, or an object whose call is."""
    return inspect.iscoroutinefunction(hook) or inspect.iscoroutinefunction(getattr(hook, "__call__", None))  # noqa: B004 - whether calling it gives a coroutine


def check_hooks(hooks: Sequence[Hook], *, is_async: bool) -> None:
    """Check that these hooks can be called on.

    Raises:
        UsageError: One is ``def`` where calls are awaited, or ``async def`` where a loop runs that cannot wait for it.
    """
    for hook in hooks:
        name = getattr(hook, "__qualname__", type(hook).__name__)
        if is_async and not is_async_hook(hook):
            raise UsageError(f"the hook {name} is def, which cannot be awaited: make it async def, or call dispatch")
        if not is_async and is_async_hook(hook):
            from toolshape.execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

            if aio.is_running():
                raise UsageError(f"the hook {name} is async and an event loop is running: await adispatch or arun")


def answer(work: Work) -> Result:
    """Answer a call where no event loop runs: here, or in a loop of its own where something of it is async."""
    return _here(_begun(work), work.handler.hooks)


async def answer_in_loop(work: Work) -> Result:
    """Answer a call in the running loop.

    Raises:
        CancelledError: We were cancelled, and the tool with us.
    """
    running = _begun(work)
    try:
        return await _answered(running, work.handler.hooks, in_loop=True)
    except BaseException:
        running.state.is_cancelled = True
        raise


def _begun(work: Work) -> _Running:
    handler, started = work.handler, perf_counter()

    def to_result(value: Any) -> Result:
        made = succeeded(work.call, handler, work.coercions, value, perf_counter() - started)
        return made._replace(received=arguments)

    arguments = handler.written(work.model)
    return _Running(work, arguments, CallState(work.on_progress, to_result))


def _here(running: _Running, hooks: Sequence[Hook]) -> Result:
    """Run to the end, in this thread; in a loop of its own where what comes first is async."""
    if is_async_hook(hooks[0]) if hooks else running.work.handler.is_async:
        from toolshape.execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

        result: Result = aio.run(_answered(running, hooks, in_loop=True))
        return result
    steps = _answered(running, hooks, in_loop=False)
    try:
        steps.send(None)
    except StopIteration as done:
        answered: Result = done.value
        return answered
    raise AssertionError("nothing of it waits")


def _context(running: _Running, hooked: bool) -> CallContext:
    return CallContext(
        call=running.work.call,
        tool=running.work.handler.tool,
        arguments=copy.deepcopy(running.arguments),
        attempt=running.state.attempts + hooked,
        _state=running.state,
    )


async def _answered(running: _Running, hooks: Sequence[Hook], *, in_loop: bool) -> Result:
    """What the first hook makes of the rest, or the tool's own result."""
    if not hooks:
        return await _run(running, in_loop=in_loop)
    hook: Any = hooks[0]
    rest = hooks[1:]
    given: list[Result] = []

    def proceed() -> Result:
        given.append(_here(running, rest))
        return given[-1]

    async def proceed_in_loop() -> Result:
        given.append(await _answered(running, rest, in_loop=True))
        return given[-1]

    context = _context(running, hooked=True)
    try:
        if is_async_hook(hook):
            made: Any = await hook(context, proceed_in_loop)
        elif in_loop:  # an async hook is around it: what it calls on may need a loop of its own
            from toolshape.execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

            made = await aio.in_thread(lambda: hook(context, proceed))
        else:
            made = hook(context, proceed)
    except BaseException as error:
        return _of_error(running, error, in_loop=in_loop)
    return _settled(running, hook, made, given)


async def _run(running: _Running, *, in_loop: bool) -> Result:
    """Run the tool once, in its turn."""
    work, state = running.work, running.state
    handler = work.handler
    state.attempts += 1
    inject = work.inject
    if handler.contexts:
        inject = {**dict.fromkeys(handler.contexts, _context(running, hooked=False)), **inject}
    started = perf_counter()
    try:
        if in_loop:
            value = await _value_in_loop(work, inject)
        elif handler.limit is None:
            value = final_value(handler.invoke(work.model, inject))
        else:
            with handler.limit.turn():
                value = final_value(handler.invoke(work.model, inject))
    except BaseException as error:
        if in_loop and is_cancellation(error):
            raise
        cause = OwnCancellationError() if is_cancellation(error) else error
        result = failed(work.call, handler, work.coercions, cause, started)
        state.is_cancelled |= result.error is not None and result.error.code == "tool_timeout"
    else:
        result = succeeded(work.call, handler, work.coercions, value, perf_counter() - started)
    return result._replace(received=running.arguments)


async def _value_in_loop(work: Work, inject: Mapping[str, Any]) -> Any:
    from toolshape.execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

    handler = work.handler
    given = handler.kind, handler.invoke, work.model, inject, handler.timeout, work.thread_limit
    running = aio.run_async(*given) if handler.limit is None else aio.run_limited(handler.limit, *given)
    return await aio.alone(running)  # in a task of its own: what it cancels is itself


def _of_error(running: _Running, error: BaseException, *, in_loop: bool) -> Result:
    """The answer where a hook raised: a ``CallError`` is the answer, a ``ToolError`` is for the model, the rest is hidden."""
    work = running.work
    if isinstance(error, CallError):
        text = str(error)
        return Result(work.call, error=error, coercions=work.coercions, text=text, received=running.arguments)
    if in_loop and is_cancellation(error):
        raise error
    cause = OwnCancellationError() if is_cancellation(error) else error
    return failed(work.call, work.handler, work.coercions, cause, perf_counter())._replace(received=running.arguments)


def _settled(running: _Running, hook: Hook, made: Any, given: Sequence[Result]) -> Result:
    """The one answer: what the hook returned, as the result of this call; the last that it was given if it returned nothing."""
    if isinstance(made, Result):
        return made if made.call is running.work.call else made._replace(call=running.work.call)
    if made is None and given:
        return given[-1]
    name = getattr(hook, "__qualname__", type(hook).__name__)
    returned = "nothing, and did not call proceed()" if made is None else type(made).__name__
    message = f"the hook {name} returned {returned}: return what proceed() gives, or context.result(value)"
    return _of_error(running, UsageError(message), in_loop=False)
