"""The calls of a response in; validated calls that have not run yet, and their results once they have, out."""

import contextlib
import functools
import itertools
from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from time import perf_counter
from types import CoroutineType
from typing import TYPE_CHECKING, Any, TypeAlias

from toolshape._calls import EARLY, Call, Finish, new_record
from toolshape._dispatch import approval, hooks
from toolshape._dispatch.handler import Handlers
from toolshape._dispatch.hook_kinds import Hook, is_loop_hook
from toolshape._dispatch.ledger_store import LedgerStore, checked_ledger
from toolshape._dispatch.outcomes import failed, succeeded
from toolshape._dispatch.receive import sendable_name
from toolshape._dispatch.resolve import error_result, refuse_cut, unknown
from toolshape._dispatch.run_options import OnProgress
from toolshape._dispatch.waiting import (
    Ready,
    Stage,
    Taken,
    after,
    check,
    is_mixed,
    not_begun,
    put_back,
    running,
    stages,
    taken,
    wait_for_ledger,
)
from toolshape._dispatch.watch import Watch
from toolshape._errors import UsageError
from toolshape._execution.failures import is_cancellation, validation_error
from toolshape._execution.returned import SETTLED, collected
from toolshape._execution.run import NOTHING_INJECTED, final_value
from toolshape._results import PendingCall, Result, Results, controls_of
from toolshape._wire.ids import generated_id, id_seed, sendable_id
from toolshape._wire.provider import Provider, Read

if TYPE_CHECKING:
    import asyncio
    from datetime import timedelta


_MOST_HINTS = 10  # of a response, for names that nobody has, among the calls that are refused
_Only: TypeAlias = Iterable[Call | PendingCall | str] | Taken | None


