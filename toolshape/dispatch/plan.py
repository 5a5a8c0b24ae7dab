"""The calls of a response in; validated calls that have not run yet, and their results once they have, out."""

import contextlib
import functools
import threading
from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from time import perf_counter
from types import CoroutineType
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel

from toolshape.calls import EARLY, Call, Coercion, Finish, new_record
from toolshape.context import Progress
from toolshape.dispatch import hooks
from toolshape.dispatch.handler import Handler, Handlers
from toolshape.dispatch.outcomes import failed, succeeded
from toolshape.dispatch.receive import sendable_name
from toolshape.dispatch.resolve import error_result, refuse_cut, unknown
from toolshape.dispatch.watch import Watch
from toolshape.errors import UsageError
from toolshape.execution.failures import is_cancellation, validation_error
from toolshape.execution.returned import SETTLED, collected
from toolshape.execution.run import NOTHING_INJECTED, final_value, refuse_running_loop
from toolshape.record import require
from toolshape.results import Result, Results
from toolshape.tool import record_of
from toolshape.wire.ids import generated_id, id_seed, sendable_id
from toolshape.wire.provider import Provider, Read

if TYPE_CHECKING:
    import asyncio

__all__ = ["OnProgress", "Plan", "watch"]

_MOST_HINTS = 10  # of a response, for names that nobody has
OnProgress: TypeAlias = Callable[[Progress], object]


Ready: TypeAlias = tuple[int, Call, Handler, BaseModel, tuple[Coercion, ...]]
"""A call that may run: its position, the call, its handler, its validated arguments, and the coercions.

A NamedTuple here was measured at 8 % of the dispatch of a scalar call.
"""