class Plan:
    """The calls of one response, validated and not yet run.

    ``calls`` are all of them; ``results`` has an answer for each at any time: what failed to validate is answered
    already, what has not been run reads as ``not_run``, what began and has not finished as ``cancelled``.
    """

    __slots__ = ("_is_plain", "_watch", "calls", "results")
    calls: list[Call]
    results: Results
    _is_plain: bool
    _watch: Watch  # set where results are watched; such a plan is not plain

    @staticmethod
    def of(provider: Provider, reading: Read, handlers: Handlers) -> "Plan":
        """Validate the calls of a response that was read."""
        assistant, wires, finish_raw, cut, ends_in_call = reading
        finish: Finish | None = None if finish_raw is None else provider.response.finishes.get(str(finish_raw), "other")
        if wires and finish != "tool_calls":
            is_text = isinstance(wires[-1][2], (str, bytes))  # only a text can be checked for completeness
            if ends_in_call and finish in EARLY and (finish == "length" or is_text):
                cut |= {len(wires) - 1}
            finish = "tool_calls" if finish == "stop" else finish
        calls: list[Call] = []
        answers: list[Result | None] = []
        ready: list[Ready] = []
        name, compiled, is_plain = provider.name, handlers.compiled, True
        for given_id, wire_name, arguments, raw in wires:
            call_id = given_id
            if not (type(call_id) is str and call_id and call_id.isascii()):
                call_id = sendable_id(given_id) or generated_id(id_seed(raw), len(calls))
            handler = (compiled.get(wire_name) if type(wire_name) is str else None) or handlers.find(wire_name)
            if handler is None:
                call = Call(call_id, None, sendable_name(wire_name), arguments, name, raw)
                answers.append(unknown(call, handlers, has_hint=len(answers) - len(ready) < _MOST_HINTS))
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
        plan.calls, plan.results, plan._is_plain = calls, results, is_plain
        results.calls, results.answers, results.assistant = calls, answers, assistant
        results.finish, results.finish_raw, results.provider = finish, finish_raw, provider
        results.waiting = ready
        if not is_plain:
            approval.hold(results, plan)
        return plan

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """The calls that wait until somebody approves of them, in call order."""
        return self.results.pending

    def approve(self, call: Call | PendingCall | str | Iterable[Call | PendingCall | str]) -> None:
        """Approve of a call, or of several, with the arguments that it has: ``run`` runs it.

        Args:
            call: A call of ``pending`` or of ``calls``; one that was edited since is refused. Or an id, which stands for
                the call, or the calls, that have it now.

        Raises:
            UsageError: It is no call of this plan, or is answered.
        """
        approval.approve(self.results, call)

    def deny(self, call: Call | PendingCall | str | Iterable[Call | PendingCall | str], why: str = "") -> None:
        """Deny a call, or several: it is answered as ``denied``, and the others are not touched.

        Args:
            call: As for ``approve``.
            why: What the model reads.

        Raises:
            UsageError: It is no call of this plan, or is answered or running.
        """
        approval.deny(self.results, call, why)
        with self._during():  # there may be nothing left to run
            pass

    def edit(self, call: Call | PendingCall | str, arguments: Mapping[str, Any]) -> Call:
        """Give a call other arguments, which are validated, and for which approval is asked anew where the tool asks for it.

        The model's own message stays as it came, and the model does not know of it: say it in a message where it matters.

        Args:
            call: As for ``approve``.
            arguments: All of them, in canonical form.

        Returns:
            The call with these arguments, in the place of the one that was given.

        Raises:
            CallError: The tool does not take them; the call is what it was.
            UsageError: It is no call of this plan, or is answered or running; or a secret is the mask that was shown.
        """
        return approval.edit(self.results, call, arguments, self)

    def __repr__(self) -> str:
        return f"Plan({self.results!r})"

    def __reduce__(self) -> Any:
        raise TypeError(
            "a Plan cannot be pickled: it holds functions and validated arguments; pickle its calls, or results"
        )

    def pause(self, key: bytes | str, *, audience: str, expires: "timedelta", ledger: LedgerStore | None = None) -> str:
        """Give the plan away as a token, by which ``Registry.resume`` runs it, in this or in another process.

        The token is JSON that is signed and not encrypted: whoever has it can read what the model wrote and what tools
        answered. What is run is what was validated here, to the last byte. A plan is paused once; here, its calls stay
        ``pending``.

        Args:
            key: A secret of 16 bytes or more, the same where the plan is resumed.
            audience: Whom the token is for, as a user and a conversation; it is resumed with the same text.
            expires: How long it may be resumed.
            ledger: Where what the model wrote is kept, if a tool takes secrets: these never stand in a token.

        Raises:
            UsageError: A call's arguments do not survive JSON and validation, every call is answered, a tool takes
                secrets and there is no ledger, or the key is too short; the plan is what it was.
        """
        from toolshape._dispatch import pausing, steps  # noqa: PLC0415 - few plans are paused

        return steps.done_here(
            pausing.pause(
                self.results,
                pausing.Pause(key, audience, expires, ledger, controls_of(self.results).scope),
                steps.HERE,
            )
        )

    async def apause(
        self, key: bytes | str, *, audience: str, expires: "timedelta", ledger: LedgerStore | None = None
    ) -> str:
        """The same from a running loop; the ledger is asked in a thread."""
        from toolshape._dispatch import pausing, steps  # noqa: PLC0415 - the same

        return await pausing.pause(
            self.results,
            pausing.Pause(key, audience, expires, ledger, controls_of(self.results).scope),
            steps.IN_LOOP,
        )

    def run(
        self,
        *,
        inject: Mapping[str, Any] = NOTHING_INJECTED,
        only: Iterable[Call | PendingCall | str] | None = None,
        limit: int | None = None,
        on_progress: OnProgress | None = None,
        ledger: LedgerStore | None = None,
        scope: str | None = None,
    ) -> Results:
        """Run the calls that have not been run, here: plain tools in order, then async ones in a loop of their own.

        A call that writes or destroys runs alone, after those before it and before those after it. Calls that wait for
        approval are not run.

        Args:
            inject: The values of injected parameters, by name.
            only: The calls to run, or their ids; the others can be run later, and read as ``not_run`` until then.
            limit: How many async calls run at once.
            on_progress: Takes each ``Progress`` that a tool reports through its ``CallContext``, in the tool's thread.
            ledger: Where it is written down which calls have run, so that none runs a second time.
            scope: Where these calls were made, for the ledger, as a conversation and a turn: the ids of calls differ
                within it. Without it, the provider's ids must differ everywhere, and a call without one is not looked up.

        Raises:
            UsageError: An injected value is missing, a tool or hook is async and a loop runs, or ``only`` names a call
                that is not here; nothing was run.
        """
        guard = self._guarded(ledger, scope)
        ready = taken(self.results, only, inject, limit, guard, is_async=False)
        with self._during():
            self._run(ready, inject, limit, on_progress)
            if guard is not None:
                wait_for_ledger(self.results, ready)
        return self.results

    def _run(  # noqa: C901, PLR0912 - a frame of its own for a step would be a twentieth of a scalar dispatch
        self,
        only: _Only,
        inject: Mapping[str, Any],
        limit: int | None,
        on_progress: OnProgress | None,
    ) -> Results:
        """The same, all by position, which saves a twentieth of a scalar dispatch; or of calls that were taken already."""
        results, is_plain = self.results, self._is_plain
        if is_plain and only is None and limit is None:
            ready, results.waiting = results.waiting, ()  # none is run twice, however often and from where we are asked
        else:
            ready = only if isinstance(only, Taken) else taken(results, only, inject, limit, is_async=False)
            if not isinstance(only, Stage) and is_mixed(ready):
                return self._run_in_stages(stages(ready), inject, limit, on_progress)
        answers = results.answers
        for one in ready:
            position, call, handler, model, coercions = one
            if handler.is_indirect:
                if not handler.runs_last:
                    with put_back(self.results, not_begun(ready, position)):
                        answers[position] = hooks.answer(self._work(one, inject, on_progress))
                continue
            started = perf_counter()
            try:
                value = handler.invoke(model, inject)
                if type(value) is not str and type(value) not in SETTLED:
                    value = final_value(value)
            except BaseException as error:
                if not is_cancellation(error):  # one the tool raised itself stays unanswered: it reads as cancelled
                    with put_back(self.results, not_begun(ready, position)):
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

    def _run_in_stages(
        self,
        groups: Sequence[Stage],
        inject: Mapping[str, Any],
        limit: int | None,
        on_progress: OnProgress | None,
    ) -> Results:
        for number, stage in enumerate(groups):
            with put_back(self.results, after(groups, number)):
                self._run(stage, inject, limit, on_progress)
        return self.results

    def _run_last(
        self, ready: Sequence[Ready], inject: Mapping[str, Any], limit: int | None, on_progress: OnProgress | None
    ) -> None:
        """Run async tools, and what is under hooks: one after another where a hook cannot be awaited, else in one loop."""
        from toolshape._execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

        if not all(is_loop_hook(hook) for hook in ready[0][2].hooks):
            for number, one in enumerate(ready):
                with put_back(self.results, itertools.islice(ready, number + 1, None)):
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
        only: Iterable[Call | PendingCall | str] | None = None,
        limit: int | None = None,
        on_progress: OnProgress | None = None,
        ledger: LedgerStore | None = None,
        scope: str | None = None,
    ) -> Results:
        """Run the calls that have not been run, all at once: async tools in this loop, others in threads.

        A call that writes or destroys runs alone, after those before it and before those after it. Calls that wait for
        approval are not run.

        Args:
            inject: The values of injected parameters, by name.
            only: The calls to run, or their ids; the others can be run later, and read as ``not_run`` until then.
            limit: How many calls run at once, in the loop and in threads together.
            on_progress: Takes each ``Progress`` that a tool reports, in the loop's thread or the tool's.
            ledger: Where it is written down which calls have run; as for ``run``. It is asked in threads.
            scope: Where these calls were made, for the ledger.

        Raises:
            UsageError: An injected value is missing, a hook is not async, or ``only`` names a call that is not here;
                nothing was run.
            CancelledError: We were cancelled. ``results`` is complete all the same.
        """
        guard = self._guarded(ledger, scope)
        ready = taken(self.results, only, inject, limit, guard, is_async=True)
        with self._during():
            await self._arun(ready, inject, limit, on_progress)
            if guard is not None:
                wait_for_ledger(self.results, ready)
        return self.results

    async def _arun(
        self,
        only: _Only,
        inject: Mapping[str, Any],
        limit: int | None,
        on_progress: OnProgress | None,
    ) -> Results:
        """The same, all by position."""
        results = self.results
        if self._is_plain and only is None and limit is None:
            ready, results.waiting = results.waiting, ()  # none is run twice, however often and from where we are asked
        else:
            ready = only if isinstance(only, Taken) else taken(results, only, inject, limit, is_async=True)
        if len(ready) != 1:
            await self._drive(ready, inject, limit, on_progress)
            return results
        task = _task_starter()(self._answer(ready[0], inject, on_progress=on_progress))
        if not task.done():
            from toolshape._execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

            await aio.wait_until_done(task)
        if not task.cancelled():  # by itself, which reads as cancelled
            task.result()
        return results

    @contextlib.contextmanager
    def _during(self) -> Generator[None]:
        """While some of the calls run; whoever watches them is called at the end."""
        watch = self._watched()
        with running(self.results), contextlib.nullcontext() if watch is None else watch.during(self.results):
            yield

    def _guarded(self, ledger: LedgerStore | None, scope: str | None) -> Hook | None:
        """What looks up calls in a ledger.

        Raises:
            UsageError: The ledger is none, or there is a scope without one.
        """
        if ledger is None and scope is None:
            return None
        from toolshape._dispatch.once import LedgerGuard  # noqa: PLC0415 - it loads logging, and few programs have a ledger

        store, controls = checked_ledger(ledger, scope), controls_of(self.results)
        if scope is not None:  # else that of a plan that was resumed is the one it was begun in
            controls.scope = scope
        self._is_plain = False
        return LedgerGuard(store, controls.scope, controls.unnamed)

    def _watched(self) -> Watch | None:
        return None if self._is_plain else getattr(self, "_watch", None)

    def _work(
        self, ready: Ready, inject: Mapping[str, Any], on_progress: OnProgress | None, thread_limit: Any = None
    ) -> hooks.Work:
        _, call, handler, model, coercions = ready
        return hooks.Work(call, handler, model, coercions, inject, on_progress, thread_limit)

    async def _drive(
        self, ready: Sequence[Ready], inject: Mapping[str, Any], limit: int | None, on_progress: OnProgress | None
    ) -> None:
        from toolshape._execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

        thread_limit = aio.thread_limit()
        if len(ready) > 1 and any(one[2].runs_alone for one in ready):
            for number, stage in enumerate(groups := stages(ready)):
                with put_back(self.results, after(groups, number)):
                    await self._drive_together(stage, inject, limit, on_progress, thread_limit)
            return
        await self._drive_together(ready, inject, limit, on_progress, thread_limit)

    async def _drive_together(
        self,
        ready: Sequence[Ready],
        inject: Mapping[str, Any],
        limit: int | None,
        on_progress: OnProgress | None,
        thread_limit: "asyncio.Semaphore",
    ) -> None:
        from toolshape._execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

        if limit is None:
            await aio.all_of([self._answer(one, inject, thread_limit, on_progress) for one in ready])
            return
        from toolshape._execution import limited  # noqa: PLC0415 - with asyncio

        not_begun = {one[0]: one for one in ready}

        async def begin(one: Ready) -> None:
            del not_begun[one[0]]
            await self._answer(one, inject, thread_limit, on_progress)

        with put_back(self.results, not_begun.values()):
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
                from toolshape._execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

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


@functools.cache
def _task_starter() -> "Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]":
    """``aio.start_task``, kept: importing it anew would be a thirtieth of the dispatch of an async call."""
    from toolshape._execution.aio import start_task  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

    return start_task


async def _finished(value: Any) -> Any:
    from toolshape._execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

    return await aio.finished(value)


def watch(plan: Plan, tell: Callable[[Results], None]) -> None:
    """Have the results of a plan passed to a function, once nothing of them waits or runs any more."""
    plan._is_plain, plan._watch = False, Watch(tell)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - private to users


async def run_in_this_task(plan: Plan, inject: Mapping[str, Any], on_progress: OnProgress | None) -> Results:
    """Run the one call of a plan that nobody else has in this task, which is its own: another costs a turn of the loop.

    Raises:
        CancelledError: The task was cancelled, by the tool or by somebody else. ``results`` is complete all the same.
    """
    results = plan.results
    check(results.waiting, inject, is_async=True)
    ready, results.waiting = results.waiting, ()
    if ready and (hasattr(results, "controls") or plan._watched() is not None):  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - private to users
        with plan._during():  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the same
            await plan._answer(ready[0], inject, None, on_progress)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the same
    elif ready:
        await plan._answer(ready[0], inject, None, on_progress)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the same
    return results


def plan_of(results: Results) -> Plan:
    """The plan of results with calls that wait for approval.

    Raises:
        UsageError: None of them does, or they were pickled.
    """
    plan = controls_of(results).plan
    if not isinstance(plan, Plan):
        raise UsageError("these results have no call that waits for approval: there is nothing left to plan")
    return plan