class Plan:
    """The calls of one response, validated and not yet run.

    ``calls`` are all of them; ``results`` has an answer for each at any time: what failed to validate is answered
    already, what has not been run reads as ``not_run``, what began and has not finished as ``cancelled``.
    """

    __slots__ = ("_is_plain", "_watch", "calls", "results")
    calls: list[Call]
    results: Results
    _is_plain: bool
    _watch: Watch  # set where somebody is to be told; such a plan is not plain

    @staticmethod
    def of(provider: Provider, reading: Read, handlers: Handlers) -> "Plan":
        """Validate the calls of a response that was read."""
        assistant, wires, finish_raw, cut, ends_in_call = reading
        finish: Finish | None = None if finish_raw is None else provider.finishes.get(str(finish_raw), "other")
        if wires and finish != "tool_calls":
            is_text = isinstance(wires[-1][2], (str, bytes))  # only a text can be checked for completeness
            if ends_in_call and finish in EARLY and (finish == "length" or is_text):
                cut |= {len(wires) - 1}
            finish = "tool_calls" if finish == "stop" else finish
        calls: list[Call] = []
        answers: list[Result | None] = []
        ready: list[Ready] = []
        name, compiled = provider.name, handlers.compiled
        is_plain, hints_left = True, _MOST_HINTS
        for given_id, wire_name, arguments, raw in wires:
            call_id = given_id
            if not (type(call_id) is str and call_id and call_id.isascii()):
                call_id = sendable_id(given_id) or generated_id(id_seed(raw), len(calls))
            handler = (compiled.get(wire_name) if type(wire_name) is str else None) or handlers.find(wire_name)
            if handler is None:
                call = Call(call_id, None, sendable_name(wire_name), arguments, name, raw)
                has_hint, hints_left = hints_left > 0, hints_left - 1
                answers.append(unknown(call, handlers, has_hint=has_hint))
            else:
                call = new_record(Call, (call_id, handler.name, wire_name, arguments, name, raw, handler))
                try:
                    if cut:
                        refuse_cut(len(calls) in cut, arguments, handler.wire_name)
                    model, coercions = handler.validate(arguments)
                except BaseException as error:
                    answers.append(error_result(call, validation_error(error, tool=wire_name)))
                else:
                    ready.append((len(calls), call, handler, model, coercions))
                    answers.append(None)
                    is_plain = is_plain and handler.is_plain
            calls.append(call)
        plan, results = Plan(), Results()
        plan.calls, plan.results = calls, results
        results.calls, results.answers, results.assistant = calls, answers, assistant
        results.finish, results.finish_raw, results.provider = finish, finish_raw, provider
        results.waiting, plan._is_plain = ready, is_plain
        return plan

    def __repr__(self) -> str:
        return f"Plan({self.results!r})"

    def __reduce__(self) -> Any:
        raise TypeError(
            "a Plan cannot be pickled: it holds functions and validated arguments; pickle its calls, or results"
        )

    def run(
        self,
        *,
        inject: Mapping[str, Any] = NOTHING_INJECTED,
        only: Iterable[Call | str] | None = None,
        limit: int | None = None,
        on_progress: OnProgress | None = None,
    ) -> Results:
        """Run the calls that have not been run, here: plain tools in order, then async ones in a loop of their own.

        Args:
            inject: The values of injected parameters, by name.
            only: The calls to run, or their ids; the others can be run later, and read as ``not_run`` until then.
            limit: How many async calls run at once.
            on_progress: Takes each ``Progress`` that a tool reports through its ``CallContext``, in the tool's thread.

        Raises:
            UsageError: An injected value is missing, a tool or hook is async and a loop runs, or ``only`` names a call
                that is not here; nothing was run.
        """
        chosen, watch = None if only is None else _listed(only), self._watched()
        if watch is None:
            return self._run(chosen, inject, limit, on_progress)
        with watch.during(self.results):
            return self._run(chosen, inject, limit, on_progress)

    def _run(  # noqa: C901 - a frame of its own for a step would be a twentieth of a scalar dispatch
        self,
        only: list[Call | str] | None,
        inject: Mapping[str, Any],
        limit: int | None,
        on_progress: OnProgress | None,
    ) -> Results:
        """The same, all by position, which saves a twentieth of a scalar dispatch."""
        results, is_plain = self.results, self._is_plain
        if is_plain and only is None and limit is None:
            ready, results.waiting = results.waiting, ()  # none is run twice, however often and from where we are asked
        else:
            ready = self._claimed(only, inject, limit, is_async=False)
        answers = results.answers
        for one in ready:
            position, call, handler, model, coercions = one
            if handler.is_indirect:
                if not handler.runs_last:
                    with self._put_back(_not_begun(ready, position)):
                        answers[position] = hooks.answer(self._work(one, inject, on_progress))
                continue
            started = perf_counter()
            try:
                value = handler.invoke(model, inject)
                if type(value) is not str and type(value) not in SETTLED:
                    value = final_value(value)
            except BaseException as error:
                if not is_cancellation(error):  # one the tool raised itself stays unanswered: it reads as cancelled
                    with self._put_back(_not_begun(ready, position)):
                        answers[position] = failed(call, handler, coercions, error, started)
            else:
                elapsed = perf_counter() - started
                if type(value) is str and handler.says_text and value.isascii():
                    answers[position] = new_record(
                        Result, (call, value, None, coercions, elapsed, value, False, (), True, None)
                    )
                else:
                    answers[position] = succeeded(call, handler, coercions, value, elapsed)
        if not is_plain and (last := [one for one in ready if one[2].runs_last]):
            self._run_last(last, inject, limit, on_progress)
        return results

    @contextlib.contextmanager
    def _put_back(self, not_begun: Iterable[Ready]) -> Generator[None]:
        """Where the run is broken off, let these calls wait again; a ``try`` around the whole of it costs more."""
        try:
            yield
        except BaseException:
            self.results.waiting = [*self.results.waiting, *not_begun]
            raise

    def _run_last(
        self, ready: Sequence[Ready], inject: Mapping[str, Any], limit: int | None, on_progress: OnProgress | None
    ) -> None:
        """Run async tools, and what is under hooks: one after another where a hook is not async, else in one loop."""
        from toolshape.execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

        if not all(hooks.is_async_hook(hook) for hook in ready[0][2].hooks):
            for number, one in enumerate(ready):
                with self._put_back(ready[number + 1 :]):
                    self.results.answers[one[0]] = hooks.answer(self._work(one, inject, on_progress))
            return

        async def run_all() -> None:
            for one in ready:
                if not one[2].is_async:  # in a task of its own: what it cancels is itself
                    await aio.all_of([self._answer(one, inject, on_progress=on_progress)])
            await self._drive([one for one in ready if one[2].is_async], inject, limit, on_progress)

        aio.run(run_all())

    async def arun(
        self,
        *,
        inject: Mapping[str, Any] = NOTHING_INJECTED,
        only: Iterable[Call | str] | None = None,
        limit: int | None = None,
        on_progress: OnProgress | None = None,
    ) -> Results:
        """Run the calls that have not been run, all at once: async tools in this loop, others in threads.

        Args:
            inject: The values of injected parameters, by name.
            only: The calls to run, or their ids; the others can be run later, and read as ``not_run`` until then.
            limit: How many calls run at once, in the loop and in threads together.
            on_progress: Takes each ``Progress`` that a tool reports, in the loop's thread or the tool's.

        Raises:
            UsageError: An injected value is missing, a hook is not async, or ``only`` names a call that is not here;
                nothing was run.
            CancelledError: We were cancelled. ``results`` is complete all the same.
        """
        results = self.results
        if self._is_plain and only is None and limit is None:
            ready, results.waiting = results.waiting, ()  # none is run twice, however often and from where we are asked
        else:
            if (watch := self._watched()) is not None:
                with watch.during(results):
                    return await self._unwatched().arun(inject=inject, only=only, limit=limit, on_progress=on_progress)
            ready = self._claimed(None if only is None else _listed(only), inject, limit, is_async=True)
        if len(ready) != 1:
            await self._drive(ready, inject, limit, on_progress)
            return results
        task = _task_starter()(self._answer(ready[0], inject, on_progress=on_progress))
        if not task.done():
            from toolshape.execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

            await aio.wait_until_done(task)
        if not task.cancelled():  # by itself, which reads as cancelled
            task.result()
        return results

    def _watched(self) -> Watch | None:
        return None if self._is_plain else getattr(self, "_watch", None)

    def _unwatched(self) -> "Plan":
        """The same plan, of which nobody is told."""
        plan = Plan()
        plan.calls, plan.results, plan._is_plain = self.calls, self.results, False
        return plan

    def _claimed(
        self, only: list[Call | str] | None, inject: Mapping[str, Any], limit: int | None, *, is_async: bool
    ) -> list[Ready]:
        """Take the calls to run from those that wait, in their order, once it is certain that they can be run.

        Raises:
            UsageError: One cannot; none was taken.
        """
        most: Any = limit
        if most is not None and not (type(most) is int and most > 0):
            raise UsageError(f"limit= is how many calls run at once, 1 or more, not {limit!r}")
        results = self.results
        chosen = list(results.waiting)
        if only is not None:
            for one in only:
                if not any(one is call or one == call.id for call in self.calls):
                    message = f"only= names {one!r}, which is no call of this plan: pass calls of plan.calls, or ids"
                    raise UsageError(message)
            chosen = [ready for ready in chosen if any(one is ready[1] or one == ready[1].id for one in only)]
        self._check(chosen, inject, is_async=is_async)
        with _CLAIMING:
            waiting = results.waiting
            positions = {ready[0] for ready in chosen} & {ready[0] for ready in waiting}
            results.waiting = [ready for ready in waiting if ready[0] not in positions]
        return [ready for ready in chosen if ready[0] in positions]

    def _check(self, ready: Sequence[Ready], inject: Mapping[str, Any], *, is_async: bool) -> None:
        """Check that all of these can be run.

        Raises:
            UsageError: One cannot.
        """
        for _, _, handler, _, _ in ready:
            if not is_async:
                refuse_running_loop(handler.kind, handler.name)
            if handler.has_needs:
                require(record_of(handler.tool), inject)
        if ready:
            hooks.check_hooks(ready[0][2].hooks, is_async=is_async)

    def _work(
        self, ready: Ready, inject: Mapping[str, Any], on_progress: OnProgress | None, thread_limit: Any = None
    ) -> hooks.Work:
        _, call, handler, model, coercions = ready
        return hooks.Work(call, handler, model, coercions, inject, on_progress, thread_limit)

    async def _drive(
        self, ready: Sequence[Ready], inject: Mapping[str, Any], limit: int | None, on_progress: OnProgress | None
    ) -> None:
        from toolshape.execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

        thread_limit = aio.thread_limit()
        if limit is None:
            await aio.all_of([self._answer(one, inject, thread_limit, on_progress) for one in ready])
            return
        from toolshape.execution import limited  # noqa: PLC0415 - with asyncio

        not_begun = list(ready)

        async def begin(one: Ready) -> None:
            not_begun.remove(one)
            await self._answer(one, inject, thread_limit, on_progress)

        with self._put_back(not_begun):
            await limited.within(limit, ready, begin)

    async def _answer(
        self,
        ready: Ready,
        inject: Mapping[str, Any],
        thread_limit: Any = None,
        on_progress: OnProgress | None = None,
    ) -> None:
        position, call, handler, model, coercions = ready
        started = perf_counter()
        try:
            if handler.is_awaited:
                value = handler.invoke(model, inject)
                value = await (value if type(value) is CoroutineType else _finished(value))
                if type(value) not in SETTLED:
                    value = collected(value)
            elif handler.is_controlled:
                self.results.answers[position] = await hooks.answer_in_loop(
                    self._work(ready, inject, on_progress, thread_limit)
                )
                return
            else:
                from toolshape.execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

                value = await aio.run_async(handler.kind, handler.invoke, model, inject, handler.timeout, thread_limit)
        except BaseException as error:
            self.results.answers[position] = failed(call, handler, coercions, error, started)
        else:
            elapsed = perf_counter() - started
            if type(value) is str and handler.says_text and value.isascii():
                done = (call, value, None, coercions, elapsed, value, False, (), True, None)
                self.results.answers[position] = new_record(Result, done)
            else:
                self.results.answers[position] = succeeded(call, handler, coercions, value, elapsed)


_CLAIMING = threading.Lock()  # held for a moment, by whoever takes calls to run


def _not_begun(ready: Sequence[Ready], position: int) -> list[Ready]:
    """The calls that come after the one at a position: those that run last do, wherever they stand."""
    return [one for one in ready if one[0] > position or one[2].runs_last]


def _listed(only: Iterable[Call | str]) -> list[Call | str]:
    given: Any = only
    if isinstance(given, (str, Call)):
        return [given]
    if not isinstance(given, Iterable) or isinstance(given, (bytes, dict)):
        raise UsageError(f"only= takes calls of plan.calls or their ids, not {type(given).__name__}")
    return [*given]


@functools.cache
def _task_starter() -> "Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]":
    """``aio.start_task``, kept: importing it anew would be a thirtieth of the dispatch of an async call."""
    from toolshape.execution.aio import start_task  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

    return start_task


async def _finished(value: Any) -> Any:
    from toolshape.execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

    return await aio.finished(value)


def watch(plan: Plan, tell: Callable[[Results], None]) -> None:
    """Have somebody told of the results of a plan, once nothing of them waits or runs any more."""
    plan._is_plain, plan._watch = False, Watch(tell)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - private to users
